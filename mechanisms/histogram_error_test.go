package mechanisms

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/shopspring/decimal"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/louver/louver/mechanisms/histogram"
)

// evenly returns n users whose values are the quantiles of a lognormal law about 120, cut to the grid.
func evenly(g *Grid, n int) *Sample {
	var points []Point
	for i := range n {
		z := distuv.UnitNormal.Quantile((float64(i) + 0.5) / float64(n))
		points = append(points, Point{int64(min(120*math.Exp(0.6*z), float64(g.last))), 1})
	}
	return NewSample(g, points)
}

// drawnEstimates calls f with what several draws say.
func drawnEstimates(t *testing.T, m *bucketed, s *Sample, epsilon float64, draws int, windows int,
	source io.Reader, f func(e *histogram.Estimate)) {
	t.Helper()
	noise := HistogramNoise(m.name, epsilon, m.buckets.Levels())
	for range draws {
		raw, coarse := make([]int64, m.buckets.Len()), make([]int64, m.buckets.Groups())
		for range windows {
			d := draw(t, m, s, Public{}, source)
			for i, n := range d.Raw {
				raw[i] += n
			}
			for i, n := range d.Coarse {
				coarse[i] += n
			}
		}
		f(m.buckets.Estimate(raw, coarse, noise, int64(windows)))
	}
}

// newSource is a fast source with a fixed seed.
func newSource() *rand.ChaCha8 {
	return rand.NewChaCha8([32]byte([]byte("the seed of the histograms' test")))
}

// randomly returns samples of n users of the same law as [evenly].
func randomly(g *Grid, n, times int) []*Sample {
	rng := rand.New(rand.NewPCG(5, uint64(n)))
	samples, values := make([]*Sample, times), make([]int64, n)
	for k := range samples {
		for i := range values {
			values[i] = int64(min(120*math.Exp(0.6*rng.NormFloat64()), float64(g.last)))
		}
		slices.Sort(values)
		var points []Point
		for _, v := range values {
			if last := len(points) - 1; last >= 0 && points[last].Index == v {
				points[last].Count++
			} else {
				points = append(points, Point{v, 1})
			}
		}
		samples[k] = NewSample(g, points)
	}
	return samples
}

// aside marks the name of a band of which only one side is checked.
const aside = ", of which the truth is "

// coverage counts how often bands miss.
type coverage struct {
	draws  int
	misses map[string]int
}

func (c *coverage) see(name string, holds bool) {
	if !holds {
		c.misses[name]++
	} else {
		c.misses[name] += 0
	}
}

// mostMisses is exceeded with a probability of 10⁻⁹ if a band misses with probability p: 160 bands and 320 sides of
// them are tried, so that all together raise a false alarm with a probability below 10⁻⁶.
func (c *coverage) mostMisses(p float64) int {
	law := distuv.Binomial{N: float64(c.draws), P: p}
	most := int(p * float64(c.draws))
	for 1-law.CDF(float64(most)) > 1e-9 {
		most++
	}
	return most
}

