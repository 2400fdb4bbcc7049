package main

import (
	"fmt"
	"math"
	"slices"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/mechanisms/experiments/laws"
)

// releaser is a mechanism in the study of means, with what it knows about the users.
type releaser struct {
	name, mechanism string
	told            float64 // as a factor of the true number of users, or 0 for nothing
	counted         bool    // a count is also released, with the same ε
}

// meanStudy compares the mechanisms of one statistic. The first rival is the default, without any number of users.
type meanStudy struct {
	statistic mechanisms.Statistic
	trim      string
	rivals    []releaser // any of them may be the best in a setting
	informed  []releaser // compared with the same best rival
}

func meanStudies() []meanStudy {
	informed := []releaser{{"clipped, users known", "clipped", 1, false},
		{"… told three times the users", "clipped", 3, false},
		{"… told a third of the users", "clipped", 1. / 3, false}, {"clipped, count released", "clipped", 0, true}}
	plain := func(names ...string) (all []releaser) {
		for _, name := range names {
			all = append(all, releaser{name, name, 0, false})
		}
		return all
	}
	return []meanStudy{
		{mechanisms.Mean, "", plain("clipped", "two_sums", "smooth_power", "laplace", "duff"), informed},
		{mechanisms.Sum, "", plain("clipped", "laplace"), informed},
		{mechanisms.TrimmedMean, "0.05", plain("clipped", "smooth_power"), informed},
		{mechanisms.TrimmedMean, "0.25", plain("clipped", "smooth_power"), informed},
	}
}

// meanResults are the tables and curves of all statistics.
type meanResults struct {
	all, scores, lost *table
	curves            []line
}

// means studies means, sums and trimmed means. Errors are averages over draws.
func means(s *session) error {
	r := &meanResults{
		all: newTable("statistic", "trim", "input", "study", "n", "epsilon", "mechanism", "mean_error", "median_error"),
		scores: newTable("statistic", "trim", "mechanism", "settings", "over_1.1",
			"geometric_mean_ratio", "worst_ratio", "settings_from_40", "over_1.1_from_40",
			"geometric_mean_ratio_from_40", "worst_ratio_from_40"),
		lost: newTable("statistic", "trim", "input", "study", "n", "epsilon", "information",
			"default", "best", "best_by", "ratio"),
	}
	for _, m := range meanStudies() {
		if err := m.run(s, r); err != nil {
			return err
		}
	}
	if err := s.chart("means-latencies-epsilon1", "mean error of the mean of latencies, ε = 1",
		"users", "mean error, ms", true, true, r.curves...); err != nil {
		return err
	}
	for name, t := range map[string]*table{"means": r.all, "means-scores": r.scores, "means-lost": r.lost} {
		if err := s.write(name, t); err != nil {
			return err
		}
	}
	return nil
}

// list returns all that is compared: the rivals first.
func (m meanStudy) list() []releaser { return append(slices.Clone(m.rivals), m.informed...) }

// run compares the mechanisms in all settings.
func (m meanStudy) run(s *session, r *meanResults) error {
	list := m.list()
	everywhere, informed := make([]score, len(list)), make([]score, len(list))
	for k, inputs := range [][]input{inputs(), otherInputs()} {
		for _, in := range inputs {
			at := meanSetting{study: []string{"defaults", "wider"}[k], in: in}
			if err := m.compare(s, r, at, everywhere, informed); err != nil {
				return err
			}
			s.log("  %s %s: %s", m.statistic, m.trim, in.name)
		}
	}
	for i, x := range list {
		a, b := everywhere[i], informed[i]
		r.scores.add(m.statistic, m.trim, x.name, a.settings, a.misses, math.Exp(a.logs/float64(a.settings)), a.worst,
			b.settings, b.misses, math.Exp(b.logs/max(1, float64(b.settings))), b.worst)
	}
	return nil
}

// meanSetting is an input, how many users it has, and what they pay.
type meanSetting struct {
	study   string
	in      input
	n       int
	epsilon float64
}

// compare draws from one input with any number of users and any ε. The scores are those of all settings, and of those
// in which n·ε is at least 40.
func (m meanStudy) compare(s *session, r *meanResults, at meanSetting, everywhere, informed []score) error {
	for _, at.n = range []int{100, 1000, 10_000, 100_000} {
		if s.quick && at.n > 1000 {
			continue
		}
		samples := at.in.samples(at.n, s.reps(min(8, max(2, 800/at.n)), 1))
		for _, at.epsilon = range []float64{0.1, 0.5, 1, 2} {
			rows, err := m.outcomes(at, samples, s.reps(800/len(samples), 10))
			if err != nil {
				return err
			}
			for i, x := range m.note(r, at, rows) {
				everywhere[i].add(x)
				if at.epsilon*float64(at.n) >= 40 {
					informed[i].add(x)
				}
			}
		}
	}
	return nil
}

