package exact

import (
	"math"
	"math/big"
)

// firstPrec is the precision in bits of the first refinement. It doubles until the answer is certain.
const firstPrec = 128

// Uniform is a uniform real number in [0, 1]. 64 bits are known at first; more are drawn on demand.
type Uniform struct {
	source *Source
	first  uint64
	digits *big.Int // all known bits, once there are more than the first 64
	known  uint
}

// Uniform returns a new uniform number.
func (s *Source) Uniform() Uniform {
	return Uniform{source: s, first: s.Uint64(), known: 64}
}

// Float returns the number. Its error is at most 2^−64 for unknown digits plus half a unit in the last place for
// rounding.
func (u *Uniform) Float() float64 { return float64(u.first) * 0x1p-64 }

// Interval returns an enclosure with at least prec known bits and Lo > 0.
func (u *Uniform) Interval(prec uint) Interval {
	if u.digits == nil {
		u.digits = new(big.Int).SetUint64(u.first)
	}
	for u.known < prec || u.digits.Sign() == 0 {
		u.digits.Lsh(u.digits, 64).Or(u.digits, new(big.Int).SetUint64(u.source.Uint64()))
		u.known += 64
	}
	lo := down(prec).SetInt(u.digits)
	hi := up(prec).SetInt(new(big.Int).Add(u.digits, big.NewInt(1)))
	return Interval{lo.SetMantExp(lo, -int(u.known)), hi.SetMantExp(hi, -int(u.known))}
}

// Rate is the κ > 0 of weights e^{−κ·k}: a rational number and its float64. It is immutable.
type Rate struct {
	exact  *big.Rat
	approx float64
}

// NewRate returns the rate κ.
func NewRate(kappa *big.Rat) Rate {
	approx, _ := kappa.Float64()
	return Rate{exact: new(big.Rat).Set(kappa), approx: approx}
}

// Float returns the rate with an error of at most half a unit in the last place.
func (r Rate) Float() float64 { return r.approx }

// Weight returns e^{−κ·k} for k ≥ 0 with a relative error below [WeightError], plus 10^−300.
func (r Rate) Weight(k int64) float64 { return math.Exp(-r.approx * float64(k)) }

// WeightError bounds the relative error of a weight. The exponent y = κ·k has three roundings, so that it is off by at
// most y·3.01·2^−53, which is less than 2^−41.9 while e^{−y} > 10^−300 (y < 691). math.Exp documents an error below one
// unit in the last place; 2^−48 is allowed here.
const WeightError = 0x1p-41

// Interval encloses e^{−κ·k}.
func (r Rate) Interval(k int64, prec uint) Interval { return r.Power(new(big.Rat).SetInt64(k), prec) }

// Power encloses e^{−κ·y}.
func (r Rate) Power(y *big.Rat, prec uint) Interval {
	return FromRat(new(big.Rat).Mul(y, r.exact), prec).Neg().Exp()
}

// ExpCoin returns true with probability e^{−κ·k}, for k ≥ 0.
func (s *Source) ExpCoin(r Rate, k int64) bool {
	if k == 0 {
		return true
	}
	w := r.Weight(k)
	return s.RealCoin(w, w*(2*WeightError)+0x1p-62, func(prec uint) Interval { return r.Interval(k, prec) })
}

// RealCoin returns true with probability p, a real number in [0, 1] within slack of approx. interval encloses p, more
// narrowly as prec grows. slack must be at least 2^−62 + approx·2^−50, to cover the uncertainty of [Uniform.Float].
func (s *Source) RealCoin(approx, slack float64, interval func(prec uint) Interval) bool {
	u := s.Uniform()
	if d := u.Float() - approx; d > slack || d < -slack {
		return d < 0
	}
	s.refined++
	for prec := uint(firstPrec); ; prec *= 2 {
		x, p := u.Interval(prec), interval(prec)
		if x.Before(p) {
			return true
		}
		if p.Before(x) {
			return false
		}
	}
}
