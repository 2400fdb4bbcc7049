package mechanisms

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms/internal/dptest"
	"github.com/louver/louver/mechanisms/internal/parameter"
)

// steep is a base measure with weights from 1 to 10^6.
func steep(points int) *Measure {
	var bounds []int64
	var weight []uint64
	for i := range points {
		bounds, weight = append(bounds, int64(i)), append(weight,
			uint64(math.Pow(10, 6-6*float64(i)/float64(points-1))))
	}
	return newMeasure(append(bounds, int64(points)), weight)
}

// Checks every pair of neighbours: the tail's utility by both mechanisms for several limits of few users, and other
// margins by permute-and-flip, under very uneven measures. The changes of the utility match its proof.
func TestTailAndFlipPrivacy(t *testing.T) {
	type utility struct {
		name string
		of   func(p, q int64) (rankUtility, int64)
	}
	var all []utility
	for _, few := range []int64{0, 3, 300} {
		all = append(all, utility{fmt.Sprint("tail ", few), func(p, q int64) (rankUtility, int64) {
			u := tail{p, q, few}
			return u, u.divisor()
		}})
	}
	for _, ab := range [][2]int64{{1, 1}, {5, 1}} {
		all = append(all, utility{fmt.Sprint("margin ", ab), func(p, q int64) (rankUtility, int64) {
			u := margin{p: p, q: q, a: ab[0], b: ab[1]}
			return u, u.span()
		}})
	}
	for _, u := range all {
		for _, p := range []string{"0.8", "0.9", "0.99", "0.1", "0.5", "0.75", "0.4"} {
			if num, den, _ := parameter.Probability(dec(p)); !isTail(num, den) && u.name != "margin [1 1]" {
				continue
			}
			sizes := []struct {
				points, users int
				epsilon       float64
			}{{4, 7, 1}, {4, 6, 0.2}, {5, 4, 4}}
			if p == "0.99" { // seeing this tail takes a hundred users
				sizes = sizes[:1]
				sizes[0].points, sizes[0].users = 2, 130
			}
			for _, c := range sizes {
				g := smallGrid(t, c.points)
				for kind, measure := range map[string]*Measure{"lopsided": lopsided(c.points),
					"steep": steep(c.points)} {
					for _, flips := range []bool{true, false} {
						law := func(epsilon float64) dptest.Law {
							q := Query{Statistic: Quantile, P: ps(p), Epsilon: decimal.NewFromFloat(epsilon), Grid: g}
							m, err := q.ranks("", u.of)
							if flips {
								m, err = q.flip(u.of)
							}
							if err != nil {
								t.Fatal(err)
							}
							return func(h []int64) []float64 { return m.law(sampleOf(g, h), 1, measure) }
						}
						name := fmt.Sprint(u.name, " p ", p, " ", kind, " flips ", flips)
						// A steep measure hides much of the effect of a few users.
						dptest.CheckPrivacy(t, name, c.points, c.users, c.epsilon, 0.4, law)
						if flips {
							continue
						}
						if r := dptest.MaxRange(c.points, c.users, law(c.epsilon)); r > c.epsilon*(1+1e-9) {
							t.Errorf("%s: ε = %v, but a range of %v", name, c.epsilon, r)
						}
					}
				}
			}
		}
	}
}

// With a wider range the tail's utility would be unsafe: R is no larger than necessary.
func TestTailRangeIsTight(t *testing.T) {
	for _, p := range []string{"0.8", "0.9", "0.1"} { // 0.99 would need a hundred users
		num, den, _ := parameter.Probability(dec(p))
		u := tail{num, den, 3}
		widest := int64(0)
		g := smallGrid(t, 4)
		dptest.Samples(4, 8, func(h []int64) {
			before := levelsOf(g, u, h)
			for y := range h {
				h[y]++
				after := levelsOf(g, u, h)
				h[y]--
				low, high := int64(never), int64(-never)
				for x := range before {
					low, high = min(low, after[x]-before[x]), max(high, after[x]-before[x])
				}
				widest = max(widest, high-low)
			}
		})
		if widest > u.divisor() || 10*widest < 9*u.divisor() {
			t.Errorf("p %s: changes spread over up to %d, R is %d", p, widest, u.divisor())
		}
	}
}

