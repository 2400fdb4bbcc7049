package main

import (
	"crypto/rand"
	"fmt"
	"math"

	"github.com/shopspring/decimal"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/mechanisms/experiments/laws"
	"github.com/louver/louver/mechanisms/smooth"
)

// fineStep approximates the paper's continuum.
const fineStep = 1e-7

// populations returns the populations of Gillenwater & Muñoz Medina (2020), figure 1.
func populations() []input {
	return []input{
		{name: "normal", lower: -10, upper: 10, step: fineStep,
			value: func(r *stream) float64 { return distuv.UnitNormal.Quantile(r.uniform()) }},
		{name: "uniform", upper: 1, step: fineStep, value: (*stream).uniform},
		{name: "beta", upper: 1, step: fineStep, value: func(r *stream) float64 { // Beta(½, ½) is the arcsine law
			return math.Pow(math.Sin(math.Pi/2*r.uniform()), 2)
		}},
	}
}

// medianError is E|T − M| of one mechanism on one sample, in grid steps.
type medianError func(s *laws.Sample, epsilon float64) float64

// tuned is a noise with a choice of β; the figure uses the β that is best on average.
type tuned func(epsilon, beta float64) laws.Noise

// figure1Curve is a mechanism of the figure: its error, or a choice of noises.
type figure1Curve struct {
	name  string
	error medianError
	tuned tuned
}

// figure1Users is n, and rank that of the median, X(⌈n/2⌉).
const (
	figure1Users int64 = 1000
	figure1Rank  int64 = (figure1Users + 1) / 2
)

// noisy is the error of a median with noise of scale g/α around a centre.
func noisy(x *laws.Sample, noise laws.Noise, g, centre float64) float64 {
	scale := g / noise.Alpha
	return (noise.Clamped(scale, centre, 1) + noise.Clamped(scale, float64(x.Last())-centre, 1)) / 2
}

// published is the error of the median with the noise and the sensitivity of the paper, which makes n public.
func published(noise func(epsilon float64) laws.Noise) medianError {
	return func(x *laws.Sample, epsilon float64) float64 {
		z := noise(epsilon)
		return noisy(x, z, replaceMedian(x, z.Beta), float64(x.At(figure1Rank)))
	}
}

// figure1Curves are the mechanisms. The first is the one that the others are compared with.
func figure1Curves() []figure1Curve {
	const n, delta = figure1Users, 1.0 / float64(figure1Users)
	overGaps := func(u laws.Utility) medianError {
		return func(x *laws.Sample, epsilon float64) float64 {
			return laws.MeanOverGaps(x, u, epsilon, float64(x.At(figure1Rank)))
		}
	}
	aroundMidpoint := func(x *laws.Sample, epsilon float64) float64 {
		return laws.MeanOverGaps(x, laws.Margin(1, 2, 1, 1), epsilon, float64(x.At(n/2)+x.At(n/2+1))/2)
	}
	ours := func(noise func(epsilon float64) laws.Noise) medianError {
		return func(x *laws.Sample, epsilon float64) float64 {
			z := noise(epsilon)
			g, centre := laws.SmoothMedian(x, z.Beta)
			return noisy(x, z, g, centre)
		}
	}
	return []figure1Curve{
		{name: "Duff", error: overGaps(laws.Duff(1, 2))},
		{name: "Duff, change one", error: overGaps(laws.Replace(figure1Rank, n))},
		{name: "SmoothSens e (Cauchy)", error: published(func(e float64) laws.Noise { return laws.Cauchy(e, true) })},
		{name: "SmoothSens e,d (Laplace, best)",
			tuned: func(e, beta float64) laws.Noise { return laws.Laplace(e, delta, beta) }},
		{name: "SmoothSens e,d (Laplace, published)", error: published(func(e float64) laws.Noise {
			return laws.Noise{Alpha: e / 2, Beta: e / (2 * math.Log(2/delta)), Tail: laws.Laplace(e, delta, 0).Tail}
		})},
		{name: "LaplaceLN e,d (best)",
			tuned: func(e, beta float64) laws.Noise { return laws.LLN(concentrated(e, delta), beta) }},
		{name: "margin, n private", error: aroundMidpoint},
		{name: "smooth_power, n private", error: ours(laws.Power)},
		{name: "smooth_student_t, n private", error: ours(func(e float64) laws.Noise {
			return laws.Student(e, false)
		})},
	}
}

