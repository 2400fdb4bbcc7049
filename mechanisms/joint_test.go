package mechanisms

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget/privacy"
	"github.com/louver/louver/mechanisms/exact"
	"github.com/louver/louver/mechanisms/internal/dptest"
)

// jointWith builds the mechanism with a given measure and fineness.
func jointWith(t testing.TB, q Query, measure *Measure, digits int) *joint {
	t.Helper()
	m := build(t, q).(*joint)
	bounds := make([]int64, len(measure.bounds))
	for j, b := range measure.bounds {
		bounds[j] = b << digits
	}
	m.fine, m.digits = newMeasure(bounds, measure.weight), digits
	return m
}

// tupleLaw is the law over tuples of grid points (in base points) for given places of the users, at f times ε.
func (m *joint) tupleLaw(places []int64, count *NoisyCount, f float64) []float64 {
	size := m.fine.bounds[len(m.fine.bounds)-1]
	points := int(m.grid.last + 1)
	rate, users := m.alone.Float()/2, float64(len(places))
	if count != nil {
		rate, users = m.counted.Float()/2, float64(max(0, count.Value))
	}
	left := make([]float64, size)
	for o := range left {
		for _, p := range places {
			if p < int64(o) {
				left[o]++
			}
		}
	}
	outcomes := int(math.Pow(float64(points), float64(len(m.p))))
	weights := make([]float64, outcomes)
	least := math.Inf(1)
	visit := func(f func(outcome int, penalty, mass float64)) {
		var fill func(j int, from int64, outcome int, penalty, mass float64, repeats int)
		fill = func(j int, from int64, outcome int, penalty, mass float64, repeats int) {
			before := 0.
			if j > 0 {
				before = left[from]
			}
			share := float64(m.shares[j]) / float64(m.q) * users
			if j == len(m.p) {
				f(outcome, penalty+math.Abs(float64(len(places))-before-share), mass)
				return
			}
			for o := from; o < size; o++ {
				again := 1
				if j > 0 && o == from {
					again = repeats + 1
				}
				w := float64(m.fine.below(o+1)-m.fine.below(o)) / float64(again)
				fill(j+1, o, outcome*points+int(o>>m.digits), penalty+math.Abs(left[o]-before-share), mass*w, again)
			}
		}
		fill(0, 0, 0, 0, 1, 0)
	}
	visit(func(_ int, penalty, _ float64) { least = min(least, penalty) })
	visit(func(outcome int, penalty, mass float64) {
		weights[outcome] += mass * math.Exp(-f*rate*float64(m.q)*(penalty-least))
	})
	return dptest.Normalise(weights)
}

// law averages over all placements of the users.
func (m *joint) law(h []int64, count *NoisyCount) []float64 {
	var sum []float64
	var users []int64
	for x, n := range h {
		for range n {
			users = append(users, int64(x))
		}
	}
	places := make([]int64, len(users))
	var place func(i int)
	place = func(i int) {
		if i == len(users) {
			for x, p := range m.tupleLaw(places, count, 1) {
				if x == len(sum) {
					sum = append(sum, 0)
				}
				sum[x] += p
			}
			return
		}
		for s := range int64(1) << m.digits {
			places[i] = users[i]<<m.digits + s
			place(i + 1)
		}
	}
	place(0)
	return dptest.Normalise(sum)
}

func TestJointPrivacy(t *testing.T) {
	const points = 3
	g := smallGrid(t, points)
	for _, p := range [][]string{{"0.5"}, {"0.25", "0.75"}, {"0.3", "0.6"}} {
		for _, digits := range []int{0, 1} {
			for _, count := range []*NoisyCount{nil, {Value: 2}, {Value: 0}} {
				for _, measure := range []*Measure{Uniform(g), lopsided(points)} {
					for _, epsilon := range []float64{0.5, 3} {
						users := 4 - digits
						name := fmt.Sprint("joint ", p, " places ", 1<<digits, " count ", count != nil)
						tight := 0.45 // for few users
						if count != nil && count.Value == 0 || digits > 0 {
							tight = 0 // the mechanism assumes no users; or so few users at random places lose less
						}
						law := func(epsilon float64) dptest.Law {
							m := jointWith(t, Query{Statistic: Quantiles, P: ps(p...), Grid: g,
								Epsilon: decimal.NewFromFloat(epsilon)}, measure, digits)
							return func(h []int64) []float64 { return m.law(h, count) }
						}
						if tight == 0 {
							if got := dptest.MaxLogRatio(points, users, law(epsilon)); got > epsilon*(1+1e-9) {
								t.Errorf("%s: %v is lost", name, got)
							}
							continue
						}
						dptest.CheckPrivacy(t, name, points, users, epsilon, tight, law)
					}
				}
			}
		}
	}
}