func levelsOf(g *Grid, u rankUtility, h []int64) []int64 {
	w := &tour{grid: g, sample: sampleOf(g, h), utility: u}
	all := make([]int64, g.last+1)
	for x := range all {
		all[x] = w.level(int64(x))
	}
	return all
}

// The walk is correct for the tail's utility, its slopes match those in the error bound, and all points are equal if
// there are no users.
func TestTail(t *testing.T) {
	g := smallGrid(t, 6)
	for _, p := range []string{"0.8", "0.95", "0.1", "0.24"} {
		num, den, _ := parameter.Probability(dec(p))
		for _, few := range []int64{0, 3, 100} {
			u := tail{num, den, few}
			m := &ranks{grid: g, p: num, q: den, utility: u}
			dptest.Samples(6, 6, func(h []int64) {
				s := sampleOf(g, h)
				checkWalk(t, fmt.Sprint("tail ", p, few, h), g, newTour(m, s))
				all, best := levelsOf(g, u, h), int64(never)
				for _, l := range all {
					best = min(best, l)
				}
				for x, level := range all {
					l, r := num*s.n-den*s.AtMost(int64(x)), den*s.Below(int64(x))-num*s.n
					inner, outer := l, r
					if 2*num < den {
						inner, outer = r, l
					}
					if level-best < max(2*inner, 3*outer) && max(inner, outer) > 0 {
						t.Fatalf("p %s, few %d, %v: level %d at %d, %d at best, with %d and %d", p, few, h,
							level, x, best, inner, outer)
					}
				}
			})
		}
	}
	for c, want := range map[[3]string]int64{{"0.9", "1", ""}: 300, {"0.99", "0.1", ""}: 30000, {"0.1", "0.7", ""}: 429,
		{"0.999999999", "0.0001", ""}: 1e8} {
		num, den, _ := parameter.Probability(dec(c[0]))
		if u := newTail(num, den, rat(t, c[1])); u.few != want {
			t.Errorf("p %s, ε %s: few %d, want %d", c[0], c[1], u.few, want)
		}
	}
}

// The fast sampler draws the law, even if it skips most of the grid, under even and very uneven measures.
func TestFlipSampler(t *testing.T) {
	const points = 160
	g := smallGrid(t, points)
	s := heapsAround(g, 60, 60, 2)
	lazy := 0
	for _, p := range []string{"0.5", "0.9", "0.1"} {
		for _, epsilon := range []string{"0.1", "0.5"} {
			for kind, measure := range map[string]*Measure{"tapered": Tapered(g), "lopsided": lopsided(points),
				"steep": steep(points)} {
				q := Query{Statistic: Quantile, P: ps(p), Epsilon: dec(epsilon), Grid: g}
				m, err := q.flip(q.best)
				if err != nil {
					t.Fatal(err)
				}
				k := m.scratch.take(rand.NewChaCha8([32]byte{1}))
				dptest.CheckDraws(t, fmt.Sprint("flip ", p, " ε ", epsilon, " ", kind), 25000,
					func(f float64) []float64 { return m.law(s, f, measure) }, func() int {
						x := m.draw(s, measure, k)
						if k.survey.rest > 0 {
							lazy++
						}
						return int(x)
					})
			}
		}
	}
	if lazy == 0 {
		t.Error("every draw looked at every point")
	}
}

