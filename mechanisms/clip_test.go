package mechanisms

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms/exact"
	"github.com/louver/louver/mechanisms/internal/dptest"
)

func histogramOf(last int64, data []int64) []int64 {
	h := make([]int64, last+1)
	for _, x := range data {
		h[x]++
	}
	return h
}

func clippingOf(t testing.TB, g *Grid, epsilon float64) *clipping {
	t.Helper()
	c, err := newClipping(&Query{Grid: g, Epsilon: decimal.NewFromFloat(epsilon)})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// piece is an interval and its probability.
type piece struct {
	l, h, out int64
	p         float64
}

// lawOfWidth is what the weight of an interval of w points owes to w.
func lawOfWidth(w, last int64, p plan) float64 {
	a, b := 2., 1.
	if p.steep {
		a, b = 3, 2
	}
	return math.Pow(float64(w+last>>p.halvings), -a) * math.Pow(float64(w+last>>p.finer), -b)
}

// intervalLaw computes the law of the interval at f times ε, directly from its definition.
func intervalLaw(c *clipping, h []int64, p plan, f float64) []piece {
	var law []piece
	sum := 0.0
	for i, l := range c.borders {
		for _, end := range c.borders[i+1:] {
			x := piece{l: l, h: end - 1}
			for v, users := range h {
				if int64(v) < l || int64(v) >= end {
					x.out += users
				}
			}
			x.p = math.Exp(-f*p.interval.Float()*float64(max(x.out, p.free)-p.free)) *
				lawOfWidth(end-l, c.last, p)
			sum += x.p
			law = append(law, x)
		}
	}
	for i := range law {
		law[i].p /= sum
	}
	return law
}

// One more user changes each probability by a factor within e^{±ε_t}, and all of them within a range of e^{ε_t},
// whatever the number k0 of users that are free.
func TestClipIntervalPrivacy(t *testing.T) {
	for _, anchor := range []int64{0, 2} {
		for _, widest := range []int64{0, 63, 511} { // w0 = 0, 1, 15
			for _, epsilon := range []float64{0.1, 1, 4} {
				const points = 5
				c := clippingOf(t, anchored(t, points-1, anchor), epsilon)
				c.last = widest
				for _, information := range []int64{0, 100} {
					p := c.planFor(big.NewRat(information, 1), 0)
					p.free = min(p.free, 2) // more would need more users than can all be tried
					rate := p.interval.Float()
					law := func(f float64) dptest.Law {
						return func(h []int64) []float64 { return chances(intervalLaw(c, h, p, f/rate)) }
					}
					dptest.CheckPrivacy(t, "interval", points, 5, rate, 0.4, law)
					if spread := dptest.MaxRange(points, 5, law(rate)); spread > rate*(1+1e-9) || spread < 0.99*rate {
						t.Errorf("the losses have a range of %v, ε_t is %v", spread, rate)
					}
				}
			}
		}
	}
}

func chances(law []piece) []float64 {
	p := make([]float64, len(law))
	for i, x := range law {
		p[i] = x.p
	}
	return p
}

// The float64 weights are as accurate as Pick is told, and both are in the order of the borders. No weight is left out
// that Pick would miss: at ε = 0.2 and 2 the users outside make some weights 10^20 and 10^50 times smaller.
func TestClipWeights(t *testing.T) {
	g := grid(t, "0", "9007199254740992", "1")
	rng := rand.New(rand.NewPCG(1, 1))
	for i, epsilon := range []float64{0.01, 0.2, 2, 300, 2000, 0.01, 2} {
		steep, g := i > 4, g
		if steep { // a variance has fewer points
			g = grid(t, "0", "268435456", "1")
		}
		c := clippingOf(t, g, epsilon)
		var points []Point
		for range 50 {
			points = append(points, Point{int64(math.Exp(math.Log(float64(g.last)) * rng.Float64())), rng.Int64N(20)})
		}
		s := NewSample(g, points)
		var law intervals
		for _, information := range []int64{0, 1000} { // two w0
			p := c.planFor(big.NewRat(information, 1), 0)
			p.steep = steep
			law.begin(c, s, p)
			weights, long := law.weights(), law.long(200)
			if len(weights) != law.size() || len(long) != law.size() {
				t.Fatalf("%d and %d weights of %d intervals", len(weights), len(long), law.size())
			}
			for k, w := range weights {
				d, _ := new(big.Float).Sub(big.NewFloat(w), long[k].Lo).Float64()
				if math.Abs(d) > weightSlack/2*w+1e-110 {
					t.Fatalf("weight %d is %v, off by %v of it", k, w, d/w)
				}
				if i, j := law.pair(k); k%997 == 0 && (i >= j || j >= len(c.borders)) {
					t.Fatalf("interval %d is from border %d to %d", k, i, j)
				}
			}
		}
	}
}

func TestClipSampler(t *testing.T) {
	random := rand.NewChaCha8([32]byte{51})
	const points = 200
	for _, anchor := range []int64{0, 77} {
		g := anchored(t, points-1, anchor)
		h := make([]int64, points)
		rng := rand.New(rand.NewPCG(5, 5))
		for range 60 {
			h[int(min(math.Abs(rng.NormFloat64())*30+float64(anchor), points-1))]++
		}
		s := sampleOf(g, h)
		for _, information := range []int64{5, 80} {
			c := clippingOf(t, g, 1)
			p := c.planFor(big.NewRat(information, 1), 0)
			law := intervalLaw(c, h, p, 1)
			place := map[[2]int64]int{}
			for i, x := range law {
				place[[2]int64{x.l, x.h}] = i
			}
			var memory intervals
			source := exact.NewSource(random)
			counts := dptest.Counts(20000, len(law), func() int {
				l, h := c.draw(s, p, source, &memory)
				return place[[2]int64{l, h}]
			})
			dptest.CheckSampler(t, fmt.Sprint("interval, anchor ", anchor, ", information ", information), counts,
				func(f float64) []float64 { return chances(intervalLaw(c, h, p, f)) })
		}
	}
}

// Information comes from the released count, otherwise from the expected users, otherwise from the plan's own count.
func TestClipPlan(t *testing.T) {
	g := smallGrid(t, 1001)
	source := exact.NewSource(rand.NewChaCha8([32]byte{52}))
	for _, c := range []struct {
		name     string
		expected int64
		users    *NoisyCount
		interval float64 // ε_t of ε = 1
		halvings uint
	}{
		{"released", 10, &NoisyCount{Value: 71, Epsilon: 1}, 1. / 3, 4},
		{"released, with its noise", 10, &NoisyCount{Value: 65, Epsilon: 0.5}, 0.5, 4},
		{"released, many", 10, &NoisyCount{Value: 1 << 40, Epsilon: 0.5}, 1. / 3, 54},
		{"too rough a count", 4000, &NoisyCount{Value: 1 << 40, Epsilon: 0.0624}, 1. / 3, 15},
		{"expected", 140, nil, 1. / 3, 4},
		{"few expected", 120, nil, 0.5, 4},
	} {
		x := clippingOf(t, g, 1)
		x.expected = c.expected
		for _, n := range []int64{0, 1000} {
			if p := x.plan(n, c.users, source); math.Abs(p.interval.Float()-c.interval) > 1e-15 ||
				p.halvings != c.halvings {
				t.Errorf("%s: ε_t %v, %d halvings; want %v, %d", c.name, p.interval.Float(), p.halvings,
					c.interval, c.halvings)
			}
		}
	}
	x := clippingOf(t, g, 1)
	if p := x.plan(9000, nil, source); math.Abs(p.interval.Float()-15./48) > 1e-15 || p.halvings != 54 {
		t.Errorf("own count of 9000: ε_t %v, %d halvings", p.interval.Float(), p.halvings)
	}
	for range 100 { // e^{−2000/16} for less
		if p := x.plan(0, nil, source); p.halvings == 54 {
			t.Errorf("own count of nobody: %d halvings", p.halvings)
		}
	}
}

// The own count has the noise that it pays for: for ε = 1, P(Z = z) ∝ e^{−|z|/16}. This shows in whether I = n + Z − 16
// reaches 64, which for 96 users is P(Z ≥ −16) = 1 − r^17/(1 + r), r = e^{−1/16}.
func TestOwnCountIsNoisy(t *testing.T) {
	x := clippingOf(t, smallGrid(t, 1001), 1)
	source := exact.NewSource(rand.NewChaCha8([32]byte{58}))
	counts := dptest.Counts(20000, 2, func() int {
		if x.plan(96, nil, source).information.Cmp(big.NewRat(sureFrom, 1)) >= 0 {
			return 1
		}
		return 0
	})
	dptest.CheckSampler(t, "own count", counts, func(f float64) []float64 {
		r := math.Exp(-f / ownShare)
		below := math.Pow(r, 17) / (1 + r)
		return []float64{below, 1 - below}
	})
}
