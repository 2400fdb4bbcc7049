package mechanisms

import (
	"fmt"
	"math"
	"math/big"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms/internal/dptest"
)

// lumped is the law of sum + Z as far as it distinguishes neighbours, for 0 ≤ sum ≤ most: outside, all values have one
// ratio.
func lumped(sum, most int64, rate float64) []float64 {
	r := math.Exp(-rate)
	law := []float64{math.Pow(r, float64(sum+1)) / (1 + r)}
	for v := range most + 1 {
		law = append(law, math.Pow(r, math.Abs(float64(v-sum)))*(1-r)/(1+r))
	}
	return append(law, math.Pow(r, float64(most+1-sum))/(1+r))
}

// jointLaw is the law of everything published: the decision of the own count, the interval, and both sums, with noises
// of the given law.
func jointLaw(c *clipping, branches func(int64) ([]float64, []plan), hist []int64, f float64,
	noisy func(sum int64, z noise, width uint64) []float64) []float64 {
	var law []float64
	chance, plans := branches(total(hist))
	for i, p := range plans {
		for _, x := range intervalLaw(c, hist, p, f) {
			if x.l == x.h {
				law = append(law, chance[i]*x.p)
				continue
			}
			a, b := pairSums(hist, x.l, x.h)
			second := noisy(b, p.sums, uint64(x.h-x.l))
			for _, pa := range noisy(a, p.sums, uint64(x.h-x.l)) {
				for _, pb := range second {
					law = append(law, chance[i]*x.p*pa*pb)
				}
			}
		}
	}
	return law
}

// Everything is published jointly: the decision of the own count, the interval, and both sums.
func TestClippedMeanPrivacy(t *testing.T) {
	for _, points := range []int{3, 4} {
		for _, anchor := range []int64{0, 1} {
			for _, epsilon := range []float64{0.5, 2} {
				const users = 3
				c := clippingOf(t, anchored(t, int64(points-1), anchor), epsilon)
				c.last = 255 // w0 is 7, 3, 1 and 0, depending on s
				most := int64((users + 1) * (points - 1))
				dptest.CheckPrivacy(t, fmt.Sprint("clipped, ", points, " points"), points, users, epsilon, 0.9,
					func(e float64) dptest.Law {
						f := e / epsilon
						branches := remembered(c, f)
						return func(hist []int64) []float64 {
							return jointLaw(c, branches, hist, f, func(sum int64, z noise, width uint64) []float64 {
								return lumped(sum, most, f*z.rate()/float64(width))
							})
						}
					})
			}
		}
	}
}

// The Gaussian variant keeps its ρ: D_α ≤ α·ρ for Rényi divergences between neighbours of everything published, in both
// directions. Twice the ε breaks this.
func TestClippedGaussianPrivacy(t *testing.T) {
	const points, users = 3, 2
	for _, epsilon := range []float64{1, 3} {
		m := build(t, Query{Statistic: Mean, Mechanism: "clipped_gaussian", Epsilon: decimal.NewFromFloat(epsilon),
			Grid: smallGrid(t, points)}).(*clippedMean)
		m.last = 127
		rho := m.Promise().Rho.InexactFloat64()
		worst := func(factor float64) float64 {
			branches := remembered(m.clipping, factor)
			law := func(hist []int64) []float64 {
				return jointLaw(m.clipping, branches, hist, factor, func(sum int64, z noise, width uint64) []float64 {
					return gaussianLaw(sum, z.(gaussian).variance(width), factor)
				})
			}
			return worstDivergence(users, law)
		}
		checkRho(t, epsilon, rho, worst)
	}
}

