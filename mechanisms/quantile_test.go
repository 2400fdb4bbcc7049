package mechanisms

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/shopspring/decimal"
	"gonum.org/v1/gonum/integrate/quad"

	"github.com/louver/louver/budget/privacy"
	"github.com/louver/louver/mechanisms/internal/dptest"
	"github.com/louver/louver/mechanisms/internal/parameter"
)

// law is the exact joint law of the bit and the value at f times ε; the values of above_threshold come first.
func (m *byUsers) law(s *Sample, f float64) []float64 {
	few := m.test.probability(s.n, f)
	var law []float64
	for _, p := range m.rest.threshold.law(s, f) {
		law = append(law, few*p)
	}
	for _, p := range m.rest.flip.law(s, f, m.rest.flip.measure) {
		law = append(law, (1-few)*p)
	}
	return law
}

// byUsersAt is the default of a tail. Samples here are small, so the numbers of users at which it changes are small
// too.
func byUsersAt(t testing.TB, g *Grid, p string, epsilon float64, limit, few int64) *byUsers {
	t.Helper()
	if num, den, _ := parameter.Probability(dec(p)); 2*num < den {
		g.anchor = g.last
	}
	m := build(t, Query{Statistic: Quantile, P: ps(p), Epsilon: decimal.NewFromFloat(epsilon), Grid: g}).(*byUsers)
	m.test.limit = limit
	u := m.rest.flip.utility.(tail)
	u.few = few
	m.rest.flip.utility = u
	return m
}

// Checks every pair of neighbours, with the bit published beside the value.
func TestByUsersPrivacy(t *testing.T) {
	for _, p := range []string{"0.8", "0.9", "0.1", "0.97"} {
		for _, c := range []struct {
			points, users int
			epsilon       float64
			tight         float64
		}{{4, 5, 1, 0.5}, {4, 4, 4, 0.5}, {3, 6, 0.2, 0.3}} {
			for _, limit := range []int64{0, 3} {
				law := func(epsilon float64) dptest.Law {
					m := byUsersAt(t, smallGrid(t, c.points), p, epsilon, limit, 2)
					return func(h []int64) []float64 { return m.law(sampleOf(m.rest.flip.grid, h), 1) }
				}
				dptest.CheckPrivacy(t, fmt.Sprint("by users ", p, " limit ", limit), c.points, c.users,
					c.epsilon, c.tight, law)
			}
		}
	}
}

// The bit alone costs its share of ε, and uses all of it.
func TestFewUsersPrivacy(t *testing.T) {
	for _, p := range []string{"0.9", "0.99"} {
		test := newFewUsers(1, 10, rat(t, "3"))
		if p == "0.99" {
			test = newFewUsers(99, 100, rat(t, "3"))
		}
		test.limit = 4
		share := 3 / float64(test.share)
		dptest.CheckPrivacy(t, "few users, p "+p, 2, 6, share, 0.99, func(epsilon float64) dptest.Law {
			return func(h []int64) []float64 {
				few := test.probability(h[0]+h[1], epsilon/share)
				return []float64{few, 1 - few}
			}
		})
	}
}

// The draw and the mechanism it reports follow their joint law.
func TestByUsersSampler(t *testing.T) {
	const points = 40
	h := make([]int64, points)
	rng := rand.New(rand.NewPCG(3, 3))
	for range 45 {
		h[min(int(5*rng.ExpFloat64()), points-1)] += 2
	}
	random := rand.NewChaCha8([32]byte{31})
	for _, p := range []string{"0.9", "0.2"} {
		m := byUsersAt(t, smallGrid(t, points), p, 1, 80, 60)
		s := sampleOf(m.rest.flip.grid, h)
		counts := dptest.Counts(20000, 2*points, func() int {
			d := draw(t, m, s, Public{}, random)
			bounded := !math.IsNaN(d.Values[0].RankError95)
			if d.Mechanism == "above_threshold" && !bounded {
				return int(d.Values[0].Number)
			}
			if d.Mechanism != "permute_and_flip" || !bounded {
				t.Fatalf("%+v", d)
			}
			return points + int(d.Values[0].Number)
		})
		dptest.CheckSampler(t, "by users "+p, counts, func(f float64) []float64 { return m.law(s, f) })
	}
}