// Several quantiles lose at most the ρ that they promise: D_α ≤ α·ρ for the Rényi divergences of neighbours, also for
// mixtures over random places. A doubled ε breaks this.
func TestJointRho(t *testing.T) {
	const points, users = 3, 4
	g := smallGrid(t, points)
	for _, count := range []*NoisyCount{nil, {Value: 2}} {
		for digits := range 2 {
			for _, epsilon := range []string{"0.5", "3"} {
				law := func(factor int64) dptest.Law {
					q := Query{Statistic: Quantiles, P: ps("0.25", "0.75"), Grid: g,
						Epsilon: dec(epsilon).Mul(decimal.NewFromInt(factor))}
					m := jointWith(t, q, Uniform(g), digits)
					return func(h []int64) []float64 { return m.law(h, count) }
				}
				rho := build(t, Query{Statistic: Quantiles, P: ps("0.25", "0.75"), Grid: g,
					Epsilon: dec(epsilon)}).Promise().Rho.InexactFloat64()
				got := worstDivergence(users-digits, plain(law(1)))
				t.Logf("2^%d places, count %v, ε = %s: %.3f of ρ is lost", digits, count != nil, epsilon, got/rho)
				if got > rho*(1+1e-9) {
					t.Errorf("2^%d places, count %v, ε = %s: ρ = %v is promised, %v is lost", digits,
						count != nil, epsilon, rho, got)
				}
				if got := worstDivergence(users-digits, plain(law(2))); digits == 0 && got <= rho {
					t.Errorf("count %v, ε = %s: a doubled ε goes unnoticed: %v", count != nil, epsilon, got)
				}
			}
		}
	}
}

func TestJointSampler(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	for _, c := range []struct {
		points, users, digits int
		p                     []string
		epsilon               string
		count                 *NoisyCount
	}{
		{5, 0, 2, []string{"0.5", "0.9"}, "1", nil},
		{5, 3, 0, []string{"0.3", "0.6"}, "2", nil},
		{6, 30, 1, []string{"0.1", "0.5", "0.9"}, "0.5", nil},
		{6, 30, 1, []string{"0.1", "0.5", "0.9"}, "0.5", &NoisyCount{Value: 34}},
		{6, 30, 1, []string{"0.1", "0.5", "0.9"}, "0.5", &NoisyCount{Value: 27}},
		{30, 400, 2, []string{"0.25", "0.75"}, "0.5", nil},
		{30, 400, 2, []string{"0.25", "0.75"}, "0.2", &NoisyCount{Value: 391}},
		{30, 400, 2, []string{"0.25", "0.75"}, "0.2", &NoisyCount{Value: 409}},
		{150, 60, 1, []string{"0.5"}, "0.3", nil},
		{8, 2, 1, []string{"0.5", "0.9"}, "0.5", &NoisyCount{Value: 60}},
		{8, 60, 1, []string{"0.5", "0.9"}, "0.5", &NoisyCount{Value: -3}},
	} {
		g := smallGrid(t, c.points)
		h := make([]int64, c.points)
		for range c.users {
			h[int(min(max(float64(c.points)*(0.5+0.15*rng.NormFloat64()), 0), float64(c.points-1)))]++
		}
		s := sampleOf(g, h)
		m := jointWith(t, Query{Statistic: Quantiles, P: ps(c.p...), Epsilon: dec(c.epsilon),
			Grid: g}, lopsided(c.points), c.digits)
		source := exact.NewSource(rand.NewChaCha8([32]byte{byte(c.users)}))
		sp := &spread{}
		sp.begin(s, c.digits, source)
		var places []int64
		for i := range s.n {
			places = append(places, sp.place(i+1))
		}
		law := func(f float64) []float64 { return m.tupleLaw(places, c.count, f) }
		var x messages
		counts := dptest.Counts(5000, len(law(1)), func() int {
			outcome := 0
			x.begin(&m.ranksLaw, s, c.count, sp)
			for _, o := range x.draw(source) {
				outcome = outcome*c.points + int(o>>m.digits)
			}
			return outcome
		})
		name := fmt.Sprint("joint ", c)
		if c.users == 0 || c.count != nil && (c.count.Value > 50 || c.count.Value < 0) { // ε has no effect
			if statistic, threshold := dptest.ChiSquare(counts, law(1)); statistic > threshold {
				t.Errorf("%s: χ² = %.1f > %.1f", name, statistic, threshold)
			}
			continue
		}
		dptest.CheckSampler(t, name, counts, law)
	}
}

