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

// noisyLaw is the law of a sum + Z for 0 ≤ sum ≤ most, as far as it distinguishes neighbours.
type noisyLaw func(sum, most int64, z noise, sensitivity uint64) []float64

// laplaceLaw is that of the mechanism, with f times its ε.
func laplaceLaw(f float64) noisyLaw {
	return func(sum, most int64, z noise, sensitivity uint64) []float64 {
		return lumped(sum, most, f*z.rate()/float64(sensitivity))
	}
}

// jointLaw is the law of everything published of at most so many users: the decision of the own count, the interval,
// both sums, and how many are outside.
func jointLaw(c *clipping, branches func(int64) ([]float64, []plan), hist []int64, users int, f float64,
	noisy noisyLaw) []float64 {
	var law []float64
	chance, plans := branches(total(hist))
	for i, p := range plans {
		for _, x := range intervalLaw(c, hist, p, f) {
			sums, width := quartersOf(hist, x.l, x.h), 4*(x.h-x.l)
			first, second, count := []float64{1}, []float64{1}, []float64{1}
			if width > 0 {
				first = noisy(sums.a, width*int64(users), p.sums, uint64(width))
				second = noisy(sums.b, width*int64(users), p.sums, uint64(width))
			}
			if z := noiseOutside(c, p, x.l, x.h); z != nil {
				count = noisy(sums.out, int64(users), z, 1)
			}
			for _, pa := range first {
				for _, pb := range second {
					for _, pc := range count {
						law = append(law, chance[i]*x.p*pa*pb*pc)
					}
				}
			}
		}
	}
	return law
}

// freeing sets k0 to at most so many users. The true one would need more users than can all be tried.
func (c *clipping) freeing(most int64) *clipping {
	for own := range c.shares {
		for sure := range c.shares[own] {
			c.shares[own][sure].free = min(c.shares[own][sure].free, most)
		}
	}
	return c
}

// Everything is published jointly: the decision of the own count, the interval, both sums, and the count of users
// outside. If that count has twice its ε, more is lost than is charged. With few users, the own count and its sixteenth
// of ε hardly show.
func TestClippedMeanPrivacy(t *testing.T) {
	for _, of := range []struct{ points, users, free int }{{3, 4, 1}, {4, 2, 0}} {
		for _, anchor := range []int64{0, 1} {
			for _, epsilon := range []float64{0.5, 2} {
				c := clippingOf(t, anchored(t, int64(of.points-1), anchor), epsilon).freeing(int64(of.free))
				c.last = 255 // w0 is 15, 3, 1 and 0, depending on s
				law := func(f float64, noisy noisyLaw) dptest.Law {
					branches := remembered(c, f)
					return func(hist []int64) []float64 {
						return jointLaw(c, branches, hist, of.users+1, f, noisy)
					}
				}
				dptest.CheckPrivacy(t, fmt.Sprint("clipped, ", of.points, " points"), of.points, of.users, epsilon, 0.88,
					func(e float64) dptest.Law { return law(e/epsilon, laplaceLaw(e/epsilon)) })
				wrong := dptest.MaxLogRatio(of.points, of.users, law(1,
					func(sum, most int64, z noise, sensitivity uint64) []float64 {
						rate := z.rate() / float64(sensitivity)
						if sensitivity == 1 {
							rate *= 2
						}
						return lumped(sum, most, rate)
					}))
				if t.Logf("a count with twice its ε: %v ε", wrong/epsilon); wrong <= epsilon*(1+1e-9) {
					t.Errorf("a count of users outside with twice its ε goes unnoticed")
				}
			}
		}
	}
}

// outcome is one decision or interval that is published, the logarithm of its probability, and the laws of the noisy
// numbers published with it, independent of each other, as logarithms.
type outcome struct {
	chance float64
	noisy  [][]float64
}

// gaussianOutcomes lists those of a mean, with factor times the ε.
func gaussianOutcomes(c *clipping, branches func(int64) ([]float64, []plan), factor float64) func([]int64) []outcome {
	return func(hist []int64) (all []outcome) {
		chance, plans := branches(total(hist))
		for i, p := range plans {
			for _, x := range intervalLaw(c, hist, p, factor) {
				o := outcome{chance: math.Log(chance[i]) + math.Log(x.p)}
				sums := quartersOf(hist, x.l, x.h)
				if x.l < x.h {
					width := uint64(4 * (x.h - x.l))
					o.noisy = append(o.noisy, gaussianLogs(sums.a, p.sums, width, factor),
						gaussianLogs(sums.b, p.sums, width, factor))
				}
				if z := noiseOutside(c, p, x.l, x.h); z != nil {
					o.noisy = append(o.noisy, gaussianLogs(sums.out, z, 1, factor))
				}
				all = append(all, o)
			}
		}
		return all
	}
}