// Of the public figures, the draw uses the released count, and then spends nothing on asking.
func TestByUsersTold(t *testing.T) {
	g := smallGrid(t, 50)
	m := build(t, Query{Statistic: Quantile, P: ps("0.9"), Epsilon: dec("1"), Grid: g}).(*byUsers)
	h := make([]int64, 50)
	for i := range 20 {
		h[i] = 5
	}
	s, random := sampleOf(g, h), rand.NewChaCha8([32]byte{32})
	for _, c := range []struct {
		users int64
		want  string
		law   []float64
	}{{79, "above_threshold", m.whole.threshold.law(s, 1)},
		{80, "permute_and_flip", m.whole.flip.law(s, 1, Tapered(g))}} {
		counts := dptest.Counts(20000, 50, func() int {
			d, err := m.Draw(s, Public{Users: &NoisyCount{Value: c.users, Epsilon: 1}}, random)
			if err != nil || d.Mechanism != c.want {
				t.Fatalf("%d users: %+v, %v", c.users, d, err)
			}
			return int(d.Values[0].Number)
		})
		if statistic, threshold := dptest.ChiSquare(counts, c.law); statistic > threshold {
			t.Errorf("%d users: χ² %.1f > %.1f", c.users, statistic, threshold)
		}
	}
	if p := m.Promise(); !p.Epsilon.Equal(dec("1")) || p.Kind != privacy.Pure ||
		m.rest.flip.rate.Float() != m.whole.flip.rate.Float()*31/32 {
		t.Errorf("promise %+v, rates %v of %v", p, m.rest.flip.rate.Float(), m.whole.flip.rate.Float())
	}
}

func TestDefaultFollowsWhatIsPublic(t *testing.T) {
	g := grid(t, "0", "60000", "1")
	at := func(s string) *decimal.Decimal { d := dec(s); return &d }
	for _, c := range []struct {
		name string
		q    Query
		want string
		rho  float64 // at ε = 1
	}{
		{"median", Query{Statistic: Median}, "permute_and_flip", 0.5},
		{"median of few", Query{Statistic: Median, ExpectedUsers: 3}, "permute_and_flip", 0.5},
		{"no tail", Query{Statistic: Quantile, P: ps("0.75")}, "permute_and_flip", 0.5},
		{"nothing known", Query{Statistic: Quantile, P: ps("0.99")}, "permute_and_flip/above_threshold", 0.5},
		{"few in the tail", Query{Statistic: Quantile, P: ps("0.99"), ExpectedUsers: 799}, "above_threshold", 0.5},
		{"few in the tail where 0 is", Query{Statistic: Quantile, P: ps("0.01"),
			ExpectedUsers: 799}, "permute_and_flip", 0.5},
		{"few below 0", Query{Statistic: Quantile, P: ps("0.01"), ExpectedUsers: 799, Grid: grid(t, "-500", "0", "1")},
			"above_threshold", 0.5},
		{"few on either side of 0", Query{Statistic: Quantile, P: ps("0.01"), Grid: grid(t, "-500", "500", "1")},
			"permute_and_flip/above_threshold", 0.5},
		{"the upper tail below 0", Query{Statistic: Quantile, P: ps("0.99"), Grid: grid(t, "-500", "-3", "1")},
			"permute_and_flip", 0.5},
		{"enough", Query{Statistic: Quantile, P: ps("0.99"), ExpectedUsers: 800}, "permute_and_flip", 0.5},
		{"zCDP", Query{Statistic: Quantile, P: ps("0.99"), ExpectedUsers: 100, ZCDP: true}, "margin", 0.125},
		{"zCDP, median", Query{Statistic: Median, ZCDP: true}, "margin", 0.125},
		{"adaptive", Query{Statistic: Quantile, P: ps("0.99"), ExpectedUsers: 100, Prior: "adaptive"}, "margin", 0.125},
		{"tilt asked for", Query{Statistic: Quantile, P: ps("0.99"), ExpectedUsers: 100,
			Tilt: [2]int64{1, 3}}, "margin", 0.125},
		{"paid interval", Query{Statistic: Quantile, P: ps("0.99"), Interval: at("0.9")}, "margin", 0.05},
		{"named", Query{Statistic: Quantile, P: ps("0.99"), ExpectedUsers: 100, Mechanism: "duff"}, "duff", 0.125},
	} {
		c.q.Epsilon = dec("1")
		if c.q.Grid == nil {
			c.q.Grid = g
		}
		m := build(t, c.q)
		if m.Name() != c.want || m.Promise().Rho.InexactFloat64() > c.rho*1.0001 ||
			(m.Promise().Kind == privacy.BoundedRange) != (c.rho == 0.125) {
			t.Errorf("%s: %s with %+v, want %s with ρ %v", c.name, m.Name(), m.Promise(), c.want, c.rho)
		}
	}
	// There are two levels per rank on the inner side and three on the outer: 3α/ε and 2α/ε ranks per e-fold.
	for p, want := range map[string][2]float64{"0.9": {2.7, 1.8}, "0.1": {1.8, 2.7}} {
		m := build(t, Query{Statistic: Quantile, P: ps(p), Epsilon: dec("1"), Grid: g, ZCDP: true}).(*ranks)
		if math.Abs(m.left-want[0]) > 1e-12 || math.Abs(m.right-want[1]) > 1e-12 {
			t.Errorf("p %s: %v and %v ranks, want %v", p, m.left, m.right, want)
		}
	}
}

