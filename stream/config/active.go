package config

import (
	"fmt"
	"time"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/mechanisms/running"
	"github.com/louver/louver/stream/record"
	"github.com/louver/louver/windows"
)

// Day is the time in which a number of active users costs its ε once, whenever it begins.
const Day = 24 * time.Hour

// Active is the number of users seen lately, such as in the last 15 minutes. It is published again and again, and costs
// ε once in any day.
type Active struct {
	Head
	Query mechanisms.ActiveQuery
	// Mechanism says which values count and how numbers are drawn.
	Mechanism *mechanisms.Active
	// Within is how long users stay active after they were seen: a multiple of a window's step.
	Within time.Duration
	// Update is the time between two records, a multiple of a window's step.
	Update time.Duration
	// Size is the length of a window, and Every the step to the next one.
	Size, Every time.Duration
	// Listed is how many groups the stream has.
	Listed int
	// AtMost is the most days that any period of the budget holds, or Endless.
	AtMost int64
}

// Kind is Present.
func (a *Active) Kind() Kind { return Present }

// Cost is a draw for each group in which a user may be active at the same time, once a day.
func (a *Active) Cost() Cost {
	items := a.once(a.Mechanism)
	return Cost{Per: PerPeriod, Items: items, Partly: twice(items), AtMost: a.AtMost, Daily: 1, Stretch: a.stretch()}
}

// stretch is what a person loses if a stretch of time as long as the budget's period is taken back and all else that
// they do remains; nil if that follows from the days that it touches.
//
// Privacy: a number at the end of a leaf depends on what a user does in the time Within before it. So the stretch
// changes whether the user is active at the end of so many leaves in a row, and what is left of that in later draws.
// With a limit on values, what remains of a window at the edge may count although the whole did not. That is a removal
// and an addition, which costs twice as much. Where users choose among groups, what they did before decides which
// groups they keep. Then nothing is said here.
func (a *Active) stretch() []budget.Item {
	if a.Budget == nil || a.Budget.Per == 0 || int64(a.Listed) > a.Groups {
		return nil
	}
	p := a.Mechanism.Touched(ceilDiv(int64(a.Budget.Per+a.Within), int64(a.Update)))
	if a.Query.Above != nil || a.Query.Below != nil {
		p = p.Twice()
	}
	return []budget.Item{{Promise: p, Times: a.Groups}}
}

// Series describes the figure, with the ε of a day in all groups of a user.
func (a *Active) Series() []record.Series {
	return []record.Series{a.charged(a.Drawn(), a.Cost().Items)}
}

// Drawn describes the figure, with the ε of a day in one group.
func (a *Active) Drawn() record.Series {
	p := a.Mechanism.Promise()
	return record.Series{Name: a.Name, Statistic: string(mechanisms.Count), Mechanism: a.Mechanism.Name(),
		Unit: mechanisms.Count.Unit(a.Unit), Epsilon: p.Epsilon, Delta: p.Delta}
}

// WithDelta has the mechanism that is usual under such a budget.
func (a *Active) WithDelta(has bool) Figure {
	with := *a
	with.Query.ZCDP = has
	if m, err := mechanisms.NewActive(with.Query); err == nil {
		with.Mechanism = m
	}
	return &with
}

// ActiveFacts say for how long users count after they were seen, and how often there is a new value.
type ActiveFacts struct {
	Seconds int64 `json:"seconds"`
	Update  int64 `json:"update_seconds"`
}

// About says who counts.
func (a *Active) About() About {
	return About{Epsilon: a.Query.Epsilon, Above: a.Query.Above, Below: a.Query.Below, Update: a.Update,
		Lasts: "in any 24 h", Windows: "of these 24 h",
		Noise: &Noise{Miss: 0.025, Error: float64(a.Mechanism.Error95(1)),
			Basis: fmt.Sprintf("the published error of the number with ε %s in any 24 h", a.Query.Epsilon)},
		Public: Public{Active: &ActiveFacts{int64(a.Within / time.Second), int64(a.Update / time.Second)}}}
}

// Law returns the law of the noise, which is the same for all values.
func (a *Active) Law() (law running.Strategy, longest int64) { return a.Mechanism, 1 }

// Numbers is one.
func (a *Active) Numbers() int { return 1 }

// Windows is how many windows up to a moment make a user active.
func (a *Active) Windows() int64 { return int64((a.Within-a.Size)/a.Every) + 1 }

// Presence returns the rule by which users are active.
//
// Privacy: the strategy promises ε for persons who are 0 or 1 of the number, in one group at a time. The price counts
// Groups of them. This rule lets nobody be active in more groups in a day and one leaf.
func (a *Active) Presence() windows.PresenceRule {
	r := windows.PresenceRule{Windows: a.Windows(), Every: a.Every, Groups: a.Listed, MaxGroups: int(a.Groups),
		Counts: a.Mechanism.Counts}
	if a.Listed > 1 {
		r.Keep = a.Query.Leaves * int64(a.Update/a.Every)
	}
	return r
}

// Finishes reports whether a leaf ends with a window that ends at a moment, in Unix nanoseconds.
func (a *Active) Finishes(end int64) bool { return end%int64(a.Update) == 0 }

func ceilDiv(a, b int64) int64 { return (a + b - 1) / b }
