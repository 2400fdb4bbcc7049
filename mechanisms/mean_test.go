package mechanisms

import (
	"io"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget/privacy"
	"github.com/louver/louver/mechanisms/internal/dptest"
)

// The zCDP account is charged the parts of the most expensive way to draw, and less if the number of users is public.
func TestClippedMeanRho(t *testing.T) {
	g := smallGrid(t, 100)
	for _, epsilon := range []float64{0.01, 0.5, 2} {
		q := Query{Statistic: Mean, Epsilon: decimal.NewFromFloat(epsilon), Grid: g}
		share := func(of float64) float64 { return epsilon * of }
		square := func(x float64) float64 { return x * x / 2 }
		counted := square(share(2./3)) + privacy.RhoOfRange(share(1./3))
		own := square(share(1./16)) + square(share(15./16*2/3)) + privacy.RhoOfRange(share(15./16/3))
		got := build(t, q).Promise()
		rho := got.Rho.InexactFloat64()
		if want := max(counted, own); rho < want || rho > want*(1+1e-6) || rho > 0.24*epsilon*epsilon ||
			got.Kind != privacy.Pure {
			t.Errorf("ε = %v: ρ = %v, the parts give %v", epsilon, got.Rho, want)
		}
	}
}

// drawMean draws a mean; if a mechanism for counts is named, beside a count by it at ε = 1.
func drawMean(t *testing.T, m Mechanism, s *Sample, counted string, random io.Reader) Draw {
	t.Helper()
	public := Public{}
	if counted != "" {
		d, err := build(t, Query{Statistic: Count, Mechanism: counted, Epsilon: dec("1"),
			Grid: grid(t, "0", "60000", "1")}).Draw(s, public, random)
		if err != nil {
			t.Fatal(err)
		}
		public.Users = &NoisyCount{Value: d.Values[0].Number, Epsilon: 1, Mechanism: counted}
	}
	d := draw(t, m, s, public, random)
	return d
}

// noiseless is the mean, in steps, that the sums of a clipped mean give without noise. Users outside are a quarter
// short, and k0 of them are added back.
func noiseless(m *clippedMean, s *Sample, l, h int64, own int, n int) float64 {
	if l == h {
		return float64(l)
	}
	x := s.meanSums(l, h)
	x.inQuarters(s.Below(l), s.n-s.AtMost(h))
	x.addBack(l == 0, h == m.grid.last, m.shares[own][1].free)
	float := func(x *big.Int) float64 { f, _ := new(big.Float).SetInt(x).Float64(); return f }
	a, b := 2*float(x.a)+float(&x.backA), 2*float(x.b)+float(&x.backB)
	if own == 0 { // beside a count
		return float64(l+h)/2 + (a-b)/float64(16*n)
	}
	return float64(l) + float64(h-l)*a/(a+b)
}

// The mean of the cut values, as the law has it without noise, is within Error95 of the draw with probability at least
// 95 %, and the bound is not loose.
func TestClippedMeanError(t *testing.T) {
	random := rand.NewChaCha8([32]byte{54})
	g := grid(t, "0", "60000", "1")
	for _, c := range []struct {
		mechanism, epsilon string
		n                  int
		counted            string
	}{{"clipped", "1", 1000, ""}, {"clipped", "0.1", 300, ""}, {"clipped", "0.1", 20, ""},
		{"clipped", "1", 1000, "geometric"}, {"clipped", "0.1", 500, "geometric"},
		{"two_sums", "1", 100, ""}, {"two_sums", "1", 100, "geometric"}, {"clipped_gaussian", "1", 1000, ""},
		{"clipped_gaussian", "0.2", 1000, "geometric"},
		{"clipped", "0.1", 500, "gaussian"}, {"two_sums", "1", 100, "gaussian"},
		{"clipped_gaussian", "0.2", 1000, "gaussian"}} {
		q := Query{Statistic: Mean, Mechanism: c.mechanism, Epsilon: dec(c.epsilon), Grid: g}
		m, s := build(t, q), latencies(g, c.n)
		scale := q.Scale(m)
		const draws = 3000
		within, half := 0, 0
		for range draws {
			d := drawMean(t, m, s, c.counted, random)
			a, _ := s.distances(0, g.last)
			truth, _ := new(big.Rat).SetFrac(a, big.NewInt(int64(c.n))).Float64()
			if m, ok := m.(*clippedMean); ok {
				own := 1
				if c.counted != "" {
					own = 0
				}
				truth = noiseless(m, s, d.Clip[0]/1000, d.Clip[1]/1000, own, c.n)
			}
			off := math.Abs(scale.Float(d.Values[0].Number) - truth)
			bound := d.Values[0].Error95
			if off <= bound+0.0005 { // rounding to the grid
				within++
			}
			if off <= bound/4 && bound > 0 {
				half++
			}
		}
		// Binomial(3000, 0.95): fewer than 2791 has probability below 10⁻⁶.
		t.Logf("%+v: %.3f within the bound, %.3f within a quarter of it", c, float64(within)/draws, float64(half)/draws)
		if within < 2791 {
			t.Errorf("%+v: %d of %d draws are within the bound", c, within, draws)
		}
		if half > 2790 {
			t.Errorf("%+v: %d of %d draws are within a quarter of the bound", c, half, draws)
		}
	}
}

