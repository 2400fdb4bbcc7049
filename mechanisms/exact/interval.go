package exact

import "math/big"

// Interval encloses a real number: Lo ≤ x ≤ Hi. Its operations round outward, so the result still encloses the true
// value. They work at the precision of their first operand and do not modify their operands.
type Interval struct{ Lo, Hi *big.Float }

func down(prec uint) *big.Float {
	return new(big.Float).SetPrec(prec).SetMode(big.ToNegativeInf)
}

func up(prec uint) *big.Float {
	return new(big.Float).SetPrec(prec).SetMode(big.ToPositiveInf)
}

// FromRat encloses a rational number with prec bits.
func FromRat(x *big.Rat, prec uint) Interval {
	return Interval{down(prec).SetRat(x), up(prec).SetRat(x)}
}

// FromInt encloses a whole number with prec bits.
func FromInt(x int64, prec uint) Interval {
	return Interval{down(prec).SetInt64(x), up(prec).SetInt64(x)}
}

// FromUint encloses a whole number with prec bits.
func FromUint(x uint64, prec uint) Interval {
	return Interval{down(prec).SetUint64(x), up(prec).SetUint64(x)}
}

// Prec returns the precision in bits.
func (x Interval) Prec() uint { return x.Lo.Prec() }

// Add returns x + y.
func (x Interval) Add(y Interval) Interval {
	p := x.Prec()
	return Interval{down(p).Add(x.Lo, y.Lo), up(p).Add(x.Hi, y.Hi)}
}

// Neg returns −x.
func (x Interval) Neg() Interval {
	p := x.Prec()
	return Interval{down(p).Neg(x.Hi), up(p).Neg(x.Lo)}
}

// Sub returns x − y.
func (x Interval) Sub(y Interval) Interval { return x.Add(y.Neg()) }

// Mul returns x·y.
func (x Interval) Mul(y Interval) Interval {
	p := x.Prec()
	if x.Lo.Sign() >= 0 && y.Lo.Sign() >= 0 {
		return Interval{down(p).Mul(x.Lo, y.Lo), up(p).Mul(x.Hi, y.Hi)}
	}
	var z Interval
	for _, pair := range [4][2]*big.Float{{x.Lo, y.Lo}, {x.Lo, y.Hi}, {x.Hi, y.Lo}, {x.Hi, y.Hi}} {
		lo, hi := down(p).Mul(pair[0], pair[1]), up(p).Mul(pair[0], pair[1])
		if z.Lo == nil || lo.Cmp(z.Lo) < 0 {
			z.Lo = lo
		}
		if z.Hi == nil || hi.Cmp(z.Hi) > 0 {
			z.Hi = hi
		}
	}
	return z
}

// Quo returns x/y for y > 0.
func (x Interval) Quo(y Interval) Interval {
	p := x.Prec()
	least, most := y.Hi, y.Lo // the y for the least and the largest quotient
	if x.Lo.Sign() < 0 {
		least = y.Lo
	}
	if x.Hi.Sign() < 0 {
		most = y.Hi
	}
	return Interval{down(p).Quo(x.Lo, least), up(p).Quo(x.Hi, most)}
}

// Before reports whether all of x is below all of y.
func (x Interval) Before(y Interval) bool { return x.Hi.Cmp(y.Lo) < 0 }

// Exp returns e^x.
func (x Interval) Exp() Interval {
	return Interval{expBound(x.Lo, x.Prec(), big.ToNegativeInf), expBound(x.Hi, x.Prec(), big.ToPositiveInf)}
}

// opposite is the other of the two directions.
func opposite(towards big.RoundingMode) big.RoundingMode {
	if towards == big.ToNegativeInf {
		return big.ToPositiveInf
	}
	return big.ToNegativeInf
}

// number returns 0 with prec bits, whose results are rounded in a direction.
func number(prec uint, towards big.RoundingMode) *big.Float {
	return new(big.Float).SetPrec(prec).SetMode(towards)
}

