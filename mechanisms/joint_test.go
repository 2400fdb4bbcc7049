package mechanisms

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/louver/louver/mechanisms/exact"
	"github.com/louver/louver/mechanisms/internal/dptest"
	"github.com/shopspring/decimal"
)

// jointWith builds the mechanism with a chosen measure and fineness.
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

// tupleLaw is the law given the places of the users, over tuples of grid points (in base points), at f times ε.
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
						tight := 0.45 // with few users
						if count != nil && count.Value == 0 || digits > 0 {
							tight = 0 // nobody is thought to be there; or so few users in places at random lose less
						}
						law := func(epsilon float64) dptest.Law {
							m := jointWith(t, Query{Statistic: Quantiles, P: ps(p...), Grid: g, Epsilon: decimal.NewFromFloat(epsilon)}, measure, digits)
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
		m := jointWith(t, Query{Statistic: Quantiles, P: ps(c.p...), Epsilon: dec(c.epsilon), Grid: g}, lopsided(c.points), c.digits)
		source := exact.NewSource(rand.NewChaCha8([32]byte{byte(c.users)}))
		sp := &spread{}
		sp.begin(s, c.digits, source)
		var places []int64
		for i := range s.n {
			places = append(places, sp.place(i+1))
		}
		law := func(f float64) []float64 { return m.tupleLaw(places, c.count, f) }
		var x messages
		counts := dptest.Counts(12000, len(law(1)), func() int {
			outcome := 0
			x.begin(m, s, c.count, sp)
			for _, o := range x.draw(source) {
				outcome = outcome*c.points + int(o>>m.digits)
			}
			return outcome
		})
		name := fmt.Sprint("joint ", c)
		if c.users == 0 || c.count != nil && (c.count.Value > 50 || c.count.Value < 0) { // ε makes no difference
			if statistic, threshold := dptest.ChiSquare(counts, law(1)); statistic > threshold {
				t.Errorf("%s: χ² = %.1f > %.1f", name, statistic, threshold)
			}
			continue
		}
		dptest.CheckSampler(t, name, counts, law)
	}
}

// The messages' sum is that of all tuples, and the windows leave out what they may.
func TestMessages(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for range 200 {
		points := 2 + rng.IntN(5)
		g := smallGrid(t, points)
		h := make([]int64, points)
		for range rng.IntN(25) {
			h[rng.IntN(points)]++
		}
		s := sampleOf(g, h)
		m := jointWith(t, Query{Statistic: Quantiles, P: ps("0.2", "0.35", "0.8"), Epsilon: dec("0.7"), Grid: g}, lopsided(points), 1)
		var count *NoisyCount
		if rng.IntN(2) == 0 {
			count = &NoisyCount{Value: rng.Int64N(30)}
		}
		sp := &spread{}
		sp.begin(s, 1, exact.NewSource(rand.NewChaCha8([32]byte{12})))
		var x messages
		x.begin(m, s, count, sp)
		x.widen(1e9)
		x.pass()
		total := 0.
		size := int64(points) << 1
		for a := range size {
			for b := a; b < size; b++ {
				for c := b; c < size; c++ {
					weight, before, level := 1., int64(0), int64(0)
					repeats := 1.
					for j, o := range []int64{a, b, c} {
						if j > 0 && o == []int64{a, b, c}[j-1] {
							repeats++
						} else {
							repeats = 1
						}
						weight *= float64(m.fine.weight[m.fine.cell(o)]) / repeats
						level += x.penalty(j, sp.below(o)-before)
						before = sp.below(o)
					}
					level += x.penalty(3, s.n-before)
					total += weight * math.Exp(-x.rate.Float()*float64(level))
				}
			}
		}
		if got := x.logA - slack; math.Abs(got-math.Log(total)) > 1e-9 {
			t.Fatalf("%v count %v: the messages sum to e^%v, the tuples to e^%v", h, count, got, math.Log(total))
		}
	}
}

