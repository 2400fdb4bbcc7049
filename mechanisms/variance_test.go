package mechanisms

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/louver/louver/mechanisms/internal/dptest"
)

// three are the sums of a sample in l..h in quarters, added up from their definition one value at a time.
func three(hist []int64, l, h int64) (sums [3]int64) {
	width := h - l
	for x, users := range hist {
		switch a := int64(x) - l; {
		case a < 0:
			sums[0] += users * 3 * width * width
		case a > width:
			sums[2] += users * 3 * width * width
		default:
			sums[0] += users * 4 * (width - a) * (width - a)
			sums[1] += users * 8 * a * (width - a)
			sums[2] += users * 4 * a * a
		}
	}
	return sums
}

// threeLaw is the law of three noisy sums of at most so many users, in parts of 1/parts, each lumped outside the
// possible range.
func threeLaw(sums [3]int64, width, users int64, parts int64, rate float64) (law []float64) {
	most := users * parts * width * width
	rate /= float64(parts * width * width)
	for _, a := range lumped(sums[0], most, rate) {
		for _, b := range lumped(sums[1], most, rate) {
			for _, c := range lumped(sums[2], most, rate) {
				law = append(law, a*b*c)
			}
		}
	}
	return law
}

// whole takes sums out of quarters.
func wholeOf(sums [3]int64) [3]int64 { return [3]int64{sums[0] / 4, sums[1] / 4, sums[2] / 4} }

// Everything is published jointly: the three sums and, for clipped, the decision of the own count, the interval and how
// many users are outside.
func TestVariancePrivacy(t *testing.T) {
	const users = 2
	for _, points := range []int{3, 4} {
		last := int64(points - 1)
		for _, epsilon := range []float64{0.5, 2} {
			dptest.CheckPrivacy(t, fmt.Sprint("three_sums, ", points, " points"), points, users, epsilon, 0.99,
				func(e float64) dptest.Law {
					return func(hist []int64) []float64 {
						return threeLaw(wholeOf(three(hist, 0, last)), last, users+1, 1, e)
					}
				})
		}
	}
	const points = 3
	for _, epsilon := range []float64{0.5, 2} {
		c := clippingOf(t, anchored(t, points-1, 0), epsilon).freeing(0)
		c.steepen()
		c.last = 255
		dptest.CheckPrivacy(t, "clipped", points, users, epsilon, 0.85, func(e float64) dptest.Law {
			f := e / epsilon
			branches := remembered(c, f)
			return func(hist []int64) (law []float64) {
				chance, plans := branches(total(hist))
				for i, p := range plans {
					for _, x := range intervalLaw(c, hist, p, f) {
						sums, count := []float64{1}, []float64{1}
						if x.l < x.h {
							sums = threeLaw(three(hist, x.l, x.h), x.h-x.l, users+1, 4, f*p.sums.rate())
						}
						if z := noiseOutside(c, p, x.l, x.h); z != nil {
							out := quartersOf(hist, x.l, x.h).out
							count = laplaceLaw(f)(out, users+1, z, 1)
						}
						for _, y := range sums {
							for _, z := range count {
								law = append(law, chance[i]*x.p*y*z)
							}
						}
					}
				}
				return law
			}
		})
	}
}

// The sums equal those added up one value at a time, and the ratio equals the formula in floating point.
func TestThreeSums(t *testing.T) {
	g := smallGrid(t, 6)
	dptest.Samples(6, 3, func(hist []int64) {
		s := sampleOf(g, hist)
		for l := int64(0); l < 6; l++ {
			for h := l; h < 6; h++ {
				got, want := s.bernstein(l, h), three(hist, l, h)
				inQuarters(&got, uint64((h-l)*(h-l)), s.Below(l), s.n-s.AtMost(h))
				if fmt.Sprint(got) != fmt.Sprint(want) {
					t.Fatalf("%v cut to %d..%d: %v, want %v", hist, l, h, got, want)
				}
			}
		}
	})
	random := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		var sums [3]*big.Int
		var f [3]float64
		for i := range sums {
			sums[i] = big.NewInt(random.Int64N(1000) - 100)
			f[i] = max(0, float64(sums[i].Int64()))
		}
		all := f[0] + f[1] + f[2]
		mean := (f[1]/2 + f[2]) / all
		want := max(0, 49*(f[2]/all-mean*mean))
		if all == 0 {
			want = 0
		}
		for shift := int32(-1); shift <= 3; shift++ {
			x := threeSums{shift: shift}
			got := float64(x.ratio(7, sums)) / math.Pow10(int(shift))
			if math.Abs(got-want)*math.Pow10(int(shift)) > 0.5+1e-9 {
				t.Fatalf("%v: variance %v, want %v to %d places", sums, got, want, shift)
			}
		}
		root := threeSums{shift: 3, root: true}
		if got := float64(root.ratio(7, sums)) / 1000; math.Abs(got-math.Sqrt(want)) > 0.0005+1e-9 {
			t.Fatalf("%v: root %v, want %v", sums, got, math.Sqrt(want))
		}
	}
}

