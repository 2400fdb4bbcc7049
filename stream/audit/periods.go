package audit

import (
	"time"

	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/record"
)

// Calendar knows the periods of running totals by the time zone database of this program.
type Calendar interface {
	// Period returns the period that holds the window of an entry: the start of its first window and the end of its last
	// one, in Unix nanoseconds. known is false if the definition of the total is unknown.
	Period(e ledger.Entry, total string) (since, until int64, known bool)
}

// periods compares the periods of totals with a calendar. The worker that begins a period decides when it ends, and
// everybody takes that from the ledger. So a difference is no fault: two programs may have different rules of a zone.
type periods struct {
	found    *Findings
	compared map[period]bool
}

// period is one of a total.
type period struct {
	stream, total string
	since, until  int64
}

func newPeriods(found *Findings) *periods { return &periods{found, map[period]bool{}} }

// compare notes each period once, at its first window: the calendar's period of any later one is the same, if that of
// the first is.
func (p *periods) compare(by Calendar, at Position, e ledger.Entry) {
	for _, s := range e.Steps {
		if s.Total == nil {
			continue
		}
		is := period{e.Stream, s.Name, s.Total.Since.UnixNano(), s.Total.Until.UnixNano()}
		if p.compared[is] {
			continue
		}
		p.compared[is] = true
		since, until, known := by.Period(e, s.Name)
		// An instance may begin within a period of the calendar.
		if known && (until != is.until || is.since < since) {
			p.found.note(PeriodDiffers, at, "%s: total %q counts from %s to %s; the time zones of this program have a period from "+
				"%s to %s. The total is right: the ledger decides its periods", e.Name(), s.Name, s.Total.Since, s.Total.Until,
				record.Whole(time.Unix(0, since)), record.Whole(time.Unix(0, until)))
		}
	}
}
