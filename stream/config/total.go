package config

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/mechanisms/running"
	"github.com/louver/louver/stream/record"
	"github.com/louver/louver/windows"
	"github.com/louver/louver/windows/period"
)

// Total is a running total, such as the users so far today. It is published again and again and costs ε once a period.
type Total struct {
	Head
	Query mechanisms.TotalQuery
	// Mechanism says what a value adds and how sums are drawn.
	Mechanism *mechanisms.Total
	// Calendar has the periods, in the time zone Zone.
	Calendar period.Calendar
	Zone     string
	// Update is the time between two records, a multiple of a window.
	Update time.Duration
	// AtMost is the most periods that any period of the budget touches, or Endless, and Daily the most that any 24 hours
	// touch.
	AtMost, Daily int64
}

// Adder is a figure that adds up what users have over the periods of a calendar: a [*Total], or one that embeds a
// total. Adds returns the total.
type Adder interface {
	Figure
	Adds() *Total
}

// Adds returns the total itself.
func (t *Total) Adds() *Total { return t }

// Kind is Running.
func (t *Total) Kind() Kind { return Running }

// Cost is a draw for each group in which a user may count, once a period.
func (t *Total) Cost() Cost {
	items := t.once(t.Mechanism)
	return Cost{Per: PerPeriod, Items: items, Partly: twice(items), AtMost: t.AtMost, Daily: t.Daily}
}

// Series describes the figure, with the ε of a period in all groups of a user.
func (t *Total) Series() []record.Series {
	return []record.Series{t.charged(t.Drawn(), t.Cost().Items)}
}

// Drawn describes the figure, with the ε of a period in one group. The unit is that of the stream's values.
func (t *Total) Drawn() record.Series {
	p := t.Mechanism.Promise()
	return record.Series{Name: t.Name, Statistic: string(t.Query.Statistic), Mechanism: t.Mechanism.Name(),
		Unit: t.Query.Unit(t.Unit), Epsilon: p.Epsilon, Delta: p.Delta}
}

// WithDelta has the mechanism that is usual under such a budget.
func (t *Total) WithDelta(has bool) Figure {
	with := *t
	with.Query.ZCDP = has
	if m, err := mechanisms.NewTotal(with.Query); err == nil {
		with.Mechanism = m
	}
	return &with
}

// TotalFacts say when a running total begins anew, how often it has a new value, and what one user adds at most; nil
// is 1.
type TotalFacts struct {
	Since    period.Unit  `json:"since"`
	Zone     string       `json:"zone"`
	Update   int64        `json:"update_seconds"`
	MaxTotal *json.Number `json:"max_total"`
}

// About says when the total begins anew, and what counts.
func (t *Total) About() About {
	return About{Epsilon: t.Query.Epsilon, Above: t.Query.Above, Below: t.Query.Below, Since: t.Calendar.Unit,
		Update: t.Update, Lasts: "in each " + t.Calendar.Unit.Noun(), Windows: "of that " + t.Calendar.Unit.Noun(),
		Public: Public{Total: &TotalFacts{t.Calendar.Unit, t.Zone, int64(t.Update / time.Second),
			number(t.Query.MaxTotal)}},
		Noise: &Noise{Miss: 0.05, Basis: fmt.Sprintf("the published error of the total with ε %s in each %s",
			t.Query.Epsilon, t.Calendar.Unit.Noun())}}
}

// Law returns the law of the noise in a total, by the number of its update in a period, and how many of these the
// longest period has.
func (t *Total) Law() (law running.Strategy, longest int64) {
	return t.Mechanism.Strategy, t.Query.Longest
}

// Numbers is one, or how many numbers a histogram has.
func (t *Total) Numbers() int { return t.Mechanism.Numbers() }

// Allowance returns the rule by which users count in a period.
//
// Privacy: the total's strategy promises ε for persons who add Most to a group in all, and the price counts Groups
// of them. This rule lets nobody add more, and in no more groups.
func (t *Total) Allowance() windows.AllowanceRule {
	return windows.AllowanceRule{MaxGroups: int(t.Groups), Most: t.Mechanism.Most, Adds: t.Mechanism.Adds,
		Places: t.Mechanism.Places(), Place: t.Mechanism.Place}
}

// Period returns the period of the calendar that holds a window: the start of its first window and the end of its last
// one, in Unix nanoseconds. A window is in the period that holds its first moment.
func (t *Total) Period(w windows.Window) (since, until int64) {
	return t.PeriodAt(w.Start, time.Duration(w.End-w.Start))
}

// Periodic is a figure whose instances are for periods of a calendar.
type Periodic interface {
	Figure
	PeriodAt(start int64, every time.Duration) (since, until int64)
}

