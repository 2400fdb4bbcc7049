package ledger

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/stream/record"
)

// Watch is a test that fires once in some group, and is armed again after a while.
type Watch struct {
	// Excess95 is a number of users. If a window has that many users too many, or too few, a new instance fires with a
	// probability of 95 %.
	Excess95 *decimal.Decimal `json:"excess_95"`
	// Hold is how many seconds it waits after firing before it is armed again.
	Hold int64 `json:"hold"`
	// Always says that it looks only at the groups that are always on the list.
	Always bool `json:"always,omitempty"`

	// Fired is the group in which the instance has fired: in this window, or lately if the watch is not armed. Since is
	// the end of that window. The groups before it were silent, the groups after it were not looked at. A group that is
	// found may have left the list since.
	Fired *string    `json:"fired,omitempty"`
	Since *time.Time `json:"since,omitempty"`
}

func (a *Watch) facts(s Continual, _ Entry) kind {
	f := &Watch{Excess95: a.Excess95, Hold: a.Hold, Always: a.Always}
	if s.Looks() {
		f.Fired = a.Fired
	}
	return f
}

// LooksAt reports whether the watch looks at a group of an entry.
func (a *Watch) LooksAt(e Entry, group string) bool {
	if !a.Always || e.List == nil {
		return !a.Always
	}
	_, always := slices.BinarySearch(e.List.Rules.Always, group)
	return always
}

func (a *Watch) publishes(_ Continual, e Entry, group string) bool { return a.LooksAt(e, group) }

func (a *Watch) check(s Continual, e Entry) error {
	switch {
	case a.Always && (e.List == nil || len(e.List.Rules.Always) == 0):
		return errors.New("it looks at groups that are always on the list, and there are none")
	case a.Hold < 0 || a.Hold > mostHold:
		return fmt.Errorf("hold of %d s; want 0 to %d", a.Hold, int64(mostHold))
	case (a.Fired == nil) != (a.Since == nil) || s.Reason == record.BudgetExhausted && a.Fired != nil:
		return fmt.Errorf("group and time of firing do not go together, or not with reason %q", s.Reason)
	case a.Fired != nil && e.group(*a.Fired) < 0 && (s.Looks() || e.List == nil):
		return fmt.Errorf("it has fired in group %q, which the stream does not have", *a.Fired)
	case a.Fired != nil && s.Looks() && !a.LooksAt(e, *a.Fired):
		return fmt.Errorf("it has fired in group %q, at which it does not look", *a.Fired)
	case s.Looks() && a.Since != nil && !a.Since.Equal(e.WindowEnd):
		return errors.New("it fires at another time than the window's end")
	}
	return nil
}

// before repeats where and when the last instance has fired, until its hold is over. Only an instance that has fired
// has one.
func (a *Watch) before(_ iter.Seq[*instance], last *instance, e Entry) bool {
	if last == nil || last.Fired == nil || e.WindowStart.UnixNano() >= last.Looked+a.Hold*int64(time.Second) {
		return true
	}
	a.Fired, a.Since = last.Fired, new(time.Unix(0, last.Looked).UTC())
	return false
}

func (a *Watch) after(_ Continual, e Entry) error {
	if a.Fired != nil {
		a.Since = new(record.Whole(e.WindowEnd).Time)
	}
	return nil
}

func (a *Watch) until() int64         { return budget.Open }
func (a *Watch) extra() []budget.Item { return nil }

func (a *Watch) fold(_ Continual, _ Entry, of *instance, _ iter.Seq[*instance]) (over bool, err error) {
	of.Fired = a.Fired
	return a.Fired != nil, nil
}

func (a *Watch) fired() *string    { return a.Fired }
func (a *Watch) fire(group string) { a.Fired = &group }

func (a *Watch) series(s Continual) []record.Series {
	return []record.Series{{Name: s.Name, Statistic: record.StatisticWatch, Mechanism: record.MechanismWatch}}
}

// fill says 1 from the window in which the watch fires until it may be armed again, and 0 while it is silent.
func (a *Watch) fill(f *record.Value, s Continual, e Entry, g Group, _ int) {
	f.Excess95 = optionalDigits(a.Excess95)
	value, reason := json.Number("0"), s.Reason
	if a.Fired != nil {
		switch fired := e.group(*a.Fired); {
		case g.Name == *a.Fired:
			value, reason, f.Since = "1", "", a.Since
		case e.group(g.Name) > fired: // it fired before it came to this group
			reason = record.NotArmed
		}
	}
	if reason != "" {
		withhold(f, reason)
		return
	}
	f.Value = &value
}
