package main

import (
	"fmt"
	"math"

	"github.com/louver/louver/mechanisms/experiments/laws"
)

// contender is a mechanism of the study, with its law on a sample.
type contender struct {
	name string
	law  func(c *setting, s *laws.Sample) laws.Law
}

// setting is one line of the study.
type setting struct {
	input   input
	n       int
	epsilon float64
	p, q    int64
	flat    []float64
	cells   []float64
	borders []int64 // of above_threshold
	known   map[sensitivity]float64
}

// sensitivity is what a smooth sensitivity depends on; several noises share it.
type sensitivity struct {
	sample *laws.Sample
	p, q   int64
	beta   float64
}

func (c *setting) smoothQuantile(s *laws.Sample, beta float64) float64 {
	key := sensitivity{s, c.p, c.q, beta}
	if _, ok := c.known[key]; !ok {
		c.known[key] = laws.SmoothQuantile(s, c.p, c.q, beta)
	}
	return c.known[key]
}

func newSetting(in input) *setting {
	bounds := laws.CellBounds(in.last(), in.anchor())
	return &setting{
		input: in, flat: laws.Uniform(in.last()), cells: laws.Cells(in.last(), in.anchor()),
		borders: bounds[1 : len(bounds)-1], known: map[sensitivity]float64{},
	}
}

// information is ε·n·min(α, 1−α): how many users the quantile's smaller side has for each unit of noise.
func (c *setting) information() float64 {
	return c.epsilon * float64(c.n) * float64(min(c.p, c.q-c.p)) / float64(c.q)
}

const theDefault = "margin (default)"

// contenders are the pure mechanisms for one quantile, the default first.
func contenders() []contender {
	exponential := func(name string, u func(p, q int64) laws.Utility, cells bool) contender {
		return contender{name, func(c *setting, s *laws.Sample) laws.Law {
			mu := c.flat
			if cells {
				mu = c.cells
			}
			return laws.Exponential(s, u(c.p, c.q), c.epsilon, mu)
		}}
	}
	smooth := func(noise func(epsilon float64) laws.Noise) contender {
		return contender{noise(1).Name, func(c *setting, s *laws.Sample) laws.Law {
			n := noise(c.epsilon)
			if c.p*2 == c.q {
				g, median := laws.SmoothMedian(s, n.Beta)
				return laws.Smooth(s.Last(), median, g, n)
			}
			return laws.Smooth(s.Last(), float64(s.Quantile(c.p, c.q)), c.smoothQuantile(s, n.Beta), n)
		}}
	}
	symmetric := func(p, q int64) laws.Utility { return laws.Margin(p, q, 1, 1) }
	tilted := func(p, q int64) laws.Utility {
		a, b := laws.Tilt(p, q)
		return laws.Margin(p, q, a, b)
	}
	return []contender{
		exponential(theDefault, tilted, true),
		exponential("margin 1:1", symmetric, true),
		exponential("margin uniform", tilted, false),
		exponential("margin 1:1 uniform", symmetric, false),
		exponential("duff", laws.Duff, true),
		exponential("duff uniform", laws.Duff, false),
		{"permute_and_flip", func(c *setting, s *laws.Sample) laws.Law {
			return laws.Flip(s, symmetric(c.p, c.q), c.epsilon)
		}},
		exponential("rank", laws.Rank, false),
		exponential("mid_rank", laws.MidRank, false),
		{"piecewise_laplace", func(c *setting, s *laws.Sample) laws.Law {
			return laws.Piecewise(s, laws.Duff(c.p, c.q), c.epsilon)
		}},
		{"above_threshold", threshold},
		smooth(laws.Power),
		smooth(func(e float64) laws.Noise { return laws.Student(e, false) }),
		smooth(func(e float64) laws.Noise { return laws.Cauchy(e, false) }),
	}
}

// threshold starts at the end that is further from the quantile in users, for α < ½ in the mirror.
func threshold(c *setting, s *laws.Sample) laws.Law {
	alpha := float64(c.p) / float64(c.q)
	return laws.Threshold(s, alpha, c.epsilon/(2*max(alpha, 1-alpha)), c.epsilon/2, 0, c.borders)
}

var quantiles = [][2]int64{{1, 2}, {9, 10}, {99, 100}}

// defaults computes the study.
func defaults(s *session) error {
	all := newTable("input", "unit", "n", "epsilon", "p", "mechanism", "mean_error", "median_error")
	summary := newTable("input", "unit", "n", "epsilon", "p", "information", "default_mean", "best_mean", "best_by_mean", "ratio_of_means",
		"default_median", "best_median", "best_by_median", "ratio_of_medians")
	list := contenders()
	for _, in := range inputs() {
		sizes := []int{100, 1000, 10_000, 100_000}
		if in.name == "latencies" {
			sizes = append(sizes, 1_000_000)
		}
		c := newSetting(in)
		for _, c.n = range sizes {
			if s.quick && c.n > 10_000 {
				continue
			}
			samples := c.samples(s)
			for _, pq := range quantiles {
				c.p, c.q = pq[0], pq[1]
				for _, c.epsilon = range []float64{0.1, 0.5, 1, 2} {
					rows := make([]outcome, len(list))
					for i, m := range list {
						rows[i] = c.outcome(m, samples)
						all.add(in.name, in.unit, c.n, c.epsilon, fmt.Sprintf("%g", c.alpha()), m.name, rows[i].mean, rows[i].median)
					}
					mean, median := best(rows, func(o outcome) float64 { return o.mean }), best(rows, func(o outcome) float64 { return o.median })
					summary.add(in.name, in.unit, c.n, c.epsilon, fmt.Sprintf("%g", c.alpha()), c.information(),
						rows[0].mean, rows[mean].mean, list[mean].name, ratio(rows[0].mean, rows[mean].mean, in.step),
						rows[0].median, rows[median].median, list[median].name, ratio(rows[0].median, rows[median].median, in.step))
				}
			}
		}
		s.log("  %s", in.name)
	}
	if err := s.write("defaults", all); err != nil {
		return err
	}
	return s.write("defaults-summary", summary)
}

func (c *setting) alpha() float64 { return float64(c.p) / float64(c.q) }

// samples are several data sets of the same kind: fewer of large ones, which differ less.
func (c *setting) samples(s *session) []*laws.Sample {
	reps := s.reps(32, 4)
	for n := 100; n < c.n; n *= 10 {
		reps = max(1, reps/2)
	}
	var samples []*laws.Sample
	for i := range reps {
		samples = append(samples, c.input.sample(c.n, i))
	}
	return samples
}

// outcome is the error of a release in the input's unit.
type outcome struct{ mean, median float64 }

func (c *setting) outcome(m contender, samples []*laws.Sample) outcome {
	var e laws.Errors
	for _, sample := range samples {
		e.Add(m.law(c, sample), sample.Quantile(c.p, c.q))
	}
	return outcome{e.Mean() * c.input.step, e.Quantile(0.5) * c.input.step}
}

func best(rows []outcome, by func(outcome) float64) int {
	least := 0
	for i, r := range rows {
		if by(r) < by(rows[least]) {
			least = i
		}
	}
	return least
}

// ratio compares two errors; what is less than a hundredth of a grid step counts as that.
func ratio(a, b, step float64) float64 {
	return math.Max(a, step/100) / math.Max(b, step/100)
}