// The law does not depend on what the survey leaves out: even a minimal survey gives the rest its full share.
func TestFlipOfTheRest(t *testing.T) {
	const points = 120
	g := smallGrid(t, points)
	s := sampleOf(g, []int64{0, 3, 1, 0, 2})
	measure, random := steep(points), rand.NewChaCha8([32]byte{4})
	q := Query{Statistic: Median, Epsilon: dec("0.8"), Grid: g}
	m, err := q.flip(symmetric)
	if err != nil {
		t.Fatal(err)
	}
	for kind, measure := range map[string]*Measure{"steep": measure, "one cell": Uniform(g)} {
		won := 0
		counts := dptest.Counts(40000, points, func() int {
			k := m.scratch.take(random)
			defer m.scratch.put(k)
			v := &k.survey
			v.first(m.along(m, s), m.rate, measure)
			x := v.flip(&k.source)
			if measure.below(x) < v.seen.from || measure.below(x) >= v.seen.from+v.seen.mass {
				won++
			}
			return int(x)
		})
		dptest.CheckSampler(t, "flip of the rest, "+kind, counts, func(f float64) []float64 {
			return m.law(s, f, measure)
		})
		if kind == "one cell" && won < 1000 {
			t.Errorf("%s: the rest won %d of 40000 draws", kind, won)
		}
	}
}

// The survey may leave out the heaviest point: the base measure favours a point far from the median so much that it
// outweighs every other, while everything left out is small compared with the whole. A draw that took another point as
// the heaviest would give it about 4 % less.
func TestFlipFindsTheHeaviestPoint(t *testing.T) {
	const points, favoured = 160, 131
	g := smallGrid(t, points)
	users, bounds, weight := make([]int64, points), make([]int64, points+1), make([]uint64, points)
	for x := range points {
		users[x], bounds[x+1], weight[x] = 1, int64(x)+1, 1000
	}
	weight[favoured] *= 5000
	s, measure := sampleOf(g, users), newMeasure(bounds, weight)
	q := Query{Statistic: Median, Epsilon: dec("0.16"), Grid: g}
	m, err := q.flip(symmetric)
	if err != nil {
		t.Fatal(err)
	}
	k := m.scratch.take(rand.NewChaCha8([32]byte{6}))
	v := &k.survey
	v.outward(m.along(m, s), m.rate, measure)
	if favoured < v.seen.hi || v.peak(weight[favoured], v.level(favoured)) < 1.3*v.runs[0].peak {
		t.Fatal("the survey finds the favoured point by itself, or it is not the heaviest")
	}
	// All draws begin with that survey, which no random bit changes.
	const draws = 300_000
	found, surveyed, at := 0, *v, *v.walk.(*tour)
	for range draws {
		walk := at
		*v = surveyed
		v.walk, v.levels = &walk, &walk
		if v.flip(&k.source) == favoured {
			found++
		}
	}
	p := m.law(s, 1, measure)[favoured]
	// Five standard deviations: a false alarm has probability below 10⁻⁶.
	if off := math.Abs(float64(found)-draws*p) / math.Sqrt(draws*p*(1-p)); off > 5 {
		t.Errorf("the favoured point came %d times, %.1f standard deviations from %.0f", found, off, draws*p)
	}
}

// The error bound also holds for permute-and-flip, and for the least favourable data it is almost no larger than
// needed.
func TestFlipErrorIsTight(t *testing.T) {
	const points = 400
	g := smallGrid(t, points)
	measure := steep(points) // the least weight at the upper end
	q := Query{Statistic: Median, Epsilon: dec("0.1"), Grid: g}
	m, err := q.flip(symmetric)
	if err != nil {
		t.Fatal(err)
	}
	rank95 := m.bound(measure, nil).RankError95
	// The median is the last point or the one before it, and all points left of it are t ranks too far to the left.
	far := func(t int64) float64 {
		h := make([]int64, points)
		h[0], h[points-2], h[points-1] = 2000-t, t, 2000
		s, p := sampleOf(g, h), 0.
		law := flipLawFloat(m, s, measure)
		for x := range points - 2 {
			p += law[x]
		}
		return p
	}
	at := int64(rank95)
	t.Logf("rank_error_95 %.1f: P(further) = %.4f, and %.4f for 3 %% less", rank95, far(at+1), far(at*97/100))
	if p := far(at + 1); p > 0.05 {
		t.Errorf("rank_error_95 %v is exceeded with probability %v", rank95, p)
	}
	if p := far(at * 97 / 100); p < 0.05 {
		t.Errorf("rank_error_95 %v is too wide: 3 %% less is exceeded with probability %v", rank95, p)
	}
}

