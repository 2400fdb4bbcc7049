package mechanisms

import (
	"bufio"
	"crypto/rand"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms/histogram"
	"github.com/louver/louver/mechanisms/internal/dptest"
)

// fourBuckets returns a histogram of four buckets in two groups: {0}, {1}, {2} and +Inf.
func fourBuckets(t testing.TB, epsilon, mechanism string) *bucketed {
	t.Helper()
	q := Query{Statistic: Histogram, Mechanism: mechanism, Grid: smallGrid(t, 3), Epsilon: dec(epsilon), Levels: 2,
		Buckets: &Bucketing{Ends: ps("0", "1", "2")}}
	m := build(t, q).(*bucketed)
	if m.buckets.Len() != 4 || m.buckets.Groups() != 2 {
		t.Fatalf("%d buckets in %d groups", m.buckets.Len(), m.buckets.Groups())
	}
	return m
}

// numbersLaw is the joint law of all numbers that are drawn, as far as it distinguishes neighbours.
func numbersLaw(numbers []int64, most int64, rate float64) []float64 {
	law := []float64{1}
	for _, n := range numbers {
		var next []float64
		for _, p := range law {
			for _, q := range lumped(n, most, rate) {
				next = append(next, p*q)
			}
		}
		law = next
	}
	return law
}

// One user more or less changes one number of each level: the worst loss is exactly ε.
func TestHistogramPrivacy(t *testing.T) {
	const users = 2
	for _, epsilon := range []string{"0.5", "2"} {
		m, g := fourBuckets(t, epsilon, "histogram"), smallGrid(t, 3)
		dptest.CheckPrivacy(t, "histogram", 4, users, dec(epsilon).InexactFloat64(), 1-1e-9,
			func(e float64) dptest.Law {
				factor := e / dec(epsilon).InexactFloat64()
				return func(h []int64) []float64 {
					fine, coarse := m.sums(sampleOf(g, h))
					return numbersLaw(append(fine, coarse...), users+1, m.noise.rate()*factor)
				}
			})
	}
}

// A changed value moves a user from one bucket to another, which is known to cost 2ε. So does a user in two buckets:
// the enumeration would notice one.
func TestHistogramOfChangedValues(t *testing.T) {
	m, g := fourBuckets(t, "1", "histogram"), smallGrid(t, 3)
	law := func(h ...int64) []float64 {
		fine, coarse := m.sums(sampleOf(g, h))
		return numbersLaw(append(fine, coarse...), 4, m.noise.rate())
	}
	worst := func(p, q []float64) (ratio float64) {
		for x := range p {
			ratio = max(ratio, math.Abs(math.Log(p[x]/q[x])))
		}
		return ratio
	}
	for _, c := range []struct {
		name   string
		before []int64
		after  []int64
		want   float64
	}{
		{"one user more", []int64{1, 0, 1, 0}, []int64{1, 0, 2, 0}, 1},
		{"one user changes group", []int64{1, 0, 1, 0}, []int64{0, 0, 2, 0}, 2},
		{"one user changes bucket only", []int64{1, 0, 1, 0}, []int64{0, 1, 1, 0}, 1},
		{"one user in two buckets", []int64{1, 0, 1, 0}, []int64{2, 0, 2, 0}, 2},
	} {
		if got := worst(law(c.before...), law(c.after...)); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: a loss of %v, want %v", c.name, got, c.want)
		}
	}
}

// Another value reveals no more than so many draws as is said, in ρ too, and more than one draw does: D_α ≤ α·ρ for the
// Rényi divergences of all numbers together.
func TestHistogramOfReplacedValues(t *testing.T) {
	for _, mechanism := range []string{"histogram", gaussianHistogram} {
		m, g := fourBuckets(t, "1", mechanism), smallGrid(t, 3)
		law := func(h []int64) []outcome {
			fine, coarse := m.sums(sampleOf(g, h))
			var all outcome
			for _, n := range append(fine, coarse...) {
				if mechanism == gaussianHistogram {
					all.noisy = append(all.noisy, gaussianLogs(n, m.noise, 1, 1))
					continue
				}
				logs := lumped(n, 3, m.noise.rate())
				for i, p := range logs {
					logs[i] = math.Log(p)
				}
				all.noisy = append(all.noisy, logs)
			}
			return []outcome{all}
		}
		worst := 0.
		dptest.Samples(4, 2, func(h []int64) {
			for from := range h {
				for to := range h {
					if h[from] == 0 {
						continue
					}
					p := law(h)
					h[from], h[to] = h[from]-1, h[to]+1
					q := law(h)
					h[from], h[to] = h[from]+1, h[to]-1
					for _, alpha := range []float64{1.01, 2, 8} {
						worst = max(worst, renyi(p, q, alpha)/alpha)
					}
				}
			}
		})
		promise, draws := Replaced(m)
		rho := promise.Rho.InexactFloat64()
		t.Logf("%s: another value reveals %.4f ρ", mechanism, worst/rho)
		if worst > float64(draws)*rho*(1+1e-9) || worst < 1.2*rho || !promise.Rho.Equal(m.promise.Rho) {
			t.Errorf("%s: another value reveals %.4f ρ; %d draws of %s are said", mechanism, worst/rho, draws,
				promise.Rho)
		}
	}
}

