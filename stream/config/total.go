package config

import (
	"time"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/record"
	"github.com/louver/louver/windows"
	"github.com/louver/louver/windows/period"
)

// Total is a running total, such as the users so far today. It is published again and again and costs ε once a period.
type Total struct {
	Name  string
	Query mechanisms.TotalQuery
	// Mechanism says what a value adds and how sums are drawn.
	Mechanism *mechanisms.Total
	// Calendar has the periods, in the time zone Zone.
	Calendar period.Calendar
	Zone     string
	// Update is the time between two records, a multiple of a window.
	Update time.Duration
	// MaxGroups is in how many groups of a period one user counts.
	MaxGroups int64
	// AtMost is the most periods that any period of the budget touches.
	AtMost int64
	// Definition is a fingerprint of everything that an instance depends on.
	Definition string
	// Where says where it is defined, as "file:line".
	Where string
}

// Price returns what a period costs one user, once for each group in which the user may count.
func (t *Total) Price() []budget.Item {
	return []budget.Item{{Promise: t.Mechanism.Promise(), Times: t.MaxGroups}}
}

// Step returns the total with its costs.
func (t *Total) Step() Step {
	return Step{Name: t.Name, What: "total", Definition: t.Definition, AtMost: t.AtMost, Price: t.Price()}
}

// Series describes the figure, with the ε of a period in one group. The unit is that of the stream's values.
func (t *Total) Series(unit string) record.Series {
	p := t.Mechanism.Promise()
	return record.Series{Name: t.Name, Statistic: string(t.Query.Statistic), Mechanism: t.Mechanism.Name(),
		Unit: t.Query.Unit(unit), Epsilon: p.Epsilon, Delta: p.Delta}
}

// Allowance returns the rule by which users count in a period.
//
// Privacy: the total's strategy promises ε for persons who add Most to a group in all, and the price counts MaxGroups
// groups. This rule lets nobody add more, and in no more groups.
func (t *Total) Allowance() windows.AllowanceRule {
	return windows.AllowanceRule{MaxGroups: int(t.MaxGroups), Most: t.Mechanism.Most, Adds: t.Mechanism.Adds}
}

// Period returns the period of the calendar that holds a window: the start of its first window and the end of its last
// one, in Unix nanoseconds. A window is in the period that holds its first moment.
func (t *Total) Period(w windows.Window) (since, until int64) {
	return t.PeriodAt(w.Start, time.Duration(w.End-w.Start))
}

// PeriodAt is Period for the window that starts at a moment and has this length.
func (t *Total) PeriodAt(start int64, every time.Duration) (since, until int64) {
	return periodOf(t.Calendar, start, every)
}
