package mechanisms

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms/internal/dptest"
)

// rampLevels computes φ from its definition: the least t at which the line through the hulls' ends reaches x.
func rampLevels(g *Grid, u duff, s *Sample) []float64 {
	w := &tour{grid: g, sample: s, utility: u}
	size := int(g.last + 1)
	best, worst := int64(never), int64(0)
	for x := range size {
		best, worst = min(best, w.level(int64(x))), max(worst, w.level(int64(x)))
	}
	var left, right []int
	for k := best; k <= worst; k++ {
		l, r := size, -1
		for x := range size {
			if w.level(int64(x)) <= k {
				l, r = min(l, x), max(r, x)
			}
		}
		left, right = append(left, l), append(right, r)
	}
	phi := make([]float64, size)
	for x := range phi {
		t := 0.
		for k := range right {
			if x > right[k] {
				t = max(t, float64(k)+float64(x-right[k])/float64(max(1, right[k+1]-right[k])))
				if x > right[k+1] {
					t = float64(k + 1)
				}
			}
			if x < left[k] {
				u := float64(k) + float64(left[k]-x)/float64(max(1, left[k]-left[k+1]))
				if x < left[k+1] {
					u = float64(k + 1)
				}
				t = max(t, u)
			}
		}
		phi[x] = float64(best) + t
	}
	return phi
}

func (m *ranks) rampLaw(s *Sample, f float64) []float64 {
	phi := rampLevels(m.grid, m.utility.(duff), s)
	for x := range phi {
		phi[x] = math.Exp(-f * m.rate.Float() * float64(m.along(m, s).(*ramp).steps) * phi[x])
	}
	return dptest.Normalise(phi)
}

func TestPiecewiseLaplacePrivacy(t *testing.T) {
	for _, p := range probabilities {
		for _, c := range []struct {
			points, users int
			epsilon       float64
		}{{4, 7, 1}, {5, 5, 4}, {8, 3, 2}} {
			g := smallGrid(t, c.points)
			dptest.CheckPrivacy(t, "piecewise_laplace "+p, c.points, c.users, c.epsilon, 0.5,
				func(epsilon float64) dptest.Law {
					m := build(t, Query{Statistic: Quantile, Mechanism: "piecewise_laplace", P: ps(p),
						Epsilon: decimal.NewFromFloat(epsilon), Grid: g}).(*ranks)
					return func(h []int64) []float64 { return m.rampLaw(sampleOf(g, h), 1) }
				})
		}
	}
}

// The walk matches the definition, rounded down to steps.
func TestRamp(t *testing.T) {
	for _, points := range []int{5, 17} {
		g := smallGrid(t, points)
		for _, p := range probabilities {
			for _, epsilon := range []string{"1", "5", "50"} {
				m := build(t, Query{Statistic: Quantile, Mechanism: "piecewise_laplace",
					P: ps(p), Epsilon: dec(epsilon), Grid: g}).(*ranks)
				users := 6
				if points > 5 {
					users = 3
				}
				dptest.Samples(points, users, func(h []int64) {
					s := sampleOf(g, h)
					name := fmt.Sprint("ramp ", p, epsilon, h)
					checkWalk(t, name, g, m.along(m, s).(*ramp))
					halfway := m.along(m, s).(*ramp)
					halfway.next()
					if s.n > 0 { // without users that was everything
						halfway.next()
					}
					for _, w := range []*ramp{m.along(m, s).(*ramp), halfway} {
						for x, phi := range rampLevels(g, m.utility.(duff), s) {
							k, far, width, step := w.find(int64(x))
							if got := float64(k) + float64(far)/float64(width); math.Abs(got-phi) > 1e-12 {
								t.Fatalf("%s: φ(%d) = %v, want %v", name, x, got, phi)
							}
							if rest := far*w.steps - step*width; rest < 0 || rest > width {
								t.Fatalf("%s: point %d at %d/%d is in step %d", name, x, far, width, step)
							}
						}
					}
				})
			}
		}
	}
}

func TestPiecewiseLaplaceSampler(t *testing.T) {
	const points = 300
	g := smallGrid(t, points)
	h := make([]int64, points)
	rng := rand.New(rand.NewPCG(6, 6))
	for range 12 {
		h[rng.IntN(points)]++
	}
	s := sampleOf(g, h)
	random := rand.NewChaCha8([32]byte{23})
	for _, p := range []string{"0.5", "0.8"} {
		for _, epsilon := range []string{"0.5", "2", "7"} {
			m := build(t, Query{Statistic: Quantile, Mechanism: "piecewise_laplace", P: ps(p), Epsilon: dec(epsilon),
				Grid: g}).(*ranks)
			counts := dptest.Counts(30000, points, number(t, m, s, random))
			dptest.CheckSampler(t, fmt.Sprint("piecewise_laplace ", p, " ε=", epsilon), counts,
				func(f float64) []float64 { return m.rampLaw(s, f) })
		}
	}
}