// outcomes draws by all mechanisms.
func (m meanStudy) outcomes(at meanSetting, samples []*laws.Sample, draws int) (rows []outcome, err error) {
	list := m.list()
	rows = make([]outcome, len(list))
	for i, r := range list {
		if rows[i], err = m.outcome(at.in, r, samples, at.epsilon, draws); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// note writes the errors in one setting into the tables and curves, and returns them as ratios to those of the best
// rival.
func (m meanStudy) note(r *meanResults, at meanSetting, rows []outcome) (ratios []float64) {
	list := m.list()
	least := best(rows[:len(m.rivals)], func(o outcome) float64 { return o.mean })
	for i, row := range rows {
		r.all.add(m.statistic, m.trim, at.in.name, at.study, at.n, at.epsilon, list[i].name, row.mean, row.median)
		ratios = append(ratios, ratio(row.mean, rows[least].mean, at.in.step/1000))
	}
	if ratios[0] > 1.1 {
		r.lost.add(m.statistic, m.trim, at.in.name, at.study, at.n, at.epsilon, at.epsilon*float64(at.n), rows[0].mean,
			rows[least].mean, list[least].name, ratios[0])
	}
	if m.statistic == mechanisms.Mean && at.in.name == "latencies" && at.study == "wider" && at.epsilon == 1 {
		for i, x := range m.rivals {
			if len(r.curves) <= i {
				r.curves = append(r.curves, line{name: x.name})
			}
			r.curves[i].x, r.curves[i].y = append(r.curves[i].x, float64(at.n)), append(r.curves[i].y, rows[i].mean)
		}
	}
	return ratios
}

// outcome draws from all samples.
func (m meanStudy) outcome(in input, r releaser, samples []*laws.Sample, epsilon float64, draws int) (outcome, error) {
	q := mechanisms.Query{Statistic: m.statistic, Mechanism: r.mechanism, Epsilon: decimal.NewFromFloat(epsilon),
		Grid: in.grid()}
	if m.trim != "" {
		q.Trim = decimal.RequireFromString(m.trim)
	}
	var errors []float64
	for i, sample := range samples {
		n := len(sample.Sorted)
		q.ExpectedUsers = int64(math.Round(r.told * float64(n)))
		mechanism, err := mechanisms.New(q)
		if err != nil {
			return outcome{}, err
		}
		counting, err := mechanisms.New(mechanisms.Query{Statistic: mechanisms.Count, Epsilon: q.Epsilon, Grid: q.Grid})
		if err != nil {
			return outcome{}, err
		}
		library, truth, scale := librarySample(q.Grid, sample), m.truth(in, sample.Sorted), q.Scale(mechanism)
		random := repeatable(m.statistic, m.trim, in.name, n, epsilon, r.name, i)
		for range draws {
			var public mechanisms.Public
			if r.counted {
				count, err := counting.Draw(library, mechanisms.Public{}, random)
				if err != nil {
					return outcome{}, err
				}
				public.Users = &mechanisms.NoisyCount{Value: count.Values[0].Number, Epsilon: epsilon}
			}
			drawn, err := mechanism.Draw(library, public, random)
			if err != nil {
				return outcome{}, fmt.Errorf("%s by %s: %w", m.statistic, r.mechanism, err)
			}
			errors = append(errors, math.Abs(scale.Float(drawn.Values[0].Number)-truth))
		}
	}
	slices.Sort(errors)
	sum := 0.0
	for _, e := range errors {
		sum += e
	}
	return outcome{sum / float64(len(errors)), errors[len(errors)/2]}, nil
}

// truth returns the statistic of sorted values.
func (m meanStudy) truth(in input, sorted []int64) float64 {
	cut := 0
	if m.trim != "" {
		cut = int(decimal.RequireFromString(m.trim).Mul(decimal.NewFromInt(int64(len(sorted)))).IntPart())
	}
	kept, sum := sorted[cut:len(sorted)-cut], 0.0
	for _, v := range kept {
		sum += in.lower + float64(v)*in.step
	}
	if m.statistic == mechanisms.Sum {
		return sum
	}
	return sum / float64(len(kept))
}
