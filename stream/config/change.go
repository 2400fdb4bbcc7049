package config

import (
	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/stream/record"
)

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
func (c *Change) About() About { return About{OnChange: true} }
