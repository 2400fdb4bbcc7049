package mechanisms

import (
	"math"

	"github.com/shopspring/decimal"
)

// pure is the promise of an ε-DP mechanism. It is min(ε²/2, ε)-zCDP (Bun & Steinke 2016, Proposition 3.3; a Rényi
// divergence never exceeds ε).
func pure(epsilon decimal.Decimal) Promise {
	return Promise{Epsilon: epsilon, Rho: roundUp(rhoOfPure(epsilon.InexactFloat64()))}
}

func rhoOfPure(e float64) float64 { return min(e*e/2, e) }

// boundedRange is the promise of an exponential mechanism: ε-DP, and ε-bounded-range whence zCDP with
// ρ = ε/(e^ε−1) − 1 + ln((e^ε−1)/ε) ≤ ε²/8 (Dong, Durfee, Rogers 2020; Bun, Steinke 2016 for the form).
func boundedRange(epsilon decimal.Decimal) Promise {
	return Promise{Epsilon: epsilon, BoundedRange: true, Rho: roundUp(rhoOfRange(epsilon.InexactFloat64()))}
}

func rhoOfRange(e float64) float64 {
	if e < 0.25 {
		// The series ε²/8 − ε⁴/576 + ε⁶/25920 − …, cut after a positive term.
		return e * e / 8 * (1 - e*e/72 + e*e*e*e/3240)
	}
	shrunk := -math.Expm1(-e) // (e^ε−1)·e^{−ε}
	return e*math.Exp(-e)/shrunk - 1 + e + math.Log(shrunk/e)
}

// concentrated is the promise of a ρ-zCDP mechanism, ρ = ½ε².
func concentrated(epsilon decimal.Decimal) Promise {
	e := epsilon.InexactFloat64()
	return Promise{Epsilon: epsilon, Rho: roundUp(e * e / 2), Concentrated: true}
}

// compose is the promise of drawing all of them from one sample: ε, δ and ρ add up.
func compose(promises ...Promise) Promise {
	var sum Promise
	for _, p := range promises {
		sum.Epsilon = sum.Epsilon.Add(p.Epsilon)
		sum.Delta = sum.Delta.Add(p.Delta)
		sum.Rho = roundUp(sum.Rho + p.Rho)
	}
	return sum
}

// roundUp covers the rounding errors of a few float64 operations.
func roundUp(x float64) float64 { return x * (1 + 0x1p-44) }
