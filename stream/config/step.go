package config

import (
	"sort"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/mechanisms/watch"
)

// Lasting is what an alarm and a figure on change have in common. Each has instances: an instance is charged once,
// looks at every group of one window after another, and ends when it fires.
type Lasting struct {
	Name string
	// Mechanism decides when an instance fires.
	Mechanism *watch.Watch
	Query     watch.Query
	// FalseAlarmsPer is the time that the probability of a false alarm is for.
	FalseAlarmsPer time.Duration
	// AtMost limits the instances that count in a period of the budget.
	AtMost int64
	// Definition is a fingerprint of everything that an instance depends on.
	Definition string
	// Where says where it is defined, as "file:line".
	Where string
}

// Price returns what the test of one instance costs a user, over all windows and groups: see watch.Watch.
func (l *Lasting) Price() []budget.Item {
	return []budget.Item{{Promise: l.Mechanism.Promise(), Times: 1}}
}

// Alarm fires when a group of a window meets its condition.
type Alarm struct {
	Lasting
	// Always says that it looks only at the groups of [Found.Always]. In others it would see that they come and go.
	Always bool
	// Hold is how long it waits after firing before another instance is armed.
	Hold time.Duration
}

// OnChange is a release that is published on change: it fires when the last value of a group no longer holds.
type OnChange struct {
	Lasting
	// Release is what is then drawn anew. Tolerance is how far its last value may be off, as a share of the users.
	Release   *Release
	Tolerance decimal.Decimal
	// MaxGroups is in how many groups of a window one user counts.
	MaxGroups int64
}

// Price returns what one instance costs a user, including the value that is drawn anew when it fires.
//
// Adaptive composition: given all that was published before, the outcomes of the test, over all windows and groups,
// are ε_test-DP (watch.Watch). They tell which value of which group is drawn anew: a single one, which is ε_draw-DP.
// So everything that an instance publishes is (ε_test + ε_draw)-DP.
func (c *OnChange) Price() []budget.Item { return append(c.Lasting.Price(), c.Redraw()...) }

// Redraw returns what it costs a user that one value is drawn anew.
func (c *OnChange) Redraw() []budget.Item {
	return []budget.Item{{Promise: c.Release.Mechanism.Promise(), Times: 1}}
}

// First returns the extra cost of the first instance, because every group is drawn in its first window: a user may be
// in several.
func (c *OnChange) First() []budget.Item { return budget.Times(c.Redraw(), c.MaxGroups) }

// Step is what the alarms, the releases on change and the running totals of a stream have in common: they live longer
// than a window. Each has instances, and Step says what these cost one user.
type Step struct {
	Name string
	// What is its kind as users call it: "watch", "release" or "total".
	What string
	// Definition is a fingerprint of everything that an instance depends on.
	Definition string
	// AtMost is the most instances that count in a period of the budget.
	AtMost int64
	// Price is what each instance costs. First is what the first one costs in addition.
	Price, First []budget.Item
}

// Most returns the most that counts in a period of the budget.
func (s Step) Most() []budget.Item { return append(budget.Times(s.Price, s.AtMost), s.First...) }

// Paid returns how many of AtMost instances a limit pays for in a period of the budget if nothing else is charged.
func (s Step) Paid(limit budget.Limit) int64 {
	account := budget.NewAccount(limit)
	return int64(sort.Search(int(s.AtMost), func(n int) bool {
		return !account.Fits(budget.Charge{Items: append(budget.Times(s.Price, int64(n+1)), s.First...)})
	}))
}

func (l *Lasting) step(what string, price, first []budget.Item) Step {
	return Step{l.Name, what, l.Definition, l.AtMost, price, first}
}

// Step returns the alarm with its costs.
func (a *Alarm) Step() Step { return a.step("watch", a.Price(), nil) }

// Step returns the release on change with its costs.
func (c *OnChange) Step() Step { return c.step("release", c.Price(), c.First()) }
