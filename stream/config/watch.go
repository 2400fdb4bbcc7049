package config

import (
	"time"

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
	return Cost{Per: PerInstance, Items: w.items(), Partly: twice(w.items()), AtMost: w.AtMost,
		Counts: w.Query.Conditions[0].UsersBelow != nil}
}

// WithDelta is the watch itself.
func (w *Watch) WithDelta(bool) Figure { return w }

// About says how long it waits.
func (w *Watch) About() About { return About{Hold: &w.Hold} }