// Every band that is published holds the truth in 95 % of the draws, and is wholly on one side of it in 2.6 % at most,
// which is what alert rules go by: in the settings of the error table, with one level and two, with both kinds of
// noise, and of sums over several windows.
func TestHistogramCoverage(t *testing.T) {
	g := grid(t, "0", "60000", "1")
	native := func(scale int) *Bucketing { return &Bucketing{Native: true, Scale: scale} }
	list := &Bucketing{Ends: ps("50", "100", "200", "400", "800")}
	for _, c := range []struct {
		buckets   *Bucketing
		mechanism string
		users     int
		epsilon   string
		windows   int
	}{
		{native(3), "histogram", 1000, "0.1", 1}, {native(3), "histogram", 10000, "0.1", 1},
		{native(3), "histogram", 1000, "1", 1}, {native(3), "histogram", 10000, "1", 1},
		{native(2), "histogram", 1000, "0.1", 1}, {native(2), "histogram", 1000, "1", 1},
		{native(2), "histogram", 200, "4", 1}, {native(3), "histogram", 100, "0.1", 1},
		{list, "histogram", 500, "0.5", 1}, {list, "histogram", 500, "2", 1}, {list, "histogram", 50, "8", 1},
		{&Bucketing{Ends: ps("800")}, "histogram", 1000, "0.1", 1}, {&Bucketing{Ends: ps("100")},
			"histogram", 30, "0.1", 1},
		{native(3), gaussianHistogram, 1000, "0.1", 1}, {native(3), gaussianHistogram, 1000, "1", 1},
		{list, gaussianHistogram, 500, "0.5", 1}, {list, gaussianHistogram, 500, "2", 1},
		{list, gaussianHistogram, 50, "8", 1},
		{native(2), "histogram", 1000, "0.1", 5}, {list, "histogram", 50, "2", 4},
	} {
		q := Query{Statistic: Histogram, Mechanism: c.mechanism, Grid: g, Epsilon: dec(c.epsilon), Buckets: c.buckets}
		share := Query{Statistic: Share, Grid: g, Above: new(dec("200"))}
		middle := Query{Statistic: Count, Grid: g, Above: new(dec("100")), Below: new(dec("301"))}
		for _, of := range []Query{share, middle} {
			cuts, err := of.ComputedCuts()
			if err != nil {
				t.Fatal(err)
			}
			q.Cuts = append(q.Cuts, cuts...)
		}
		if len(c.buckets.Ends) == 1 { // two buckets of their own
			q.Cuts = nil
			share.Above = &c.buckets.Ends[0]
			middle.Above, middle.Below = &c.buckets.Ends[0], nil
		}
		m, s := build(t, q).(*bucketed), evenly(g, c.users)
		name := fmt.Sprintf("%s %s of %d users, ε %s, %d windows", c.mechanism, c.buckets,
			c.users, c.epsilon, c.windows)
		// The least number of draws is 2,000, where a window draws little.
		cover := &coverage{draws: 2000, misses: map[string]int{}}
		type band struct {
			name  string
			free  *Computed
			truth []decimal.Decimal
		}
		var bands []band
		for _, of := range []Query{{Statistic: Quantile, P: ps("0.5")}, {Statistic: Quantile, P: ps("0.9")},
			{Statistic: Quantile, P: ps("0.99")}, {Statistic: Quantile,
				P: ps("0.01")}, share, middle, {Statistic: Outside},
			{Statistic: Count}} {
			of.Grid = g
			f, err := NewComputed(of, m.buckets)
			if err != nil {
				t.Fatal(err)
			}
			truth := of.Truth(s)[0]
			if of.Statistic.Family() == OfUsers {
				truth = []decimal.Decimal{truth[0].Mul(decimal.NewFromInt(int64(c.windows)))}
			}
			bands = append(bands, band{fmt.Sprint(of.Statistic, of.P, of.Above), f, truth})
		}
		epsilon := dec(c.epsilon).InexactFloat64()
		drawnEstimates(t, m, s, epsilon, cover.draws, c.windows, newSource(), func(e *histogram.Estimate) {
			for _, b := range bands {
				v, ok := b.free.Of(e)
				if !ok { // nothing is published
					continue
				}
				low, high := v.Value.Sub(*v.Error95), v.Value.Add(*v.Error95)
				if v.Low != nil {
					low, high = *v.Low, *v.High
				}
				above := low.GreaterThan(b.truth[len(b.truth)-1].RoundCeil(shareDigits))
				below := high.LessThan(b.truth[0].RoundFloor(shareDigits))
				cover.see(b.name, !above && !below)
				cover.see(b.name+aside+"below", !above)
				cover.see(b.name+aside+"above", !below)
			}
		})
		for what, misses := range cover.misses {
			most := cover.mostMisses(0.05)
			if strings.Contains(what, aside) {
				most = cover.mostMisses(0.026)
			}
			if misses > most {
				t.Errorf("%s: the band of %s misses the truth in %d of %d draws; want at most %d", name, what, misses,
					cover.draws, most)
			}
		}
	}
}

