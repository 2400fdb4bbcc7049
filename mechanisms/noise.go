package mechanisms

import (
	"math"
	"math/big"

	"github.com/louver/louver/mechanisms/exact"
)

// noise is added to whole numbers. It is scaled to their sensitivity, which is at least 1.
type noise interface {
	// law returns a function that draws it.
	law(sensitivity uint64) func(source *exact.Source) *big.Int
	// beside returns the noise of the count of users outside, beside sums in quarters that have all of this noise: see
	// [Outsiders].
	beside() noise
	// rate returns the ε of the noise. For Gaussian noise it is √(2ρ), the ε of a count with similar noise.
	rate() float64
	// reach returns what |Z| exceeds with probability eta at most.
	reach(sensitivity uint64, eta float64) *big.Int
	// pairReach lists the corners (x, y) ≥ 0 of a set that holds (|Z₁|, |Z₂|), for two independent draws, with
	// probability 95 % at least. The set is the smallest convex one that has, with each corner, all points (x', y')
	// with x' ≤ x and y' ≤ y.
	pairReach(sensitivity uint64) [][2]*big.Int
}

// laplace is discrete Laplace noise of rate ε = num/(den·part): P(Z=z) ∝ e^{−|z|·ε/sensitivity}.
//
// Privacy: numbers that one user changes by at most the sensitivity in all, in the L1 norm, are released with ε-DP,
// since each step changes a noise's law by a factor within e^{±ε/sensitivity}.
//
// Source: Ghosh, Roughgarden, Sundararajan (2009); drawn as in Canonne, Kamath, Steinke (2020).
type laplace struct{ num, den, part uint64 }

func (n laplace) law(sensitivity uint64) func(source *exact.Source) *big.Int {
	return func(source *exact.Source) *big.Int { return source.DiscreteLaplace(n.num, n.den, n.part*sensitivity) }
}

func (n laplace) beside() noise { return laplace{n.num, n.den, 4 * n.part} }

func (n laplace) rate() float64 { return float64(n.num) / float64(n.den) / float64(n.part) }

func (n laplace) reach(sensitivity uint64, eta float64) *big.Int {
	return whole(laplaceReach(n.rate()/float64(sensitivity), eta/2))
}

// laplaceTail is P(Z > t) = r^{t+1}/(1+r), t ≥ 0 a whole number, for discrete Laplace noise P(Z=z) ∝ r^{|z|}, r =
// e^{−rate}.
func laplaceTail(rate, t float64) float64 { return math.Exp(-rate*(t+1)) / (1 + math.Exp(-rate)) }

// laplaceReach is the t ≥ 0, no whole number, from which [laplaceTail] is eta at most.
func laplaceReach(rate, eta float64) float64 {
	return max(0, math.Log(eta*(1+math.Exp(-rate)))/-rate-1)
}

// pairReach is the least K with P(|Z₁|+|Z₂| > K) = 4r^{K+1}((K+1)(1−r) + r)/(1+r)² ≤ 5 %: (1−r)²/(1+r)²·r^s is the
// probability of each of the 4s pairs with |z₁|+|z₂| = s ≥ 1.
func (n laplace) pairReach(sensitivity uint64) [][2]*big.Int {
	rate := n.rate() / float64(sensitivity)
	r, step := math.Exp(-rate), -math.Expm1(-rate)
	beyond := func(k float64) float64 { // at least K
		return 4 * math.Exp(-rate*(k+1)) * ((k+1)*step + r) / ((1 + r) * (1 + r))
	}
	low, high := -1.0, 20/rate+1
	for high-low > max(0.25, high*1e-12) {
		if mid := (low + high) / 2; beyond(mid) <= 0.05 {
			high = mid
		} else {
			low = mid
		}
	}
	least := math.Floor(high)
	if beyond(least) > 0.05 {
		least++
	}
	k := whole(least)
	return [][2]*big.Int{{k, new(big.Int)}, {new(big.Int), k}}
}

// gaussian is discrete Gaussian noise, P(Z=z) ∝ e^{−z²/(2σ²)} with σ² = sensitivity²/(2ρ).
//
// Privacy: numbers that one user changes by at most the sensitivity in the L2 norm are released with ρ-zCDP.
//
// Source: Canonne, Kamath, Steinke (2020), Theorem 14 and Algorithm 3.
type gaussian struct{ rho *big.Rat }

