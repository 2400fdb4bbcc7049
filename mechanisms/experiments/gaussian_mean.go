package main

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/louver/louver/mechanisms/experiments/laws"
)

// gaussianInput is N(0, 1) with distant bounds that are not centred on the mean.
var gaussianInput = input{name: "gaussian mean", lower: -50, upper: 1050, step: 1e-4,
	value: func(r *stream) float64 { return distuv.UnitNormal.Quantile(r.uniform()) }}

// meanNoise is a noise of Bun & Steinke (2019) and of ours, for any β.
type meanNoise struct {
	name, promise string
	of            tuned
}

func meanNoises() []meanNoise {
	const delta = 1e-6
	return []meanNoise{
		{"power", "pure", laws.PowerAt},
		{"student_t", "pure", func(e, b float64) laws.Noise { return laws.StudentAt(e, b, false) }},
		{"student_t published", "pure", func(e, b float64) laws.Noise { return laws.StudentAt(e, b, true) }},
		{"cauchy", "pure", laws.CauchyAt},
		{"laplace", "(e, 1e-6)", func(e, b float64) laws.Noise { return laws.Laplace(e, delta, b) }},
		{"gaussian", "(e, 1e-6)", func(e, b float64) laws.Noise {
			z := laws.Gaussian(e, delta)
			if b > z.Beta {
				z.Alpha = 0
			}
			z.Beta = b
			return z
		}},
		{"lln", "e²/2-CDP", laws.LLN},
		{"uln", "e²/2-CDP", laws.ULN},
		{"arsinh", "e²/2-CDP", laws.Arsinh},
	}
}

// gaussianSet holds samples of one size.
type gaussianSet struct {
	n       int64
	samples []*laws.Sample
}

func newGaussianSet(n int64, count int) *gaussianSet {
	set := &gaussianSet{n: n}
	for number := range count {
		set.samples = append(set.samples, gaussianInput.fineSample(int(n), number))
	}
	return set
}

// sensitivities returns the β-smooth sensitivities of all samples, with public n, in units of σ.
func (g *gaussianSet) sensitivities(m int64, beta float64) []float64 {
	all := make([]float64, len(g.samples))
	for i, s := range g.samples {
		at := func(r int64) float64 { return float64(s.At(r)) }
		all[i] = gaussianInput.step * laws.SmoothTrimmed(at, g.n, m, beta)
	}
	return all
}

// sampling is E(T − μ)² of the trimmed mean without noise, by the average over the samples; at m = 0 it is 1/n.
func (g *gaussianSet) sampling(m int64) float64 {
	if m == 0 {
		return 1 / float64(g.n)
	}
	// The plain mean has variance 1/n and is close to the trimmed one, so only the difference is estimated.
	difference := 0.0
	for _, s := range g.samples {
		var mean, trimmed float64
		for i, v := range s.Sorted {
			x := float64(v)*gaussianInput.step + gaussianInput.lower
			mean += x / float64(g.n)
			if int64(i) >= m && int64(i) < g.n-m {
				trimmed += x / float64(g.n-2*m)
			}
		}
		difference += (trimmed*trimmed - mean*mean) / float64(len(g.samples))
	}
	return 1/float64(g.n) + difference
}

// added returns the mean square that the noise adds, clamped to the bounds, with the best β for all samples together.
func (g *gaussianSet) added(noise tuned, epsilon float64, m int64, known map[float64][]float64) (square, beta float64) {
	square = math.Inf(1)
	for _, share := range []float64{0.01, 0.02, 0.04, 0.0625, 0.09, 0.125, 0.18, 0.25, 0.35, 0.5} {
		b := epsilon * share
		z := noise(epsilon, b)
		if !(z.Alpha > 0) {
			continue
		}
		if known[b] == nil {
			known[b] = g.sensitivities(m, b)
		}
		sum := 0.0
		for _, s := range known[b] {
			scale := s / z.Alpha
			sum += (z.Clamped(scale, 50, 2) + z.Clamped(scale, 1050, 2)) / 2 / float64(len(g.samples))
		}
		if sum < square {
			square, beta = sum, b
		}
	}
	return square, beta
}

// gaussianMean computes mean squared errors of private means of N(0, 1), n public, as in Bun & Steinke (2019).
func gaussianMean(s *session) error {
	if err := gaussianByTrim(s); err != nil {
		return err
	}
	if err := gaussianByUsers(s); err != nil {
		return err
	}
	return gaussianTheorem(s)
}

