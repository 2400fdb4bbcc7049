package exact

import (
	"math"
	"math/big"
)

// DiscreteGaussian returns a whole number z with probability proportional to e^{−z²/(2σ²)}, for a rational variance
// parameter σ² > 0 with σ < 2^120. Like [Source.DiscreteLaplace] it has no limit.
//
// It draws a discrete Laplace number y of any whole scale t and keeps it with probability e^{−(|y|−σ²/t)²/(2σ²)}, since
// the product of the two is e^{−y²/(2σ²)} times a constant. A t near σ keeps most of them (Canonne, Kamath, Steinke
// 2020, Algorithm 3).
func (s *Source) DiscreteGaussian(variance *big.Rat) *big.Int {
	sigma := new(big.Int).Sqrt(new(big.Int).Quo(variance.Num(), variance.Denom()))
	shift := uint(max(0, sigma.BitLen()-60)) // t = high·2^shift
	high := new(big.Int).Rsh(sigma, shift).Uint64() + 1
	t := new(big.Rat).SetInt(new(big.Int).Lsh(new(big.Int).SetUint64(high), shift))
	scale := new(big.Rat).Mul(t, t) // 2σ²t²
	scale.Mul(scale, variance).Add(scale, scale)
	gap := new(big.Rat)
	for {
		y := s.DiscreteLaplace(1, high, uint64(1)<<shift)
		gap.SetInt(new(big.Int).Abs(y))
		gap.Mul(gap, t).Sub(gap, variance)
		exponent := gap.Mul(gap, gap)
		exponent.Quo(exponent, scale)
		near, _ := exponent.Float64()
		// The exponent is within 2^−53 of near, relatively, and x·e^{−x} < 1: 2^−50 covers this and the exponential's own
		// error.
		if s.RealCoin(math.Exp(-near), 0x1p-50, func(prec uint) Interval { return FromRat(exponent, prec).Neg().Exp() }) {
			return y
		}
		if s.err != nil {
			return y
		}
	}
}
