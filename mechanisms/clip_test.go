package mechanisms

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/louver/louver/mechanisms/exact"
	"github.com/louver/louver/mechanisms/internal/dptest"
	"github.com/shopspring/decimal"
)

// meanVectors were computed by another program in 128-bit floating point, before this one was written.
type meanVectors struct {
	Cells []struct {
		N, Anchor, Cells int64
		Fold             string
		First, Last      []int64
	}
	Intervals []struct {
		N, Anchor   int64
		Data        []int64
		Epsilon     float64
		Information int64
		Sure        bool
		Halvings    uint
		W0          int64
		Count       int
		Top         [][4]float64 // l, h, users outside, probability
	}
	Last []struct {
		A, B, Width int64
		Epsilon     float64
		Law         []float64
	}
	Laws []struct {
		N, Anchor   int64
		Data        []int64
		Epsilon     float64
		Information int64
		Law         []float64
	}
	Own []struct {
		N, Anchor int64
		Data      []int64
		Epsilon   float64
		Law       []float64
		Branches  []struct {
			Sure        bool
			Halvings    uint
			Probability float64
		}
	}
}

func readMeanVectors(t *testing.T) meanVectors {
	t.Helper()
	text, err := os.ReadFile("testdata/means.json")
	if err != nil {
		t.Fatal(err)
	}
	var v meanVectors
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func histogram(last int64, data []int64) []int64 {
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

// piece is one interval and its probability.
type piece struct {
	l, h, out int64
	p         float64
}

// intervalLaw computes the law of the interval at f times ε, straight from its definition.
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
			x.p = math.Pow(float64(end-l+c.last>>p.halvings), -4) * math.Exp(-f*p.interval.Float()*float64(x.out))
			sum += x.p
			law = append(law, x)
		}
	}
	for i := range law {
		law[i].p /= sum
	}
	return law
}

func TestClipCells(t *testing.T) {
	for _, v := range readMeanVectors(t).Cells {
		b := cellBounds(v.N+1, v.Anchor, cellsPerDistance, fewestCells)
		fold := uint64(0)
		for _, x := range b {
			fold = fold*1000003 + uint64(x)
		}
		want, err := strconv.ParseUint(v.Fold, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		if fold != want || int64(len(b)-1) != v.Cells || !slices.Equal(b[:len(v.First)], v.First) || !slices.Equal(b[len(b)-len(v.Last):], v.Last) {
			t.Errorf("0..%d around %d: %d cells, fold %d; want %d, %d", v.N, v.Anchor, len(b)-1, fold, v.Cells, want)
		}
	}
}

func TestClipIntervalVectors(t *testing.T) {
	for _, v := range readMeanVectors(t).Intervals {
		g := anchored(t, v.N, v.Anchor)
		c := clippingOf(t, g, v.Epsilon)
		p := c.planFor(big.NewRat(v.Information, 1), 0)
		if sure := p.interval.Float() < 0.4*v.Epsilon; sure != v.Sure || p.halvings != v.Halvings || c.last>>p.halvings != v.W0 {
			t.Errorf("information %d: ε_t %v, %d halvings; want sure %v, %d", v.Information, p.interval.Float(), p.halvings, v.Sure, v.Halvings)
		}
		h := histogram(v.N, v.Data)
		law := intervalLaw(c, h, p, 1)
		if len(law) != v.Count || len(law) != c.law(sampleOf(g, h), p).size() {
			t.Errorf("%d intervals, want %d", len(law), v.Count)
		}
		for _, top := range v.Top {
			i := slices.IndexFunc(law, func(x piece) bool { return x.l == int64(top[0]) && x.h == int64(top[1]) })
			if i < 0 || law[i].out != int64(top[2]) || math.Abs(law[i].p/top[3]-1) > 1e-12 {
				t.Errorf("0..%d, %v: [%v, %v] with %v outside has %v", v.N, v.Data, top[0], top[1], top[2], top[3])
			}
		}
	}
}

// One more user changes every probability by a factor in e^{±ε_t}, and all of them within a range of e^{ε_t}.
func TestClipIntervalPrivacy(t *testing.T) {
	for _, anchor := range []int64{0, 2} {
		for _, widest := range []int64{0, 63, 511} { // w0 = 0, 1, 15
			for _, epsilon := range []float64{0.1, 1, 4} {
				const points = 5
				c := clippingOf(t, anchored(t, points-1, anchor), epsilon)
				c.last = widest
				for _, information := range []int64{0, 100} {
					p := c.planFor(big.NewRat(information, 1), 0)
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

// The float64 weights are as near to the true ones as Pick is told, and the order of both is that of the borders.
func TestClipWeights(t *testing.T) {
	g := grid(t, "0", "9007199254740992", "1")
	rng := rand.New(rand.NewPCG(1, 1))
	for _, epsilon := range []float64{0.01, 300} {
		c := clippingOf(t, g, epsilon)
		var points []Point
		for range 50 {
			points = append(points, Point{int64(math.Exp(36 * rng.Float64())), rng.Int64N(20)})
		}
		s := NewSample(g, points)
		for _, information := range []int64{0, 1000} {
			p := c.planFor(big.NewRat(information, 1), 0)
			law := c.law(s, p)
			weights, long := law.weights(nil), law.long(200)
			if len(weights) != law.size() || len(long) != law.size() {
				t.Fatalf("%d and %d weights of %d intervals", len(weights), len(long), law.size())
			}
			for k, w := range weights {
				if d, _ := new(big.Float).Sub(big.NewFloat(w), long[k].Lo).Float64(); math.Abs(d) > weightSlack/2*w+1e-110 {
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
			var weights []float64
			source := exact.NewSource(random)
			counts := dptest.Counts(60000, len(law), func() int {
				l, h := c.draw(s, p, source, &weights)
				return place[[2]int64{l, h}]
			})
			dptest.CheckSampler(t, fmt.Sprint("interval, anchor ", anchor, ", information ", information), counts,
				func(f float64) []float64 { return chances(intervalLaw(c, h, p, f)) })
		}
	}
}

// Information comes from the released count, else from the users expected, else from a count of its own.
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
		{"released", 10, &NoisyCount{Value: 71, Epsilon: 1}, 1. / 3, 5},
		{"released, with its noise", 10, &NoisyCount{Value: 65, Epsilon: 0.5}, 0.5, 5},
		{"released, many", 10, &NoisyCount{Value: 1 << 40, Epsilon: 0.5}, 1. / 3, 54},
		{"too rough a count", 400, &NoisyCount{Value: 1 << 40, Epsilon: 0.0624}, 1. / 3, 14},
		{"expected", 140, nil, 1. / 3, 5},
		{"few expected", 120, nil, 0.5, 5},
	} {
		x := clippingOf(t, g, 1)
		x.expected = c.expected
		for _, n := range []int64{0, 1000} {
			if p := x.plan(n, c.users, source); math.Abs(p.interval.Float()-c.interval) > 1e-15 || p.halvings != c.halvings {
				t.Errorf("%s: ε_t %v, %d halvings; want %v, %d", c.name, p.interval.Float(), p.halvings, c.interval, c.halvings)
			}
		}
	}
	x := clippingOf(t, g, 1)
	if p := x.plan(5000, nil, source); math.Abs(p.interval.Float()-15./48) > 1e-15 || p.halvings != 54 {
		t.Errorf("own count of 5000: ε_t %v, %d halvings", p.interval.Float(), p.halvings)
	}
	for range 100 { // e^{−1000/16} for less
		if p := x.plan(0, nil, source); p.halvings == 54 {
			t.Errorf("own count of nobody: %d halvings", p.halvings)
		}
	}
}
