package privacy

import (
	"math"

	"github.com/shopspring/decimal"
)

var (
	half   = decimal.New(5, -1)
	eighth = decimal.New(125, -3)
)

// halfSquare is ½ε².
func halfSquare(epsilon decimal.Decimal) decimal.Decimal { return epsilon.Mul(epsilon).Mul(half) }

// RhoOfPure is the ρ of an ε-DP mechanism, min(ε²/2, ε) (Bun & Steinke 2016, Proposition 1.4). A Rényi divergence never
// exceeds ε.
func RhoOfPure(e float64) float64 { return min(e*e/2, e) }

// RhoOfRange is the ρ of an ε-bounded-range mechanism:
//
//	ρ = ε/(e^ε − 1) − 1 + ln((e^ε − 1)/ε) ≤ ε²/8
//
// (Dong, Durfee & Rogers 2020, Lemma 3.4; ≤ ε²/8: Cesar & Rogers 2021, Lemma 3.2).
func RhoOfRange(e float64) float64 {
	if e < 0.25 {
		// The series ε²/8 − ε⁴/576 + ε⁶/25920 − …, cut after a positive term: here the formula would lose digits to
		// cancellation.
		return e * e / 8 * (1 - e*e/72 + e*e*e*e/3240)
	}
	// ln((e^ε − 1)/ε), written so that e^ε does not overflow.
	return e*math.Exp(-e)/-math.Expm1(-e) - 1 + e + math.Log(-math.Expm1(-e)) - math.Log(e)
}

// boundedRangeRho is [RhoOfRange], rounded up. Ledgers have entries that do not hold their ρ, because it is this
// function of ε. So it must never change.
func boundedRangeRho(epsilon decimal.Decimal) decimal.Decimal {
	simple := epsilon.Mul(epsilon).Mul(eighth)
	e := epsilon.InexactFloat64()
	if e < 0.5 {
		return simple // within 0.4 %
	}
	// Six operations on numbers of at most 1 + ε err by far less than 1e-12 of them.
	rho := decimal.NewFromFloat(RhoOfRange(e) + 1e-12*(1+e)).RoundUp(15)
	return decimal.Min(rho, simple)
}

// roundedUp covers the rounding errors of about ten float64 operations. Each is at most 2⁻⁵³ of the result, or of 1 if
// terms of about 1 cancel.
func roundedUp(rho float64) decimal.Decimal {
	return decimal.NewFromFloat(rho*(1+0x1p-44) + 4e-15).RoundCeil(12)
}
