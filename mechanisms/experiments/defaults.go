package main

import (
	"crypto/rand"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/mechanisms/experiments/laws"
)

// contender is a mechanism in the study, with its law on a sample.
type contender struct {
	name string
	law  func(c *setting, s *laws.Sample) laws.Law
}

// setting is one row of the study.
type setting struct {
	input   input
	n       int
	epsilon float64
	p, q    int64
	flat    []float64
	cells   []float64
	tapered []float64
	borders []int64 // candidates of above_threshold
	known   map[sensitivity]float64
}

// sensitivity identifies a smooth sensitivity that several noises share.
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
		tapered: laws.Tapered(in.last(), in.anchor()),
		borders: bounds[1 : len(bounds)-1], known: map[sensitivity]float64{},
	}
}

// information is ε·n·min(α, 1−α): the users on the quantile's smaller side, for each unit of noise.
func (c *setting) information() float64 {
	return c.epsilon * float64(c.n) * float64(min(c.p, c.q-c.p)) / float64(c.q)
}

// contenders returns the pure mechanisms for one quantile that a user can name, some under two measures. The first one
// was once the default.
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
	return []contender{
		exponential("margin", tilted, true),
		exponential("margin 1:1", symmetric, true),
		exponential("margin uniform", tilted, false),
		exponential("margin 1:1 uniform", symmetric, false),
		exponential("duff", laws.Duff, true),
		exponential("duff uniform", laws.Duff, false),
		{"permute_and_flip", func(c *setting, s *laws.Sample) laws.Law {
			return laws.Flip(s, symmetric(c.p, c.q), c.epsilon, c.flat)
		}},
		exponential("rank", laws.Rank, false),
		exponential("mid_rank", laws.MidRank, false),
		{"piecewise_laplace", func(c *setting, s *laws.Sample) laws.Law {
			return laws.Piecewise(s, laws.Duff(c.p, c.q), c.epsilon)
		}},
		{"above_threshold", func(c *setting, s *laws.Sample) laws.Law { return threshold(c, s, c.epsilon) }},
		smooth(laws.Power),
		smooth(func(e float64) laws.Noise { return laws.Student(e, false) }),
		smooth(func(e float64) laws.Noise { return laws.Cauchy(e, false) }),
	}
}

func tilted(p, q int64) laws.Utility {
	a, b := laws.Tilt(p, q)
	return laws.Margin(p, q, a, b)
}

// threshold starts at the end with more users between it and the quantile; for α < ½ it works on the mirrored sample.
func threshold(c *setting, s *laws.Sample, epsilon float64) laws.Law {
	alpha := float64(c.p) / float64(c.q)
	if alpha >= 0.5 {
		return laws.Threshold(s, alpha, epsilon/(2*alpha), epsilon/2, 0, c.borders)
	}
	var borders []int64
	for _, x := range slices.Backward(c.borders) {
		borders = append(borders, s.Last()-(x-1))
	}
	law := laws.Threshold(s.Mirror(), 1-alpha, epsilon/(2*(1-alpha)), epsilon/2, 0, borders)
	slices.Reverse(law)
	return law
}

// defaultChoices returns the defaults: the library's choice if nothing is known, if the account counts in zCDP, and if
// the number of users is given, correctly or not. The last one shows the value of asking for the number.
func defaultChoices() []contender {
	flip := func(c *setting, s *laws.Sample, epsilon float64) laws.Law {
		// The limit for few users depends on the ε of the whole query.
		return laws.Flip(s, laws.Default(c.p, c.q, c.epsilon), epsilon, c.tapered)
	}
	// A tail suits above_threshold if the candidates begin at 0 or pass 0.
	tail := func(c *setting) bool {
		end := c.input.last()
		if 2*c.p < c.q {
			end = 0
		}
		return 4*max(c.p, c.q-c.p) > 3*c.q && c.input.anchor() != end
	}
	told := func(name string, factor float64) contender {
		return contender{name, func(c *setting, s *laws.Sample) laws.Law {
			if tail(c) && factor*float64(c.n) < float64(laws.FewUsers(8, c.p, c.q, c.epsilon)) {
				return threshold(c, s, c.epsilon)
			}
			return flip(c, s, c.epsilon)
		}}
	}
	return []contender{
		{theDefault, func(c *setting, s *laws.Sample) laws.Law {
			if !tail(c) {
				return flip(c, s, c.epsilon)
			}
			share := 1. / 128
			if 20*min(c.p, c.q-c.p) >= c.q {
				share = 1. / 32
			}
			few := laws.FewProbability(s.Users(), laws.FewUsers(8, c.p, c.q, c.epsilon), share*c.epsilon)
			switch rest := (1 - share) * c.epsilon; {
			case few < 1e-12:
				return flip(c, s, rest)
			case few > 1-1e-12:
				return threshold(c, s, rest)
			default:
				return laws.Mix(few, threshold(c, s, rest), flip(c, s, rest))
			}
		}},
		{"default for zCDP", func(c *setting, s *laws.Sample) laws.Law {
			return laws.Exponential(s, laws.Default(c.p, c.q, c.epsilon), c.epsilon, c.tapered)
		}},
		told("default, told the users", 1),
		told("default, told a third", 1./3),
		told("default, told three times", 3),
		{"default without above_threshold", func(c *setting, s *laws.Sample) laws.Law { return flip(c, s, c.epsilon) }},
	}
}

