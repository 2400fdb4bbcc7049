package ledger

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/stream/record"
)

// A release that is published on change is a watch with values: in every window it repeats the value that was last drawn for
// each group, until its instance fires in one group, whose value is drawn anew. See config.Watch.Price for what this costs.

// Drawn is the value of a group that was drawn last, and the end of the window that it is from.
type Drawn struct {
	Figure Value     `json:"figure"`
	Since  time.Time `json:"since"`
}

// Draws says whether the value of a group is drawn in the entry's window: all of them where the instance begins the values, and
// that of the group in which it fires.
func (w Watch) Draws(group string) bool {
	return w.Release != nil && w.Looks() && (w.Arms && w.Begins || w.Fired != nil && *w.Fired == group)
}

// price is what the instance costs: more if it begins the values.
func (w Watch) price() []budget.Item {
	if w.Begins {
		return slices.Concat(w.Cost, w.First)
	}
	return w.Cost
}

// Redraw records the value of a group that is drawn in the entry's window.
func (w *Watch) Redraw(e Entry, group int, v Value) {
	w.Values[group] = Drawn{v, record.Whole(e.WindowEnd).Time}
}

// checkValues checks what a release on change says of a window.
func (w Watch) checkValues(e Entry) error {
	if w.Release == nil {
		if len(w.First) > 0 || w.Begins || len(w.Values) > 0 {
			return errors.New("an alarm has values")
		}
		return nil
	}
	want := 0
	if w.Looks() {
		want = len(e.Groups)
	}
	switch {
	case w.Release.Name != w.Name || w.Release.Epsilon.Sign() <= 0 || len(w.First) == 0:
		return fmt.Errorf("it describes release %q with epsilon %s; want its own, with the cost of its first values", w.Release.Name, w.Release.Epsilon)
	case len(w.Values) != want:
		return fmt.Errorf("%d values; want %d", len(w.Values), want)
	case w.Begins && w.Arms && w.Fired != nil:
		return errors.New("it fires in the window in which its values are drawn first")
	}
	for g, v := range w.Values {
		if name := e.Groups[g].Name; v.Figure.Value == nil || v.Since.After(e.WindowEnd) || w.Draws(name) && !v.Since.Equal(e.WindowEnd) {
			return fmt.Errorf("group %q has no value, or one of %s", name, v.Since)
		}
	}
	_, err := budget.Canonical(w.First)
	return err
}

// values returns what was last drawn under a definition of a watch; nil if nothing was. They are public, so it makes no difference
// what became of the instances that drew them.
func (b *Books) values(name watchName, definition string) []Drawn {
	for _, a := range slices.Backward(b.watches[name]) {
		if a.definition == definition && len(a.values) > 0 {
			return a.values
		}
	}
	return nil
}

// keepValues keeps the values of an entry with the instance that looked, and with no earlier one of its definition.
func (b *Books) keepValues(name watchName, w Watch) {
	for _, a := range b.watches[name] {
		if a.definition == w.Definition {
			a.values = nil
		}
	}
	b.instance(name, w.Instance).values = w.Values
}

// Equal compares what is written.
func (d Drawn) Equal(o Drawn) bool {
	x, err := json.Marshal(d)
	y, err2 := json.Marshal(o)
	return err == nil && err2 == nil && bytes.Equal(x, y)
}
