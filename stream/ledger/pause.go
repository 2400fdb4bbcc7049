package ledger

import (
	"slices"
	"time"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/stream/record"
)

// PaidAgain returns the end of the first window after a withheld one that its budget can pay, if nothing else is
// charged meanwhile. It returns false if there is none before the stream's end.
func (b *Books) PaidAgain(e Entry) (time.Time, bool) {
	e.Reason = "" // so that Charge returns the price
	charge, err := e.Charge()
	if err != nil || e.Every <= 0 {
		return time.Time{}, false
	}
	a := b.account(e)
	for _, back := range a.Returns(charge.End, "") {
		charge.End = e.endFrom(back.At)
		end := time.Unix(0, charge.End).UTC()
		if !e.Until.IsZero() && end.After(e.Until) {
			break
		}
		if a.Fits(charge) {
			return end, true
		}
	}
	return time.Time{}, false
}

// endFrom returns the end of the stream's first window that ends at a later moment or after it, if the schedule stays
// as it is. Both are in Unix nanoseconds.
func (e Entry) endFrom(at int64) int64 {
	end, every := e.WindowEnd.UnixNano(), int64(e.Every)
	return end + (at-end+every-1)/every*every
}

// Pause says why no instance of a step may be armed, and until when.
type Pause struct {
	// AtMost says that the period has as many instances as the step may have. Otherwise the budget cannot pay for
	// another.
	AtMost bool
	// Until is the end of the first window for which one can be armed again, if there is such a window and nothing else
	// is charged meanwhile. It is nil if that cannot be said, because an instance of another definition still looks.
	Until *time.Time
}

// Paused returns the pause of a step that the last entry withholds, or false if it does not. The entry must have been
// added, so that what it ends returns too.
func (b *Books) Paused(e Entry, s Step) (Pause, bool) {
	if s.Reason != record.BudgetExhausted || e.Every <= 0 {
		return Pause{}, false
	}
	name := stepName{e.Budget, e.Stream, s.Name}
	s.forget()
	s.kind().may(b.lasting.past(name, s.Definition), nil, e) // as when it was settled: the first instance may cost more
	a, now := b.account(e), e.WindowEnd.UnixNano()
	p := Pause{AtMost: !s.mayCount(b.lasting.counted(name, e.Limit, now))}
	for _, at := range b.leaves(name, a, now) {
		end := e.endFrom(at)
		another := budget.Held{Stream: e.Stream, From: end, To: budget.Open, Items: s.price()}
		if s.mayCount(b.lasting.counted(name, e.Limit, end)) && a.FitsHeld(another) {
			p.Until = new(time.Unix(0, end).UTC())
			break
		}
	}
	return p, true
}

// leaves lists the moments after now at which an instance of a step, or any charge, stops counting.
func (b *Books) leaves(name stepName, a *budget.Account, now int64) (all []int64) {
	per := int64(a.Limit().Per)
	if per == 0 {
		return nil
	}
	for _, x := range b.lasting.of[name] {
		if at := x.Looked + per; x.Over && at > now {
			all = append(all, at)
		}
	}
	for _, back := range a.Returns(now, "") {
		all = append(all, back.At)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
