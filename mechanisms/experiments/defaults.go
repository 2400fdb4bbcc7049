package main

import (
	"crypto/rand"
	"fmt"
	"math"
	"slices"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/mechanisms/experiments/laws"
)

// score sums up how far a choice is from the best, over all settings.
type score struct {
	settings, misses int
	logs, worst      float64
}

func (s *score) add(ratio float64) {
	s.settings++
	if ratio > 1.1 {
		s.misses++
	}
	s.logs += math.Log(ratio)
	s.worst = max(s.worst, ratio)
}

// study is a set of settings. Every contender and every choice is computed in each.
type study struct {
	name       string
	inputs     []input
	sizes      func(in input) []int
	quantiles  [][2]int64
	epsilons   []float64
	contenders []contender
	fewer      int      // divides the number of samples
	charts     []string // of latencies, by quantile and ε
	curves     map[string][]line
}

// defaults computes the study from which the default was chosen.
func defaults(s *session) error {
	st := &study{name: "defaults", inputs: inputs(), quantiles: [][2]int64{{1, 2}, {9, 10}, {99, 100}},
		epsilons:   []float64{0.1, 0.5, 1, 2},
		contenders: contenders(), fewer: 1, charts: []string{"p50-epsilon0.1", "p99-epsilon1"},
		sizes: func(in input) []int {
			sizes := []int{100, 1000, 10_000, 100_000}
			if in.name == "latencies" {
				sizes = append(sizes, 1_000_000)
			}
			return sizes
		}}
	if err := st.run(s); err != nil {
		return err
	}
	return headlines(s)
}

// wider computes settings that influenced no choice: other inputs, lower tails, less ε, few and very many users. It
// leaves out smooth sensitivity, which is never the best in the first study.
func wider(s *session) error {
	epsilons := []float64{0.02, 0.2, 1}
	if s.quick {
		epsilons = epsilons[1:2]
	}
	st := &study{name: "wider", inputs: otherInputs(),
		quantiles: [][2]int64{{1, 100}, {1, 10}, {1, 4}, {1, 2}, {3, 4}, {19, 20}, {99, 100}},
		epsilons:  epsilons, contenders: contenders()[:11], fewer: 4,
		charts: []string{"p1-epsilon0.2", "p95-epsilon0.2"},
		sizes: func(in input) []int {
			sizes := []int{30, 300, 3000, 30_000}
			if in.name == "latencies" {
				sizes = append(sizes, 1_000_000)
			}
			return sizes
		}}
	return st.run(s)
}

func (st *study) run(s *session) error {
	all := newTable("input", "n", "epsilon", "p", "mechanism", "mean_error", "median_error")
	summary := newTable("input", "unit", "n", "epsilon", "p", "information", "default_mean",
		"best_mean", "best_by_mean", "ratio_of_means",
		"default_median", "best_median", "best_by_median", "ratio_of_medians", "margin_mean", "margin_median")
	offered := len(st.contenders)
	list := append(slices.Clone(st.contenders), defaultChoices()...)
	means, medians := make([]score, len(list)), make([]score, len(list))
	st.curves = map[string][]line{}
	for _, in := range st.inputs {
		c := newSetting(in)
		for _, c.n = range st.sizes(in) {
			if s.quick && c.n > 1000 {
				continue
			}
			samples := c.samples(s)
			samples = samples[:(len(samples)+st.fewer-1)/st.fewer]
			for _, pq := range st.quantiles {
				c.p, c.q = pq[0], pq[1]
				for _, c.epsilon = range st.epsilons {
					rows := make([]outcome, len(list))
					alpha := fmt.Sprintf("%g", c.alpha())
					for i, m := range list {
						rows[i] = c.outcome(m, samples)
						all.add(in.name, c.n, c.epsilon, alpha, m.name, rows[i].mean, rows[i].median)
					}
					if in.name == "latencies" {
						key := fmt.Sprintf("p%g-epsilon%g", 100*c.alpha(), c.epsilon)
						st.curves[key] = trace(st.curves[key], list[:offered+1], rows, c.n)
					}
					mean := best(rows[:offered], func(o outcome) float64 { return o.mean })
					median := best(rows[:offered], func(o outcome) float64 { return o.median })
					for i, r := range rows {
						means[i].add(ratio(r.mean, rows[mean].mean, in.step/100))
						medians[i].add(ratio(r.median, rows[median].median, in.step))
					}
					r := rows[offered]
					summary.add(in.name, in.unit, c.n, c.epsilon, alpha, c.information(),
						r.mean, rows[mean].mean, list[mean].name, ratio(r.mean, rows[mean].mean, in.step/100),
						r.median, rows[median].median, list[median].name, ratio(r.median, rows[median].median, in.step),
						rows[0].mean, rows[0].median)
				}
			}
		}
		s.log("  %s", in.name)
	}
	scores := newTable("mechanism", "settings", "means_over_1.1", "geometric_mean_ratio_of_means",
		"worst_ratio_of_means", "medians_over_1.1", "geometric_mean_ratio_of_medians", "worst_ratio_of_medians")
	for i, m := range list {
		a, b, n := means[i], medians[i], float64(means[i].settings)
		scores.add(m.name, a.settings, a.misses, math.Exp(a.logs/n), a.worst, b.misses, math.Exp(b.logs/n), b.worst)
	}
	for _, key := range st.charts {
		if err := s.chart(st.name+"-latencies-"+key, "mean error of a quantile of latencies", "users",
			"mean error, ms", true, true, st.curves[key]...); err != nil {
			return err
		}
	}
	for name, t := range map[string]*table{st.name: all, st.name + "-summary": summary, st.name + "-scores": scores} {
		if err := s.write(name, t); err != nil {
			return err
		}
	}
	return nil
}

