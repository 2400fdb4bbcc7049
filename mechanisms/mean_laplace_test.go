package mechanisms

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms/internal/dptest"
)

// noisyMeanLaw adds up both noises' probabilities over all values that matter.
func noisyMeanLaw(m *meanLaplace, h []int64, f float64) []float64 {
	p := make([]float64, len(h))
	n, sum := int64(0), int64(0)
	for x, k := range h {
		n += k
		sum += (int64(x) - m.middle) * k
	}
	fold := f * float64(m.num) / float64(m.den)
	far := int64(25 / fold)
	for z := -far * int64(m.reach); z <= far*int64(m.reach); z++ {
		for c := -far; c <= far; c++ {
			p[m.quotient(big.NewInt(sum), n, big.NewInt(z),
				big.NewInt(c))] += math.Exp(-fold * (math.Abs(float64(z))/float64(m.reach) + math.Abs(float64(c))))
		}
	}
	return dptest.Normalise(p)
}

func TestMeanLaplacePrivacy(t *testing.T) {
	for _, c := range []struct {
		points  int
		epsilon float64
	}{{3, 1}, {4, 3}} {
		g := smallGrid(t, c.points)
		dptest.CheckPrivacy(t, "mean laplace", c.points, 3, c.epsilon, 0.5, func(epsilon float64) dptest.Law {
			m := build(t, Query{Statistic: Mean, Mechanism: "laplace", Epsilon: decimal.NewFromFloat(epsilon),
				Grid: g}).(*meanLaplace)
			return func(h []int64) []float64 { return noisyMeanLaw(m, h, 1) }
		})
	}
}

func TestMeanLaplaceSampler(t *testing.T) {
	random := rand.NewChaCha8([32]byte{18})
	for _, c := range []struct {
		h       []int64
		epsilon string
	}{{[]int64{3, 4, 0, 5, 9, 0, 2}, "1"}, {[]int64{0, 0, 0, 0, 0, 30, 0, 0}, "0.8"}} {
		g := smallGrid(t, len(c.h))
		m := build(t, Query{Statistic: Mean, Mechanism: "laplace", Epsilon: dec(c.epsilon), Grid: g}).(*meanLaplace)
		s := sampleOf(g, c.h)
		counts := dptest.Counts(15000, len(c.h), func() int {
			d, err := m.Draw(s, Public{}, random)
			if err != nil {
				t.Fatal(err)
			}
			return int(d.Values[0].Number)
		})
		dptest.CheckSampler(t, fmt.Sprint("mean laplace ", c), counts,
			func(f float64) []float64 { return noisyMeanLaw(m, c.h, f) })
	}
}

func TestMeanLaplaceExtremes(t *testing.T) {
	random := rand.NewChaCha8([32]byte{19})
	wide := grid(t, "0", "9007199254740992", "1")
	for _, epsilon := range []string{"0.000000001", "0.0001", "0.123456789", "1", "1e6"} {
		for _, g := range []*Grid{wide, smallGrid(t, 2), smallGrid(t, 3)} {
			for _, points := range [][]Point{nil, {{g.last, 1}}, {{0, 5e6}, {g.last, 5e6}}, {{1, 1e7}}} {
				m := build(t, Query{Statistic: Mean, Mechanism: "laplace", Epsilon: dec(epsilon), Grid: g})
				d, err := m.Draw(NewSample(g, points), Public{}, random)
				if err != nil || d.Values[0].Number < 0 || d.Values[0].Number > g.last {
					t.Fatalf("ε=%s %v: %v, %v", epsilon, points, d, err)
				}
				if len(points) == 1 && points[0].Count > 1e6 && g.last < 10 && epsilon == "1e6" &&
					d.Values[0].Number != 1 {
					t.Errorf("the mean of 10^7 users at 1 is %d", d.Values[0].Number)
				}
			}
		}
	}
}
