package laws

import (
	"crypto/rand"
	"math"
	"slices"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/mechanisms/internal/dptest"
)

// values on 0..39 are heaped at 0, 3 and 20 and fairly continuous elsewhere.
var values = []int64{0, 0, 0, 1, 2, 3, 3, 3, 3, 5, 6, 8, 9, 9, 12, 14, 15, 18, 20, 20, 20, 20, 21, 23, 30, 33}

const last = 39

// TestLawsAgreeWithTheLibrary draws from the library and compares with the law by Pearson's χ², whose threshold has a
// false-alarm rate of 10⁻⁷ per case (see dptest). Laws at 0.7 and 1.3 ε must not fit.
func TestLawsAgreeWithTheLibrary(t *testing.T) {
	sample := NewSample(append([]int64(nil), values...), last)
	cells, tapered, flat := Cells(last, 0), Tapered(last, 0), Uniform(last)
	type law = func(epsilon float64) Law
	exponential := func(u Utility, mu []float64) law {
		return func(epsilon float64) Law { return Exponential(sample, u, epsilon, mu) }
	}
	flipped := func(p, q int64, mu []float64) law {
		return func(epsilon float64) Law { return Flip(sample, Default(p, q, 0.5), epsilon, mu) }
	}
	median := func(noise func(epsilon float64) Noise) law {
		return func(epsilon float64) Law {
			n := noise(epsilon)
			g, centre := SmoothMedian(sample, n.Beta)
			return Smooth(last, centre, g, n)
		}
	}
	cases := []struct {
		name  string
		query mechanisms.Query
		law   law
	}{
		{"margin median", mechanisms.Query{Mechanism: "margin", Prior: "uniform"},
			exponential(Margin(1, 2, 1, 1), flat)},
		{"margin p90 cells", mechanisms.Query{P: p("0.9"), Mechanism: "margin", Prior: "cells"},
			exponential(Margin(9, 10, 1, 2), cells)},
		{"margin p10 tilt", mechanisms.Query{P: p("0.1"), Tilt: [2]int64{5, 2}, Prior: "uniform"},
			exponential(Margin(1, 10, 5, 2), flat)},
		{"duff p90", mechanisms.Query{P: p("0.9"), Mechanism: "duff", Prior: "uniform"},
			exponential(Duff(9, 10), flat)},
		{"duff p10 cells", mechanisms.Query{P: p("0.1"), Mechanism: "duff", Prior: "cells"},
			exponential(Duff(1, 10), cells)},
		{"rank p75", mechanisms.Query{P: p("0.75"), Mechanism: "rank"}, exponential(Rank(3, 4), flat)},
		{"mid_rank p75", mechanisms.Query{P: p("0.75"), Mechanism: "mid_rank"}, exponential(MidRank(3, 4), flat)},
		{"permute_and_flip p75", mechanisms.Query{P: p("0.75"), Mechanism: "permute_and_flip"},
			func(epsilon float64) Law {
				return Flip(sample, Margin(3, 4, 1, 1), epsilon, flat)
			}},
		{"default median", mechanisms.Query{}, flipped(1, 2, tapered)},
		{"default p75 cells", mechanisms.Query{P: p("0.75"), Prior: "cells"}, flipped(3, 4, cells)},
		{"default p95 of enough", mechanisms.Query{P: p("0.95"), ExpectedUsers: 1000}, flipped(19, 20, tapered)},
		{"default p20", mechanisms.Query{P: p("0.2")}, flipped(1, 5, tapered)},
		{"above_threshold p20", mechanisms.Query{P: p("0.2"), Mechanism: "above_threshold"}, func(epsilon float64) Law {
			bounds := CellBounds(last, 0)
			stops := Threshold(sample.Mirror(), 0.8, epsilon/1.6, epsilon/2, 0, mirror(bounds[1:len(bounds)-1]))
			slices.Reverse(stops)
			return stops
		}},
		{"default p80", mechanisms.Query{P: p("0.8")}, func(epsilon float64) Law {
			n, bounds := sample.Users(), CellBounds(last, 0)
			// The library draws with ε = 0.5; a wrong ε changes the noise, but not the public limit.
			few := FewProbability(n, FewUsers(8, 4, 5, 0.5), epsilon/32)
			rest := epsilon * 31 / 32
			stops := Threshold(sample, 0.8, rest/1.6, rest/2, 0, bounds[1:len(bounds)-1])
			return Mix(few, stops, Flip(sample, Tail(4, 5, FewUsers(30, 4, 5, 0.5)), rest, tapered))
		}},
		{"zCDP p90", mechanisms.Query{P: p("0.9"), ZCDP: true}, func(epsilon float64) Law {
			return Exponential(sample, Tail(9, 10, FewUsers(30, 9, 10, 0.5)), epsilon, tapered)
		}},
		{"piecewise_laplace p75", mechanisms.Query{P: p("0.75"), Mechanism: "piecewise_laplace"},
			func(epsilon float64) Law {
				return Piecewise(sample, Duff(3, 4), epsilon)
			}},
		{"above_threshold p75", mechanisms.Query{P: p("0.75"), Mechanism: "above_threshold"},
			func(epsilon float64) Law {
				bounds := CellBounds(last, 0)
				return Threshold(sample, 0.75, epsilon/1.5, epsilon/2, 0, bounds[1:len(bounds)-1])
			}},
		{"smooth_power median", mechanisms.Query{Mechanism: "smooth_power"}, median(Power)},
		{"smooth_cauchy median", mechanisms.Query{Mechanism: "smooth_cauchy"},
			median(func(e float64) Noise { return Cauchy(e, false) })},
		{"smooth_cauchy published median", mechanisms.Query{Mechanism: "smooth_cauchy", Calibration: "published"},
			median(func(e float64) Noise { return Cauchy(e, true) })},
		{"smooth_student_t median", mechanisms.Query{Mechanism: "smooth_student_t"},
			median(func(e float64) Noise { return Student(e, false) })},
		{"smooth_power p75", mechanisms.Query{P: p("0.75"), Mechanism: "smooth_power"}, func(epsilon float64) Law {
			n := Power(epsilon)
			return Smooth(last, float64(sample.Quantile(3, 4)), SmoothQuantile(sample, 3, 4, n.Beta), n)
		}},
	}
	grid, err := mechanisms.NewGrid(decimal.Zero, decimal.NewFromInt(last), decimal.NewFromInt(1))
	if err != nil {
		t.Fatal(err)
	}
	var points []mechanisms.Point
	for _, v := range values {
		points = append(points, mechanisms.Point{Index: v, Count: 1})
	}
	input := mechanisms.NewSample(grid, points)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			epsilon := 0.5
			c.query.Epsilon = decimal.NewFromFloat(epsilon)
			c.query.Grid = grid
			c.query.Statistic = mechanisms.Median
			if c.query.P != nil {
				c.query.Statistic = mechanisms.Quantile
			}
			m, err := mechanisms.New(c.query)
			if err != nil {
				t.Fatal(err)
			}
			counts := make([]int64, last+1)
			for range 40000 {
				d, err := m.Draw(input, mechanisms.Public{}, rand.Reader)
				if err != nil {
					t.Fatal(err)
				}
				counts[d.Values[0].Number]++
			}
			dptest.CheckSampler(t, c.name, counts, func(factor float64) []float64 { return c.law(factor * epsilon) })
		})
	}
}

