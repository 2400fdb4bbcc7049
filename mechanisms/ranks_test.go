package mechanisms

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms/exact"
	"github.com/louver/louver/mechanisms/internal/dptest"
	"github.com/louver/louver/mechanisms/internal/parameter"
)

// smallGrid returns a grid with the given number of points.
func smallGrid(t testing.TB, points int) *Grid {
	return grid(t, "0", fmt.Sprint(points-1), "1")
}

// sampleOf makes a sample from a histogram.
func sampleOf(g *Grid, h []int64) *Sample {
	var points []Point
	for i, c := range h {
		points = append(points, Point{int64(i), c})
	}
	return NewSample(g, points)
}

// heapsAround returns heaps of one to three users, normal about a centre with a deviation of 20 points.
func heapsAround(g *Grid, centre float64, heaps int, seed uint64) *Sample {
	rng := rand.New(rand.NewPCG(1, seed))
	var points []Point
	for range heaps {
		points = append(points, Point{int64(centre + 20*rng.NormFloat64()), 1 + rng.Int64N(3)})
	}
	return NewSample(g, points)
}

func build(t testing.TB, q Query) Mechanism {
	t.Helper()
	m, err := New(q)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// draw makes one draw.
func draw(t testing.TB, m Mechanism, s *Sample, public Public, random io.Reader) Draw {
	t.Helper()
	d, err := m.Draw(s, public, random)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// number returns a function that makes a draw and returns its first value.
func number(t testing.TB, m Mechanism, s *Sample, random io.Reader) func() int {
	return func() int { return int(draw(t, m, s, Public{}, random).Values[0].Number) }
}

func ps(p ...string) []decimal.Decimal {
	var d []decimal.Decimal
	for _, s := range p {
		d = append(d, dec(s))
	}
	return d
}

// lopsided is a base measure with very different weights.
func lopsided(points int) *Measure {
	var bounds []int64
	var weight []uint64
	for i := range points {
		bounds, weight = append(bounds, int64(i)), append(weight, uint64(1+i*i*7%11))
	}
	return newMeasure(append(bounds, int64(points)), weight)
}

// lawOf returns the exact law of an exponential mechanism with the given walk.
func lawOf(points int64, w walk, kappa float64, measure *Measure) []float64 {
	weights := make([]float64, points)
	for x := range weights {
		mass := measure.below(int64(x)+1) - measure.below(int64(x))
		weights[x] = float64(mass) * math.Exp(-kappa*float64(w.level(int64(x))))
	}
	return dptest.Normalise(weights)
}

// law is the exact law at f times the mechanism's ε.
func (m *ranks) law(s *Sample, f float64, measure *Measure) []float64 {
	w := newTour(m, s)
	if m.odds == 0.5 {
		return flipLaw(m.grid, w, f*m.rate.Float(), measure)
	}
	return lawOf(m.grid.last+1, w, f*m.rate.Float(), measure)
}

// flipLaw returns the exact law of permute-and-flip.
func flipLaw(g *Grid, w walk, kappa float64, measure *Measure) []float64 {
	weights, best := make([]float64, g.last+1), int64(never)
	for x := range weights {
		best = min(best, w.level(int64(x)))
	}
	for x := range weights {
		weights[x] = float64(measure.weight[measure.cell(int64(x))]) * math.Exp(-kappa*float64(w.level(int64(x))-best))
	}
	return dptest.FirstLaw(weights)
}

func rankLaw(g *Grid, q Query, measure *Measure) func(t *testing.T) func(epsilon float64) dptest.Law {
	return func(t *testing.T) func(epsilon float64) dptest.Law {
		return func(epsilon float64) dptest.Law {
			q.Grid, q.Epsilon = g, decimal.NewFromFloat(epsilon)
			m := build(t, q).(*ranks)
			return func(h []int64) []float64 { return m.law(sampleOf(g, h), 1, measure) }
		}
	}
}

var rankMechanisms = []string{"margin", "duff", "permute_and_flip", "rank", "mid_rank"}

// The median and four other quantiles.
var probabilities = []string{"0.5", "0.25", "0.9", "0.4", "0.67"}

// Checks every pair of neighbours, with ties and empty samples, under two base measures.
func TestRanksPrivacy(t *testing.T) {
	for _, name := range rankMechanisms {
		for _, p := range probabilities {
			for _, tilt := range [][2]int64{{}, {1, 1}, {1, 2}, {3, 1}} {
				if name != "margin" && tilt != [2]int64{} {
					continue
				}
				q := Query{Statistic: Quantile, P: ps(p), Mechanism: name, Tilt: tilt}
				for _, c := range []struct {
					points, users int
					epsilon       float64
					// at small ε these few users hardly change the normaliser, which uses its half
					tight float64
				}{{4, 7, 0.1, 0.5}, {4, 7, 1, 0.5}, {5, 5, 4, 0.5}} {
					for kind, measure := range map[string]*Measure{"uniform": Uniform(smallGrid(t, c.points)),
						"lopsided": lopsided(c.points)} {
						law := rankLaw(smallGrid(t, c.points), q, measure)(t)
						dptest.CheckPrivacy(t, fmt.Sprint(name, " ", p, tilt, kind), c.points, c.users,
							c.epsilon, c.tight, law)
						if name == "permute_and_flip" {
							continue
						}
						if r := dptest.MaxRange(c.points, c.users, law(c.epsilon)); r > c.epsilon*(1+1e-9) {
							t.Errorf("%s %s: ε = %v, but a range of %v", name, p, c.epsilon, r)
						}
					}
				}
			}
		}
	}
}

// The walk visits each point once, at its level, and its floor is correct.
func TestTour(t *testing.T) {
	g := smallGrid(t, 6)
	for _, name := range rankMechanisms {
		for _, p := range probabilities {
			m := build(t, Query{Statistic: Quantile, P: ps(p), Mechanism: name, Epsilon: dec("1"), Grid: g}).(*ranks)
			dptest.Samples(6, 6, func(h []int64) {
				s := sampleOf(g, h)
				w := newTour(m, s)
				checkWalk(t, fmt.Sprint(name, p, h), g, w)
			})
		}
	}
}

func checkWalk(t *testing.T, name string, g *Grid, w walk) {
	t.Helper()
	seen := map[int64]bool{}
	best := int64(never)
	first := int64(0)
	for n := 0; len(seen) <= int(g.last); n++ {
		floor := int64(math.MinInt64)
		if n > 0 {
			floor = w.floor()
		}
		lo, hi, level := w.next()
		if n == 0 {
			first = level
			if lo >= hi {
				t.Fatalf("%s: the first run is empty", name)
			}
		}
		for x := lo; x < hi; x++ {
			if seen[x] || w.level(x) != level {
				t.Fatalf("%s: point %d seen again or at level %d instead of %d", name, x, level, w.level(x))
			}
			if level < floor {
				t.Fatalf("%s: point %d of level %d is below the floor %d", name, x, level, floor)
			}
			seen[x] = true
			best = min(best, level)
		}
		lowest, highest := int64(never), int64(-1)
		for x := range seen {
			lowest, highest = min(lowest, x), max(highest, x)
		}
		if len(seen) != int(highest-lowest+1) {
			t.Fatalf("%s: what has been seen is not an interval", name)
		}
	}
	if best != first {
		t.Fatalf("%s: the walk begins at level %d, the best is %d", name, first, best)
	}
}

// The fast sampler draws the law, even if it stops early.
func TestRanksSampler(t *testing.T) {
	const points = 160
	g := smallGrid(t, points)
	s := heapsAround(g, 80, 40, 1)
	for _, name := range rankMechanisms {
		for _, p := range []string{"0.5", "0.9"} {
			for _, epsilon := range []string{"0.05", "0.5", "1.5"} {
				for _, prior := range []string{"uniform", "cells"} {
					q := Query{Statistic: Quantile, P: ps(p), Mechanism: name,
						Epsilon: dec(epsilon), Grid: g, Prior: prior}
					m := build(t, q).(*ranks)
					if m.fixed && prior != "uniform" {
						continue
					}
					random := rand.NewChaCha8([32]byte{1})
					if name != "margin" && p == "0.9" && epsilon == "0.05" {
						continue // ε hardly matters here
					}
					dptest.CheckDraws(t, fmt.Sprint(name, p, " ε=", epsilon, prior), 20000,
						func(f float64) []float64 { return m.law(s, f, m.measure) }, number(t, m, s, random))
				}
			}
		}
	}
}

// The margin gives level ≤ 0 to the points from X(⌈αn⌉) to X(⌊αn⌋+1).
func TestMarginIsBestAtTheQuantile(t *testing.T) {
	g := smallGrid(t, 5)
	for _, p := range probabilities {
		num, den, _ := parameter.Probability(dec(p))
		for _, sides := range [][2]int64{{1, 1}, {1, 3}, {2, 1}} {
			u := margin{p: num, q: den, a: sides[0], b: sides[1]}
			dptest.Samples(5, 7, func(h []int64) {
				s := sampleOf(g, h)
				if s.n == 0 {
					return
				}
				left := s.values[s.at(ceilDiv(num*s.n, den))]
				right := s.values[s.at(num*s.n/den+1)]
				w := &tour{grid: g, sample: s, utility: u}
				for x := range g.last + 1 {
					if (w.level(x) <= 0) != (left <= x && x <= right) {
						t.Fatalf("p %s, %v: point %d has level %d, the quantile is %d to %d", p, h, x,
							w.level(x), left, right)
					}
				}
			})
		}
	}
}

// Duff's distance agrees with a search over all samples.
func TestDuffIsTheDistance(t *testing.T) {
	const points, users, room = 3, 5, 22
	g := smallGrid(t, points)
	for _, p := range []string{"0.5", "0.25", "0.75", "0.4", "0.6"} {
		num, den, _ := parameter.Probability(dec(p))
		distances := dptest.Distances(points, room, func(h []int64) int {
			n := h[0] + h[1] + h[2]
			rank := max(1, ceilDiv(num*n, den))
			for x, c := range h {
				if rank -= c; rank <= 0 {
					return x
				}
			}
			return -1
		})
		dptest.Samples(points, users, func(h []int64) {
			w := &tour{grid: g, sample: sampleOf(g, h), utility: duff{num, den}}
			for x, want := range distances(h) {
				if got := w.level(int64(x)); got != want {
					t.Fatalf("p %s, %v: the distance to %d is %d, not %d", p, h, x, want, got)
				}
			}
		})
	}
}

func TestRanksExtremes(t *testing.T) {
	random := rand.NewChaCha8([32]byte{2})
	wide := grid(t, "0", "9007199254740992", "1")
	for _, name := range append([]string{"piecewise_laplace"}, rankMechanisms...) {
		for _, epsilon := range []string{"0.000000000001", "0.0001", "1", "50", "1000000", "1e17"} {
			if name == "piecewise_laplace" && epsilon == "1e17" {
				continue // New refuses it
			}
			for _, g := range []*Grid{wide, smallGrid(t, 2), smallGrid(t, 60001)} {
				for _, points := range [][]Point{nil, {{g.last, 1}}, {{0, 1}, {g.last, 1}},
					{{-1, 5e6}, {g.last + 1, 5e6}}, {{1, 1e7}}} {
					for _, p := range []string{"0.000000001", "0.5", "0.999999999"} {
						m := build(t, Query{Statistic: Quantile, P: ps(p), Mechanism: name,
							Epsilon: dec(epsilon), Grid: g})
						d, err := m.Draw(NewSample(g, points), Public{}, random)
						if err != nil || d.Values[0].Number < 0 || d.Values[0].Number > g.last {
							t.Fatalf("%s ε=%s p=%s: %v, %v", name, epsilon, p, d, err)
						}
						if epsilon == "1e17" && len(points) == 1 && d.Values[0].Number != points[0].Index {
							t.Fatalf("%s ε=%s p=%s on one value gives %v", name, epsilon, p, d.Values)
						}
					}
				}
			}
		}
	}
	m := build(t, Query{Statistic: Median, Epsilon: dec("1"), Grid: wide})
	if _, err := m.Draw(NewSample(wide, []Point{{0, 1 << 29}}), Public{}, random); err == nil {
		t.Error("2^29 users are accepted")
	}
	if _, err := m.Draw(NewSample[Point](wide, nil), Public{Measure: lopsided(4)}, random); err == nil {
		t.Error("a measure of another grid is accepted")
	}
}

// rank_error_95, p_low and p_high hold in at least 95 % of draws, for any data.
func TestRankErrors(t *testing.T) {
	const points, draws = 1000, 4000
	g := smallGrid(t, points)
	random := rand.NewChaCha8([32]byte{3})
	source := exact.NewSource(random)
	h := make([]int64, points)
	for i := 500; i < 900; i++ {
		h[i] = 3
	}
	s := sampleOf(g, h)
	for _, p := range []string{"0.5", "0.95", "0.05"} {
		for _, q := range []Query{{Mechanism: "margin", Prior: "uniform"}, {Mechanism: "margin", Prior: "cells"},
			{ExpectedUsers: s.n}, {ZCDP: true}, {Mechanism: "permute_and_flip"}} {
			q.Statistic, q.P, q.Epsilon, q.Grid = Quantile, ps(p), dec("1"), g
			m := build(t, q)
			name := fmt.Sprint("p ", p, " ", m.Name(), " ", q.Prior)
			alpha := dec(p).InexactFloat64()
			far, outside := 0, 0
			for range draws {
				users := &NoisyCount{Value: s.n + source.DiscreteLaplace(1, 2, 1).Int64(), Epsilon: 0.5}
				d := draw(t, m, s, Public{Users: users}, random)
				below, upTo := float64(s.Below(d.Values[0].Number)), float64(s.AtMost(d.Values[0].Number))
				if n := float64(s.n); alpha*n-upTo > d.Values[0].RankError95 ||
					below-alpha*n > d.Values[0].RankError95 {
					far++
				}
				if n := float64(s.n); below > d.Values[0].PHigh*n || upTo < d.Values[0].PLow*n {
					outside++
				}
			}
			// Binomial(4000, 0.05): more than 270 has probability below 10⁻⁶.
			if far > 270 || outside > 270 {
				t.Errorf("%s: of %d draws, %d are beyond rank_error_95 and %d beyond p_low, p_high",
					name, draws, far, outside)
			}
			if d, _ := m.Draw(s, Public{Users: &NoisyCount{Value: 0, Epsilon: 1}}, random); d.Values[0].PLow != 0 ||
				d.Values[0].PHigh != 1 {
				t.Errorf("%s: a count of 0 bounds the percentiles: %v", name, d.Values)
			}
		}
	}
}

// The order, repetition and clamping of points do not change the sample, and so not the law.
func TestSampleForgetsOrder(t *testing.T) {
	g := smallGrid(t, 5)
	a := NewSample(g, []Point{{0, 2}, {3, 2}, {4, 3}})
	b := NewSample(g, []Point{{4, 1}, {-1, 2}, {5, 2}, {3, 1}, {3, 1}})
	if fmt.Sprint(a.values, a.upTo) != fmt.Sprint(b.values, b.upTo) {
		t.Errorf("%v %v and %v %v", a.values, a.upTo, b.values, b.upTo)
	}
}
