package exact

import (
	"math"
	"math/big"
	"math/bits"
)

// expCoin returns true with probability e^{−γ}, given a coin that is true with probability γ. It flips coins with
// probabilities γ, γ/2, γ/3 … until one fails. The number of successes is even with that probability (Canonne, Kamath,
// Steinke 2020, Algorithm 1).
func (s *Source) expCoin(coin func() bool) bool {
	k := uint64(1)
	for coin() && s.Coin(1, k) {
		k++
	}
	return k%2 == 1
}

// inverseE returns true with probability 1/e: expCoin for γ = 1.
func (s *Source) inverseE() bool {
	k := uint64(1)
	for s.Coin(1, k) {
		k++
	}
	return k%2 == 1
}

// DiscreteLaplace returns a whole number z with probability proportional to e^{−|z|·num/(den·scale)}, for num, den and
// scale ≥ 1 (Canonne, Kamath, Steinke 2020, Algorithm 2). It has no limit: if noise were cut before it is added, the
// place of the cut would reveal the value it was added to.
func (s *Source) DiscreteLaplace(num, den, scale uint64) *big.Int {
	for {
		// A uniform number below den·scale has a high digit < den and a low digit < scale.
		high, low := s.Below(den), s.Below(scale)
		less := func() bool {
			h := s.Below(den)
			return h < high || h == high && s.Below(scale) < low
		}
		if !s.expCoin(less) {
			continue
		}
		whole := uint64(0)
		for s.inverseE() {
			whole++
		}
		negative := s.Coin(1, 2)
		size := quotient(whole, den, high, scale, low, num)
		if !negative {
			return size
		}
		if size.Sign() > 0 { // 0 would be counted twice
			return size.Neg(size)
		}
	}
}

// quotient is ⌊((whole·den + high)·scale + low)/num⌋.
func quotient(whole, den, high, scale, low, num uint64) *big.Int {
	if over, x := bits.Mul64(whole, den); over == 0 {
		x, carry := bits.Add64(x, high, 0)
		if over, x = bits.Mul64(x, scale); over == 0 && carry == 0 {
			if x, carry = bits.Add64(x, low, 0); carry == 0 {
				return new(big.Int).SetUint64(x / num)
			}
		}
	}
	size, factor := new(big.Int).SetUint64(whole), new(big.Int)
	size.Mul(size, factor.SetUint64(den)).Add(size, factor.SetUint64(high))
	size.Mul(size, factor.SetUint64(scale)).Add(size, factor.SetUint64(low))
	return size.Quo(size, factor.SetUint64(num))
}

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
