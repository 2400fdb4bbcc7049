package ledger

import (
	"fmt"
	"time"

	"github.com/louver/louver/budget"
)

// storedCap is the cap of an entry or of some charges. A reader that does not know it adds up all prices, not only the
// largest ones: it says that people have lost more than they have, never less. So it needs no new version.
type storedCap struct {
	Count int64  `json:"count"`
	Per   string `json:"per"`
	Era   int64  `json:"era"`
}

// storeCap returns nil for no cap.
func storeCap(c budget.Cap) *storedCap {
	if c == (budget.Cap{}) {
		return nil
	}
	return &storedCap{c.Count, budget.FormatPer(c.Per), c.Era}
}

func (s *storedCap) read() (budget.Cap, error) {
	if s == nil {
		return budget.Cap{}, nil
	}
	per, err := budget.ParsePer(s.Per)
	c := budget.Cap{Count: s.Count, Per: per, Era: s.Era}
	if err == nil {
		err = c.Check()
	}
	if err != nil {
		return budget.Cap{}, fmt.Errorf("cap: %w", err)
	}
	return c, nil
}

// checkCap returns an error for a cap that no window of the entry's can have.
func (e Entry) checkCap() error {
	if err := e.Cap.Check(); err != nil {
		return err
	}
	if e.Cap.Era > e.WindowStart.Unix() {
		return fmt.Errorf("cap of an era that begins at %s, after the window", time.Unix(e.Cap.Era, 0).UTC().Format(time.RFC3339))
	}
	return nil
}

// Cap returns the cap of the latest decided window of a stream's epoch. It is the zero value if there is none.
func (b *Books) Cap(stream string, epoch uint32) budget.Cap {
	s := b.streams[stream]
	if s == nil {
		return budget.Cap{}
	}
	return s.caps[epoch]
}

// Era returns the era of a definition of a stream whose first window begins at a moment: that moment, in Unix seconds. It is the
// last free second before if windows were charged under the same cap and era: those of a definition that was replaced, because
// a clock was wrong, after it had begun. The two choose users apart, so what they cost must add up.
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