func gaussianByTrim(s *session) error {
	t := newTable("n", "epsilon", "m", "noise", "promise", "mean_squared_error", "of_which_sampling",
		"best_beta_by_epsilon", "plain_mean")
	const n = 201
	set := newGaussianSet(n, s.reps(40, 1))
	for _, epsilon := range []float64{0.2, 0.5, 1, 2} {
		lines := make([]line, len(meanNoises())+1)
		for _, m := range []int64{0, 1, 2, 5, 10, 15, 20, 30, 40, 60, 80, 100} {
			known := map[float64][]float64{}
			sampling := set.sampling(m)
			for i, noise := range meanNoises() {
				square, beta := set.added(noise.of, epsilon, m, known)
				t.add(n, epsilon, m, noise.name, noise.promise, square+sampling, sampling, beta/epsilon, 1.0/n)
				lines[i].name = noise.name + ", " + noise.promise
				lines[i].x, lines[i].y = append(lines[i].x, float64(m)), append(lines[i].y, square+sampling)
			}
			last := &lines[len(lines)-1]
			last.name = "without privacy: 1/n"
			last.x, last.y = append(last.x, float64(m)), append(last.y, 1.0/n)
		}
		if epsilon == 1 {
			if err := s.chart("gaussian-mean-trim", "mean of 201 values of N(0,1), epsilon = 1",
				"trimmed at each end, m", "mean squared error", false, true, lines...); err != nil {
				return err
			}
		}
	}
	return s.write("gaussian-mean-trim", t)
}

func gaussianByUsers(s *session) error {
	t := newTable("epsilon", "n", "noise", "promise", "best_m", "mean_squared_error", "plain_mean", "ratio")
	for _, epsilon := range []float64{0.2, 1} {
		lines := make([]line, len(meanNoises())+1)
		for _, n := range []int64{100, 200, 500, 1000, 2000, 5000} {
			set := newGaussianSet(n, s.reps(12, 1))
			least := make([]float64, len(meanNoises()))
			chosen := make([]int64, len(least))
			for i := range least {
				least[i] = math.Inf(1)
			}
			for _, m := range []int64{5, 10, 20, 40, 80, 160} {
				if 2*m >= n {
					break
				}
				known, sampling := map[float64][]float64{}, set.sampling(m)
				for i, noise := range meanNoises() {
					if square, _ := set.added(noise.of, epsilon, m, known); square+sampling < least[i] {
						least[i], chosen[i] = square+sampling, m
					}
				}
			}
			plain := 1 / float64(n)
			for i, noise := range meanNoises() {
				t.add(epsilon, n, noise.name, noise.promise, chosen[i], least[i], plain, least[i]/plain)
				lines[i].name = noise.name + ", " + noise.promise
				lines[i].x, lines[i].y = append(lines[i].x, float64(n)), append(lines[i].y, least[i])
			}
			last := &lines[len(lines)-1]
			last.name = "without privacy: 1/n"
			last.x, last.y = append(last.x, float64(n)), append(last.y, plain)
		}
		if err := s.chart(fmt.Sprintf("gaussian-mean-users-epsilon%g", epsilon),
			fmt.Sprintf("mean of n values of N(0,1), epsilon = %g, best m", epsilon),
			"n", "mean squared error", true, true, lines...); err != nil {
			return err
		}
	}
	return s.write("gaussian-mean-users", t)
}

// gaussianTheorem takes m as a multiple of ln((b−a)/σ)/t with t = ε/2 = β, and shows how far the error exceeds σ²/n, in
// units of σ²/n²: the theorem bounds this by terms in 1/ε, 1/ε² and logarithms.
func gaussianTheorem(s *session) error {
	t := newTable("n", "epsilon", "multiple", "m", "smooth_sensitivity_times_n", "excess_times_n_squared",
		"excess_times_n_squared_epsilon_squared")
	for _, epsilon := range []float64{0.5, 1, 2} {
		for _, n := range []int64{500, 1000, 2000, 4000} {
			set := newGaussianSet(n, s.reps(12, 1))
			z := laws.LLN(epsilon, epsilon/2)
			for _, multiple := range []float64{0, 0.25, 0.5, 0.75, 1, 1.5, 2, 4} {
				m := int64(math.Ceil(multiple * math.Log(1100) / (epsilon / 2)))
				if 2*m >= n {
					continue
				}
				mean, square := 0.0, 0.0
				for _, g := range set.sensitivities(m, z.Beta) {
					mean += g / float64(len(set.samples))
					square += g * g / z.Alpha / z.Alpha * z.Variance / float64(len(set.samples))
				}
				size := float64(n)
				excess := (square + set.sampling(m) - 1/size) * size * size
				t.add(n, epsilon, multiple, m, mean*size, excess, excess*epsilon*epsilon)
			}
		}
	}
	return s.write("gaussian-mean-theorem", t)
}
