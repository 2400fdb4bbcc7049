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

// test is a kind whose instances have a secret, and end when they fire.
type test interface {
	kind
	// fired is the group that has ended the instance in this window; nil if none has.
	fired() *string
	// fire records that a group ends the instance.
	fire(group string)
}

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

// Change is a figure that is published on change. In every window it repeats the value that was last drawn for each
// group, until its instance fires in one group, whose value is drawn anew. See config.Change.Cost for what this
// costs.
type Change struct {
	// Release describes the figure. First is what the first instance costs beside Cost.
	Release record.Series `json:"release"`
	First   []budget.Item `json:"first"`

	// Begins says that the instance is the first with values, so that it costs First too. In the window for which it is
	// armed it draws the value of every group, and looks from the next window on.
	Begins bool `json:"begins,omitempty"`
	// Fired is the group whose value is drawn anew in this window; nil for none.
	Fired *string `json:"fired,omitempty"`
	// Values are those of the groups, in order, as of this window. They are empty if no instance looks.
	Values []Drawn `json:"values,omitempty"`
}

// DrawsAll says that the value of every group is drawn in the window.
func (c *Change) DrawsAll(s Continual) bool { return s.Arms && c.Begins }

// Draws says that the value of a group is drawn in the window.
func (c *Change) Draws(s Continual, group string) bool {
	return s.Looks() && (c.DrawsAll(s) || c.Fired != nil && *c.Fired == group)
}

// Redraw records the value of a group that is drawn in the window.
func (c *Change) Redraw(group int, v Value) { c.Values[group] = Drawn{Figure: v} }

// facts keep the values that were drawn, each at the place of its group and without its time. after dates them.
func (c *Change) facts(s Continual, e Entry) kind {
	f := &Change{Release: c.Release, First: c.First}
	if !s.Looks() {
		return f
	}
	f.Fired = c.Fired
	for g, v := range c.Values {
		if g < len(e.Groups) && (v.Since.IsZero() || c.Draws(s, e.Groups[g].Name)) {
			f.keep(len(c.Values))
			f.Values[g].Figure = v.Figure
		}
	}
	return f
}

// keep makes places for the values of n groups.
func (c *Change) keep(n int) {
	if c.Values == nil {
		c.Values = make([]Drawn, n)
	}
}

func (c *Change) publishes(Continual, Entry, string) bool { return true }

func (c *Change) check(s Continual, e Entry) error {
	want := 0
	if s.Looks() {
		want = len(e.Groups)
	}
	switch {
	case c.Release.Name != s.Name || c.Release.Epsilon.Sign() <= 0 || len(c.First) == 0:
		return fmt.Errorf("it describes release %q with epsilon %s; want its own, with the cost of its first values",
			c.Release.Name, c.Release.Epsilon)
	case len(c.Values) != want:
		return fmt.Errorf("%d values; want %d", len(c.Values), want)
	case c.Fired != nil && !s.Looks():
		return fmt.Errorf("it fires with reason %q", s.Reason)
	case c.Fired != nil && e.group(*c.Fired) < 0:
		return fmt.Errorf("it has fired in group %q, which the stream does not have", *c.Fired)
	case c.DrawsAll(s) && c.Fired != nil:
		return errors.New("it fires in the window in which its values are drawn first")
	}
	for g, v := range c.Values {
		name := e.Groups[g].Name
		if v.Figure.Value == nil || v.Since.IsZero() || v.Since.After(e.WindowEnd) ||
			c.Draws(s, name) && !v.Since.Equal(e.WindowEnd) {
			return fmt.Errorf("group %q has no value, or one of %s that cannot be of this window", name, v.Since)
		}
		if err := v.Figure.check(); err != nil {
			return fmt.Errorf("group %q: %w", name, err)
		}
	}
	_, err := budget.Canonical(c.First)
	return err
}

// before goes on with the values that were last drawn under the definition. They are public, so it makes no difference
// what became of the instances that drew them.
func (c *Change) before(past iter.Seq[*instance], last *instance, e Entry) bool {
	if last != nil && last.Looked > e.WindowEnd.UnixNano() {
		return false
	}
	drawn := c.Values
	c.Values = nil
	for a := range past {
		if len(a.Values) > 0 {
			c.Values = slices.Clone(a.Values)
		}
	}
	if last != nil && !last.Over {
		c.Begins = last.Begins
	} else {
		c.Begins = c.Values == nil
	}
	if c.Begins {
		c.keep(len(e.Groups))
	}
	for g, v := range drawn {
		if g < len(c.Values) && v.Figure.Value != nil {
			c.Values[g].Figure = v.Figure
		}
	}
	return true
}

// after dates the values that are drawn.
func (c *Change) after(s Continual, e Entry) error {
	if len(c.Values) != len(e.Groups) {
		return fmt.Errorf("%d values of %d groups", len(c.Values), len(e.Groups))
	}
	for g, of := range e.Groups {
		if c.Draws(s, of.Name) {
			c.Values[g].Since = record.Whole(e.WindowEnd).Time
		}
	}
	return nil
}

func (c *Change) extra() []budget.Item {
	if c.Begins {
		return c.First
	}
	return nil
}

// fold keeps the values with the instance that looked, and with no earlier one.
func (c *Change) fold(_ Continual, _ Entry, of *instance, past iter.Seq[*instance]) (over bool, err error) {
	for a := range past {
		a.Values = nil
	}
	of.Fired, of.Values = c.Fired, c.Values
	return c.Fired != nil, nil
}

func (c *Change) until() int64 { return budget.Open }

func (c *Change) fired() *string    { return c.Fired }
func (c *Change) fire(group string) { c.Fired = &group }

func (c *Change) series(Continual) []record.Series { return []record.Series{c.Release} }

// fill says the value that was last drawn for the group.
func (c *Change) fill(f *record.Value, s Continual, e Entry, g Group, _ int) {
	f.Changed = new(c.Draws(s, g.Name))
	if !s.Looks() {
		withhold(f, s.Reason)
		return
	}
	v := c.Values[e.group(g.Name)]
	fill(f, v.Figure)
	f.Since = new(record.Whole(v.Since).Time)
}
