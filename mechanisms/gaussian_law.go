package mechanisms

import "math"

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
