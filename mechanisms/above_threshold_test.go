package mechanisms

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/shopspring/decimal"
	"gonum.org/v1/gonum/integrate/quad"

	"github.com/louver/louver/mechanisms/internal/dptest"
)

// law integrates over u, ρ = −ln(u)/ε_ρ. With u = v^q, everything is a polynomial in v between the points where one of
// the probabilities reaches 1, so Gauss–Legendre is exact.
func (m *aboveThreshold) law(s *Sample, f float64) []float64 {
	fold := make([]float64, m.borders())
	cuts := []float64{0, 1}
	for i := range fold {
		fold[i] = f * m.rate.Float() * float64(m.q*m.passed(s, i)-m.p*s.n)
		if v := math.Exp(-fold[i] / float64(m.p)); v < 1 {
			cuts = append(cuts, v)
		}
	}
	slices.Sort(cuts)
	law := make([]float64, m.last+1)
	for c := 1; c < len(cuts); c++ {
		if cuts[c] <= cuts[c-1] {
			continue
		}
		add := func(i int, first, end int64) {
			stop := quad.Fixed(func(v float64) float64 {
				density := float64(m.q) * math.Pow(v, float64(m.q-1))
				for j := range min(i+1, len(fold)) {
					p := min(1, math.Pow(v, float64(m.p))*math.Exp(fold[j]))
					if j < i {
						p = 1 - p
					}
					density *= p
				}
				return density
			}, cuts[c-1], cuts[c], 60, quad.Legendre{}, 0)
			for x := first; x < end; x++ {
				law[x] += stop / float64(end-first)
			}
		}
		for i := range fold {
			first, end := m.cell(i)
			add(i, first, end)
		}
		add(len(fold), m.end(), m.end()+1)
	}
	return law
}

func TestAboveThresholdPrivacy(t *testing.T) {
	for _, p := range []string{"0.5", "0.9", "0.2"} {
		for _, c := range []struct {
			points, users int
			epsilon       float64
		}{{4, 4, 2}, {12, 2, 2}} {
			g := smallGrid(t, c.points)
			dptest.CheckPrivacy(t, fmt.Sprint("above_threshold ", p), c.points, c.users, c.epsilon, 0.6,
				func(epsilon float64) dptest.Law {
					m := build(t, Query{Statistic: Quantile, Mechanism: "above_threshold", P: ps(p),
						Epsilon: decimal.NewFromFloat(epsilon), Grid: g}).(*aboveThreshold)
					return func(h []int64) []float64 { return m.law(sampleOf(g, h), 1) }
				})
		}
	}
}

func TestAboveThresholdSampler(t *testing.T) {
	random := rand.NewChaCha8([32]byte{20})
	for _, p := range []string{"0.5", "0.8", "0.2"} {
		wide := make([]int64, 100) // the cells have up to four points
		wide[60], wide[61], wide[90] = 7, 3, 2
		for _, h := range [][]int64{{2, 0, 5, 1, 1}, {0, 0, 0, 0, 0, 0, 0, 9}, {9, 0, 0, 0, 1, 0, 0, 0}, wide} {
			g := smallGrid(t, len(h))
			m := build(t, Query{Statistic: Quantile, Mechanism: "above_threshold", P: ps(p), Epsilon: dec("0.7"),
				Grid: g}).(*aboveThreshold)
			s := sampleOf(g, h)
			sum := 0.
			for _, p := range m.law(s, 1) {
				sum += p
			}
			if math.Abs(sum-1) > 1e-9 {
				t.Fatalf("the law sums to %v", sum)
			}
			counts := dptest.Counts(20000, len(h), func() int {
				d, err := m.Draw(s, Public{}, random)
				if err != nil {
					t.Fatal(err)
				}
				return int(d.Values[0].Number)
			})
			dptest.CheckSampler(t, fmt.Sprint("above_threshold ", p, h), counts,
				func(f float64) []float64 { return m.law(s, f) })
		}
	}
}

// Its purpose: in a tail of few users it is far better than the exponential mechanism under cells.
func TestAboveThresholdInTheTail(t *testing.T) {
	g := smallGrid(t, 60001)
	s := latencies(g, 1000)
	random := rand.NewChaCha8([32]byte{21})
	truth := float64(s.values[s.at(990)])
	mean := func(name string) float64 {
		m := build(t, Query{Statistic: Quantile, Mechanism: name, P: ps("0.99"), Epsilon: dec("1"),
			Grid: g, Prior: "cells"})
		sum := 0.
		for range 300 {
			d, err := m.Draw(s, Public{}, random)
			if err != nil {
				t.Fatal(err)
			}
			sum += math.Abs(float64(d.Values[0].Number) - truth)
		}
		return sum / 300
	}
	threshold, duff := mean("above_threshold"), mean("duff")
	t.Logf("mean error of p99 at n = 1000, ε = 1: %.0f, duff %.0f", threshold, duff)
	if threshold > duff/5 {
		t.Errorf("mean error %.0f, duff %.0f", threshold, duff)
	}
}

func TestAboveThresholdExtremes(t *testing.T) {
	random := rand.NewChaCha8([32]byte{22})
	for _, epsilon := range []string{"0.000000000001", "1", "1e6"} {
		for _, g := range []*Grid{grid(t, "0", "9007199254740992", "1"), smallGrid(t, 2), grid(t, "-5", "5", "0.1")} {
			for _, points := range [][]Point{nil, {{g.last, 1}}, {{0, 5e6}, {g.last, 5e6}}, {{1, 1e7}}} {
				for _, p := range []string{"0.000000001", "0.5", "0.999999999"} {
					m := build(t, Query{Statistic: Quantile, Mechanism: "above_threshold", P: ps(p),
						Epsilon: dec(epsilon), Grid: g})
					d, err := m.Draw(NewSample(g, points), Public{}, random)
					if err != nil || d.Values[0].Number < 0 || d.Values[0].Number > g.last {
						t.Fatalf("ε=%s p=%s: %v, %v", epsilon, p, d, err)
					}
				}
			}
		}
	}
}

// It gives points of the whole cell that holds the quantile, and not its border. With 1000 users and an ε of 10 it stops
// at another border with a probability of about e^{−1000·10/4}.
func TestAboveThresholdIsInTheCell(t *testing.T) {
	g := smallGrid(t, 60001)
	random := rand.NewChaCha8([32]byte{23})
	cells := g.cells()
	i := lastUpTo(cells, 500)
	for _, p := range []string{"0.5", "0.2"} {
		m := build(t, Query{Statistic: Quantile, Mechanism: "above_threshold", P: ps(p), Epsilon: dec("10"), Grid: g})
		seen := map[int64]bool{}
		for range 2000 {
			d, err := m.Draw(NewSample(g, []Point{{500, 1000}}), Public{}, random)
			if err != nil {
				t.Fatal(err)
			}
			x := d.Values[0].Number
			if x < cells[i] || x >= cells[i+1] {
				t.Fatalf("p %s: %d, want one of %d to %d", p, x, cells[i], cells[i+1]-1)
			}
			seen[x] = true
		}
		// A point of some 30 is in none of 2000 draws with a probability of e^{−66}.
		if int64(len(seen)) != cells[i+1]-cells[i] {
			t.Errorf("p %s: %d of %d points are drawn", p, len(seen), cells[i+1]-cells[i])
		}
	}
}
