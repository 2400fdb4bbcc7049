package mechanisms

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/louver/louver/mechanisms/internal/dptest"
)

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
			d, err := c.Draw(s, Public{}, random)
			if err != nil {
				t.Fatal(err)
			}
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
					d, err := m.Draw(s, Public{}, random)
					if err != nil {
						t.Fatal(err)
					}
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
