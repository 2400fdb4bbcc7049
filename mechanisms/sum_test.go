package mechanisms

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms/internal/dptest"
)

// magnitude is one c, the number of users outside it, and its probability.
type magnitude struct {
	c, out int64
	p      float64
}

// magnitudeLaw computes the law of c at f times ε, directly from its definition.
func magnitudeLaw(m *clippedSum, h []int64, p plan, f float64) []magnitude {
	var law []magnitude
	sum := 0.0
	for _, c := range m.magnitudes {
		x := magnitude{c: c}
		for i, users := range h {
			if v := m.value(int64(i)); v > c || v < -c {
				x.out += users
			}
		}
		x.p = math.Exp(-f*p.interval.Float()*float64(max(x.out, p.free)-p.free)) * lawOfWidth(c+1, m.largest(), p)
		sum += x.p
		law = append(law, x)
	}
	for i := range law {
		law[i].p /= sum
	}
	return law
}

// cutSum is the sum in quarters of the values in −c … c and of the users outside.
func cutSum(m *sums, h []int64, c int64) (sum int64) {
	for i, users := range h {
		switch v := m.value(int64(i)); {
		case v > c:
			sum += 3 * c * users
		case v < -c:
			sum -= 3 * c * users
		default:
			sum += 4 * v * users
		}
	}
	return sum
}

// noiseBeyond is the noise of the number of users with |v| > c. It is nil if there can be none.
func noiseBeyond(m *clippedSum, p plan, c int64) noise {
	switch c {
	case m.largest():
		return nil
	case 0:
		return p.sums
	}
	return p.sums.beside()
}

func sumOf(t testing.TB, q Query) *clippedSum {
	q.Statistic = Sum
	return build(t, q).(*clippedSum)
}

// Everything is published jointly: the decision of the own count, c, the sum and how many users are outside.
func TestClippedSumPrivacy(t *testing.T) {
	const points, users = 4, 4
	for _, lower := range []string{"0", "-1", "-3", "2"} {
		for _, epsilon := range []float64{0.5, 3} {
			m := sumOf(t, Query{Epsilon: decimal.NewFromFloat(epsilon),
				Grid: grid(t, lower, fmt.Sprint(dec(lower).IntPart()+points-1), "1")})
			m.freeing(1)
			const all = users + 1
			dptest.CheckPrivacy(t, "sum from "+lower, points, users, epsilon, 0.9, func(e float64) dptest.Law {
				f := e / epsilon
				branches := remembered(m.clipping, f)
				return func(h []int64) []float64 {
					var law []float64
					chance, plans := branches(total(h))
					for i, p := range plans {
						for _, x := range magnitudeLaw(m, h, p, f) {
							sums, count := []float64{1}, []float64{1}
							if most := 4 * x.c * all; most > 0 {
								sums = laplaceLaw(f)(cutSum(&m.sums, h, x.c)+most, 2*most, p.sums, uint64(4*x.c))
							}
							if z := noiseBeyond(m, p, x.c); z != nil {
								count = laplaceLaw(f)(x.out, all, z, 1)
							}
							for _, q := range sums {
								for _, r := range count {
									law = append(law, chance[i]*x.p*q*r)
								}
							}
						}
					}
					return law
				}
			})
			w := build(t, Query{Statistic: Sum, Clip: "none", Epsilon: decimal.NewFromFloat(epsilon),
				Grid: m.grid}).(*wholeSum)
			dptest.CheckPrivacy(t, "whole sum from "+lower, points, users, epsilon, 0.99, func(e float64) dptest.Law {
				most := all * w.largest()
				return func(h []int64) []float64 {
					return lumped(cutSum(&w.sums, h, w.largest())/4+most, 2*most,
						e/epsilon*w.noise.rate()/float64(w.largest()))
				}
			})
		}
	}
}

// The Gaussian variant keeps its ρ, like the mean's.
func TestClippedSumGaussianPrivacy(t *testing.T) {
	const points, users = 3, 3
	for _, epsilon := range []float64{1, 3} {
		m := build(t, Query{Statistic: Sum, Mechanism: "clipped_gaussian", Epsilon: decimal.NewFromFloat(epsilon),
			Grid: grid(t, "-1", "1", "1")}).(*clippedSum)
		m.freeing(0)
		checkRho(t, epsilon, m.Promise().Rho.InexactFloat64(), func(factor float64) float64 {
			branches := remembered(m.clipping, factor)
			return worstDivergence(users, func(h []int64) (all []outcome) {
				chance, plans := branches(total(h))
				for i, p := range plans {
					for _, x := range magnitudeLaw(m, h, p, factor) {
						o := outcome{chance: math.Log(chance[i]) + math.Log(x.p)}
						if x.c > 0 {
							o.noisy = append(o.noisy,
								gaussianLogs(cutSum(&m.sums, h, x.c), p.sums, uint64(4*x.c), factor))
						}
						if z := noiseBeyond(m, p, x.c); z != nil {
							o.noisy = append(o.noisy, gaussianLogs(x.out, z, 1, factor))
						}
						all = append(all, o)
					}
				}
				return all
			})
		})
	}
}