// checkRho fails the test unless the worst loss is at most ρ and not far from it, with factor times the ε, and exceeds
// ρ with twice the ε.
func checkRho(t *testing.T, epsilon, rho float64, worst func(factor float64) float64) {
	t.Helper()
	got := worst(1)
	t.Logf("ε = %v: %.4f ρ", epsilon, got/rho)
	if got > rho*(1+1e-9) || got < 0.7*rho {
		t.Errorf("ε = %v: ρ = %v is lost of %v", epsilon, got, rho)
	}
	if got := worst(2); got <= rho {
		t.Errorf("ε = %v: a doubled ε goes unnoticed: ρ = %v", epsilon, got)
	}
}

// gaussianLaw is the law of sum + Z for all values that matter, with factor times the ε.
func gaussianLaw(sum int64, variance *big.Rat, factor float64) []float64 {
	v, _ := variance.Float64()
	v /= factor * factor
	var law []float64
	for x := int64(-60); x <= 60; x++ {
		law = append(law, math.Exp(-float64((x-sum)*(x-sum))/(2*v)))
	}
	return dptest.Normalise(law)
}

// worstDivergence is the largest D_α/α of neighbours on a grid of three points, in both directions.
func worstDivergence(users int, law dptest.Law) (worst float64) {
	logs := func(h []int64) []float64 {
		var logs []float64
		for _, p := range law(h) {
			logs = append(logs, math.Log(p))
		}
		return logs
	}
	dptest.Neighbours(3, users, logs, func(p, q []float64) {
		for _, alpha := range []float64{1.01, 1.5, 2, 4, 8} {
			worst = max(worst, renyi(p, q, alpha)/alpha, renyi(q, p, alpha)/alpha)
		}
	})
	return worst
}

// renyi is the Rényi divergence of laws whose logarithms are p and q. Terms below e^−60 of a sum near 1 do not matter,
// nor do outcomes of which one probability has underflowed.
func renyi(p, q []float64, alpha float64) float64 {
	sum := 0.0
	for i := range p {
		if x := alpha*p[i] + (1-alpha)*q[i]; x > -60 && !math.IsInf(x, 1) {
			sum += math.Exp(x)
		}
	}
	return math.Log(sum) / (alpha - 1)
}

// The same with public information and a single released sum, measured from the middle.
func TestCountedMeanPrivacy(t *testing.T) {
	const points, users = 4, 4
	for _, information := range []int64{0, 100} {
		for _, epsilon := range []float64{0.5, 3} {
			c := clippingOf(t, anchored(t, points-1, 0), epsilon)
			c.last = 127
			p := c.planFor(big.NewRat(information, 1), 0)
			const most = 2 * (users + 1) * (points - 1)
			dptest.CheckPrivacy(t, "clipped, counted", points, users, epsilon, 0.85, func(e float64) dptest.Law {
				f := e / epsilon
				return func(hist []int64) []float64 {
					var law []float64
					for _, x := range intervalLaw(c, hist, p, f) {
						if x.l == x.h {
							law = append(law, x.p)
							continue
						}
						a, b := pairSums(hist, x.l, x.h)
						// Shifted, so that no sum is negative.
						for _, q := range lumped(a-b+most/2, most, f*p.sums.rate()/float64(x.h-x.l)) {
							law = append(law, x.p*q)
						}
					}
					return law
				}
			})
		}
	}
}

func TestTwoSumsPrivacy(t *testing.T) {
	const points, users = 5, 4
	for _, epsilon := range []float64{0.1, 1, 4} {
		m := build(t, Query{Statistic: Mean, Mechanism: "two_sums", Epsilon: decimal.NewFromFloat(epsilon),
			Grid: smallGrid(t, points)}).(*wholeMean)
		const most = (users + 1) * (points - 1)
		dptest.CheckPrivacy(t, "two sums", points, users, epsilon, 0.99, func(e float64) dptest.Law {
			rate := e / epsilon * m.noise.rate() / (points - 1)
			return func(hist []int64) []float64 {
				a, b := pairSums(hist, 0, points-1)
				var law []float64
				for _, pa := range lumped(a, most, rate) {
					for _, pb := range lumped(b, most, rate) {
						law = append(law, pa*pb)
					}
				}
				return law
			}
		})
	}
}