// MeanError95 holds for any data. It adds up both noises, although only one counts next to an end of the bounds; errors
// reach a quarter of it and more.
func TestMeanErrorHoldsForAllData(t *testing.T) {
	random := rand.NewChaCha8([32]byte{56})
	g := grid(t, "0", "60000", "1")
	for _, c := range []struct {
		epsilon string
		n       int64
		counted string
	}{{"1", 100, ""}, {"0.1", 100, ""}, {"0.1", 2000, ""}, {"1", 100, "geometric"}, {"0.5", 1000, "geometric"},
		{"1", 100, "gaussian"}} {
		q := Query{Statistic: Mean, Clip: "none", Epsilon: dec(c.epsilon), Grid: g}
		m := build(t, q)
		scale, largest := q.Scale(m), 0.0
		var beside *NoisyCount
		if c.counted != "" {
			beside = &NoisyCount{Value: c.n, Epsilon: 1, Mechanism: c.counted}
		}
		bound := q.MeanError95(c.n, beside)
		if wider := q.MeanError95(c.n, &NoisyCount{Value: c.n, Epsilon: 1}); c.counted == "gaussian" &&
			!(bound < wider) {
			t.Errorf("%+v: the bound is %v, beside a geometric count %v", c, bound, wider)
		}
		for _, points := range [][]Point{{{0, c.n}}, {{g.last, c.n}},
			{{0, c.n / 2}, {g.last, c.n / 2}}, {{20000, c.n}}} {
			s := NewSample(g, points)
			sum, _ := s.distances(0, g.last)
			truth, _ := new(big.Rat).SetFrac(sum, big.NewInt(c.n)).Float64()
			const draws = 2000
			var errors []float64
			for range draws {
				d := drawMean(t, m, s, c.counted, random)
				errors = append(errors, math.Abs(scale.Float(d.Values[0].Number)-truth))
			}
			slices.Sort(errors)
			// Binomial(2000, 0.95): fewer than 1850 has probability below 10⁻⁶.
			if errors[1849] > bound+0.001 {
				t.Errorf("%+v, %v: 1850 of 2000 errors are up to %v, the bound is %v", c, points, errors[1849], bound)
			}
			largest = max(largest, errors[1900])
		}
		if t.Logf("%+v: 95 %% of the errors are up to %.4g, the bound is %.4g", c, largest, bound); largest < bound/4 {
			t.Errorf("%+v: the bound of %v is far from %v", c, bound, largest)
		}
	}
}

// noisyMeanLaw adds up both noises' probabilities over all values that matter.
func noisyMeanLaw(m *meanLaplace, h []int64, f float64) []float64 {
	p := make([]float64, len(h))
	n, sum := int64(0), int64(0)
	for x, k := range h {
		n += k
		sum += (int64(x) - m.middle) * k
	}
	fold := f * float64(m.num) / float64(m.den)
	far := int64(25 / fold)
	for z := -far * int64(m.reach); z <= far*int64(m.reach); z++ {
		for c := -far; c <= far; c++ {
			p[m.quotient(big.NewInt(sum), n, big.NewInt(z),
				big.NewInt(c))] += math.Exp(-fold * (math.Abs(float64(z))/float64(m.reach) + math.Abs(float64(c))))
		}
	}
	return dptest.Normalise(p)
}

func TestMeanLaplacePrivacy(t *testing.T) {
	for _, c := range []struct {
		points  int
		epsilon float64
	}{{3, 1}, {4, 3}} {
		g := smallGrid(t, c.points)
		dptest.CheckPrivacy(t, "mean laplace", c.points, 3, c.epsilon, 0.5, func(epsilon float64) dptest.Law {
			m := build(t, Query{Statistic: Mean, Mechanism: "laplace", Epsilon: decimal.NewFromFloat(epsilon),
				Grid: g}).(*meanLaplace)
			return func(h []int64) []float64 { return noisyMeanLaw(m, h, 1) }
		})
	}
}