func TestSpread(t *testing.T) {
	g := smallGrid(t, 4)
	s := sampleOf(g, []int64{3, 0, 40, 5})
	for _, digits := range []int{0, 1, 4, 16} {
		sp := &spread{}
		sp.begin(s, digits, exact.NewSource(rand.NewChaCha8([32]byte{13})))
		last := int64(0)
		for i := int64(1); i <= s.n; i++ {
			y := sp.place(i)
			if y < last || y>>digits != s.values[s.at(i)] {
				t.Fatalf("user %d at place %d of 2^%d after %d", i, y, digits, last)
			}
			if below := sp.below(y); below >= i || sp.below(y+1) < i {
				t.Fatalf("%d users below place %d of user %d", below, y, i)
			}
			last = y
		}
	}
	// Uniform places: 20,000 users on 8 of them.
	many := sampleOf(g, []int64{20000, 0, 0, 0})
	sp := &spread{}
	sp.begin(many, 3, exact.NewSource(rand.NewChaCha8([32]byte{14})))
	counts := make([]int64, 8)
	for i := range many.n {
		counts[sp.place(i+1)]++
	}
	if statistic, threshold := dptest.ChiSquare(counts, dptest.Normalise([]float64{1, 1, 1, 1, 1, 1, 1, 1})); statistic > threshold {
		t.Errorf("places %v: χ² = %.1f", counts, statistic)
	}
}

func TestQuantilesExtremes(t *testing.T) {
	random := rand.NewChaCha8([32]byte{15})
	wide := grid(t, "0", "9007199254740992", "1")
	for _, name := range []string{"joint", "split"} {
		for _, epsilon := range []string{"0.000000001", "0.1", "50", "1e17"} {
			for _, g := range []*Grid{wide, smallGrid(t, 2), smallGrid(t, 60001)} {
				for _, points := range [][]Point{nil, {{1, 1}}, {{0, 1}, {g.last, 1}}, {{-1, 5000}, {g.last + 1, 5000}}, {{1, 20000}}} {
					for _, users := range []*NoisyCount{nil, {0, 1}, {20000, 1}, {1 << 62, 1}} {
						m := build(t, Query{Statistic: Quantiles, Mechanism: name, P: ps("0.01", "0.5", "0.9", "0.999"), Epsilon: dec(epsilon), Grid: g})
						d, err := m.Draw(NewSample(g, points), Public{Users: users}, random)
						if err != nil || len(d.Values) != 4 || d.Values[0] < 0 || d.Values[3] > g.last || len(d.RankError95) != 4 {
							t.Fatalf("%s ε=%s: %v, %v", name, epsilon, d, err)
						}
						for j := 1; j < 4; j++ {
							if d.Values[j] < d.Values[j-1] {
								t.Fatalf("%s ε=%s: %v not in order", name, epsilon, d.Values)
							}
						}
						if users == nil && epsilon == "1e17" && len(points) == 1 && points[0].Count > 1 && d.Values[1] != 1 {
							t.Fatalf("%s: %v from users at 1", name, d.Values)
						}
					}
				}
			}
		}
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
			d, err := m.Draw(s, Public{Users: users}, random)
			if err != nil {
				t.Fatal(err)
			}
			for j, x := range d.Values {
				n, below, upTo := float64(s.n), float64(s.below(x)), float64(s.atMost(x))
				want := dec(p[j]).InexactFloat64() * n
				if want-upTo > d.RankError95[j] || below-want > d.RankError95[j] {
					far[j]++
				}
				if below > d.PHigh[j]*n || upTo < d.PLow[j]*n {
					outside[j]++
				}
				sum += max(0, want-upTo, below-want)
			}
		}
		t.Logf("%s: mean rank error %.2f", name, sum/draws/4)
		for j := range p {
			if far[j] > 90 || outside[j] > 90 { // Binomial(1000, 0.05): more than 90 below 10⁻⁶
				t.Errorf("%s p %s: %d and %d of %d draws beyond their bounds", name, p[j], far[j], outside[j], draws)
			}
		}
	}
}

func TestSplitPromise(t *testing.T) {
	m := build(t, Query{Statistic: Quantiles, Mechanism: "split", P: ps("0.25", "0.5", "0.75"), Epsilon: dec("1"), Grid: smallGrid(t, 10)}).(*split)
	p := m.Promise()
	if !p.Epsilon.Equal(dec("1")) || p.BoundedRange || p.Rho < 3*boundedRange(dec("0.33333333333333333334")).Rho*(1-1e-12) || p.Rho > 0.042 {
		t.Errorf("promise %+v", p)
	}
	for _, r := range m.parts {
		whole := build(t, Query{Statistic: Quantile, P: []decimal.Decimal{decimal.New(r.p, 0).Div(decimal.New(r.q, 0))}, Epsilon: dec("1"), Grid: m.parts[0].grid}).(*ranks)
		if math.Abs(whole.rate.Float()/r.rate.Float()-3) > 1e-12 || math.Abs(r.left/whole.left-3) > 1e-12 {
			t.Errorf("p %d/%d: a part has rate %v, alone %v", r.p, r.q, r.rate.Float(), whole.rate.Float())
		}
	}
}