// expBound bounds e^x from below, or from above, by the direction of its roundings: Taylor's series of e^{|x|/2^s} with
// |x/2^s| < 2^−8, then s squarings, and the inverse of that if x is negative. For |x| above 2^30 the bound is crude.
func expBound(x *big.Float, prec uint, towards big.RoundingMode) *big.Float {
	bound := number(prec, towards)
	if x.Sign() == 0 {
		return bound.SetInt64(1)
	}
	exp := x.MantExp(nil) // |x| < 2^exp
	if exp > 30 {
		switch {
		case x.Sign() < 0 && towards == big.ToNegativeInf:
			return bound
		case x.Sign() < 0:
			return bound.SetMantExp(big.NewFloat(1), -1<<30)
		case towards == big.ToNegativeInf:
			return bound.SetMantExp(big.NewFloat(1), 1<<30)
		}
		return bound.SetInf(false)
	}
	s := max(0, exp+8)
	p := prec + uint(s) + 32
	of := towards
	if x.Sign() < 0 {
		of = opposite(towards)
	}
	r := new(big.Float).SetMantExp(x, -s)
	r.Abs(r)
	sum, term, divisor := number(p, of).SetInt64(1), number(p, of).SetInt64(1), new(big.Float)
	for i := int64(1); ; i++ {
		term.Mul(term, r)
		if i > 1 {
			term.Quo(term, divisor.SetInt64(i))
		}
		sum.Add(sum, term)
		if term.MantExp(nil) < -int(p) { // the remaining terms add up to less than this one
			break
		}
	}
	if of == big.ToPositiveInf {
		sum.Add(sum, term)
	}
	for range s {
		sum.Mul(sum, sum)
	}
	if x.Sign() < 0 {
		return bound.Quo(big.NewFloat(1), sum)
	}
	return bound.Set(sum)
}

// Log returns ln x for x > 0. Lo is −∞ if x.Lo is 0.
func (x Interval) Log() Interval {
	z := Interval{down(x.Prec()).SetInf(true), logBound(x.Hi, x.Prec(), big.ToPositiveInf)}
	if x.Lo.Sign() > 0 {
		z.Lo = logBound(x.Lo, x.Prec(), big.ToNegativeInf)
	}
	return z
}

// logBound bounds ln x = e·ln 2 − 2·artanh((1−m)/(1+m)) for x = m·2^e, ½ ≤ m < 1. ln 2 is 2·artanh(⅓).
func logBound(x *big.Float, prec uint, towards big.RoundingMode) *big.Float {
	p, against := prec+64, opposite(towards)
	m, one := new(big.Float), big.NewFloat(1)
	e := x.MantExp(m)
	half := number(p, against).Sub(one, m)
	half.Quo(half, number(p, towards).Add(one, m))
	artanh(half)
	sum := number(p, towards).Neg(half)
	if e != 0 {
		of := towards
		if e < 0 {
			of = against
		}
		third := number(p, of).Quo(one, big.NewFloat(3))
		artanh(third)
		third.SetMode(towards)
		sum.Add(sum, third.Mul(third, new(big.Float).SetInt64(int64(e))))
	}
	return number(prec, towards).Set(sum.Add(sum, sum))
}

// artanh replaces z by a bound of z + z³/3 + z⁵/5 + … for 0 ≤ z ≤ ⅓, in the direction of z's roundings.
func artanh(z *big.Float) {
	p, of := z.Prec(), z.Mode()
	square, power := number(p, of).Mul(z, z), number(p, of).Set(z)
	term, divisor := number(p, of), new(big.Float)
	for i := int64(3); ; i += 2 {
		power.Mul(power, square)
		if power.Sign() == 0 || power.MantExp(nil) < -int(p) { // the rest is less than power·(1/3)·(9/8)
			break
		}
		z.Add(z, term.Quo(power, divisor.SetInt64(i)))
	}
	if of == big.ToPositiveInf {
		z.Add(z, power)
	}
}