func TestJointRefusesWhatTakesTooMuchMemory(t *testing.T) {
	many := make([]string, 99)
	for i := range many {
		many[i] = decimal.New(int64(i+1), -2).String()
	}
	few := []string{"0.25", "0.5", "0.75"}
	for _, c := range []struct {
		p        []string
		epsilon  string
		expected int64
		want     string
	}{
		{few, "0.001", 0, ""},
		{few, "0.000001", 0, "3 quantiles by joint might take"},
		{few, "0.000001", 100_000, ""}, // so few users need little memory at any ε
		{many, "0.001", 0, "99 quantiles by joint might take"},
		{many, "1", 0, ""},
	} {
		_, err := New(Query{Statistic: Quantiles, P: ps(c.p...), Epsilon: dec(c.epsilon), ExpectedUsers: c.expected,
			Grid: smallGrid(t, 60001)})
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%d quantiles, ε = %s, %d users: %v; want %q", len(c.p), c.epsilon, c.expected, err, c.want)
		}
	}
	if _, err := New(Query{Statistic: Median, Epsilon: dec("1"), ExpectedUsers: MaxUsers + 1,
		Grid: smallGrid(t, 10)}); err == nil {
		t.Error("more users are expected than a mechanism takes")
	}
}

// rank_error_95 and the percentiles hold.
func TestQuantilesErrors(t *testing.T) {
	g := smallGrid(t, 2000)
	s := latencies(g, 3000)
	random := rand.NewChaCha8([32]byte{16})
	source := exact.NewSource(random)
	p := []string{"0.25", "0.5", "0.75", "0.9"}
	for _, name := range []string{"joint", "split"} {
		m := build(t, Query{Statistic: Quantiles, Mechanism: name, P: ps(p...), Epsilon: dec("1"), Grid: g})
		const draws = 1000
		var far, outside [4]int
		var sum float64
		for range draws {
			users := &NoisyCount{Value: s.n + source.DiscreteLaplace(1, 1, 1).Int64(), Epsilon: 1}
			d := draw(t, m, s, Public{Users: users}, random)
			for j, x := range d.Values {
				n, below, upTo := float64(s.n), float64(s.Below(x.Number)), float64(s.AtMost(x.Number))
				want := dec(p[j]).InexactFloat64() * n
				if want-upTo > x.RankError95 || below-want > x.RankError95 {
					far[j]++
				}
				if below > x.PHigh*n || upTo < x.PLow*n {
					outside[j]++
				}
				sum += max(0, want-upTo, below-want)
			}
		}
		t.Logf("%s: mean rank error %.2f", name, sum/draws/4)
		for j := range p {
			if far[j] > 90 || outside[j] > 90 { // Binomial(1000, 0.05): more than 90 has probability below 10⁻⁶
				t.Errorf("%s p %s: %d and %d of %d draws beyond their bounds", name, p[j], far[j], outside[j], draws)
			}
		}
	}
}

func TestSplitPromise(t *testing.T) {
	m := build(t, Query{Statistic: Quantiles, Mechanism: "split", P: ps("0.25", "0.5", "0.75"), Epsilon: dec("1"),
		Grid: smallGrid(t, 10)}).(*split)
	p := m.Promise()
	if !p.Epsilon.Equal(dec("1")) || p.Kind != privacy.Pure || p.Rho.InexactFloat64() < 3*privacy.RhoOfRange(1./3) ||
		p.Rho.InexactFloat64() > 0.042 {
		t.Errorf("promise %+v", p)
	}
	for _, r := range m.parts {
		whole := build(t, Query{Statistic: Quantile, P: []decimal.Decimal{decimal.New(r.p, 0).Div(decimal.New(r.q, 0))},
			Epsilon: dec("1"), Grid: m.parts[0].grid}).(*ranks)
		if math.Abs(whole.rate.Float()/r.rate.Float()-3) > 1e-12 || math.Abs(r.left/whole.left-3) > 1e-12 {
			t.Errorf("p %d/%d: a part has rate %v, alone %v", r.p, r.q, r.rate.Float(), whole.rate.Float())
		}
	}
}
