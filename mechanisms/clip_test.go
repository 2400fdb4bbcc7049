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

// cutting is a mechanism that cuts values to an interval, with the law of its interval.
type cutting struct {
	name string
	Mechanism
	*clipping
	// law lists the intervals with this plan: how likely each is, and how many users are outside. noise is that of the
	// count of these; it is nil if nobody can be outside.
	law func(p plan) []piece
	// noise returns the noise of the count for an interval.
	noise func(p plan, x piece) noise
}

// cuttings are those of a histogram from 0 on, for this many expected users.
func cuttings(t *testing.T, h []int64, epsilon string, expected int64) (all []cutting) {
	g := smallGrid(t, len(h))
	for _, name := range []string{"clipped", "clipped_gaussian"} {
		q := Query{Mechanism: name, Epsilon: dec(epsilon), Grid: g, ExpectedUsers: expected}
		for _, of := range []Statistic{Mean, Sum, Variance} {
			if of == Variance && name == "clipped_gaussian" {
				continue
			}
			q.Statistic = of
			x := cutting{name: fmt.Sprintf("%s by %s", of, name), Mechanism: build(t, q)}
			switch m := x.Mechanism.(type) {
			case *clippedMean:
				x.clipping = m.clipping
			case *clippedVariance:
				x.clipping = m.clipping
			case *clippedSum:
				x.clipping = m.clipping
				x.law = func(p plan) (law []piece) {
					for _, c := range magnitudeLaw(m, h, p, 1) {
						law = append(law, piece{h: c.c, out: c.out, p: c.p})
					}
					return law
				}
				x.noise = func(p plan, x piece) noise { return noiseBeyond(m, p, x.h) }
			}
			if c := x.clipping; x.law == nil {
				x.law = func(p plan) []piece { return intervalLaw(c, h, p, 1) }
				x.noise = func(p plan, x piece) noise { return noiseOutside(c, p, x.l, x.h) }
			}
			all = append(all, x)
		}
	}
	return all
}

// The count of users outside follows its law, for every statistic and both noises, in intervals of one point, of all
// points, and between. Many of the intervals have fewer outside than the k0 users that are free, and many have more.
func TestOutsidersSampler(t *testing.T) {
	random := rand.NewChaCha8([32]byte{81})
	h := []int64{0, 9, 4, 0, 3, 0, 1, 1}
	const side = 60
	for _, c := range cuttings(t, h, "2", 200) {
		s := sampleOf(smallGrid(t, len(h)), h)
		p := c.plan(0, nil, nil)
		few, many := 0., 0.
		for _, x := range c.law(p) {
			if x.out < p.free {
				few += x.p
			} else if x.out > p.free {
				many += x.p
			}
		}
		if few < 0.01 || many < 0.01 {
			t.Errorf("%s: %v of the intervals have less than %d outside, %v more", c.name, few, p.free, many)
		}
		law := func(f float64) []float64 { // the interval is drawn with all of its ε
			law := make([]float64, 2*side+2)
			for _, x := range c.law(p) {
				z := c.noise(p, x)
				if z == nil {
					law[2*side+1] += x.p
					continue
				}
				noise, reach := noiseLaw(z, 1, f, 0)
				for i, q := range noise {
					law[min(max(x.out+int64(i)-reach, -side), side)+side] += x.p * q
				}
			}
			return dptest.Normalise(law)
		}
		dptest.CheckDraws(t, c.name, 30000, law, func() int {
			d := draw(t, c, s, Public{}, random)
			if d.Outside.Users95 == 0 { // nobody can be
				return 2*side + 1
			}
			return int(min(max(d.Outside.Users, -side), side)) + side
		})
	}
}

