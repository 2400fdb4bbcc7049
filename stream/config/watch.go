package config

import (
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/mechanisms"
)

// Watch is an alarm that looks at every group of every window and costs its ε once until it fires. Or it is a release
// that is published on change: then it fires when the last value of a group has changed.
type Watch struct {
	Name  string
	Query mechanisms.WatchQuery
	// Mechanism answers the query.
	Mechanism *mechanisms.Watch
	// FalseAlarmsPer is the time that the probability of a false alarm is for.
	FalseAlarmsPer time.Duration
	// After firing, the watch waits for Hold before it is armed again. AtMost limits the instances that count in a period
	// of the budget.
	Hold   time.Duration
	AtMost int64
	// Definition is a fingerprint of everything that an armed instance depends on.
	Definition string
	// Where says where the watch is defined, as "file:line".
	Where string

	// Release is what is drawn anew when the watch fires, and Tolerance how far its last value may be off. An alarm has
	// none.
	Release   *Release
	Tolerance decimal.Decimal
	// MaxGroups is in how many groups of a window one user counts.
	MaxGroups int64
}

// Price returns what one instance of the watch costs a user, from arming to firing, with what is drawn anew then.
//
// Adaptive composition: given all that was published before, the outcomes of the test, over all windows and groups, are
// ε_test-DP (mechanisms.Watch). They tell which value of which group is drawn anew: a single one, which is ε_draw-DP. So
// everything that an instance publishes is (ε_test + ε_draw)-DP.
func (w *Watch) Price() []budget.Item {
	return append([]budget.Item{{Promise: w.Mechanism.Promise(), Times: 1}}, w.Redraw()...)
}

// Redraw returns what it costs a user that one value is drawn anew. It is nil for an alarm.
func (w *Watch) Redraw() []budget.Item {
	if w.Release == nil {
		return nil
	}
	return []budget.Item{{Promise: w.Release.Mechanism.Promise(), Times: 1}}
}

// Most returns what a period of the budget counts for the watch at most.
func (w *Watch) Most() []budget.Item {
	return append(budget.Times(w.Price(), w.AtMost), w.First()...)
}

// First returns the extra cost of the first instance, because every group is drawn in its first window: a user may be in
// several. It is nil for an alarm.
func (w *Watch) First() []budget.Item {
	return budget.Times(w.Redraw(), w.MaxGroups)
}