// The check above notices noise that is larger than what is stated.
func TestHistogramCoverageNotices(t *testing.T) {
	g := grid(t, "0", "60000", "1")
	m := build(t, Query{Statistic: Histogram, Grid: g, Epsilon: dec("0.1"),
		Buckets: &Bucketing{Ends: ps("100", "200")}}).(*bucketed)
	f, err := NewComputed(Query{Statistic: Share, Grid: g, Above: new(dec("200"))}, m.buckets)
	if err != nil {
		t.Fatal(err)
	}
	s := evenly(g, 1000)
	truth := Query{Statistic: Share, Grid: g, Above: new(dec("200"))}.Truth(s)[0][0]
	cover := &coverage{draws: 2000, misses: map[string]int{}}
	// The noise is stated as if ε were 0.14.
	drawnEstimates(t, m, s, 0.14, cover.draws, 1, newSource(), func(e *histogram.Estimate) {
		v, _ := f.Of(e)
		cover.see("share", v.Low.LessThanOrEqual(truth) && v.High.GreaterThanOrEqual(truth))
	})
	if cover.misses["share"] <= cover.mostMisses(0.05) {
		t.Errorf("noise of 1.4 times what is stated misses in %d of %d draws only", cover.misses["share"], cover.draws)
	}
}

// The error of quantiles is the mean distance from p, in percentile points, that another program finds, which was
// written from the design alone, with noise, projection and quantiles of its own: means of 2,000 to 6,000 draws, within
// 15 %. Besides, the mean of some hundred draws may be off by three of its standard deviations, and the wanted one by
// half of its last digit.
func TestHistogramErrors(t *testing.T) {
	const draws = 300
	g := grid(t, "0", "60000", "1")
	samples := map[int][]*Sample{1000: randomly(g, 1000, draws), 10000: randomly(g, 10000, draws)}
	for _, c := range []struct {
		scale, users int
		epsilon      string
		want         [3]float64
	}{
		{3, 1000, "0.1", [3]float64{3.20, 4.04, 1.28}}, {2, 1000, "0.1", [3]float64{2.44, 3.54, 1.24}},
		{3, 1000, "1", [3]float64{0.253, 0.481, 0.513}}, {2, 1000, "1", [3]float64{0.318, 0.472, 0.418}},
		{3, 10000, "0.1", [3]float64{0.210, 0.459, 0.498}}, {2, 10000, "0.1", [3]float64{0.188, 0.440, 0.414}},
		{3, 10000, "1", [3]float64{0.014, 0.039, 0.058}}, {2, 10000, "1", [3]float64{0.079, 0.065, 0.076}},
	} {
		m := build(t, Query{Statistic: Histogram, Grid: g, Epsilon: dec(c.epsilon),
			Buckets: &Bucketing{Native: true, Scale: c.scale}}).(*bucketed)
		probabilities := ps("0.5", "0.9", "0.99")
		var sum, squares [3]float64
		source := newSource()
		for _, s := range samples[c.users] {
			drawnEstimates(t, m, s, dec(c.epsilon).InexactFloat64(), 1, 1, source, func(e *histogram.Estimate) {
				for i, p := range probabilities {
					q, _ := e.Quantile(p)
					off := 100 * percentOff(s, q.Index, p.InexactFloat64())
					sum[i] += off
					squares[i] += off * off
				}
			})
		}
		for i, want := range c.want {
			got := sum[i] / draws
			spread := math.Sqrt(max(0, squares[i]/draws-got*got) / draws)
			t.Logf("scale %d, %d users, ε %s, p %s: %.3f ± %.3f, want %.3f", c.scale, c.users,
				c.epsilon, probabilities[i], got, spread, want)
			if math.Abs(got-want) > 0.15*want+3*spread+0.0005 {
				t.Errorf("scale %d, %d users, ε %s, p %s: off by %.3f points, want %.3f", c.scale, c.users, c.epsilon,
					probabilities[i], got, want)
			}
		}
	}
}

// percentOff is how far a point is from the quantile p, as a share of the users.
func percentOff(s *Sample, index int64, p float64) float64 {
	low, high := float64(s.Below(index))/float64(s.n), float64(s.AtMost(index))/float64(s.n)
	return max(0, low-p, p-high)
}
