package config

import (
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/mechanisms/watch"
	"github.com/louver/louver/stream/record"
)

// Test is what a watch and a release on change have in common. Each has instances: an instance is charged once, looks
// at every group of one window after another, and ends when it fires.
type Test struct {
	// Mechanism decides when an instance fires.
	Mechanism *watch.Watch
	Query     watch.Query
	// FalseAlarmsPer is the time that the probability of a false alarm is for.
	FalseAlarmsPer time.Duration
	// AtMost limits the instances that count in a period of the budget.
	AtMost int64
}

// items is what the test of one instance costs a user, over all windows and groups: see watch.Watch.
func (t *Test) items() []budget.Item {
	return []budget.Item{{Promise: t.Mechanism.Promise(), Times: 1}}
}

// Watch fires when a group of a window meets its condition.
type Watch struct {
	Head
	Test
	// Always says that it looks only at the groups of [Found.Always]. In others it would see that they come and go.
	Always bool
	// Hold is how long it waits after firing before another instance is armed.
	Hold time.Duration
}

// Kind is Tested.
func (w *Watch) Kind() Kind { return Tested }

// Series describes its state, with the ε of an instance.
func (w *Watch) Series() []record.Series {
	return []record.Series{{Name: w.Name, Statistic: record.StatisticWatch, Mechanism: record.MechanismWatch,
		Epsilon: w.Mechanism.Promise().Epsilon}}
}

// Cost is a test for each instance.
func (w *Watch) Cost() Cost {
	c := Cost{Per: PerInstance, Items: w.items(), Partly: twice(w.items()), AtMost: w.AtMost}
	if w.Query.Conditions[0].UsersBelow != nil {
		c.Stays = c.Items
	}
	return c
}

// WithDelta is the watch itself.
func (w *Watch) WithDelta(bool) Figure { return w }

// About says what the test costs, and how long it waits.
func (w *Watch) About() About {
	return About{Epsilon: w.Query.Epsilon, Lasts: "from arming to firing", Windows: "from arming to firing",
		Public: Public{Hold: new(int64(w.Hold / time.Second))}}
}

// Change is a release that is published on change: it fires when the last value of a group no longer holds.
type Change struct {
	Head
	Test
	// Release is what is then drawn anew. Tolerance is how far its last value may be off, as a share of the users.
	Release   *Release
	Tolerance decimal.Decimal
}

// Kind is Redrawn.
func (c *Change) Kind() Kind { return Redrawn }

// Series describes the value, with the ε of an instance.
func (c *Change) Series() []record.Series {
	return []record.Series{c.charged(c.Drawn(), c.Cost().Items)}
}

// Drawn describes the value, with the ε of one draw in one group.
func (c *Change) Drawn() record.Series {
	one := *c.Release
	one.Unit = c.Unit
	return one.Series()[0]
}

// Cost is a test and a draw for each instance. Every group is drawn in the first window, and a user may be in several.
//
// Adaptive composition: given all that was published before, the outcomes of the test, over all windows and groups,
// are ε_test-DP (watch.Watch). They tell which value of which group is drawn anew: a single one, which is ε_draw-DP.
// So everything that an instance publishes is (ε_test + ε_draw)-DP.
func (c *Change) Cost() Cost {
	items := append(c.items(), c.Redraw()...)
	return Cost{Per: PerInstance, Items: items, Partly: twice(items), First: budget.Times(c.Redraw(), c.Groups),
		AtMost: c.AtMost}
}

// Redraw returns what it costs a user that one value is drawn anew.
func (c *Change) Redraw() []budget.Item {
	return []budget.Item{{Promise: c.Release.Mechanism.Promise(), Times: 1}}
}

// WithDelta is the release itself. No statistic that may be published on change has another mechanism then.
func (c *Change) WithDelta(bool) Figure { return c }

// About says that it is drawn on change.
func (c *Change) About() About {
	return About{Query: &c.Release.Query, Epsilon: c.Release.Query.Epsilon, Lasts: "until it changes",
		Windows: "until it changes", Public: Public{OnChange: true}}
}