func (n gaussian) variance(sensitivity uint64) *big.Rat {
	s := new(big.Rat).SetUint64(sensitivity)
	s.Mul(s, s).Quo(s, n.rho)
	return s.Quo(s, big.NewRat(2, 1))
}

func (n gaussian) beside() noise { return gaussian{new(big.Rat).Mul(n.rho, big.NewRat(7, 16))} }

func (n gaussian) rate() float64 {
	rho, _ := n.rho.Float64()
	return math.Sqrt(2 * rho)
}

func (n gaussian) law(sensitivity uint64) func(source *exact.Source) *big.Int {
	g := exact.NewGaussian(n.variance(sensitivity))
	return func(source *exact.Source) *big.Int { return source.DiscreteGaussian(g) }
}

// reach is from P(|Z| > t) = P(|Z| ≥ t+1) ≤ P(|N(0, σ²)| ≥ t) for whole t (Canonne, Kamath, Steinke 2020, Proposition
// 25).
func (n gaussian) reach(sensitivity uint64, eta float64) *big.Int {
	variance, _ := n.variance(sensitivity).Float64()
	return whole(math.Sqrt(2*variance) * math.Erfinv(1-eta))
}

// pairReach is a square: each of the two stays within it with probability 97.5 %.
func (n gaussian) pairReach(sensitivity uint64) [][2]*big.Int {
	g := n.reach(sensitivity, 0.025)
	return [][2]*big.Int{{g, g}}
}

// whole returns the least whole number of at least x and 0, with room for the rounding errors of x.
func whole(x float64) *big.Int {
	z, _ := big.NewFloat(math.Ceil(max(0, x*(1+1e-12)-1e-9))).Int(nil)
	return z
}

// gaussianCount is the name of the mechanism of [newGaussianCount].
const gaussianCount = "gaussian"

// summedSigma is the largest σ for which the probabilities of a discrete Gaussian are added up one by one.
const summedSigma = 32

// gaussianTail is P(Z > t) for a whole t ≥ 0 and P(Z=z) ∝ f(z) = e^{−z²/(2σ²)}.
//
// For large σ it is P(N(0, σ²) > t + ½). From t + ½ = σ on that is a bound: f is convex there, so that f(z) is at most
// its integral from z − ½ to z + ½, and the sum over all z is at least that of the density, σ·√(2π), by Poisson's
// summation formula. The relative error is about (t/σ)²/(24σ²). Canonne, Kamath, Steinke (2020), Proposition 25, have
// P(N(0, σ²) ≥ t).
func gaussianTail(sigma, t float64) float64 {
	if sigma > summedSigma {
		return math.Erfc((t+0.5)/(sigma*math.Sqrt2)) / 2
	}
	return gaussianSum(sigma, t+1) / gaussianTotal(sigma)
}

// gaussianTotal is the sum of f over all whole numbers: from σ = 1 on by Poisson's summation formula, whose next term
// is below 10⁻³³.
func gaussianTotal(sigma float64) float64 {
	if sigma < 1 {
		return 1 + 2*gaussianSum(sigma, 1)
	}
	return sigma * math.Sqrt(2*math.Pi) * (1 + 2*math.Exp(-2*math.Pi*math.Pi*sigma*sigma))
}

// gaussianSum is Σ e^{−z²/(2σ²)} over the whole numbers from a first one, at least 1, upward.
func gaussianSum(sigma, first float64) (sum float64) {
	for z := first; ; z++ {
		f := gaussianWeight(sigma, z)
		if sum += f; !(f > sum*1e-17) {
			return sum
		}
	}
}

func gaussianWeight(sigma, z float64) float64 { return math.Exp(-z / sigma * z / sigma / 2) }

// gaussianReach is the least whole t ≥ 0 for which [gaussianTail] is at most eta. eta is at most 0.15, where
// t + ½ > σ.
func gaussianReach(sigma, eta float64) (t float64) {
	if sigma > summedSigma {
		return math.Ceil(sigma*math.Sqrt2*math.Erfinv(1-2*eta) - 0.5)
	}
	total := gaussianTotal(sigma)
	for left := (total - 1) / 2; left > eta*total; {
		t++
		left -= gaussianWeight(sigma, t)
	}
	return t
}
