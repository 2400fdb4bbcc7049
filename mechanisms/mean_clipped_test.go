package mechanisms

import (
	"math/rand/v2"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget/privacy"
)

func TestClippedMeanExtremes(t *testing.T) {
	random := rand.NewChaCha8([32]byte{55})
	wide := grid(t, "0", "9007199254740992", "1")
	for _, epsilon := range []string{"0.000000001", "0.0001", "0.123456789", "1", "1e6"} {
		for _, g := range []*Grid{wide, smallGrid(t, 2), smallGrid(t, 3)} {
			for _, points := range [][]Point{nil, {{g.last, 1}}, {{0, 5e6}, {g.last, 5e6}}, {{1, 1e7}}} {
				for _, name := range []string{"clipped", "two_sums", "clipped_gaussian"} {
					for _, users := range []*NoisyCount{nil, {Value: 0, Epsilon: 1e6},
						{Value: 1 << 62, Epsilon: 1e-9}} {
						q := Query{Statistic: Mean, Mechanism: name, Epsilon: dec(epsilon), Grid: g}
						m := build(t, q)
						d, err := m.Draw(NewSample(g, points), Public{Users: users}, random)
						parts := g.parts()
						if err != nil || d.Values[0].Number < 0 || d.Values[0].Number > g.last*parts ||
							d.Values[0].Error95 < 0 || d.Values[0].Error95 > float64(g.last) {
							t.Fatalf("ε=%s %v: %v, %v", epsilon, points, d, err)
						}
						if len(points) == 1 && points[0].Count > 1e6 && g.last < 10 && epsilon == "1e6" &&
							users == nil && d.Values[0].Number != 1000 {
							t.Errorf("the mean of 10^7 users at 1 is %d thousandths", d.Values[0].Number)
						}
					}
				}
			}
		}
	}
}

// The zCDP account is charged the parts of the most expensive way to draw, and less if the number of users is public.
func TestClippedMeanRho(t *testing.T) {
	g := smallGrid(t, 100)
	for _, epsilon := range []float64{0.01, 0.5, 2} {
		q := Query{Statistic: Mean, Epsilon: decimal.NewFromFloat(epsilon), Grid: g}
		share := func(of float64) float64 { return epsilon * of }
		square := func(x float64) float64 { return x * x / 2 }
		counted := square(share(2./3)) + privacy.RhoOfRange(share(1./3))
		own := square(share(1./16)) + square(share(15./16*2/3)) + privacy.RhoOfRange(share(15./16/3))
		got := build(t, q).Promise()
		rho := got.Rho.InexactFloat64()
		if want := max(counted, own); rho < want || rho > want*(1+1e-6) || rho > 0.24*epsilon*epsilon ||
			got.Kind != privacy.Pure {
			t.Errorf("ε = %v: ρ = %v, the parts give %v", epsilon, got.Rho, want)
		}
	}
}