// mirror reverses the borders of cells: a cell that begins at x ends at x−1 as seen from the other side.
func mirror(borders []int64) []int64 {
	var all []int64
	for _, x := range slices.Backward(borders) {
		all = append(all, last-(x-1))
	}
	return all
}

func p(text string) []decimal.Decimal { return []decimal.Decimal{decimal.RequireFromString(text)} }

// TestThreshold compares the integral with the closed form for two candidates: with noises R and N, the first candidate
// is chosen if N ≥ R − e, where e is its excess.
func TestThreshold(t *testing.T) {
	sample := NewSample([]int64{1, 1, 1, 7}, 10)
	const rho, noise = 0.8, 0.5
	for _, offset := range []float64{0, 1, 5} {
		law := Threshold(sample, 0.5, rho, noise, offset, []int64{2, 10})
		e := 3 - 2 - offset
		want := noise / (rho + noise) * math.Exp(-rho*max(e, 0)) // P(R > e and N < R − e), for e ≥ 0
		if e < 0 {
			want = 1 - rho/(rho+noise)*math.Exp(noise*e)
		}
		if got := 1 - law[0] - law[1]; math.Abs(got-want) > 1e-9 {
			t.Errorf("offset %v: the first candidate is passed with probability %v, want %v", offset, got, want)
		}
	}
}

// TestThresholdIsPrivate checks that over all pairs of neighbours on a small domain the loss is at most ε, and close to
// it.
func TestThresholdIsPrivate(t *testing.T) {
	const alpha, rho, noise = 0.75, 0.4, 0.3
	epsilon := rho*alpha + noise
	dptest.CheckPrivacy(t, "threshold", 4, 6, epsilon, 0.7, func(e float64) dptest.Law {
		return func(h []int64) []float64 {
			return Threshold(histogram(h), alpha, rho*e/epsilon, noise*e/epsilon, 1, []int64{1, 2, 3})
		}
	})
}

// TestPiecewiseIsPrivate checks the same. At a single data point the interpolated distance equals the distance.
func TestPiecewiseIsPrivate(t *testing.T) {
	for _, q := range [][2]int64{{1, 2}, {3, 4}} {
		dptest.CheckPrivacy(t, "piecewise", 5, 6, 0.7, 0.5, func(e float64) dptest.Law {
			return func(h []int64) []float64 {
				s := histogram(h)
				if s.Users() == 0 { // no quantile: the law is constant
					return dptest.Normalise([]float64{1, 1, 1, 1, 1})
				}
				return Piecewise(s, Duff(q[0], q[1]), e)
			}
		})
	}
}

