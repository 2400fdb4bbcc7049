package exact

import (
	"math"
	"math/bits"
)

// expCoin returns true with probability e^{−num/den}, for 0 ≤ num ≤ den, den ≥ 1: the length of the run of successes
// of coins with probabilities γ, γ/2, γ/3 … is even with probability e^{−γ} (Canonne, Kamath, Steinke 2020, Algorithm
// 1).
func (s *Source) expCoin(num, den uint64) bool {
	k := uint64(1)
	for s.Coin(num, den) && s.Coin(1, k) {
		k++
	}
	return k%2 == 1
}

// DiscreteLaplace returns a whole number x with probability proportional to e^{−|x|·num/den}, for num, den ≥ 1
// (Canonne, Kamath, Steinke 2020, Algorithm 2). Numbers of more than 62 bits are returned as ±2^62.
func (s *Source) DiscreteLaplace(num, den uint64) int64 {
	for {
		fraction := s.Below(den)
		if !s.expCoin(fraction, den) {
			continue
		}
		whole := uint64(0)
		for s.expCoin(1, 1) {
			whole++
		}
		// ⌊(fraction + den·whole)/num⌋ is geometric with ratio e^{−num/den}.
		hi, lo := bits.Mul64(den, whole)
		lo, carry := bits.Add64(lo, fraction, 0)
		hi += carry
		size := uint64(math.MaxUint64)
		if hi < num {
			size, _ = bits.Div64(hi, lo, num)
		}
		negative := s.Coin(1, 2)
		if negative && size == 0 {
			continue // 0 would be counted twice
		}
		x := int64(min(size, 1<<62))
		if negative {
			return -x
		}
		return x
	}
}
