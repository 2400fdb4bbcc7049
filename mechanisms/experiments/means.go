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
	told            float64 // as a factor of the true number of users; 0: nothing
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
	informed := []releaser{{"clipped, users known", "clipped", 1, false}, {"… told three times the users", "clipped", 3, false},
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

// means studies means, sums and trimmed means. Errors are averages over draws.
func means(s *session) error {
	all := newTable("statistic", "trim", "input", "study", "n", "epsilon", "mechanism", "mean_error", "median_error")
	scores := newTable("statistic", "trim", "mechanism", "settings", "over_1.1", "geometric_mean_ratio", "worst_ratio", "settings_from_40", "over_1.1_from_40",
		"geometric_mean_ratio_from_40", "worst_ratio_from_40")
	lost := newTable("statistic", "trim", "input", "study", "n", "epsilon", "information", "default", "best", "best_by", "ratio")
	var curves []line
	for _, m := range meanStudies() {
		list := append(slices.Clone(m.rivals), m.informed...)
		everywhere, informed := make([]score, len(list)), make([]score, len(list))
		for k, inputs := range [][]input{inputs(), otherInputs()} {
			study := []string{"defaults", "wider"}[k]
			for _, in := range inputs {
				for _, n := range []int{100, 1000, 10_000, 100_000} {
					if s.quick && n > 1000 {
						continue
					}
					samples := in.meanSamples(n, s.reps(min(8, max(2, 800/n)), 1))
					for _, epsilon := range []float64{0.1, 0.5, 1, 2} {
						rows := make([]outcome, len(list))
						for i, r := range list {
							var err error
							if rows[i], err = m.outcome(in, r, samples, epsilon, s.reps(800/len(samples), 10)); err != nil {
								return err
							}
							all.add(m.statistic, m.trim, in.name, study, n, epsilon, r.name, rows[i].mean, rows[i].median)
						}
						least := best(rows[:len(m.rivals)], func(o outcome) float64 { return o.mean })
						floor := in.step / 1000
						information := epsilon * float64(n)
						for i, r := range rows {
							x := ratio(r.mean, rows[least].mean, floor)
							everywhere[i].add(x)
							if information >= 40 {
								informed[i].add(x)
							}
						}
						if x := ratio(rows[0].mean, rows[least].mean, floor); x > 1.1 {
							lost.add(m.statistic, m.trim, in.name, study, n, epsilon, information, rows[0].mean, rows[least].mean, list[least].name, x)
						}
						if m.statistic == mechanisms.Mean && in.name == "latencies" && study == "wider" && epsilon == 1 {
							for i, r := range m.rivals {
								if len(curves) <= i {
									curves = append(curves, line{name: r.name})
								}
								curves[i].x, curves[i].y = append(curves[i].x, float64(n)), append(curves[i].y, rows[i].mean)
							}
						}
					}
				}
				s.log("  %s %s: %s", m.statistic, m.trim, in.name)
			}
		}
		for i, r := range list {
			a, b := everywhere[i], informed[i]
			scores.add(m.statistic, m.trim, r.name, a.settings, a.misses, math.Exp(a.logs/float64(a.settings)), a.worst,
				b.settings, b.misses, math.Exp(b.logs/math.Max(1, float64(b.settings))), b.worst)
		}
	}
	if err := s.chart("means-latencies-epsilon1", "mean error of the mean of latencies, ε = 1", "users", "mean error, ms", true, true, curves...); err != nil {
		return err
	}
	for name, t := range map[string]*table{"means": all, "means-scores": scores, "means-lost": lost} {
		if err := s.write(name, t); err != nil {
			return err
		}
	}
	return nil
}

// meanSamples returns several samples of an input.
func (in input) meanSamples(n, count int) (samples []*laws.Sample) {
	for i := range count {
		samples = append(samples, in.sample(n, i))
	}
	return samples
}

// outcome draws from all samples.
func (m meanStudy) outcome(in input, r releaser, samples []*laws.Sample, epsilon float64, draws int) (outcome, error) {
	q := mechanisms.Query{Statistic: m.statistic, Mechanism: r.mechanism, Epsilon: decimal.NewFromFloat(epsilon), Grid: in.grid()}
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
