package audit

import (
	"fmt"
	"time"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/stream/ledger"
)

// rightCap reports whether the entry has the right cap, and returns the cap of the windows before it, of the same epoch
// and row. The right cap is that one, or the same in an era that begins with this window because counting began anew.
// The first window of an epoch has an era of its own. Otherwise the charges of users who were chosen separately would
// not add up.
func rightCap(books *ledger.Books, e ledger.Entry) (before budget.Cap, right bool) {
	_, decided := books.LastOf(e.Stream, e.Epoch, e.Lane)
	before = books.Cap(e.Stream, e.Epoch, e.Lane)
	if !decided {
		before = e.Cap
	}
	anew := before
	if anew.Era = e.WindowStart.Unix(); !decided {
		anew.Era = books.Era(e.Stream, e.WindowStart.UnixNano(), func(era int64) budget.Cap {
			return budget.Cap{Count: e.Cap.Count, Per: e.Cap.Per, Era: era, Lane: e.Lane}
		})
	}
	none := budget.Cap{}
	return before, e.Cap == none && before == none || decided && e.Cap == before || before != none && e.Cap == anew
}

func capText(c budget.Cap) string {
	if c == (budget.Cap{}) {
		return "none"
	}
	era := time.Unix(c.Era, 0).UTC().Format(time.RFC3339)
	return fmt.Sprintf("%d windows per %s from %s on", c.Count, budget.FormatPer(c.Per), era)
}
