package main

import (
	"fmt"
	"iter"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/mechanisms/experiments/laws"
)

// severalQuantiles compares joint, with and without a released count, with split, by mean rank errors over draws.
func severalQuantiles(s *session) error {
	t := newTable("input", "n", "epsilon", "quantiles", "joint_rank_error", "joint_with_count_rank_error",
		"split_rank_error", "joint_error", "joint_with_count_error", "split_error", "unit")
	lines := []line{{name: "joint"}, {name: "joint, count released"}, {name: "split"}}
	for at := range quantileSettings() {
		ranks, errors, err := at.errors(s)
		if err != nil {
			return err
		}
		if at.in.name == "normal" && at.n == 10_000 && at.epsilon == 1 && at.set != uneven {
			for kind := range lines {
				lines[kind].x = append(lines[kind].x, float64(len(at.p())))
				lines[kind].y = append(lines[kind].y, ranks[kind])
			}
		}
		t.add(at.in.name, at.n, at.epsilon, at.set, ranks[0], ranks[1], ranks[2],
			errors[0], errors[1], errors[2], at.in.unit)
	}
	if err := s.chart("quantiles", "evenly spaced quantiles of 10000 values of N(0,1), epsilon = 1", "quantiles",
		"mean rank error", false, false, lines...); err != nil {
		return err
	}
	return s.write("quantiles", t)
}

// quantileSetting is a set of quantiles of an input, with so many users and so large an ε.
type quantileSetting struct {
	in      input
	n       int
	epsilon float64
	set     string
}

// uneven is the set of quantiles that is not evenly spaced.
const uneven = "0.5 0.9 0.99"

// quantileSettings yields all settings. Ratings are left out: they have fewer values than there are quantiles.
func quantileSettings() iter.Seq[quantileSetting] {
	return func(yield func(quantileSetting) bool) {
		for _, in := range inputs() {
			if in.name == "ratings" {
				continue
			}
			for i := range 2 * 2 * 4 {
				at := quantileSetting{in, []int{1000, 10_000}[i/8], []float64{0.1, 1}[i/4%2],
					[]string{"0.25 0.5 0.75", "0.2 0.4 0.6 0.8", "0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8 0.9", uneven}[i%4]}
				if !yield(at) {
					return
				}
			}
		}
	}
}

// p are the quantiles.
func (at quantileSetting) p() (all []decimal.Decimal) {
	for _, text := range strings.Fields(at.set) {
		all = append(all, decimal.RequireFromString(text))
	}
	return all
}

// errors are the mean errors of joint, of joint with a released count, and of split.
func (at quantileSetting) errors(s *session) (ranks, values [3]float64, err error) {
	p, grid, samples, draws := at.p(), at.in.grid(), s.reps(3, 1), s.reps(40, 1)
	for kind, name := range []string{"joint", "joint", "split"} {
		m, err := mechanisms.New(mechanisms.Query{Statistic: mechanisms.Quantiles, P: p, Mechanism: name,
			Epsilon: decimal.NewFromFloat(at.epsilon), Grid: grid})
		if err != nil {
			return ranks, values, err
		}
		random := repeatable("several quantiles", at.in.name, at.n, at.epsilon, at.set, kind)
		var public mechanisms.Public
		if kind == 1 { // the released count has no error: the figure compares only the draws
			public.Users = &mechanisms.NoisyCount{Value: int64(at.n), Epsilon: 1}
		}
		for number := range samples {
			sample := at.in.sample(at.n, number)
			input := librarySample(grid, sample)
			for range draws {
				d, err := m.Draw(input, public, random)
				if err != nil {
					return ranks, values, err
				}
				share := float64(len(d.Values) * samples * draws)
				for j, v := range d.Values {
					x, goal := v.Number, target(sample, p[j])
					ranks[kind] += rankError(sample, p[j].InexactFloat64(), x) / share
					values[kind] += at.in.step * float64(max(x-goal, goal-x)) / share
				}
			}
		}
	}
	return ranks, values, nil
}

func target(sample *laws.Sample, p decimal.Decimal) int64 {
	r := p.Rat()
	return sample.Quantile(r.Num().Int64(), r.Denom().Int64())
}

// rankError is how many ranks a value is off the quantile: 0 if αn is between the users below it and those up to it.
func rankError(sample *laws.Sample, alpha float64, x int64) float64 {
	below, upTo := sample.Below(x), sample.Below(x+1)
	goal := alpha * float64(sample.Users())
	return max(0, float64(below)-goal, goal-float64(upTo))
}

// tails computes exact errors of p99 of latencies for several side weights of margin and base measures.
func tails(s *session) error {
	t := newTable("n", "epsilon", "information", "measure", "tilt", "mean_error_ms", "median_error_ms")
	c := newSetting(inputs()[0])
	c.p, c.q, c.n = 99, 100, 1000
	samples := c.samples(s)
	for _, measure := range []string{"cells", "tapered"} {
		mu := c.cells
		if measure == "tapered" {
			mu = c.tapered
		}
		var lines []line
		for _, tilt := range [][2]int64{{1, 1}, {2, 3}, {1, 2}, {3, 10}, {1, 5}, {1, 10}, {1, 20}} {
			l := line{name: fmt.Sprintf("%d:%d", tilt[0], tilt[1])}
			for _, c.epsilon = range []float64{0.1, 0.25, 0.5, 1, 2, 4, 8} {
				o := c.outcome(contender{l.name, func(c *setting, s *laws.Sample) laws.Law {
					return laws.Exponential(s, laws.Margin(c.p, c.q, tilt[0], tilt[1]), c.epsilon, mu)
				}}, samples)
				t.add(c.n, c.epsilon, c.information(), measure, l.name, o.mean, o.median)
				l.x, l.y = append(l.x, c.epsilon), append(l.y, o.mean)
			}
			lines = append(lines, l)
		}
		if err := s.chart("tails-"+measure, "p99 of 1000 latencies by tilt, measure "+measure,
			"epsilon", "mean error, ms", true, true, lines...); err != nil {
			return err
		}
	}
	return s.write("tails", t)
}
