package ledger

import (
	"time"

	"github.com/louver/louver/budget"
)

// Cap returns the cap of the latest decided window of a stream's epoch, or of the latest period of one of its
// discoveries, by its name. It is the zero value if there is none.
func (b *Books) Cap(stream string, epoch uint32, of string) budget.Cap {
	return b.of(stream, row{epoch, of}).cap
}

// Era returns the era of a stream's definition, in Unix seconds. begins is when its first window, or the first period
// of a discovery, begins, in Unix nanoseconds. of makes the cap of an era.
//
// The era is that first moment, unless something was charged under its cap before. That is so where a definition was
// replaced after it had begun, because a clock was wrong. The two definitions choose their users separately, so what
// they cost must add up. Then the era is the last second before that is free.
func (b *Books) Era(stream string, begins int64, of func(era int64) budget.Cap) int64 {
	era := begins / int64(time.Second)
	for b.charged(stream, of(era)) {
		era--
	}
	return era
}

// charged reports whether some budget was charged for a stream under a cap.
func (b *Books) charged(stream string, c budget.Cap) bool {
	for _, accounts := range []map[string]*budget.Account{b.accounts, b.elsewhere} {
		for _, a := range accounts {
			if a.Knows(stream, c) {
				return true
			}
		}
	}
	return false
}