// The Gaussian variant keeps its ρ: D_α ≤ α·ρ for Rényi divergences between neighbours of everything published, in both
// directions. Twice the ε breaks this. Small samples hardly ever have the plan of many users by their own count, so it
// is also tried with the information public.
func TestClippedGaussianPrivacy(t *testing.T) {
	const points, users = 3, 2
	for _, epsilon := range []float64{1, 3} {
		m := build(t, Query{Statistic: Mean, Mechanism: "clipped_gaussian", Epsilon: decimal.NewFromFloat(epsilon),
			Grid: smallGrid(t, points)}).(*clippedMean)
		m.last = 127
		m.freeing(0)
		checkRho(t, epsilon, m.Promise().Rho.InexactFloat64(), func(factor float64) float64 {
			return worstDivergence(users, gaussianOutcomes(m.clipping, remembered(m.clipping, factor), factor))
		})
		for _, information := range []int64{0, 100} {
			p := m.planFor(big.NewRat(information, 1), 0)
			always := func(int64) ([]float64, []plan) { return []float64{1}, []plan{p} }
			checkRho(t, epsilon, m.Promise().Rho.InexactFloat64(), func(factor float64) float64 {
				return worstDivergence(users, gaussianOutcomes(m.clipping, always, factor))
			})
		}
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

// gaussianLogs is the law of sum + Z, with factor times the ε, as logarithms. It has all values that matter for
// divergences up to order 8 between up to three users: in order α those near q + α·(p − q) do, where p and q are the
// sums of neighbours.
func gaussianLogs(sum int64, z noise, sensitivity uint64, factor float64) []float64 {
	v, _ := z.(gaussian).variance(sensitivity).Float64()
	v /= factor * factor
	side := int64(12*math.Sqrt(v)) + 12*int64(sensitivity)
	var logs []float64
	for x := -side; x <= side; x++ {
		logs = append(logs, -float64((x-sum)*(x-sum))/(2*v))
	}
	all := 0.
	for _, x := range logs {
		all += math.Exp(x)
	}
	for i := range logs {
		logs[i] -= math.Log(all)
	}
	return logs
}

// worstDivergence is the largest D_α/α of neighbours on a grid of three points, in both directions.
func worstDivergence(users int, law func(hist []int64) []outcome) (worst float64) {
	dptest.Samples(3, users, func(h []int64) {
		p := law(h)
		for i := range h {
			h[i]++
			q := law(h)
			h[i]--
			for _, alpha := range []float64{1.01, 1.5, 2, 4, 8} {
				worst = max(worst, renyi(p, q, alpha)/alpha, renyi(q, p, alpha)/alpha)
			}
		}
	})
	return worst
}

// plain lists the outcomes of a law.
func plain(law dptest.Law) func(hist []int64) []outcome {
	return func(hist []int64) (all []outcome) {
		for _, p := range law(hist) {
			all = append(all, outcome{chance: math.Log(p)})
		}
		return all
	}
}

// renyi is the Rényi divergence of two laws. The sums of independent numbers are multiplied. Outcomes of which one
// probability has underflowed do not matter.
func renyi(p, q []outcome, alpha float64) float64 {
	all := 0.
	for k, x := range p {
		y := q[k]
		power := math.Exp(alpha*x.chance + (1-alpha)*y.chance)
		if math.IsNaN(power) || math.IsInf(power, 0) {
			continue
		}
		for i := range x.noisy {
			sum := 0.
			for j, logP := range x.noisy[i] {
				sum += math.Exp(alpha*logP + (1-alpha)*y.noisy[i][j])
			}
			power *= sum
		}
		all += power
	}
	return math.Log(all) / (alpha - 1)
}

// The same with public information and a single released sum, measured from the middle, beside the count of users
// outside.
func TestCountedMeanPrivacy(t *testing.T) {
	const points, users = 4, 4
	for _, information := range []int64{0, 100} {
		for _, epsilon := range []float64{0.5, 3} {
			c := clippingOf(t, anchored(t, points-1, 0), epsilon).freeing(1)
			c.last = 127
			p := c.planFor(big.NewRat(information, 1), 0)
			dptest.CheckPrivacy(t, "clipped, counted", points, users, epsilon, 0.85, func(e float64) dptest.Law {
				f := e / epsilon
				return func(hist []int64) []float64 {
					var law []float64
					for _, x := range intervalLaw(c, hist, p, f) {
						sums, width := quartersOf(hist, x.l, x.h), 4*(x.h-x.l)
						first, count := []float64{1}, []float64{1}
						if most := width * (users + 1); most > 0 { // shifted, so that no sum is negative
							first = laplaceLaw(f)(sums.a-sums.b+most, 2*most, p.sums, uint64(width))
						}
						if z := noiseOutside(c, p, x.l, x.h); z != nil {
							count = laplaceLaw(f)(sums.out, users+1, z, 1)
						}
						for _, q := range first {
							for _, r := range count {
								law = append(law, x.p*q*r)
							}
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
				x := quartersOf(hist, 0, points-1) // whole ones here
				var law []float64
				for _, pa := range lumped(x.a/4, most, rate) {
					for _, pb := range lumped(x.b/4, most, rate) {
						law = append(law, pa*pb)
					}
				}
				return law
			}
		})
	}
}