// A user is in one bucket and one group, wherever their value lies.
func TestHistogramCountsEachUserOnce(t *testing.T) {
	for _, lower := range []string{"0", "5", "-3"} {
		g := grid(t, lower, "20", "1")
		m := build(t, Query{Statistic: Histogram, Grid: g, Epsilon: dec("1"),
			Buckets: &Bucketing{Native: true, Scale: 1}, Levels: 2}).(*bucketed)
		for x := int64(-1); x <= g.last+1; x++ {
			fine, coarse := m.sums(NewSample(g, []Point{{x, 1}}))
			at := slices.Index(fine, 1)
			wrong := at != m.buckets.Of(max(x, m.buckets.Ends()[0])) && (x >= 0 || lower != "0")
			if wrong || inAll(fine) != 1 || inAll(coarse) != 1 {
				t.Errorf("lower %s: a user at %d is in %v and %v", lower, x, fine, coarse)
			}
		}
	}
}

func inAll(x []int64) (sum int64) {
	for _, v := range x {
		sum += v
	}
	return sum
}

func TestHistogramPromises(t *testing.T) {
	g := grid(t, "0", "60000", "1")
	native := &Bucketing{Native: true, Scale: 3}
	for _, c := range []struct {
		q    Query
		want string
	}{
		{Query{Buckets: native}, "pure 0.1 ρ 0.0025"},
		{Query{Buckets: native, Levels: 1}, "pure 0.1 ρ 0.005"},
		{Query{Buckets: &Bucketing{Ends: ps("800")}}, "pure 0.1 ρ 0.005"},
		{Query{Buckets: native, ZCDP: true}, "zcdp 0.1 ρ 0.005"},
	} {
		c.q.Statistic, c.q.Grid, c.q.Epsilon = Histogram, g, dec("0.1")
		p := build(t, c.q).Promise()
		if got := fmt.Sprintf("%s %s ρ %s", p.Kind, p.Epsilon, p.Rho.Round(9)); got != c.want {
			t.Errorf("%s on %d levels promises %s; want %s", c.q.Buckets, c.q.Levels, got, c.want)
		}
	}
}

func TestHistogramRefuses(t *testing.T) {
	g := grid(t, "0", "60000", "1")
	for _, c := range []struct {
		q    Query
		want string
	}{
		{Query{}, "buckets missing; want a list such as [100, 250, 800], or {scale: 3}"},
		{Query{Buckets: &Bucketing{Ends: ps("1.5")}}, "buckets 1.5; want a point of the grid, for example 1 or 2"},
		{Query{Buckets: &Bucketing{Ends: ps("9", "5")}}, "buckets 5; want ends that ascend: 9 is before it"},
		{Query{Buckets: &Bucketing{Ends: ps("60001")}}, "buckets 60001; want a number within the bounds, 0 to 60000"},
		{Query{Buckets: &Bucketing{Native: true, Scale: 6}}, "buckets {scale: 6}; want a scale from 0 to 5"},
		{Query{Buckets: &Bucketing{Native: true}, Levels: 3}, "levels 3; want 1 or 2"},
		{Query{Statistic: Share, Above: new(dec("5"))}, `statistic "share"; want from: with the name of a histogram`},
		{Query{Statistic: Median, Buckets: &Bucketing{Ends: ps("5")}},
			"buckets [5]; want none: statistic median has no such parameter"},
	} {
		if c.q.Statistic == "" {
			c.q.Statistic = Histogram
		}
		c.q.Grid, c.q.Epsilon = g, dec("1")
		if _, err := New(c.q); err == nil || len(err.Error()) < len(c.want) || err.Error()[:len(c.want)] != c.want {
			t.Errorf("New(%v) = %v; want %q", c.q.Buckets, err, c.want)
		}
	}
	if _, err := New(Query{Statistic: Histogram, Epsilon: dec("1"), Grid: grid(t, "0", "1000000000", "0.000001"),
		Buckets: &Bucketing{Native: true, Scale: 5}}); err == nil {
		t.Error("1,595 buckets are accepted")
	}
}

