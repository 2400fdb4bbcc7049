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

var modeMechanisms = []string{"exponential", "permute_and_flip"}

func modeLaw(name string, h []int64, epsilon float64) []float64 {
	if name == "permute_and_flip" {
		most := slices.Max(h)
		mass, level := make([]int, len(h)), make([]float64, len(h))
		for x, n := range h {
			mass[x], level[x] = 1, epsilon*float64(most-n)
		}
		return dptest.FlipLaw(mass, level)
	}
	weights := make([]float64, len(h))
	for x, n := range h {
		weights[x] = math.Exp(epsilon * float64(n))
	}
	return dptest.Normalise(weights)
}

func TestModePrivacy(t *testing.T) {
	for _, name := range modeMechanisms {
		for _, epsilon := range []float64{0.1, 1, 4} {
			for _, points := range []int{2, 5} {
				dptest.CheckPrivacy(t, "mode "+name, points, 6, epsilon, 0.5, func(epsilon float64) dptest.Law {
					return func(h []int64) []float64 { return modeLaw(name, h, epsilon) }
				})
			}
		}
	}
}

func TestModeSampler(t *testing.T) {
	random := rand.NewChaCha8([32]byte{4})
	rng := rand.New(rand.NewPCG(2, 2))
	for _, c := range []struct {
		points, users int
		epsilon       string
	}{{4, 9, "0.3"}, {150, 60, "1"}, {150, 60, "0.4"}, {150, 2000, "0.3"}} {
		g := smallGrid(t, c.points)
		h := make([]int64, c.points)
		for range c.users {
			h[int(min(math.Abs(rng.NormFloat64())*float64(c.points)/8, float64(c.points-1)))]++
		}
		s := sampleOf(g, h)
		for _, name := range modeMechanisms {
			m := build(t, Query{Statistic: Mode, Mechanism: name, Epsilon: dec(c.epsilon), Grid: g})
			counts := dptest.Counts(30000, c.points, number(t, m, s, random))
			dptest.CheckSampler(t, fmt.Sprint("mode ", name, c), counts, func(f float64) []float64 {
				return modeLaw(name, h, f*dec(c.epsilon).InexactFloat64())
			})
		}
	}
}

// geometricLaw is the law of a count of n, cut at both ends.
func geometricLaw(n int64, most int, epsilon float64) []float64 {
	p := make([]float64, most+1)
	const far = 2000
	for z := int64(-far); z <= far; z++ {
		p[min(max(n+z, 0), int64(most))] += math.Exp(-epsilon * math.Abs(float64(z)))
	}
	return dptest.Normalise(p)
}

func TestGeometric(t *testing.T) {
	g := grid(t, "0", "2", "0.5")
	at := func(s string) *decimal.Decimal { d := dec(s); return &d }
	for _, c := range []struct {
		statistic    Statistic
		above, below *decimal.Decimal
		of           func(h []int64) int64 // h[0] below the grid, h[1..5] on it, h[6] above
	}{
		{Count, nil, nil, func(h []int64) int64 { return h[0] + h[1] + h[2] + h[3] + h[4] + h[5] + h[6] }},
		{Count, at("0.5"), nil, func(h []int64) int64 { return h[3] + h[4] + h[5] + h[6] }},
		{Count, at("0.6"), nil, func(h []int64) int64 { return h[3] + h[4] + h[5] + h[6] }},
		{Count, nil, at("0.5"), func(h []int64) int64 { return h[0] + h[1] }},
		{Count, nil, at("0.6"), func(h []int64) int64 { return h[0] + h[1] + h[2] }},
		{Count, at("0"), at("2"), func(h []int64) int64 { return h[2] + h[3] + h[4] }},
		{Outside, nil, nil, func(h []int64) int64 { return h[0] + h[6] }},
	} {
		q := Query{Statistic: c.statistic, Above: c.above, Below: c.below, Grid: g}
		name := fmt.Sprint(c.statistic, " ", c.above, " ", c.below)
		exactCount := func(h []int64) int64 {
			var points []Point
			for i, n := range h {
				points = append(points, Point{int64(i) - 1, n})
			}
			q.Epsilon = dec("1")
			return build(t, q).(*counting).of(NewSample(g, points))
		}
		dptest.Samples(7, 3, func(h []int64) {
			if got, want := exactCount(h), c.of(h); got != want {
				t.Fatalf("%s of %v = %d, want %d", name, h, got, want)
			}
		})
		dptest.CheckPrivacy(t, name, 7, 2, 0.5, 0.999, func(epsilon float64) dptest.Law {
			return func(h []int64) []float64 { return geometricLaw(exactCount(h), 12, epsilon) }
		})
	}
}

func TestLead(t *testing.T) {
	for _, others := range []int64{1, 4, 60000, 1 << 53} {
		for _, epsilon := range []float64{0.001, 0.1, 1, 5} {
			found := func(lead int64) float64 { return 1 / (1 + float64(others)*math.Exp(-epsilon*float64(lead))) }
			if g := Lead95(epsilon, others); found(g) < 0.95 || found(g-1) > 0.95 {
				t.Errorf("ε %v, %d others: a lead of %d is found with %v, one less with %v",
					epsilon, others, g, found(g), found(g-1))
			}
		}
	}
}
