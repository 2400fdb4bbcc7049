package mechanisms

import (
	"testing"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms/internal/dptest"
)

// both is the law of two independent draws.
func both(p, q []float64) (law []float64) {
	for _, a := range p {
		for _, b := range q {
			law = append(law, a*b)
		}
	}
	return law
}

// Mechanisms of several draws are charged the sum of the draws' ρ. All draws together lose at most that: D_α ≤ α·ρ for
// the Rényi divergences between neighbours, in both directions. Twice the ε breaks this.
func TestRhoOfPieces(t *testing.T) {
	for _, epsilon := range []string{"0.5", "2"} {
		three := smallGrid(t, 3)
		split := build(t, Query{Statistic: Quantiles, Mechanism: "split", P: ps("0.25", "0.5"), Epsilon: dec(epsilon),
			Grid: three}).(*split)
		paid := intervalOf(t, three, "0.5", epsilon, "0.95")
		low, high := paid.side.shifted(-1.3), paid.side.shifted(1.3)
		mean := build(t, Query{Statistic: Mean, Epsilon: dec(epsilon), Grid: anchored(t, 2, 0)}).(*clippedMean)
		mean.last = 255
		even := Uniform(three)
		for _, c := range []struct {
			name  string
			m     Mechanism
			users int
			least float64 // the fraction of ρ that is lost
			law   func(f float64) dptest.Law
		}{
			{"split", split, 6, 0.6, func(f float64) dptest.Law {
				return func(h []int64) []float64 {
					s := sampleOf(three, h)
					return both(split.parts[0].law(s, f, even), split.parts[1].law(s, f, even))
				}
			}},
			{"interval", paid, 6, 0.5, func(f float64) dptest.Law {
				return func(h []int64) []float64 {
					s, p := sampleOf(three, h), sampleOf(three, h).padded(three)
					return both(paid.estimate.law(s, f, even), both(low.law(p, f, even), high.law(p, f, even)))
				}
			}},
			{"clipped", mean, 3, 0.3, // the most expensive way to draw needs more users
				func(f float64) dptest.Law {
					branches := remembered(mean.clipping, f)
					return func(h []int64) []float64 {
						return jointLaw(mean.clipping, branches, h, 4, f, laplaceLaw(f))
					}
				}},
		} {
			rho, half := c.m.Promise().Rho.InexactFloat64(),
				dec(epsilon).Mul(dec(epsilon)).Mul(decimal.New(5, -1)).InexactFloat64()
			got := worstDivergence(c.users, plain(c.law(1)))
			t.Logf("%s, ε = %s: ρ = %.4f of ½ε², of which %.4f is lost", c.name, epsilon, rho/half, got/rho)
			if got > rho*(1+1e-9) || got < c.least*rho {
				t.Errorf("%s, ε = %s: ρ = %v is lost of %v", c.name, epsilon, got, rho)
			}
			if got := worstDivergence(c.users, plain(c.law(2))); got <= rho {
				t.Errorf("%s, ε = %s: a doubled ε goes unnoticed: ρ = %v", c.name, epsilon, got)
			}
		}
	}
}