func histogram(h []int64) *Sample {
	var values []int64
	for x, c := range h {
		for range c {
			values = append(values, int64(x))
		}
	}
	return NewSample(values, int64(len(h)-1))
}

// TestSmoothSensitivities compares with a search over all samples: by adding and removing users for quantiles, and by
// replacing them for trimmed means.
func TestSmoothSensitivities(t *testing.T) {
	const points, users = 3, 7
	const beta = 0.3
	quantile := func(p, q int64) func(h []int64) float64 {
		return func(h []int64) float64 {
			s := histogram(h)
			if s.Users() == 0 {
				return float64(points-1) / 2
			}
			return float64(s.Quantile(p, q))
		}
	}
	median := func(h []int64) float64 {
		s := histogram(h)
		n := s.Users()
		if n == 0 {
			return float64(points-1) / 2
		}
		return float64(s.At((n+1)/2)+s.At(n/2+1)) / 2
	}
	var all [][]int64
	dptest.Samples(points, users, func(h []int64) { all = append(all, append([]int64(nil), h...)) })
	local := func(of func(h []int64) float64, h []int64) float64 {
		worst, here := 0.0, of(h)
		for i := range h {
			for _, step := range []int64{1, -1} {
				if h[i]+step < 0 {
					continue
				}
				h[i] += step
				worst = max(worst, math.Abs(of(h)-here))
				h[i] -= step
			}
		}
		return worst
	}
	smooth := func(locals []float64, h []int64) float64 {
		g := 0.0
		for i, other := range all {
			edits := int64(0)
			for j := range h {
				edits += max(h[j]-other[j], other[j]-h[j])
			}
			g = max(g, math.Exp(-beta*float64(edits))*locals[i])
		}
		return g
	}
	check := func(name string, of func(h []int64) float64, got func(s *Sample) float64) {
		locals := make([]float64, len(all))
		for i, h := range all {
			locals[i] = local(of, h)
		}
		dptest.Samples(points, 3, func(h []int64) {
			s := histogram(h)
			if s.Users() == 0 {
				return
			}
			want := smooth(locals, h)
			if g := got(s); math.Abs(g-want) > 1e-12 {
				t.Errorf("%s of %v: smooth sensitivity %v, search finds %v", name, h, g, want)
			}
		})
	}
	check("median", median, func(s *Sample) float64 { g, _ := SmoothMedian(s, beta); return g })
	for _, q := range [][2]int64{{1, 2}, {9, 10}, {3, 4}, {1, 5}} {
		check("quantile", quantile(q[0], q[1]), func(s *Sample) float64 { return SmoothQuantile(s, q[0], q[1], beta) })
	}
}

// TestTrimmedByReplacement searches all samples of the same size, k replacements away.
func TestTrimmedByReplacement(t *testing.T) {
	const points, users, beta = 4, 5, 0.4
	var all [][]int64
	dptest.Samples(points, users, func(h []int64) {
		if histogram(h).Users() == users {
			all = append(all, append([]int64(nil), h...))
		}
	})
	distance := func(a, b []int64) int64 {
		d := int64(0)
		for i := range a {
			d += max(0, a[i]-b[i])
		}
		return d
	}
	for _, m := range []int64{0, 1, 2} {
		mean := func(h []int64) float64 {
			sum := int64(0)
			for _, v := range histogram(h).Sorted[m : users-m] {
				sum += v
			}
			return float64(sum) / float64(users-2*m)
		}
		for _, h := range all {
			want := 0.0
			for _, a := range all {
				for _, b := range all {
					if distance(a, b) == 1 {
						want = max(want, math.Exp(-beta*float64(distance(h, a)))*math.Abs(mean(a)-mean(b)))
					}
				}
			}
			s := histogram(h)
			got := SmoothTrimmed(func(r int64) float64 { return float64(s.At(r)) }, users, m, beta)
			if math.Abs(got-want) > 1e-12 {
				t.Errorf("m = %d of %v: smooth sensitivity %v, search finds %v", m, h, got, want)
			}
		}
	}
}

// TestNoiseMoments compares E|Z| and E Z² with their tails.
func TestNoiseMoments(t *testing.T) {
	for _, n := range []Noise{Power(1), Student(1, false), Laplace(1, 1e-3, 0.05), Gaussian(1, 1e-3), LLN(1, 0.125),
		ULN(1, 0.125), Arsinh(1, 0.05)} {
		mean, square := 0.0, 0.0
		var ends []float64
		for z := 0.0; z < 1e8; z = z*1.1 + 0.01 {
			ends = append(ends, z)
		}
		integrate(ends, func(z, weight float64) {
			mean += weight * n.Tail(z)
			square += weight * 2 * z * n.Tail(z)
		})
		if math.Abs(mean-n.Mean) > 1e-6*n.Mean || math.Abs(square-n.Variance) > 1e-5*n.Variance {
			t.Errorf("%s: E|Z| = %v and E Z² = %v are stated, the tail has %v and %v", n.Name, n.Mean,
				n.Variance, mean, square)
		}
	}
}
