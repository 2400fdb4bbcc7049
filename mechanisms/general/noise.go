package general

import (
	"fmt"
	"io"
	"math/big"

	"github.com/louver/louver/mechanisms/exact"
	"github.com/shopspring/decimal"
)

// DiscreteLaplace returns value plus a whole number z drawn with P(z) ∝ e^{−ε|z|/Δ}, where one person changes the value
// by at most Δ = sensitivity ≥ 1. The result is cut to ±2^62.
//
// Privacy: ε-DP. Source: Ghosh, Roughgarden, Sundararajan 2009; Canonne, Kamath, Steinke 2020.
func DiscreteLaplace(value, sensitivity int64, epsilon decimal.Decimal, random io.Reader) (int64, error) {
	if err := checkEpsilon(epsilon); err != nil {
		return 0, err
	}
	if sensitivity < 1 {
		return 0, fmt.Errorf("sensitivity %d must be at least 1", sensitivity)
	}
	ratio := new(big.Rat).Quo(epsilon.Rat(), big.NewRat(sensitivity, 1))
	if !ratio.Num().IsInt64() || !ratio.Denom().IsInt64() {
		return 0, fmt.Errorf("epsilon %s over sensitivity %d has too many digits: at most 18", epsilon, sensitivity)
	}
	source := exact.NewSource(random)
	const most = 1 << 62
	noise := source.DiscreteLaplace(ratio.Num().Uint64(), ratio.Denom().Uint64())
	return min(max(min(max(value, -most), most)+noise, -most), most), source.Err()
}

// Laplace returns value plus real Laplace noise of scale Δ/ε, rounded to the nearest multiple of step, where one person
// changes the value by at most Δ = sensitivity > 0. The result is the rounding of the ideal sum: no digit of it tells
// more than that.
//
// Privacy: ε-DP. Source: Dwork, McSherry, Nissim, Smith 2006.
func Laplace(value, sensitivity, epsilon, step decimal.Decimal, random io.Reader) (decimal.Decimal, error) {
	if err := checkEpsilon(epsilon); err != nil {
		return decimal.Decimal{}, err
	}
	for _, p := range []struct {
		name  string
		value decimal.Decimal
	}{{"sensitivity", sensitivity}, {"step", step}} {
		if p.value.Sign() <= 0 {
			return decimal.Decimal{}, fmt.Errorf("%s %s must be greater than 0", p.name, p.value)
		}
	}
	for _, d := range []decimal.Decimal{value, sensitivity, step} {
		if d.Exponent() < -100 || d.Exponent() > 100 || d.NumDigits() > 200 {
			return decimal.Decimal{}, fmt.Errorf("value, sensitivity or step has too many digits: at most 100")
		}
	}
	source := exact.NewSource(random)
	u, negative := source.Uniform(), source.Coin(1, 2)
	// ⌊value/step + ½ ± (Δ/(ε·step))·(−ln u)⌋
	centre := new(big.Rat).Quo(value.Rat(), step.Rat())
	centre.Add(centre, big.NewRat(1, 2))
	scale := new(big.Rat).Quo(sensitivity.Rat(), new(big.Rat).Mul(epsilon.Rat(), step.Rat()))
	if !negative {
		scale.Neg(scale)
	}
	for prec := uint(128); ; prec *= 2 {
		sum := exact.FromRat(centre, prec).Add(exact.FromRat(scale, prec).Mul(u.Interval(prec).Log()))
		if low, high := floor(sum.Lo), floor(sum.Hi); low.Cmp(high) == 0 {
			return decimal.NewFromBigInt(low, 0).Mul(step), source.Err()
		}
	}
}

func floor(x *big.Float) *big.Int {
	whole, accuracy := x.Int(nil)
	if accuracy == big.Above { // cut towards 0 from below it
		whole.Sub(whole, big.NewInt(1))
	}
	return whole
}
