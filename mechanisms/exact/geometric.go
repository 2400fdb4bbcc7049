package exact

import (
	"math"
	"math/big"
)

// Geometric returns a whole number k ≥ 0 with probability (1 − e^{−κ})·e^{−κ·k}: ⌊−ln(u)/κ⌋ for a uniform u, since that
// is at least k exactly if u ≤ e^{−κ·k}. Like [Source.DiscreteLaplace] it has no limit.
//
// float64 decides if the quotient is far enough from a whole number: u is known to 2^−64, and the rest is a few
// roundings.
func (s *Source) Geometric(r Rate) *big.Int {
	u := s.Uniform()
	near := -math.Log(u.Float()) / r.approx
	slack := (0x1p-62/u.Float()+0x1p-44)/r.approx + near*0x1p-44
	if low, high := math.Floor(near-slack), math.Floor(near+slack); low == high && high < 1<<52 {
		return big.NewInt(int64(high))
	}
	s.refined++
	inverse := new(big.Rat).Inv(r.exact)
	for prec := uint(firstPrec); ; prec *= 2 {
		quotient := u.Interval(prec).Log().Neg().Mul(FromRat(inverse, prec))
		if low, high := whole(quotient.Lo), whole(quotient.Hi); low.Cmp(high) == 0 {
			return high
		}
	}
}

// whole returns ⌊x⌋ for x ≥ 0. It returns −1 for a negative lower end of an enclosure of 0.
func whole(x *big.Float) *big.Int {
	if x.Sign() < 0 {
		return big.NewInt(-1)
	}
	k, _ := x.Int(nil)
	return k
}

// ExpCoinOf is [Source.ExpCoin] for any k ≥ 0.
func (s *Source) ExpCoinOf(r Rate, k *big.Int) bool {
	if k.IsInt64() {
		return s.ExpCoin(r, k.Int64())
	}
	// float64 rounds e^{−κ·k} to 0 unless κ is tiny. The bound of [Rate.Weight] holds for any k that float64 rounds.
	y, _ := new(big.Float).SetInt(k).Float64()
	w := math.Exp(-r.approx * y)
	return s.RealCoin(w, w*(2*WeightError)+0x1p-62,
		func(prec uint) Interval { return r.Power(new(big.Rat).SetInt(k), prec) })
}
