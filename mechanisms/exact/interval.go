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
	return Interval{expPoint(x.Lo, x.Prec()).Lo, expPoint(x.Hi, x.Prec()).Hi}
}

// expPoint encloses e^x: Taylor's series of e^{x/2^s} with |x/2^s| < 2^−8, then s squarings. For |x| above 2^30 the
// enclosure is crude.
func expPoint(x *big.Float, prec uint) Interval {
	if x.Sign() == 0 {
		return FromInt(1, prec)
	}
	exp := x.MantExp(nil) // |x| < 2^exp
	if exp > 30 {
		if x.Sign() < 0 {
			return Interval{down(prec), up(prec).SetMantExp(big.NewFloat(1), -1<<30)}
		}
		return Interval{down(prec).SetMantExp(big.NewFloat(1), 1<<30), up(prec).SetInf(false)}
	}
	s := max(0, exp+8)
	p := prec + uint(s) + 32
	exact := new(big.Float).SetMantExp(x, -s)
	r := Interval{down(p).Set(exact), up(p).Set(exact)}
	sum, term := FromInt(1, p), FromInt(1, p)
	for i := int64(1); ; i++ {
		term = term.Mul(r).Quo(FromInt(i, p))
		sum = sum.Add(term)
		size := up(p).Abs(term.Lo)
		if high := up(p).Abs(term.Hi); high.Cmp(size) > 0 {
			size = high
		}
		if size.MantExp(nil) < -int(p) { // the remaining terms add up to less than this one
			sum = sum.Add(Interval{down(p).Neg(size), size})
			break
		}
	}
	for range s {
		sum = sum.Mul(sum)
	}
	return Interval{down(prec).Set(sum.Lo), up(prec).Set(sum.Hi)}
}

// Log returns ln x for x > 0. Lo is −∞ if x.Lo is 0.
func (x Interval) Log() Interval {
	z := Interval{down(x.Prec()).SetInf(true), logPoint(x.Hi, x.Prec()).Hi}
	if x.Lo.Sign() > 0 {
		z.Lo = logPoint(x.Lo, x.Prec()).Lo
	}
	return z
}

// logPoint encloses ln x = e·ln 2 + 2·artanh((m−1)/(m+1)) for x = m·2^e, ½ ≤ m < 1.
func logPoint(x *big.Float, prec uint) Interval {
	p := prec + 64
	mantissa := new(big.Float)
	e := x.MantExp(mantissa)
	one := FromInt(1, p)
	m := Interval{down(p).Set(mantissa), up(p).Set(mantissa)}
	ln2 := artanh(one.Quo(FromInt(3, p))).Mul(FromInt(2, p))
	sum := artanh(m.Sub(one).Quo(m.Add(one))).Mul(FromInt(2, p)).Add(ln2.Mul(FromInt(int64(e), p)))
	return Interval{down(prec).Set(sum.Lo), up(prec).Set(sum.Hi)}
}

// artanh returns z + z³/3 + z⁵/5 + … for |z| ≤ ⅓.
func artanh(z Interval) Interval {
	p := z.Prec()
	square, power, sum := z.Mul(z), z, z
	for i := int64(3); ; i += 2 {
		power = power.Mul(square)
		size := up(p).Abs(power.Lo)
		if high := up(p).Abs(power.Hi); high.Cmp(size) > 0 {
			size = high
		}
		if size.Sign() == 0 || size.MantExp(nil) < -int(p) { // the rest is less than size·(1/3)·(9/8)
			return sum.Add(Interval{down(p).Neg(size), size})
		}
		sum = sum.Add(power.Quo(FromInt(i, p)))
	}
}