// figure1 computes the figure: n = 1000 users, the median, ε from 0.1 to 2. The paper averages 100 draws for each of
// 100 samples; here the average over the draws is exact. M is X(⌈n/2⌉), but the midpoint median for our margin and
// smooth_*.
func figure1(s *session) error {
	epsilons := []float64{0.1, 0.2, 0.3, 0.5, 0.75, 1, 1.25, 1.5, 1.75, 2}
	if s.quick {
		epsilons = []float64{0.1, 2}
	}
	curves := figure1Curves()
	t := newTable("population", "epsilon", "mechanism", "mean_error", "deviation_between_samples", "ratio_to_duff")
	for _, in := range populations() {
		lines := make([]line, len(curves))
		var samples []*laws.Sample
		for number := range s.reps(100, 5) {
			samples = append(samples, in.fineSample(int(figure1Users), number))
		}
		for _, epsilon := range epsilons {
			duff := 0.0
			for i, c := range curves {
				f := c.error
				if c.tuned != nil {
					f = published(bestBeta(c.tuned, epsilon, samples))
				}
				errors := make([]float64, len(samples))
				for k, x := range samples {
					errors[k] = f(x, epsilon) * fineStep
				}
				mean, deviation := stat.MeanStdDev(errors, nil)
				if i == 0 {
					duff = mean
				}
				t.add(in.name, epsilon, c.name, mean, deviation, mean/duff)
				lines[i].name = c.name
				lines[i].x, lines[i].y = append(lines[i].x, epsilon), append(lines[i].y, mean)
				lines[i].deviation = append(lines[i].deviation, deviation)
			}
		}
		if err := s.chart("figure1-"+in.name, "median of 1000 values, "+in.name, "epsilon", "mean |T - M|", false, true,
			lines...); err != nil {
			return err
		}
	}
	if err := s.write("figure1", t); err != nil {
		return err
	}
	return figure1Times(s)
}

// concentrated is the ε₀ for which ½ε₀²-zCDP gives (ε, δ), by ε = ρ + 2√(ρ·ln(1/δ)) (Bun & Steinke 2016).
func concentrated(epsilon, delta float64) float64 {
	l := math.Log(1 / delta)
	return math.Sqrt2 * (math.Sqrt(l+epsilon) - math.Sqrt(l))
}

// replaceMedian is the smooth sensitivity of X(⌈n/2⌉) in the change-one relation.
func replaceMedian(x *laws.Sample, beta float64) float64 {
	r := (x.Users() + 1) / 2
	// The value of rank r among n, seen from both sides, is the middle one of 2r − 1: X(r+t) − X(r+t−k−1).
	return laws.SmoothTrimmed(func(i int64) float64 { return float64(x.At(i)) }, 2*r-1, r-1, beta)
}

// bestBeta tries several β on a few samples and keeps the one with the least noise.
func bestBeta(noise tuned, epsilon float64, samples []*laws.Sample) func(float64) laws.Noise {
	least, chosen := math.Inf(1), noise(epsilon, epsilon/1000)
	for beta := epsilon / 200; beta < epsilon; beta *= 1.25 {
		z := noise(epsilon, beta)
		if !(z.Alpha > 0) {
			continue
		}
		sum := 0.0
		for _, x := range samples[:min(5, len(samples))] {
			sum += replaceMedian(x, beta) / z.Alpha * z.Mean
		}
		if sum < least {
			least, chosen = sum, z
		}
	}
	return func(float64) laws.Noise { return chosen }
}

// figure1Times measures the library's draws.
func figure1Times(s *session) error {
	in := populations()[0]
	in.step = 0.001
	sample := in.sample(1000, 0)
	grid := in.grid()
	input := librarySample(grid, sample)
	t := newTable("mechanism", "relation", "epsilon", "microseconds_a_draw")
	values, upTo := sample.Distinct()
	for _, epsilon := range []string{"0.1", "1"} {
		e := decimal.RequireFromString(epsilon)
		for _, name := range []string{"duff", "margin", "smooth_power", "smooth_student_t"} {
			m, err := mechanisms.New(mechanisms.Query{Statistic: mechanisms.Median, Mechanism: name,
				Epsilon: e, Grid: grid, Prior: "uniform"})
			if err != nil {
				return err
			}
			micros, err := s.clock(func() error { _, err := m.Draw(input, mechanisms.Public{}, rand.Reader); return err })
			if err != nil {
				return err
			}
			t.add(name, "add or remove one", epsilon, micros)
		}
		for _, spec := range []smooth.Spec{{Noise: "cauchy", Published: true},
			{Noise: "laplace", Delta: decimal.New(1, -3)}, {Noise: "lln"}} {
			spec.Statistic, spec.ReplaceOne, spec.Epsilon, spec.Last = "median", true, e, in.last()
			m, err := smooth.New(spec)
			if err != nil {
				return err
			}
			micros, err := s.clock(func() error {
				_, err := m.Draw(smooth.NewValues(values, upTo), rand.Reader)
				return err
			})
			if err != nil {
				return err
			}
			t.add(fmt.Sprintf("smooth_%s", spec.Noise), "change one", epsilon, micros)
		}
	}
	return s.write("figure1-times", t)
}
