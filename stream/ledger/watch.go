package ledger

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/stream/record"
)

// Watch is what an alarm or a figure on change did in a window. A figure on change is a watch with values: in every
// window it repeats the value that was last drawn for each group, until its instance fires in one group, whose value is
// drawn anew. See config.Watch.Price for what this costs. [Books.Settle] decides whether one of its instances looks at
// the window, and whether this is a new one. The caller then arms it or has it look, and fills in Sealed and Fired.
type Watch struct {
	Name string `json:"name"`
	// Definition is a fingerprint of everything that an instance depends on. An instance looks only while it is the same.
	Definition string `json:"definition"`
	// Cost is the cost of an instance to one user, from arming to firing. It covers all windows and groups.
	Cost []budget.Item `json:"cost"`
	// Excess95 is a number of users. A new instance fires with a probability of 95 % if so many are too many, or missing.
	Excess95 *decimal.Decimal `json:"excess_95"`
	// AtMost limits the instances that count in a period of the budget. After firing, the watch waits for Hold seconds
	// before it is armed again.
	AtMost int64 `json:"at_most"`
	Hold   int64 `json:"hold"`
	// Release describes the figure that is drawn anew where the watch fires, and First is what its first instance costs
	// beside Cost. Both are nil for an alarm.
	Release *record.Series `json:"release,omitempty"`
	First   []budget.Item  `json:"first,omitempty"`
	// Last says that the stream's definition ends with this window, and so does the instance.
	Last bool `json:"last,omitempty"`

	// Instance is the number of the instance that looks, or else of the one before, from 1. 0: there was none.
	Instance int64 `json:"instance,omitempty"`
	// Arms says that the instance is armed for this window, and charged. Sealed is then its secret, which only holders of
	// the app's key can open.
	Arms   bool   `json:"arms,omitempty"`
	Sealed []byte `json:"sealed,omitempty"`
	// Reason is "" if an instance looks at the window. It is NotArmed while Hold lasts, or if the instance has looked at a
	// window that ends later. It is BudgetExhausted if AtMost or the budget allows no other instance.
	Reason string `json:"reason,omitempty"`
	// Fired is the group in which the instance has fired: in this window, or lately if the reason is NotArmed. Since is
	// the end of that window. The groups before it were silent, the groups after it were not looked at.
	Fired *string    `json:"fired,omitempty"`
	Since *time.Time `json:"since,omitempty"`

	// Begins says that the instance is the first with values, so that it costs First too. In the window for which it is
	// armed it draws the value of every group, and looks from the next window on.
	Begins bool `json:"begins,omitempty"`
	// Values are those of the groups, in order, as of this window. They are empty if no instance looks.
	Values []Drawn `json:"values,omitempty"`
}

// Drawn is the value of a group that was drawn last, and the end of the window that it is from.
type Drawn struct {
	Figure Value     `json:"figure"`
	Since  time.Time `json:"since"`
}

// Equal compares what is written.
func (d Drawn) Equal(o Drawn) bool {
	x, err := json.Marshal(d)
	y, err2 := json.Marshal(o)
	return err == nil && err2 == nil && bytes.Equal(x, y)
}

// Instance is one instance of a watch.
type Instance struct {
	Stream string `json:"stream"`
	Watch  string `json:"watch"`
	Number int64  `json:"instance"`
}

// String is the instance's name in the books: "checkout-latency/slow/3".
func (i Instance) String() string { return fmt.Sprintf("%s/%s/%d", i.Stream, i.Watch, i.Number) }

// Looks reports whether an instance looks at the window.
func (w Watch) Looks() bool { return w.Reason == "" }

// Fire records that the instance fired in a group of the window.
func (w *Watch) Fire(e Entry, group string) {
	w.Fired, w.Since = &group, new(record.Whole(e.WindowEnd).Time)
}

// Draws says whether the value of a group is drawn in the entry's window: all of them where the instance begins the
// values, and that of the group in which it fires.
func (w Watch) Draws(group string) bool {
	return w.Release != nil && w.Looks() && (w.Arms && w.Begins || w.Fired != nil && *w.Fired == group)
}

// Redraw records the value of a group that is drawn in the entry's window.
func (w *Watch) Redraw(e Entry, group int, v Value) {
	w.Values[group] = Drawn{v, record.Whole(e.WindowEnd).Time}
}

// price is what the instance costs: more if it begins the values.
func (w Watch) price() []budget.Item {
	if w.Begins {
		return slices.Concat(w.Cost, w.First)
	}
	return w.Cost
}

// arms returns what the instances cost that are armed for the window.
func (e Entry) arms() ([]budget.Charge, error) {
	var all []budget.Charge
	for _, w := range e.Watches {
		if !w.Arms {
			continue
		}
		c, err := e.costs(w)
		if err != nil {
			return nil, fmt.Errorf("watch %q: %w", w.Name, err)
		}
		all = append(all, c)
	}
	return all, nil
}

// costs is the charge of an instance that is armed for the entry's window, as far as the window's period is concerned.
func (e Entry) costs(w Watch) (budget.Charge, error) {
	return budget.NewCharge(e.Stream, e.WindowStart.UnixNano(), e.WindowEnd.UnixNano(), w.price())
}