// Users95 is a bound of the users outside in at least 95 % of the draws, for any data, and Error95 of the noise. What
// is cut off moves a mean or a sum by no more than Cut95, beside the noise.
func TestOutsidersBound(t *testing.T) {
	random, rng := rand.NewChaCha8([32]byte{82}), rand.New(rand.NewPCG(8, 2))
	g := grid(t, "0", "60000", "1")
	lognormal := func(n int, median, sigma float64) (points []Point) {
		for range n {
			points = append(points, Point{int64(median * math.Exp(sigma*rng.NormFloat64())), 1})
		}
		return points
	}
	for _, data := range []struct {
		name   string
		points []Point
		single bool // l = h is often drawn
	}{
		{"nobody", nil, false},
		{"all alike", []Point{{7, 20000}}, false},
		{"all at the lower bound, nearly", []Point{{0, 30000}, {50000, 8}}, true},
		{"two groups", []Point{{12, 1400}, {30000, 600}}, false},
		{"few far away", []Point{{12, 1900}, {30000, 100}}, false},
		{"zeros", []Point{{0, 4500}, {3000, 500}}, false},
		{"zeros and amounts", append(lognormal(200, 3000, 1), Point{0, 1800}), false},
		{"latencies", lognormal(2000, 120, 0.9), false},
		{"heavy tail", lognormal(2000, 20, 2.5), false},
		{"beyond both bounds", []Point{{-1, 300}, {500, 1000}, {60001, 300}}, false},
	} {
		s := NewSample(g, data.points)
		for _, mechanism := range []string{"clipped", "clipped_gaussian"} {
			for _, of := range []Statistic{Mean, Sum, Variance} {
				if of == Variance && mechanism == "clipped_gaussian" {
					continue
				}
				q := Query{Statistic: of, Mechanism: mechanism, Epsilon: dec("0.5"), Grid: g}
				m := build(t, q)
				const draws = 600
				bounded, noisy, moved, single := 0, 0, 0, 0
				for range draws {
					d := draw(t, m, s, Public{}, random)
					clips := q.ClipScale(m)
					low, high := clips.Decimal(d.Clip[0]).IntPart(), clips.Decimal(d.Clip[1]).IntPart()
					outside := s.Below(low) + s.n - s.AtMost(high)
					if outside <= d.Outside.Users95 {
						bounded++
					}
					if off := d.Outside.Users - outside; max(off, -off) <= d.Outside.Error95 {
						noisy++
					}
					if low == high {
						single++
					}
					off := 0.
					if truth := q.Truth(s); s.n > 0 && of != Variance {
						off = math.Abs(q.Scale(m).Decimal(d.Values[0].Number).Sub(truth[0][0]).InexactFloat64())
					}
					if of == Variance || math.IsNaN(d.Outside.Cut95) || off <= d.Outside.Cut95+d.Values[0].Error95+1e-9 {
						moved++
					}
				}
				// Binomial(600, 0.95): fewer than 540 has probability below 10⁻⁶.
				if bounded < 540 || noisy < 540 || moved < 540 {
					t.Errorf("%s, %s by %s: Users95 holds in %d draws of %d, Error95 in %d, Cut95 in %d", data.name, of,
						mechanism, bounded, draws, noisy, moved)
				}
				if data.single && single < draws/10 {
					t.Errorf("%s, %s by %s: the interval has one point in %d draws", data.name, of, mechanism, single)
				}
			}
		}
	}
}

// A far group of some twentieths of the users is not cut off from a value that is called useful, with and without a
// released count, and it is kept from about 60/ε users on.
func TestFarGroupsAreNotCutOff(t *testing.T) {
	random := rand.NewChaCha8([32]byte{83})
	g := grid(t, "0", "60000", "1")
	for _, c := range []struct {
		name    string
		points  []Point
		epsilon string
		truth   float64
		close   float64 // half of the draws are that close; 0 if they are not, and then hardly any is useful
	}{
		{"30 % far", []Point{{12, 1400}, {30000, 600}}, "0.1", 9008.4, 1000},
		{"20 % far", []Point{{12, 1600}, {30000, 400}}, "0.1", 6009.6, 0},
		{"10 % far", []Point{{12, 1800}, {30000, 200}}, "0.1", 3010.8, 0},
		{"10 % of more far", []Point{{12, 9000}, {30000, 1000}}, "0.1", 3010.8, 500},
		{"5 % of many far", []Point{{12, 9500}, {30000, 500}}, "0.5", 1511.4, 200},
		{"half far", []Point{{10, 150}, {50000, 150}}, "0.5", 25005, 2500},
		{"spending", []Point{{0, 4500}, {3000, 500}}, "0.1", 300, 60},
	} {
		q := Query{Statistic: Mean, Epsilon: dec(c.epsilon), Grid: g}
		m, s := build(t, q), NewSample(g, c.points)
		for _, counted := range []string{"", "geometric"} {
			const draws = 400
			near, useful, wrong := 0, 0, 0
			for range draws {
				d := drawMean(t, m, s, counted, random)
				value := q.Scale(m).Float(d.Values[0].Number)
				off := math.Abs(value - c.truth)
				if off <= c.close {
					near++
				}
				if q.Judge(d.Values[0].Bound, 0, value, nil) == Useful {
					useful++
					if off > 2*d.Values[0].Error95+1 {
						wrong++
					}
				}
			}
			t.Logf("%s %s: %d within %v, %d useful, %d of them off", c.name, counted, near, c.close, useful, wrong)
			// By simulation, fewer than 0.1 % are useful and off. More than 8 of 400 have a probability below 10⁻⁸
			// then.
			if wrong > 8 || c.close > 0 && near < draws/2 {
				t.Errorf("%s %s: %d of %d draws are within %v, %d useful, %d of them off", c.name, counted, near, draws,
					c.close, useful, wrong)
			}
		}
	}
}
