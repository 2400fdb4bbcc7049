package general

import (
	"fmt"
	"io"
	"math/big"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms/exact"
)

// DiscreteLaplace returns value plus a whole number z drawn with P(z) ∝ e^{−ε|z|/Δ}, where one person changes the value
// by at most Δ = sensitivity ≥ 1. The sum is cut to ±2^62.
//
// Privacy: ε-DP. Source: Ghosh, Roughgarden, Sundararajan 2009; Canonne, Kamath, Steinke 2020.
func DiscreteLaplace(value, sensitivity int64, epsilon decimal.Decimal, random io.Reader) (int64, error) {
	if err := checkEpsilon(epsilon); err != nil {
		return 0, err
	}
	if sensitivity < 1 {
		return 0, fmt.Errorf("sensitivity %d; want at least 1", sensitivity)
	}
	num, den := epsilon.Rat().Num(), epsilon.Rat().Denom()
	if !num.IsUint64() || !den.IsUint64() {
		return 0, fmt.Errorf("epsilon %s has too many digits: at most 18 after the point", epsilon)
	}
	source := exact.NewSource(random)
	sum := source.DiscreteLaplace(num.Uint64(), den.Uint64(), uint64(sensitivity))
	sum.Add(sum, big.NewInt(value))
	if most := big.NewInt(1 << 62); sum.CmpAbs(most) > 0 {
		sum.Mul(most, big.NewInt(int64(sum.Sign())))
	}
	return sum.Int64(), source.Err()
}

// Laplace returns value plus real Laplace noise of scale Δ/ε, rounded to the nearest multiple of step, where one person
// changes the value by at most Δ = sensitivity > 0. The result is exactly the rounded ideal sum: its digits reveal
// nothing more than that.
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
			return decimal.Decimal{}, fmt.Errorf("%s %s; want more than 0", p.name, p.value)
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
	if accuracy == big.Above { // rounded towards 0 from below
		whole.Sub(whole, big.NewInt(1))
	}
	return whole
}