const theDefault = "default"

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
	s.worst = math.Max(s.worst, ratio)
}

// study is a set of settings; every contender and every choice is computed in each.
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
	st := &study{name: "defaults", inputs: inputs(), quantiles: [][2]int64{{1, 2}, {9, 10}, {99, 100}}, epsilons: []float64{0.1, 0.5, 1, 2},
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
	st := &study{name: "wider", inputs: otherInputs(), quantiles: [][2]int64{{1, 100}, {1, 10}, {1, 4}, {1, 2}, {3, 4}, {19, 20}, {99, 100}},
		epsilons: []float64{0.02, 0.2, 1}, contenders: contenders()[:11], fewer: 4, charts: []string{"p1-epsilon0.2", "p95-epsilon0.2"},
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
	summary := newTable("input", "unit", "n", "epsilon", "p", "information", "default_mean", "best_mean", "best_by_mean", "ratio_of_means",
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
						r.median, rows[median].median, list[median].name, ratio(r.median, rows[median].median, in.step), rows[0].mean, rows[0].median)
				}
			}
		}
		s.log("  %s", in.name)
	}
	scores := newTable("mechanism", "settings", "means_over_1.1", "geometric_mean_ratio_of_means", "worst_ratio_of_means",
		"medians_over_1.1", "geometric_mean_ratio_of_medians", "worst_ratio_of_medians")
	for i, m := range list {
		a, b, n := means[i], medians[i], float64(means[i].settings)
		scores.add(m.name, a.settings, a.misses, math.Exp(a.logs/n), a.worst, b.misses, math.Exp(b.logs/n), b.worst)
	}
	for _, key := range st.charts {
		if err := s.chart(st.name+"-latencies-"+key, "mean error of a quantile of latencies", "users", "mean error, ms", true, true, st.curves[key]...); err != nil {
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
		l.x, l.y = append(l.x, float64(n)), append(l.y, math.Max(rows[i].mean, 1e-3))
	}
	return lines
}

// headlines computes three settings with more samples, and times the library's draws.
func headlines(s *session) error {
	t := newTable("input", "n", "epsilon", "p", "mechanism", "mean_error", "median_error", "microseconds_a_draw")
	all := inputs()
	// The worst case for a measure that favours small values.
	upperHalf := input{name: "upper half", unit: "ms", upper: 60000, step: 1, value: func(r *stream) float64 { return 30000 + 20000*r.uniform() }}
	for _, h := range []struct {
		input   input
		n       int
		p, q    int64
		epsilon float64
	}{{all[1], 1000, 1, 2, 0.1}, {all[0], 100, 1, 2, 0.1}, {all[0], 1000, 99, 100, 1}, {upperHalf, 100, 1, 2, 0.1}, {upperHalf, 1000, 1, 2, 0.1}} {
		c := newSetting(h.input)
		c.n, c.p, c.q, c.epsilon = h.n, h.p, h.q, h.epsilon
		var samples []*laws.Sample
		for i := range s.reps(100, 5) {
			samples = append(samples, c.input.sample(c.n, i))
		}
		list := append(contenders(), defaultChoices()[:2]...)
		for _, ab := range [][2]int64{{2, 3}, {3, 10}, {1, 5}, {1, 10}} {
			list = append(list, contender{fmt.Sprintf("margin %d:%d", ab[0], ab[1]), func(c *setting, s *laws.Sample) laws.Law {
				return laws.Exponential(s, laws.Margin(c.p, c.q, ab[0], ab[1]), c.epsilon, c.cells)
			}})
		}
		for _, m := range list {
			o := c.outcome(m, samples)
			micros, err := c.time(m.name, samples[0])
			if err != nil {
				return err
			}
			t.add(c.input.name, c.n, c.epsilon, fmt.Sprintf("%g", c.alpha()), m.name, o.mean, o.median, micros)
		}
	}
	return s.write("defaults-headlines", t)
}

func (c *setting) alpha() float64 { return float64(c.p) / float64(c.q) }

// samples returns several data sets of the same kind. Large ones differ less, so there are fewer of them.
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

// ratio compares two errors; errors below floor count as floor.
func ratio(a, b, floor float64) float64 {
	return math.Max(a, floor) / math.Max(b, floor)
}

// time returns how long one draw of the library takes, in microseconds, or nothing if the library has no such name.
func (c *setting) time(name string, sample *laws.Sample) (any, error) {
	query := mechanisms.Query{Statistic: mechanisms.Quantile, P: []decimal.Decimal{decimal.New(c.p, 0).Div(decimal.New(c.q, 0))},
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
	input, start, draws := librarySample(query.Grid, sample), time.Now(), 0
	for ; time.Since(start) < 20*time.Millisecond; draws++ {
		if _, err := m.Draw(input, mechanisms.Public{}, rand.Reader); err != nil {
			return nil, err
		}
	}
	return float64(time.Since(start).Microseconds()) / float64(draws), nil
}
