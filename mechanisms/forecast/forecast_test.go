package forecast

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms"
)

func dec(s string) decimal.Decimal { return decimal.RequireFromString(s) }

func grid(t testing.TB, lower, upper, step string) *mechanisms.Grid {
	t.Helper()
	g, err := mechanisms.NewGrid(dec(lower), dec(upper), dec(step))
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func build(t testing.TB, q mechanisms.Query) mechanisms.Mechanism {
	t.Helper()
	m, err := mechanisms.New(q)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func of(t testing.TB, q mechanisms.Query, public Public) Figure {
	t.Helper()
	figures, err := Of(q, build(t, q), public)
	if err != nil || len(figures) != 1 {
		t.Fatalf("%v, %v", figures, err)
	}
	return figures[0]
}

func shape(t testing.TB, text string, g *mechanisms.Grid) *Shape {
	t.Helper()
	s, err := ParseShape(text, g)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// cellWeights returns the weights of a measure's points.
func cellWeights(t *testing.T, m *mechanisms.Measure, points int64) []float64 {
	b, err := m.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	word := func(i int) uint64 { return binary.BigEndian.Uint64(b[8*i:]) }
	weights := make([]float64, 0, points)
	for j := 0; 16*j+16 < len(b); j++ {
		for range word(2*j+2) - word(2*j) {
			weights = append(weights, float64(word(2*j+1)))
		}
	}
	return weights
}

// Compares the 50 % and 95 % errors of a sample with the exact law P(x) ∝ μ(x)·e^{−ε·D(x)/R} of margin, computed point
// by point. The probabilities below and up to each must enclose the level, within the error of the lattice.
func TestErrorsAgainstExactLaw(t *testing.T) {
	const slack = 0.0025
	g := grid(t, "0", "60000", "1")
	for _, c := range []struct {
		p, epsilon string
		num, den   int64
		a, b       int64
		prior      string
		shape      string
		n          int64
	}{
		{"0.5", "1", 1, 2, 1, 1, "cells", "lognormal:120,0.6", 1000},
		{"0.5", "0.1", 1, 2, 1, 1, "cells", "lognormal:120,0.6", 100},
		{"0.5", "0.1", 1, 2, 1, 1, "uniform", "normal:30000,1000", 1000},
		{"0.99", "1", 99, 100, 1, 2, "cells", "lognormal:120,0.6", 1000},
		{"0.9", "0.3", 9, 10, 1, 2, "cells", "uniform", 5000},
	} {
		q := mechanisms.Query{Statistic: mechanisms.Quantile, P: []decimal.Decimal{dec(c.p)}, Epsilon: dec(c.epsilon),
			Mechanism: "margin", Prior: c.prior, Grid: g}
		s := shape(t, c.shape, g)

		measure := mechanisms.Cells(g)
		if c.prior == "uniform" {
			measure = mechanisms.Uniform(g)
		}
		weights := cellWeights(t, measure, g.Last()+1)
		sample := s.sampler(q, c.n).next()
		drawn := answered(q, sample)
		truth := drawn.truth[0]
		laws, err := appendErrors(nil, q, build(t, q), drawn, newLattice(), 8192)
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(laws[0].law)
		typical, error95 := laws[0].at(0.5), laws[0].at(0.95)
		r := max(c.a*c.num, c.b*(c.den-c.num)) + max(c.b*c.num, c.a*(c.den-c.num))
		total, j := 0., 0
		below, upTo := map[float64]float64{}, map[float64]float64{}
		for x := range weights {
			less, equal := int64(0), int64(0)
			for j < len(sample.points) && sample.points[j].Index < int64(x) {
				j++
			}
			if j > 0 {
				less = sample.upTo[j-1]
			}
			if j < len(sample.points) && sample.points[j].Index == int64(x) {
				equal = sample.points[j].Count
			}
			d := max(c.a*(c.num*c.n-c.den*(less+equal)), c.b*(c.den*less-c.num*c.n))
			w := weights[x] * math.Exp(-q.Epsilon.InexactFloat64()*float64(d)/float64(r))
			total += w
			off := off(float64(x), truth)
			for _, figure := range []float64{typical, error95} {
				if off < figure {
					below[figure] += w
				}
				if off <= figure {
					upTo[figure] += w
				}
			}
		}
		for level, figure := range map[float64]float64{0.5: typical, 0.95: error95} {
			if below[figure]/total > level+slack || upTo[figure]/total < level-slack {
				t.Errorf("%+v: the error is up to %v with a probability of %.4f to %.4f, want %v", c,
					figure, below[figure]/total, upTo[figure]/total, level)
			}
		}
	}
}

// The noise of smooth_power at β = ε/8 is |Z| = U^{−1/8} − 1. Without clamping or rounding, the ratio of its levels is
// 20^{1/8} − 1 to 2^{1/8} − 1 for any data. Only the error of the lattice remains.
func TestErrorsOfSmoothNoise(t *testing.T) {
	g := grid(t, "-1000000", "1000000", "0.001")
	q := mechanisms.Query{Statistic: mechanisms.TrimmedMean, Mechanism: "smooth_power", Trim: dec("0.05"),
		Epsilon: dec("1"), Grid: g}
	f := of(t, q, Public{Users: 1000, Shape: shape(t, "normal:10,50", g)})
	want := (math.Pow(20, 1./8) - 1) / (math.Pow(2, 1./8) - 1)
	if got := *f.Error95 / *f.TypicalError; math.Abs(got/want-1) > 0.01 {
		t.Errorf("95 %% is %.3f times the typical error, want %.3f", got, want)
	}
}

// The least favourable data have a smooth sensitivity of max_k e^{−βk}·R/(n−k+1) = R/(n+1), and the noise's α at ε = 1
// is min(e^{1/9} − 1, e^{1/8}(e^{7/72} − 1)).
func TestWorstMean(t *testing.T) {
	g := grid(t, "0", "60000", "0.001")
	q := mechanisms.Query{Statistic: mechanisms.Mean, Mechanism: "smooth_power", Epsilon: dec("1"), Grid: g}
	f := of(t, q, Public{Users: 1000})
	alpha := min(math.Expm1(1./9), math.Exp(1./8)*math.Expm1(7./72))
	want := 60000. / 1001 / alpha * (math.Pow(20, 1./8) - 1)
	if f.ValueError == nil || math.Abs(*f.ValueError/want-1) > 0.01 {
		t.Fatalf("%v, want %.1f", f.ValueError, want)
	}
	for _, text := range []string{"uniform", "lognormal:120,0.6", "normal:0,1", "normal:30000,1000",
		"normal:59000,30000"} {
		if data := of(t, q, Public{Users: 1000, Shape: shape(t, text, g)}); *data.Error95 > *f.ValueError*1.001 {
			t.Errorf("%s: %v is more than %v", text, *data.Error95, *f.ValueError)
		}
	}
}

func TestWhatIsKnown(t *testing.T) {
	g := grid(t, "0", "100", "1")
	known := func(f Figure) string {
		s := ""
		for _, x := range []struct {
			name  string
			known bool
		}{{"ranks", f.RankError != nil}, {"percentiles", f.Low != nil && f.High != nil}, {"count", f.CountError != nil},
			{"lead", f.Lead != nil},
			{"mean", f.ValueError != nil}, {"shape", f.TypicalError != nil && f.Error95 != nil}} {
			if x.known {
				s += x.name + " "
			}
		}
		return s
	}
	for _, c := range []struct {
		q      mechanisms.Query
		public Public
		want   string
	}{
		{mechanisms.Query{Statistic: mechanisms.Median}, Public{}, "ranks "},
		{mechanisms.Query{Statistic: mechanisms.Median}, Public{Users: 100}, "ranks percentiles "},
		{mechanisms.Query{Statistic: mechanisms.Median}, Public{Shape: shape(t, "uniform", g)}, "ranks "},
		{mechanisms.Query{Statistic: mechanisms.Median}, Public{Users: 100, Shape: shape(t, "uniform", g)},
			"ranks percentiles shape "},
		{mechanisms.Query{Statistic: mechanisms.Median, Mechanism: "smooth_power"},
			Public{Users: 100, Shape: shape(t, "uniform", g)}, "shape "},
		{mechanisms.Query{Statistic: mechanisms.Quantiles, P: []decimal.Decimal{dec("0.5")}}, Public{Users: 100},
			"ranks percentiles "},
		{mechanisms.Query{Statistic: mechanisms.Count}, Public{Users: 100, Shape: shape(t, "uniform", g)}, "count "},
		{mechanisms.Query{Statistic: mechanisms.Mode}, Public{}, "lead "},
		{mechanisms.Query{Statistic: mechanisms.Mean}, Public{}, ""},
		{mechanisms.Query{Statistic: mechanisms.Mean}, Public{Users: 10}, ""},
		{mechanisms.Query{Statistic: mechanisms.Mean}, Public{Users: 10, Shape: shape(t, "uniform", g)}, "shape "},
		{mechanisms.Query{Statistic: mechanisms.Mean, Clip: "none"}, Public{Users: 10}, "mean "},
		{mechanisms.Query{Statistic: mechanisms.Mean, Mechanism: "smooth_power"}, Public{Users: 10}, "mean "},
		{mechanisms.Query{Statistic: mechanisms.Sum}, Public{Users: 10}, ""},
		{mechanisms.Query{Statistic: mechanisms.Sum, Clip: "none"}, Public{}, "mean "},
		{mechanisms.Query{Statistic: mechanisms.Mean, Mechanism: "duff"}, Public{Users: 10}, ""},
		{mechanisms.Query{Statistic: mechanisms.TrimmedMean, Trim: dec("0.1")}, Public{Users: 10}, ""},
	} {
		c.q.Epsilon, c.q.Grid = dec("1"), g
		if got := known(of(t, c.q, c.public)); got != c.want {
			t.Errorf("%s %s, %+v: known %q, want %q", c.q.Statistic, c.q.Mechanism, c.public, got, c.want)
		}
	}
}

// Below the quantile, the percentiles are as wide as the rank error. They are wider if the count is noisy too.
func TestPercentiles(t *testing.T) {
	g := grid(t, "0", "60000", "1")
	q := mechanisms.Query{Statistic: mechanisms.Quantile, P: []decimal.Decimal{dec("0.9")}, Epsilon: dec("0.5"),
		Mechanism: "margin", Grid: g}
	exact := of(t, q, Public{Users: 5000})
	noisy := of(t, q, Public{Users: 5000, CountEpsilon: 0.02})
	if off := (0.9 - *exact.Low) * 5000 / *exact.RankError; off < 0.99 || off > 1.05 {
		t.Errorf("%v ranks make percentiles from %v", *exact.RankError, *exact.Low)
	}
	if !(*noisy.Low < *exact.Low && *noisy.High > *exact.High) {
		t.Errorf("%v–%v with a noisy count, %v–%v with an exact one", *noisy.Low, *noisy.High, *exact.Low, *exact.High)
	}
	gaussian := of(t, q, Public{Users: 5000, CountEpsilon: 0.02, CountMechanism: "gaussian"})
	if !(*gaussian.Low < *exact.Low && *gaussian.Low > *noisy.Low) {
		t.Errorf("from %v with a Gaussian count, %v with a geometric one, %v with an exact one",
			*gaussian.Low, *noisy.Low, *exact.Low)
	}
	for mechanism, want := range map[string]int64{"": 150, "geometric": 150, "gaussian": 98} {
		f := of(t, mechanisms.Query{Statistic: mechanisms.Count, Mechanism: mechanism, Epsilon: dec("0.02"), Grid: g},
			Public{})
		if *f.CountError != want {
			t.Errorf("a count by %q: ± %d users, want ± %d", mechanism, *f.CountError, want)
		}
	}
	q.Statistic, q.Mechanism = mechanisms.Quantiles, ""
	joint := of(t, q, Public{Users: 5000})
	if want := 0.9 - *joint.RankError/5000; math.Abs(*joint.Low-want) > 1e-12 || *joint.High != min(1, 1.8-want) {
		t.Errorf("joint: %v–%v for %v ranks", *joint.Low, *joint.High, *joint.RankError)
	}
}

func BenchmarkOf(b *testing.B) {
	g := grid(b, "0", "60000", "1")
	for _, q := range []mechanisms.Query{{Statistic: mechanisms.Median},
		{Statistic: mechanisms.TrimmedMean, Trim: dec("0.05")},
		{Statistic: mechanisms.Quantiles, P: []decimal.Decimal{dec("0.5"), dec("0.9"), dec("0.99")}}} {
		for _, n := range []int64{1000, 20_000, 200_000, MostUsers} {
			q.Epsilon, q.Grid = dec("1"), g
			m := build(b, q)
			s := shape(b, "lognormal:120,0.6", g)
			b.Run(fmt.Sprintf("%s/n=%d", q.Statistic, n), func(b *testing.B) {
				for b.Loop() {
					if _, err := Of(q, m, Public{Users: n, Shape: s}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// Under a shape, the quality of a mean is that of most draws, and it is told how many users are outside. Without one,
// only what is noise for all data is foretold. The users expected make nothing useful.
func TestForecastOfClippedMeans(t *testing.T) {
	g := grid(t, "0", "60000", "1")
	for _, c := range []struct {
		name    string
		epsilon string
		public  Public
		expect  int64
		quality mechanisms.Quality
		outside float64
	}{
		{"latencies, counted", "0.5", Public{Users: 5000, CountEpsilon: 0.5, Shape: shape(t, "lognormal:120,0.6", g)}, 0,
			mechanisms.Useful, 0.05},
		{"latencies, own count", "0.5", Public{Users: 5000, Shape: shape(t, "lognormal:120,0.6", g)}, 0,
			mechanisms.Useful, 0.05},
		{"latencies, only expected", "0.5", Public{Users: 5000, Shape: shape(t, "lognormal:120,0.6", g)}, 5000,
			mechanisms.Rough, 0.05},
		{"few latencies", "0.1", Public{Users: 1500, CountEpsilon: 0.1, Shape: shape(t, "lognormal:120,0.6", g)}, 0,
			mechanisms.Rough, 0.2},
		{"hardly any latencies", "0.1", Public{Users: 200, CountEpsilon: 0.1, Shape: shape(t, "lognormal:120,0.6", g)}, 0,
			mechanisms.Noise, 1},
		{"two groups", "0.1", Public{Users: 2000, CountEpsilon: 0.1, Shape: shape(t, "two:0.1,12,30000", g)}, 0,
			mechanisms.Noise, 0.3},
		{"no shape", "0.5", Public{Users: 5000, CountEpsilon: 0.5}, 0, "", -1},
		{"no shape, few", "0.1", Public{Users: 200, CountEpsilon: 0.1}, 0, mechanisms.Noise, -1},
		{"no shape, few, own count", "0.1", Public{Users: 700}, 0, mechanisms.Noise, -1},
	} {
		q := mechanisms.Query{Statistic: mechanisms.Mean, Epsilon: dec(c.epsilon), Grid: g, ExpectedUsers: c.expect}
		f := of(t, q, c.public)
		if f.Quality != c.quality || (f.OutsideShare != nil) != (c.outside >= 0) ||
			f.OutsideShare != nil && (*f.OutsideShare > c.outside || *f.OutsideShare < c.outside/20) {
			t.Errorf("%s: %q, outside %v; want %q, up to %v", c.name, f.Quality, pointed(f.OutsideShare), c.quality,
				c.outside)
		}
	}
}

func pointed(x *float64) any {
	if x == nil {
		return nil
	}
	return *x
}