// law integrates over u, ρ = −ln(u)/ε_ρ. With u = v^q, everything is a polynomial in v between the points where one of
// the probabilities reaches 1, so Gauss–Legendre is exact.
func (m *aboveThreshold) law(s *Sample, f float64) []float64 {
	fold := make([]float64, m.borders())
	cuts := []float64{0, 1}
	for i := range fold {
		fold[i] = f * m.rate.Float() * float64(m.q*m.passed(s, i)-m.p*s.n)
		if v := math.Exp(-fold[i] / float64(m.p)); v < 1 {
			cuts = append(cuts, v)
		}
	}
	slices.Sort(cuts)
	law := make([]float64, m.last+1)
	for c := 1; c < len(cuts); c++ {
		if cuts[c] <= cuts[c-1] {
			continue
		}
		add := func(i int, first, end int64) {
			stop := quad.Fixed(func(v float64) float64 {
				density := float64(m.q) * math.Pow(v, float64(m.q-1))
				for j := range min(i+1, len(fold)) {
					p := min(1, math.Pow(v, float64(m.p))*math.Exp(fold[j]))
					if j < i {
						p = 1 - p
					}
					density *= p
				}
				return density
			}, cuts[c-1], cuts[c], 60, quad.Legendre{}, 0)
			for x := first; x < end; x++ {
				law[x] += stop / float64(end-first)
			}
		}
		for i := range fold {
			first, end := m.cell(i)
			add(i, first, end)
		}
		add(len(fold), m.end(), m.end()+1)
	}
	return law
}

func TestAboveThresholdPrivacy(t *testing.T) {
	for _, p := range []string{"0.5", "0.9", "0.2"} {
		for _, c := range []struct {
			points, users int
			epsilon       float64
		}{{4, 4, 2}, {12, 2, 2}} {
			g := smallGrid(t, c.points)
			dptest.CheckPrivacy(t, fmt.Sprint("above_threshold ", p), c.points, c.users, c.epsilon, 0.6,
				func(epsilon float64) dptest.Law {
					m := build(t, Query{Statistic: Quantile, Mechanism: "above_threshold", P: ps(p),
						Epsilon: decimal.NewFromFloat(epsilon), Grid: g}).(*aboveThreshold)
					return func(h []int64) []float64 { return m.law(sampleOf(g, h), 1) }
				})
		}
	}
}