// With a large ε the draw is the truth to the last digit, and the truth is the plain formula.
func TestVarianceIsTheVariance(t *testing.T) {
	g, random := grid(t, "-5", "20", "0.5"), rand.NewChaCha8([32]byte{8})
	s := sampleOf(g, []int64{3, 0, 0, 7, 0, 2, 1, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 9, 1})
	n, sum, squares := 0., 0., 0.
	for j, i := range s.values {
		x, users := g.Value(i).InexactFloat64(), float64(s.count(j))
		n, sum, squares = n+users, sum+users*x, squares+users*x*x
	}
	variance := squares/n - sum*sum/n/n
	for statistic, want := range map[Statistic]float64{Variance: variance, StdDev: math.Sqrt(variance)} {
		for _, name := range Available(statistic) {
			q := Query{Statistic: statistic, Mechanism: name, Epsilon: dec("100000"), Grid: g}
			m := build(t, q)
			d := draw(t, m, s, Public{}, random)
			got, truth := q.Scale(m).Float(d.Values[0].Number), q.Truth(s)[0][0].InexactFloat64()
			if math.Abs(truth-want) > 1e-9 || math.Abs(got-want) > 0.001 {
				t.Errorf("%s by %s: drawn %v, truth %v, want %v", statistic, name, got, truth, want)
			}
			if empty, err := m.Draw(NewSample[Point](g, nil), Public{}, random); err != nil ||
				empty.Values[0].Number < 0 {
				t.Errorf("%s of nobody: %v, %v", statistic, empty.Values, err)
			}
		}
	}
	// The largest grid fits in 53 bits; the next one is refused.
	for upper, ok := range map[string]bool{"268435456": true, "268435457": false} {
		q := Query{Statistic: Variance, Epsilon: dec("1"), Grid: grid(t, "0", upper, "1")}
		m, err := New(q)
		if (err == nil) != ok {
			t.Fatalf("%s steps: %v", upper, err)
		}
		if err != nil {
			continue
		}
		d, err := m.Draw(NewSample(q.Grid, []Point{{0, 1 << 27}, {q.Grid.last, 1 << 27}}), Public{}, random)
		if want := math.Pow(2, 54); err != nil || math.Abs(q.Scale(m).Float(d.Values[0].Number)-want) > want*1e-4 ||
			d.Values[0].Number > MaxPoints {
			t.Errorf("%s steps: %v, %v", upper, d, err)
		}
	}
}

// Draws of the clipped variance follow the law of its definition. Some of the intervals have a user outside.
func TestClippedVarianceSampler(t *testing.T) {
	random := rand.NewChaCha8([32]byte{10})
	g, hist := smallGrid(t, 3), []int64{5, 4, 1}
	q := Query{Statistic: Variance, Epsilon: dec("6"), Grid: g, ExpectedUsers: 200}
	m := build(t, q).(*clippedVariance)
	m.shift = 1 // few values, so that many draws have each
	p := m.plan(0, nil, nil)
	tenths := func(width int64, s [3]int64) int64 {
		s = [3]int64{max(0, s[0]), max(0, s[1]), max(0, s[2])}
		all := s[0] + s[1] + s[2]
		if all == 0 {
			return 0
		}
		num, den := 10*width*width*max(0, 4*s[0]*s[2]-s[1]*s[1]), 4*all*all
		return (2*num + den) / (2 * den)
	}
	law := func(f float64) []float64 {
		law := make([]float64, 41) // a variance of 0 to 4
		for _, x := range intervalLaw(m.clipping, hist, p, 1) {
			if x.l == x.h {
				law[0] += x.p
				continue
			}
			width, sums := x.h-x.l, three(hist, x.l, x.h)
			noise, side := noiseLaw(p.sums, uint64(4*width*width), f, 0)
			for i, a := range noise {
				for j, b := range noise {
					if a*b < 1e-8 {
						continue
					}
					for k, c := range noise {
						law[tenths(width, [3]int64{sums[0] + int64(i) - side, sums[1] + int64(j) - side,
							sums[2] + int64(k) - side})] += x.p * a * b * c
					}
				}
			}
		}
		return dptest.Normalise(law)
	}
	s := sampleOf(g, hist)
	dptest.CheckDraws(t, "clipped variance", 40000, law, number(t, m, s, random))
}