// Draws of c and the noise follow the law of their definition, for both noises.
func TestClippedSumSampler(t *testing.T) {
	random := rand.NewChaCha8([32]byte{61})
	const side = 300
	for _, c := range []struct {
		lower string
		h     []int64
	}{{"0", []int64{3, 4, 0, 5, 9, 0, 2}}, {"-2", []int64{1, 20, 30, 25, 2, 0, 0, 1}}} {
		for _, mechanism := range []string{"clipped", "clipped_gaussian"} {
			g := grid(t, c.lower, fmt.Sprint(dec(c.lower).IntPart()+int64(len(c.h)-1)), "1")
			m := sumOf(t, Query{Mechanism: mechanism, Epsilon: dec("1"), Grid: g, ExpectedUsers: 100})
			p, s := m.plan(0, nil, nil), sampleOf(g, c.h)
			law := func(ofInterval, ofNoise float64) []float64 {
				law := make([]float64, 2*side+1)
				for _, x := range magnitudeLaw(m, c.h, p, ofInterval) {
					sum := cutSum(&m.sums, c.h, x.c)
					if x.c == 0 {
						law[sum+side] += x.p
						continue
					}
					if x.c < m.largest() {
						sum += p.free * x.c * m.sign()
					}
					noise, reach := noiseLaw(p.sums, uint64(4*x.c), ofNoise, 0)
					for i, q := range noise {
						v := floorDiv(sum+int64(i)-reach+2, 4)
						if c.lower == "0" {
							v = max(v, 0)
						}
						law[min(max(v, -side), side)+side] += x.p * q
					}
				}
				return dptest.Normalise(law)
			}
			counts := dptest.Counts(25000, 2*side+1, func() int {
				d := draw(t, m, s, Public{}, random)
				return int(min(max(d.Values[0].Number, -side), side)) + side
			})
			name := mechanism + " sum from " + c.lower
			dptest.CheckSampler(t, name+", its interval", counts, func(f float64) []float64 { return law(f, 1) })
			dptest.CheckSampler(t, name+", its noise", counts, func(f float64) []float64 { return law(1, f) })
		}
	}
}

// Sums are exact multiples of the common divisor of step and lower bound, and c stops at the ends of the cells.
func TestSumUnits(t *testing.T) {
	random := rand.NewChaCha8([32]byte{62})
	for _, c := range []struct{ lower, upper, step, value, want string }{
		{"0", "100", "1", "7", "7000"},
		{"0.5", "10.5", "1", "3.5", "3500"},
		{"-1.25", "8.75", "0.5", "-0.75", "-750"},
		{"-8", "-2", "2", "-4", "-4000"},
		{"0.001", "0.009", "0.001", "0.004", "4"},
	} {
		g := grid(t, c.lower, c.upper, c.step)
		i, err := g.Parse([]byte(c.value))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range Available(Sum) {
			q := Query{Statistic: Sum, Mechanism: name, Epsilon: dec("1000000"), Grid: g}
			m := build(t, q)
			d, err := m.Draw(NewSample(g, []Point{{i, 1000}}), Public{}, random)
			got, want := q.Scale(m).Decimal(d.Values[0].Number), dec(c.want)
			if err != nil || d.Clip == nil && !got.Equal(want) {
				t.Errorf("1000 times %s on %s … %s by %s: %s, %v", c.value, c.lower, c.upper, name, got, err)
			}
			if d.Clip == nil {
				continue
			}
			// One user may be outside, or be taken to be: a quarter of them.
			if off := got.Sub(want).Abs().InexactFloat64(); off > d.Outside.Cut95+d.Values[0].Error95 {
				t.Errorf("1000 times %s on %s … %s by %s: %s, off by more than %v + %v", c.value, c.lower, c.upper,
					name, got, d.Outside.Cut95, d.Values[0].Error95)
			}
			low, high := q.Scale(m).Decimal(d.Clip[0]), q.Scale(m).Decimal(d.Clip[1])
			if v := dec(c.value); v.LessThan(low) || v.GreaterThan(high) || low.LessThan(g.lower) ||
				high.GreaterThan(g.upper) {
				t.Errorf("%s was cut to %s … %s", c.value, low, high)
			}
		}
	}
	g := grid(t, "-10000", "10000", "1")
	m := sumOf(t, Query{Epsilon: dec("1"), Grid: g})
	if m.largest() != 10000 || len(m.magnitudes) > 87 || !slices.Equal(m.magnitudes[:3], []int64{0, 39, 83}) ||
		!slices.IsSorted(m.magnitudes) {
		// the 87 borders of 86 cells, some equal on both sides
		t.Errorf("%d magnitudes %v", len(m.magnitudes), m.magnitudes)
	}
}

// The sum of the cut values, as the law has it without noise, is within Error95 with probability 95 %.
func TestClippedSumError(t *testing.T) {
	random := rand.NewChaCha8([32]byte{63})
	g := grid(t, "0", "60000", "1")
	for _, name := range Available(Sum) {
		q := Query{Statistic: Sum, Mechanism: name, Epsilon: dec("1"), Grid: g}
		m, s := build(t, q), latencies(g, 1000)
		const draws = 3000
		within := 0
		for range draws {
			d := draw(t, m, s, Public{}, random)
			high := g.last
			if d.Clip != nil {
				high = d.Clip[1]
			}
			truth := 0.
			for j, v := range s.values {
				truth += float64(min(v, high) * s.count(j))
			}
			if c, ok := m.(*clippedSum); ok && high < g.last { // those outside are a quarter short, k0 are expected
				outside := float64(s.n - s.AtMost(high))
				truth += float64(high) / 4 * (float64(c.shares[1][1].free) - outside)
			}
			if math.Abs(float64(d.Values[0].Number)-truth) <= d.Values[0].Error95 {
				within++
			}
		}
		t.Logf("%s: %.3f", name, float64(within)/draws)
		// Binomial(3000, 0.95): outside 2791 … 2905 with probability below 10⁻⁶. The Gaussian bound covers slightly
		// more, and so does the bound of noise that brings the sum to 0.
		if within < 2791 || within > 2905 && name == "clipped" {
			t.Errorf("%s: %d of %d draws are within the bound", name, within, draws)
		}
	}
}
