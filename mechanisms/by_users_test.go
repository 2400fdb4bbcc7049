package mechanisms

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/shopspring/decimal"

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
			d, err := m.Draw(s, Public{}, random)
			if err != nil {
				t.Fatal(err)
			}
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
