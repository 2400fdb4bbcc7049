package mechanisms

import (
	"fmt"
	"math"
	"math/big"
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
		x.p = math.Pow(float64(c+1+m.largest()>>p.halvings), -4) * math.Exp(-f*p.interval.Float()*float64(x.out))
		sum += x.p
		law = append(law, x)
	}
	for i := range law {
		law[i].p /= sum
	}
	return law
}

// cutSum is the sum of the values cut to −c … c.
func cutSum(m *sums, h []int64, c int64) (sum int64) {
	for i, users := range h {
		sum += users * min(max(m.value(int64(i)), -c), c)
	}
	return sum
}

func sumOf(t testing.TB, q Query) *clippedSum {
	q.Statistic = Sum
	return build(t, q).(*clippedSum)
}

// Everything is published jointly: the decision of the own count, c and the sum.
func TestClippedSumPrivacy(t *testing.T) {
	const points, users = 4, 4
	for _, lower := range []string{"0", "-1", "-3", "2"} {
		for _, epsilon := range []float64{0.5, 3} {
			m := sumOf(t, Query{Epsilon: decimal.NewFromFloat(epsilon),
				Grid: grid(t, lower, fmt.Sprint(dec(lower).IntPart()+points-1), "1")})
			most := (users + 1) * m.largest()
			dptest.CheckPrivacy(t, "sum from "+lower, points, users, epsilon, 0.9, func(e float64) dptest.Law {
				f := e / epsilon
				branches := remembered(m.clipping, f)
				return func(h []int64) []float64 {
					var law []float64
					chance, plans := branches(total(h))
					for i, p := range plans {
						for _, x := range magnitudeLaw(m, h, p, f) {
							if x.c == 0 {
								law = append(law, chance[i]*x.p)
								continue
							}
							for _, q := range lumped(cutSum(&m.sums, h, x.c)+most, 2*most,
								f*p.sums.rate()/float64(x.c)) {
								law = append(law, chance[i]*x.p*q)
							}
						}
					}
					return law
				}
			})
			w := build(t, Query{Statistic: Sum, Clip: "none", Epsilon: decimal.NewFromFloat(epsilon),
				Grid: m.grid}).(*wholeSum)
			dptest.CheckPrivacy(t, "whole sum from "+lower, points, users, epsilon, 0.99, func(e float64) dptest.Law {
				return func(h []int64) []float64 {
					return lumped(cutSum(&w.sums, h, w.largest())+most, 2*most,
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
		rho := m.Promise().Rho.InexactFloat64()
		worst := func(factor float64) float64 {
			branches := remembered(m.clipping, factor)
			return worstDivergence(users, func(h []int64) []float64 {
				var law []float64
				chance, plans := branches(total(h))
				for i, p := range plans {
					for _, x := range magnitudeLaw(m, h, p, factor) {
						noise := []float64{1}
						if x.c > 0 {
							noise = gaussianLaw(cutSum(&m.sums, h, x.c),
								p.sums.(gaussian).variance(uint64(x.c)), factor)
						}
						for _, q := range noise {
							law = append(law, chance[i]*x.p*q)
						}
					}
				}
				return law
			})
		}
		checkRho(t, epsilon, rho, worst)
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
					noise, reach := noiseLaw(p.sums, uint64(x.c), ofNoise, 0)
					for i, q := range noise {
						v := sum + int64(i) - reach
						if c.lower == "0" {
							v = max(v, 0)
						}
						law[min(max(v, -side), side)+side] += x.p * q
					}
				}
				return dptest.Normalise(law)
			}
			counts := dptest.Counts(25000, 2*side+1, func() int {
				d, err := m.Draw(s, Public{}, random)
				if err != nil {
					t.Fatal(err)
				}
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
			if err != nil || q.Scale(m).Text(d.Values[0].Number) != c.want {
				t.Errorf("1000 times %s on %s … %s by %s: %s, %v", c.value, c.lower, c.upper, name,
					q.Scale(m).Text(d.Values[0].Number), err)
			}
			if d.Clip == nil {
				continue
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

// The sum of the cut values is within Error95 with probability 95 %.
func TestClippedSumError(t *testing.T) {
	random := rand.NewChaCha8([32]byte{63})
	g := grid(t, "0", "60000", "1")
	for _, name := range Available(Sum) {
		q := Query{Statistic: Sum, Mechanism: name, Epsilon: dec("1"), Grid: g}
		m, s := build(t, q), latencies(g, 1000)
		const draws = 3000
		within := 0
		for range draws {
			d, err := m.Draw(s, Public{}, random)
			if err != nil {
				t.Fatal(err)
			}
			high := g.last
			if d.Clip != nil {
				high = d.Clip[1]
			}
			truth := new(big.Int)
			for j, v := range s.values {
				truth.Add(truth, big.NewInt(min(v, high)*s.count(j)))
			}
			if math.Abs(float64(d.Values[0].Number-truth.Int64())) <= d.Values[0].Error95 {
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