// flipLawFloat is the law for more points than a polynomial in long numbers can handle, by Simpson's rule.
func flipLawFloat(m *ranks, s *Sample, measure *Measure) []float64 {
	w := newTour(m, s)
	weights, most := make([]float64, m.grid.last+1), 0.
	for x := range weights {
		weights[x] = float64(measure.weight[measure.cell(int64(x))]) *
			math.Exp(-m.rate.Float()*float64(w.level(int64(x))))
		most = max(most, weights[x])
	}
	law := make([]float64, len(weights))
	const steps = 2000
	for i := range steps + 1 {
		t := float64(i) / steps
		share := 4.
		switch {
		case i == 0 || i == steps:
			share = 1
		case i%2 == 0:
			share = 2
		}
		product, zeros := 1., 0
		for _, w := range weights {
			if f := 1 - t*w/most; f > 0 {
				product *= f
			} else {
				zeros++
			}
		}
		for x, w := range weights {
			f, p := 1-t*w/most, product
			switch {
			case f > 0 && zeros > 0 || f <= 0 && zeros > 1:
				p = 0
			case f > 0:
				p = product / f
			}
			law[x] += share / 3 / steps * p * w / most
		}
	}
	return law
}

// Tests wide grids, the least and the largest ε, no users and many users.
func TestDefaultExtremes(t *testing.T) {
	random := rand.NewChaCha8([32]byte{5})
	for _, epsilon := range []string{"0.000000000001", "0.0001", "1", "50", "1000000", "1e17"} {
		for _, g := range []*Grid{grid(t, "0", "9007199254740992", "1"),
			grid(t, "-4503599627370496", "4503599627370496", "1"), smallGrid(t, 2), smallGrid(t, 60001)} {
			for _, points := range [][]Point{nil, {{g.last, 1}}, {{0, 1}, {g.last, 1}}, {{-1, 5e6}, {g.last + 1, 5e6}},
				{{1, 1e7}}} {
				for _, p := range []string{"0.000000001", "0.25", "0.5", "0.76", "0.999999999"} {
					for _, bounded := range []bool{false, true} {
						m := build(t, Query{Statistic: Quantile, P: ps(p), Epsilon: dec(epsilon),
							Grid: g, ZCDP: bounded})
						for _, public := range []Public{{}, {Users: &NoisyCount{Value: 1 << 40, Epsilon: 1}},
							{Users: &NoisyCount{Epsilon: 1}}} {
							d, err := m.Draw(NewSample(g, points), public, random)
							if err != nil || d.Values[0].Number < 0 || d.Values[0].Number > g.last {
								t.Fatalf("ε=%s p=%s: %v, %v", epsilon, p, d, err)
							}
							if epsilon == "1e17" && len(points) == 1 && d.Mechanism != "above_threshold" &&
								d.Values[0].Number != points[0].Index {
								t.Fatalf("ε=%s p=%s on one value gives %v", epsilon, p, d.Values)
							}
						}
					}
				}
			}
		}
	}
}

// The mass on either side of any point is bounded, each side alone and both together, as tightly as possible.
func TestSurprises(t *testing.T) {
	for name, m := range map[string]*Measure{"lopsided": lopsided(40), "steep": steep(30),
		"tapered": Tapered(smallGrid(t,
			5000)), "around 0": Tapered(grid(t, "-300", "900", "1")), "one cell": Uniform(smallGrid(t, 7))} {
		var left, right, both float64
		points := m.bounds[len(m.bounds)-1]
		side := func(x int64) (l, r float64) {
			w := float64(m.weight[m.cell(x)])
			return float64(m.below(x)) / w, float64(m.total()-m.below(x+1)) / w
		}
		for x := range points {
			l, r := side(x)
			left, right = max(left, l), max(right, r)
		}
		for x := range points {
			l, r := side(x)
			both = max(both, l/left+r/right)
		}
		if math.Abs(m.left/left-1) > 1e-12 || math.Abs(m.right/right-1) > 1e-12 || math.Abs(m.both/both-1) > 1e-12 {
			t.Errorf("%s: %v, %v and %v, want %v, %v and %v", name, m.left, m.right, m.both, left, right, both)
		}
	}
}