func TestComputedRefuses(t *testing.T) {
	g := grid(t, "0", "60000", "1")
	b, err := histogram.New([]int64{100, 800}, g.last, false, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		q    Query
		want string
	}{
		{Query{Statistic: Share}, "above missing; want the value above which users count"},
		{Query{Statistic: Share, Above: new(dec("300"))},
			"above 300; want the end of a bucket, for example 100 or 800"},
		{Query{Statistic: Count, Below: new(dec("300"))},
			"below 300; want the end of a bucket, for example 100 or 800"},
		{Query{Statistic: Mean},
			`statistic "mean"; want one that a histogram answers: quantile, median, share, count, outside or mode`},
		{Query{Statistic: Quantile}, "p a list of 0; want one number"},
		{Query{Statistic: Share, Above: new(dec("60000"))}, "above 60000; want less than 60000, the highest value"},
	} {
		c.q.Grid = g
		if _, err := NewComputed(c.q, b); err == nil || len(err.Error()) < len(c.want) ||
			err.Error()[:len(c.want)] != c.want {
			t.Errorf("NewComputed(%+v) = %v; want %q", c.q, err, c.want)
		}
	}
}

// Without noise every computed figure is the true one, as far as buckets tell.
func TestComputedWithoutNoise(t *testing.T) {
	for _, lower := range []string{"0", "10"} {
		g := grid(t, lower, "100", "1")
		of := Query{Statistic: Histogram, Grid: g, Epsilon: dec("40"), Levels: 1,
			Buckets: &Bucketing{Ends: ps("20", "30", "50")}}
		for _, q := range []Query{{Above: new(dec("30"))}, {Below: new(dec("51"))},
			{Above: new(dec("20")), Below: new(dec("51"))}} {
			q.Grid = g
			cuts, err := q.ComputedCuts()
			if err != nil {
				t.Fatal(err)
			}
			of.Cuts = append(of.Cuts, cuts...)
		}
		m := build(t, of).(*bucketed)
		s := NewSample(g, []Point{{-1, 3}, {5, 10}, {25, 20}, {45, 30}, {g.last, 5}, {g.last + 1, 7}})
		d, err := m.Draw(s, Public{}, rand.Reader) // P(noise) < 10⁻¹⁶
		if err != nil {
			t.Fatal(err)
		}
		e := m.buckets.Estimate(d.Raw, d.Coarse, HistogramNoise("histogram", 40, 1), 1)
		for _, q := range []Query{
			{Statistic: Count}, {Statistic: Count, Above: new(dec("30"))}, {Statistic: Count, Below: new(dec("51"))},
			{Statistic: Count, Above: new(dec("20")), Below: new(dec("51"))}, {Statistic: Outside},
			{Statistic: Share, Above: new(dec("30"))},
		} {
			q.Grid = g
			f, err := NewComputed(q, m.buckets)
			if err != nil {
				t.Fatal(err)
			}
			v, ok := f.Of(e)
			want := q.Truth(s)[0][0]
			if q.Statistic == Outside && lower == "0" {
				want = want.Sub(decimal.NewFromInt(3)) // in the first bucket
			}
			if !ok || !v.Value.Equal(want.Round(shareDigits)) || v.Quality != Useful && q.Statistic != Outside {
				t.Errorf("lower %s: %+v is %s, %s; want %s", lower, q, v.Value, v.Quality, want)
			}
		}
	}
}

// A draw of the buckets of scale 3, and of the largest number of buckets.
func BenchmarkHistogram(b *testing.B) {
	g := grid(b, "0", "60000", "1")
	s := evenly(g, 10000)
	var ends []decimal.Decimal
	for i := range int64(998) {
		ends = append(ends, decimal.NewFromInt(60*(i+1)))
	}
	random := bufio.NewReader(rand.Reader) // as in the service
	for name, of := range map[string]*Bucketing{"scale 3": {Native: true, Scale: 3}, "1000 buckets": {Ends: ends}} {
		for _, mechanism := range []string{"histogram", gaussianHistogram} {
			m := build(b, Query{Statistic: Histogram, Mechanism: mechanism, Grid: g, Epsilon: dec("0.1"), Buckets: of})
			b.Run(name+" by "+mechanism, func(b *testing.B) {
				for b.Loop() {
					if _, err := m.Draw(s, Public{}, random); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
