package budget

import (
	"math"

	"github.com/shopspring/decimal"
)

// convertedPlaces is how many decimals a converted ε has, after rounding up.
const convertedPlaces = 9

// convert returns an ε for which every ρ-zCDP mechanism is (ε, δ)-DP, rounded up. δ is in (0, 1).
//
// By [Canonne, Kamath & Steinke 2020, Proposition 12 and Remark 15] any order a > 1 gives one:
//
//	ε = aρ + (ln(1/δ) + a·ln(1 − 1/a) − ln(a − 1))/(a − 1)
//
// So if the search misses the best a, the bound is less tight but still valid.
func convert(rho, delta decimal.Decimal) decimal.Decimal {
	if rho.Sign() <= 0 {
		return decimal.Decimal{}
	}
	// The conversion to float64 errs by half a unit in the last place, so move both to the side that costs more.
	r := math.Nextafter(rho.InexactFloat64(), math.Inf(1))
	logInvDelta := -math.Log(math.Nextafter(delta.InexactFloat64(), 0))
	// magnitude bounds the terms that cancel, and with it the rounding error.
	at := func(t float64) (epsilon, magnitude float64) {
		a1 := math.Exp(t) // a − 1
		a := 1 + a1
		// a·ln(1 − 1/a) = −a·ln(1 + 1/(a−1)), which is exact for large and for small a−1.
		inner := a * math.Log1p(1/a1)
		epsilon = a*r + (logInvDelta-inner-t)/a1
		return epsilon, a*r + (logInvDelta+inner+math.Abs(t))/a1
	}
	// The best a − 1 is near √(ln(1/δ)/ρ) for small ρ and tends to 0 for large.
	low, high := math.Log(1e-9), math.Log(1e12)
	const steps = 64
	best := low
	for i := 0; i <= steps; i++ {
		t := low + (high-low)*float64(i)/steps
		if v, _ := at(t); v < first(at(best)) {
			best = t
		}
	}
	width := (high - low) / steps
	low, high = best-width, best+width
	for range 60 { // ternary search: the bracket shrinks to (2/3)⁶⁰ < 1e-10
		left, right := low+(high-low)/3, high-(high-low)/3
		if first(at(left)) < first(at(right)) {
			high = right
		} else {
			low = left
		}
	}
	epsilon, magnitude := at((low + high) / 2)
	epsilon += 1e-13 * magnitude // about 450 units in the last place of the largest term; a dozen operations
	if epsilon <= 0 {
		return decimal.Decimal{}
	}
	return decimal.NewFromFloat(epsilon).RoundUp(convertedPlaces)
}

func first(v, _ float64) float64 { return v }
