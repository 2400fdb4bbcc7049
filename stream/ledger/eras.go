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

// Era returns the era of a definition of a stream whose first window, or the first period of a discovery, begins at a
// moment: that moment, in Unix seconds.
// It is the last free second before if windows were charged under the same cap and era: those of a definition that was
// replaced, because a clock was wrong, after it had begun. The two choose users apart, so what they cost must add up.
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