// trace adds the mean errors for one number of users to the lines of a chart.
func trace(lines []line, list []contender, rows []outcome, n int) []line {
	if lines == nil {
		lines = make([]line, len(list))
	}
	for i := range lines {
		l := &lines[i]
		l.name = list[i].name
		l.x, l.y = append(l.x, float64(n)), append(l.y, max(rows[i].mean, 1e-3))
	}
	return lines
}

// headlines computes three settings with more samples, and times the library's draws.
func headlines(s *session) error {
	t := newTable("input", "n", "epsilon", "p", "mechanism", "mean_error", "median_error", "microseconds_a_draw")
	all := inputs()
	// The worst case for a measure that favours small values.
	upperHalf := input{name: "upper half", unit: "ms", upper: 60000, step: 1,
		value: func(r *stream) float64 { return 30000 + 20000*r.uniform() }}
	for _, h := range []struct {
		input   input
		n       int
		p, q    int64
		epsilon float64
	}{{all[1], 1000, 1, 2, 0.1}, {all[0], 100, 1, 2, 0.1}, {all[0], 1000, 99, 100, 1}, {upperHalf, 100, 1, 2, 0.1},
		{upperHalf, 1000, 1, 2, 0.1}} {
		c := newSetting(h.input)
		c.n, c.p, c.q, c.epsilon = h.n, h.p, h.q, h.epsilon
		samples := c.input.samples(c.n, s.reps(100, 1))
		list := append(contenders(), defaultChoices()[:2]...)
		for _, ab := range [][2]int64{{2, 3}, {3, 10}, {1, 5}, {1, 10}} {
			list = append(list, contender{fmt.Sprintf("margin %d:%d", ab[0], ab[1]),
				func(c *setting, s *laws.Sample) laws.Law {
					return laws.Exponential(s, laws.Margin(c.p, c.q, ab[0], ab[1]), c.epsilon, c.cells)
				}})
		}
		for _, m := range list {
			o := c.outcome(m, samples)
			micros, err := c.time(s, m.name, samples[0])
			if err != nil {
				return err
			}
			t.add(c.input.name, c.n, c.epsilon, fmt.Sprintf("%g", c.alpha()), m.name, o.mean, o.median, micros)
		}
	}
	return s.write("defaults-headlines", t)
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

// ratio compares two errors. Errors below floor count as floor.
func ratio(a, b, floor float64) float64 {
	return max(a, floor) / max(b, floor)
}

// time returns how long one draw of the library takes, in microseconds, or nothing if the library has no such name.
func (c *setting) time(s *session, name string, sample *laws.Sample) (any, error) {
	query := mechanisms.Query{Statistic: mechanisms.Quantile,
		P:         []decimal.Decimal{decimal.New(c.p, 0).Div(decimal.New(c.q, 0))},
		Mechanism: name, Epsilon: decimal.NewFromFloat(c.epsilon), Grid: c.input.grid()}
	switch {
	case name == theDefault:
		query.Mechanism = ""
	case !slices.Contains(mechanisms.Available(query.Statistic), query.Mechanism):
		return "", nil
	}
	m, err := mechanisms.New(query)
	if err != nil {
		return nil, err
	}
	input := librarySample(query.Grid, sample)
	return s.clock(func() error { _, err := m.Draw(input, mechanisms.Public{}, rand.Reader); return err })
}
