package rules

import (
	"fmt"
	"time"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/record"
	"github.com/louver/louver/windows/period"
)

// computed is a figure that follows from what a histogram drew: the number of all users, a figure from it, or a roll-up
// of either.
type computed struct {
	name   string
	from   *config.Release
	free   *config.Computed // nil: the number of all users
	rollup time.Duration    // 0: each window has one
	last   bool             // over the newest time: each window has one
}

// computedOf lists the computed figures of a stream.
func computedOf(s *config.Stream) (all []computed) {
	for _, from := range config.All[*config.Release](s) {
		if mechanisms.Buckets(from.Mechanism) == nil {
			continue
		}
		of := []computed{{name: from.Name, from: from}}
		over := func(name string, d time.Duration, last bool) {
			for _, c := range of {
				all = append(all, computed{c.name + "." + name, from, c.free, d, last})
			}
		}
		for _, f := range config.All[*config.Computed](s) {
			if f.From == from {
				of = append(of, computed{name: f.Name, from: from, free: f})
			}
		}
		all = append(all, of...)
		for _, d := range from.Rollups {
			over(period.Name(d), d, false)
		}
		for _, d := range from.Last {
			over(record.LastPrefix+period.Name(d), d, true)
		}
	}
	return all
}

func (c computed) statistic() mechanisms.Statistic {
	if c.free == nil {
		return mechanisms.Histogram
	}
	return c.free.Query.Statistic
}

// computedMiss is the probability that the band of such a figure is entirely on a given side of the truth. Bands are
// made for 2.5 %. A test of package mechanisms simulates twenty settings and checks this bound.
const computedMiss = 0.026

// computedAlert makes the rule of a threshold of such a figure. The noise of each window is drawn anew, so that misses
// are independent.
func computedAlert(s *config.Stream, c computed, t Threshold) (rule, string, error) {
	b := band{miss: computedMiss, known: atMost, reach: c.reach(s.Window.Every)}
	b.basis = fmt.Sprintf("the 95 %% band of figures from a histogram with ε %s, which missed the truth on one side "+
		"in at most 2.6 %% of simulated windows", c.from.Query.Epsilon)
	every, unit := s.Window.Every, c.statistic().Unit(s.Unit)
	switch {
	case c.last: // windows share most of their noise, so misses come one after another
		b.known = nominal
	case c.rollup > 0:
		every = c.rollup
	}
	b.together = s.Together != ""
	if c.statistic().Family() == mechanisms.OfUsers { // a number of users of all groups together has another size
		b.together, b.without = false, s.Together
	}
	if err := reachable(s, t, c.statistic(), b); err != nil {
		return rule{}, "", err
	}
	return alertOf(s, t, b, every, unit)
}

// reach is the error of a number of users. It is 0 for quantiles and shares, whose errors depend on the other users.
func (c computed) reach(every time.Duration) float64 {
	b := mechanisms.Buckets(c.from.Mechanism)
	noise := mechanisms.HistogramNoise(c.from.Mechanism.Name(), c.from.Query.Epsilon.InexactFloat64(), b.Levels())
	windows := int64(1)
	if c.rollup > 0 {
		windows = int64(c.rollup / every)
	}
	e := b.Estimate(make([]int64, b.Len()), make([]int64, b.Groups()), noise, windows)
	if c.free == nil {
		_, off := e.Users()
		return off
	}
	if v, ok := c.free.Figure.Of(e); ok && v.Low == nil && v.Error95 != nil {
		return v.Error95.InexactFloat64()
	}
	return 0
}