func TestAboveThresholdSampler(t *testing.T) {
	random := rand.NewChaCha8([32]byte{20})
	for _, p := range []string{"0.5", "0.8", "0.2"} {
		wide := make([]int64, 100) // the cells have up to four points
		wide[60], wide[61], wide[90] = 7, 3, 2
		for _, h := range [][]int64{{2, 0, 5, 1, 1}, {0, 0, 0, 0, 0, 0, 0, 9}, {9, 0, 0, 0, 1, 0, 0, 0}, wide} {
			g := smallGrid(t, len(h))
			m := build(t, Query{Statistic: Quantile, Mechanism: "above_threshold", P: ps(p), Epsilon: dec("0.7"),
				Grid: g}).(*aboveThreshold)
			s := sampleOf(g, h)
			sum := 0.
			for _, p := range m.law(s, 1) {
				sum += p
			}
			if math.Abs(sum-1) > 1e-9 {
				t.Fatalf("the law sums to %v", sum)
			}
			counts := dptest.Counts(20000, len(h), number(t, m, s, random))
			dptest.CheckSampler(t, fmt.Sprint("above_threshold ", p, h), counts,
				func(f float64) []float64 { return m.law(s, f) })
		}
	}
}

// Its purpose: in a tail of few users it is far better than the exponential mechanism under cells.
func TestAboveThresholdInTheTail(t *testing.T) {
	g := smallGrid(t, 60001)
	s := latencies(g, 1000)
	random := rand.NewChaCha8([32]byte{21})
	truth := float64(s.values[s.at(990)])
	mean := func(name string) float64 {
		m := build(t, Query{Statistic: Quantile, Mechanism: name, P: ps("0.99"), Epsilon: dec("1"),
			Grid: g, Prior: "cells"})
		sum := 0.
		for range 300 {
			d := draw(t, m, s, Public{}, random)
			sum += math.Abs(float64(d.Values[0].Number) - truth)
		}
		return sum / 300
	}
	threshold, duff := mean("above_threshold"), mean("duff")
	t.Logf("mean error of p99 at n = 1000, ε = 1: %.0f, duff %.0f", threshold, duff)
	if threshold > duff/5 {
		t.Errorf("mean error %.0f, duff %.0f", threshold, duff)
	}
}

// It gives points of the whole cell that holds the quantile, and not its border. With 1000 users and an ε of 10 it
// stops at another border with a probability of about e^{−1000·10/4}.
func TestAboveThresholdIsInTheCell(t *testing.T) {
	g := smallGrid(t, 60001)
	random := rand.NewChaCha8([32]byte{23})
	cells := g.cells()
	i := lastUpTo(cells, 500)
	for _, p := range []string{"0.5", "0.2"} {
		m := build(t, Query{Statistic: Quantile, Mechanism: "above_threshold", P: ps(p), Epsilon: dec("10"), Grid: g})
		seen := map[int64]bool{}
		for range 2000 {
			d := draw(t, m, NewSample(g, []Point{{500, 1000}}), Public{}, random)
			x := d.Values[0].Number
			if x < cells[i] || x >= cells[i+1] {
				t.Fatalf("p %s: %d, want one of %d to %d", p, x, cells[i], cells[i+1]-1)
			}
			seen[x] = true
		}
		// A point of some 30 is in none of 2000 draws with a probability of e^{−66}.
		if int64(len(seen)) != cells[i+1]-cells[i] {
			t.Errorf("p %s: %d of %d points are drawn", p, len(seen), cells[i+1]-cells[i])
		}
	}
}

func intervalOf(t testing.TB, g *Grid, p, epsilon, level string) *interval {
	t.Helper()
	l := dec(level)
	return build(t, Query{Statistic: Quantile, P: ps(p), Epsilon: dec(epsilon), Interval: &l, Grid: g}).(*interval)
}

// The three draws together cost ε.
func TestIntervalPrivacy(t *testing.T) {
	const points = 3
	g := smallGrid(t, points)
	for _, p := range []string{"0.5", "0.9"} {
		for _, shift := range []float64{-1.3, 0.4, 2} {
			law := func(epsilon float64) dptest.Law {
				m := intervalOf(t, g, p, decimal.NewFromFloat(epsilon).String(), "0.95")
				low, high := m.side.shifted(-shift), m.side.shifted(shift)
				return func(h []int64) []float64 {
					s := sampleOf(g, h)
					var law []float64
					for _, a := range m.estimate.law(s, 1, lopsided(points)) {
						for _, b := range low.law(s.padded(g), 1, lopsided(points)) {
							for _, c := range high.law(s.padded(g), 1, lopsided(points)) {
								law = append(law, a*b*c)
							}
						}
					}
					return law
				}
			}
			dptest.CheckPrivacy(t, fmt.Sprint("interval ", p, " shift ", shift), points, 6, 2, 0.5, law)
		}
	}
}

