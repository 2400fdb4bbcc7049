package config

import (
	"math"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/record"
	"github.com/louver/louver/windows"
	"github.com/louver/louver/windows/period"
)

// Release is one statistic of every window and group.
type Release struct {
	Head
	Query mechanisms.Query
	// Mechanism answers the query.
	Mechanism mechanisms.Mechanism
	// Rollups are the lengths of the periods over which a histogram is added up, and Last those of the newest time.
	Rollups, Last []time.Duration
	// Days has the periods that consist of local days, by their lengths. All others begin at multiples of their length
	// since 1970.
	Days map[time.Duration]period.Calendar
}

// Kind is Drawn.
func (r *Release) Kind() Kind { return Drawn }

// Series describes one value, or one for each p of a joint draw.
func (r *Release) Series() (all []record.Series) {
	promise := r.Mechanism.Promise()
	one := record.Series{Statistic: string(r.Query.Statistic.Each()), Mechanism: r.Mechanism.Name(),
		Unit: r.Query.Statistic.Unit(r.Unit), Epsilon: promise.Epsilon, Delta: promise.Delta}
	if b := mechanisms.Buckets(r.Mechanism); b != nil {
		one.Buckets = record.NewBuckets(r.Query.Grid, b)
		for _, d := range r.Rollups {
			one.Rollups = append(one.Rollups, period.Name(d))
		}
		for _, d := range r.Last {
			one.Last = append(one.Last, period.Name(d))
		}
	}
	p := r.Query.Probabilities()
	for i, name := range r.Names() {
		one.Name = name
		if i < len(p) {
			one.P = &p[i]
		}
		all = append(all, one)
	}
	return all
}

// Cost is a draw for every group that a user may be in, once a window.
//
// Privacy: a user of whom only some events are removed leaves at most Groups groups, joins as many others, and has
// another value in those that stay. Who stays in a group instead of leaving it joins one less. So where another value
// costs one or two draws with the same promise, at most 2·Groups draws change, each by one step.
func (r *Release) Cost() Cost {
	items := r.once(r.Mechanism)
	replaced, draws := mechanisms.Replaced(r.Mechanism)
	stays := budget.Item{Promise: replaced, Times: r.Groups}
	c := Cost{Per: PerWindow, Items: items, Partly: twice(items), Stays: budget.Times([]budget.Item{stays}, draws)}
	if stays.Equal(items[0]) {
		c.Partly = budget.Times(items, 2)
	}
	return c
}

// WithDelta has the mechanism of the statistic that is usual under such a budget.
func (r *Release) WithDelta(has bool) Figure {
	with := *r
	with.Query.ZCDP = has
	if m, err := mechanisms.New(with.Query); err == nil {
		with.Mechanism = m
	}
	return &with
}

// About says which values count.
func (r *Release) About() About {
	return About{Query: &r.Query, Epsilon: r.Query.Epsilon, Above: r.Query.Above, Below: r.Query.Below}
}

// Counting returns the release that counts all users of a window and group, whose count serves the other figures. Of
// several it is the one with the least error_95, and of equal ones the first. So the order of the file decides nothing
// else. It is nil if there is none.
func (s *Stream) Counting() (best *Release) {
	least := math.Inf(1)
	for _, r := range All[*Release](s) {
		if !r.Query.CountsUsers() {
			continue
		}
		if off := r.Mechanism.Errors(mechanisms.Public{})[0].Error95; best == nil || off < least {
			best, least = r, off
		}
	}
	return best
}

// Names returns the names of a release's published values: its own name, or for quantiles NAME.p90, NAME.p99 and so
// on, in the order of p.
func (r *Release) Names() []string {
	if r.Query.Statistic.Each() == r.Query.Statistic {
		return []string{r.Name}
	}
	names := make([]string, len(r.Query.P))
	for i, p := range r.Query.P {
		names[i] = r.Name + "." + quantileName(p)
	}
	return names
}

// quantileName is p90 for 0.9 and p999 for 0.999: the decimals of p, at least two.
func quantileName(p decimal.Decimal) string {
	_, digits, _ := strings.Cut(p.String(), ".")
	for len(digits) < 2 {
		digits += "0"
	}
	return "p" + digits
}

// periodOf returns the windows of the calendar's period that holds the window with this start: the start of the first
// and the end of the last one, in Unix nanoseconds. A window is in the period that holds its first moment.
func periodOf(c period.Calendar, start int64, every time.Duration) (since, until int64) {
	begin, next := c.Of(start)
	return windows.NextBoundary(begin, every), windows.NextBoundary(next, every)
}

// LocalPeriod returns the period of a roll-up that holds a window, if it is of local days: the start of its first
// window and the end of its last one, in Unix nanoseconds.
func (r *Release) LocalPeriod(rollup time.Duration, w windows.Window) (since, until int64, local bool) {
	c, local := r.Days[rollup]
	if !local {
		return 0, 0, false
	}
	since, until = periodOf(c, w.Start, time.Duration(w.End-w.Start))
	return since, until, true
}
