package audit

import (
	"fmt"
	"time"

	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/record"
)

// Calendar knows the periods of running totals, and those of roll-ups on local days, by the time zone database of this
// program.
type Calendar interface {
	// Period returns the period that holds the window of an entry: the start of its first window and the end of its
	// last one, in Unix nanoseconds. rollup is the length of a roll-up, such as 1d, or "" for a running total. known is
	// false if the definition is unknown.
	Period(e ledger.Entry, release, rollup string) (since, until int64, known bool)
}

// periods compares the periods of an entry with a calendar. The worker that begins a period decides when it ends, and
// everybody takes that from the ledger. So a difference is no fault: two programs may know different rules for a zone.
type periods struct {
	found    *Findings
	compared map[period]bool
}

// period is one of a total, or of a roll-up.
type period struct {
	stream, release, rollup string
	since, until            int64
}

func newPeriods(found *Findings) *periods { return &periods{found, map[period]bool{}} }

// periodsOf lists the periods of an entry.
func periodsOf(e ledger.Entry) (all []period) {
	for _, s := range e.Continual {
		if since, until, ok := s.Period(); ok {
			all = append(all, period{e.Stream, s.Name, "", since.UnixNano(), until.UnixNano()})
		}
	}
	for _, p := range e.Periods {
		all = append(all, period{e.Stream, p.Release, p.Period, p.Since.UnixNano(), p.Until.UnixNano()})
	}
	return all
}

// compare compares each period once, at its first window: if that agrees with the calendar, all later ones do.
func (p *periods) compare(by Calendar, at Position, e ledger.Entry) {
	for _, is := range periodsOf(e) {
		if p.compared[is] {
			continue
		}
		p.compared[is] = true
		since, until, known := by.Period(e, is.release, is.rollup)
		// An instance of a total may begin within a period of the calendar.
		same := is.until == until && (is.since == since || is.rollup == "" && is.since > since)
		if known && !same {
			what, counts := fmt.Sprintf("total %q", is.release), "counts"
			if is.rollup != "" {
				what, counts = fmt.Sprintf("roll-up %q", is.release+"."+is.rollup), "adds up windows"
			}
			p.found.note(PeriodDiffers, at,
				"%s: %s %s from %s to %s; the time zones of this program have a period from %s to %s. Its numbers are "+
					"right: the ledger decides the periods", e.Name(), what, counts, moment(is.since), moment(is.until),
				moment(since), moment(until))
		}
	}
}

func moment(t int64) record.Second { return record.Whole(time.Unix(0, t)) }