// With a shifted target, the walk still begins at the best level.
func TestShiftedTour(t *testing.T) {
	g := smallGrid(t, 5)
	for _, p := range []string{"0.5", "0.9"} {
		m := intervalOf(t, g, p, "1", "0.95")
		for _, shift := range []float64{-100, -2.5, -1, 0.3, 1, 100} {
			r := m.side.shifted(shift)
			dptest.Samples(5, 6, func(h []int64) {
				checkWalk(t, fmt.Sprint("shift ", shift, h), g, newTour(r, sampleOf(g, h).padded(g)))
			})
		}
	}
}

func TestIntervalCovers(t *testing.T) {
	random := rand.NewChaCha8([32]byte{17})
	for _, n := range []int{0, 1, 100, 10000} {
		g := smallGrid(t, 60001)
		s := latencies(g, n)
		for _, p := range []string{"0.5", "0.99"} {
			m := intervalOf(t, g, p, "1", "0.9")
			missed := 0
			const draws = 500
			for range draws {
				d, err := m.Draw(s, Public{}, random)
				if err != nil || d.Low > d.Values[0].Number || d.High < d.Values[0].Number {
					t.Fatalf("%+v, %v", d, err)
				}
				if n > 0 {
					if x := s.values[s.at(ceilDiv(m.estimate.p*s.n, m.estimate.q))]; x < d.Low || x > d.High {
						missed++
					}
				}
			}
			if missed > 90 { // Binomial(500, 0.1): more than 90 has probability below 10⁻⁷
				t.Errorf("n %d, p %s: the quantile is outside in %d of %d draws", n, p, missed, draws)
			}
		}
	}
	tiny := intervalOf(t, smallGrid(t, 5), "0.99999999", "0.000000000001", "0.999999999")
	if d, err := tiny.Draw(sampleOf(smallGrid(t, 5), []int64{1, 2, 3, 4, 5}), Public{}, random); err != nil {
		t.Errorf("%+v, %v", d, err)
	}
}

func TestIntervalPromise(t *testing.T) {
	m := intervalOf(t, smallGrid(t, 10), "0.5", "1", "0.95")
	want := privacy.RhoOfRange(0.5) + 2*privacy.RhoOfRange(0.25)
	if p := m.Promise(); !p.Epsilon.Equal(dec("1")) || p.Kind != privacy.Pure || p.Rho.InexactFloat64() < want ||
		p.Rho.InexactFloat64() > want*1.000001 {
		t.Errorf("%+v, want ρ %v", p, want)
	}
	whole := build(t, Query{Statistic: Median, Epsilon: dec("1"), Grid: smallGrid(t, 10)}).(*ranks)
	if m.estimate.rate.Float()*2 != whole.rate.Float() || m.side.rate.Float()*4 != whole.rate.Float() {
		t.Errorf("rates %v, %v of %v", m.estimate.rate.Float(), m.side.rate.Float(), whole.rate.Float())
	}
	f := filter(t, Query{Statistic: Median, Epsilon: dec("1"), Interval: &[]decimal.Decimal{dec("0.95")}[0],
		Grid: smallGrid(t, 10)})
	if e, _ := f.epsilon.Float64(); e != 0.5 {
		t.Errorf("the filter takes the quantile's ε for %v", e)
	}
	for _, level := range []string{"0", "1", "-1"} {
		l := dec(level)
		if _, err := New(Query{Statistic: Median, Epsilon: dec("1"), Interval: &l,
			Grid: smallGrid(t, 10)}); err == nil {
			t.Errorf("an interval of level %s is accepted", level)
		}
	}
}