// Period returns the calendar's period that holds a window: that of a running total, or of a histogram's roll-up over
// local days if rollup is not 0. It runs from the start of its first window to the end of its last one, in Unix
// nanoseconds. known is false if the stream has no such total or roll-up.
func (s *Stream) Period(name string, rollup time.Duration, w windows.Window) (since, until int64, known bool) {
	if rollup != 0 {
		if r, ok := Of[*Release](s, name); ok {
			return r.LocalPeriod(rollup, w)
		}
		return 0, 0, false
	}
	f, known := Of[Periodic](s, name)
	if known {
		since, until = f.PeriodAt(w.Start, time.Duration(w.End-w.Start))
	}
	return since, until, known
}

// PeriodAt is Period for the window that starts at a moment and has this length.
func (t *Total) PeriodAt(start int64, every time.Duration) (since, until int64) {
	return periodOf(t.Calendar, start, every)
}

// Ahead is what the stream will be charged beside its windows from a moment on, where its next window starts: the
// periods of its totals, and those of its discoveries. found says when the last period of each discovery ended.
//
// Of each total there are as many periods as any period of the budget touches, and they go on for ever: a later one
// takes the place of one that does not count any more. A budget for ever touches all periods of a total without end, so
// there are as many as it can pay for, up to farthestPeriods. What the present period costs is charged already. The
// schedules of discoveries have the caps of era 0.
func (s *Stream) Ahead(next int64, found map[string]time.Time) (held []budget.Held, schedules []budget.Schedule) {
	size, every, end := int64(s.Window.Size), s.Window.Every, s.Window.End
	for _, f := range All[Periodic](s) {
		c := f.Cost()
		start, until := f.PeriodAt(next, every)
		if start < next {
			start = until
		}
		most := c.AtMost
		if most >= Endless {
			most = min(c.Paid(s.Budget.Limit), farthestPeriods)
		}
		for n := range most {
			if end != 0 && start+size > end {
				break
			}
			held = append(held, budget.Held{ID: fmt.Sprintf("%s/%s/+%d", s.Name, f.Heading().Name, n), Stream: s.Name,
				From: start + size, To: budget.Open, Items: c.Items})
			_, start = f.PeriodAt(start, every)
		}
	}
	for _, d := range All[*Discovery](s) {
		if last, ok := found[d.Name]; ok {
			schedules = append(schedules, budget.Schedule{Stream: s.Name, Start: last.UnixNano(), Size: d.Every,
				Every: d.Every, End: end, Cap: d.Cap(0), Items: d.Cost().Items})
		}
	}
	return held, schedules
}

// farthestPeriods is how many periods of a total without end a budget for ever is expected to pay for at most: those of
// the next 170 days, if it begins anew every hour.
const farthestPeriods = 1 << 12

// SoFar is the distribution so far: a histogram of the users so far today, with the figures that are computed from it.
// It is a running total of each number of the histogram, so periods, costs and who counts are those of a total.
type SoFar struct {
	Total
	// Figures are computed from the histogram and cost nothing, in the order of the file.
	Figures []*Computed
}

// Series describes the histogram, with the ε of a period in all groups of a user, and then the figures from it.
func (f *SoFar) Series() []record.Series {
	return append([]record.Series{f.charged(f.Drawn(), f.Cost().Items)}, f.Computed()...)
}

// About says that bands follow from the histogram.
func (f *SoFar) About() About {
	about := f.Total.About()
	about.Noise.Basis = fmt.Sprintf("the bands of a distribution so far with ε %s in each %s", f.Query.Epsilon,
		f.Calendar.Unit.Noun())
	return about
}

// Computed describes the figures that are computed from the histogram.
func (f *SoFar) Computed() (all []record.Series) {
	for _, of := range f.Figures {
		all = append(all, of.from(f.Drawn()))
	}
	return all
}

// Drawn describes the histogram, with the ε of a period in one group.
func (f *SoFar) Drawn() record.Series {
	of := f.Total.Drawn()
	of.Buckets = record.NewBuckets(f.Query.Grid, f.Mechanism.Buckets)
	return of
}

// WithDelta has the mechanism that is usual under such a budget.
func (f *SoFar) WithDelta(has bool) Figure {
	return &SoFar{*f.Total.WithDelta(has).(*Total), f.Figures}
}

// Quantiles are the p of the quantiles that are computed from it, in the order of the file.
func (f *SoFar) Quantiles() (all []*Computed) {
	for _, of := range f.Figures {
		if s := of.Query.Statistic; s == mechanisms.Quantile || s == mechanisms.Median {
			all = append(all, of)
		}
	}
	return all
}
