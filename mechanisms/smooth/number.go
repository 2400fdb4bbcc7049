package smooth

import (
	"math"
	"math/big"

	"github.com/louver/louver/mechanisms/exact"
)

// number is the type of the values in a noise's formula: an enclosure of a real number whose operations round outward.
// There are two, [span] in float64 and [exact.Interval] with any number of digits, and one formula serves both.
type number[R any] interface {
	Add(R) R
	Sub(R) R
	Mul(R) R
	Quo(R) R // by a positive number
	Exp() R
	Log() R
}

// arithmetic makes numbers.
type arithmetic[R any] interface {
	constant(constant) R
	uniform(*exact.Uniform) R
	sqrt(R) R // of a number ≥ 0
}

// constant is a rational number and its float64 enclosure.
type constant struct {
	exact *big.Rat
	near  span
}

func newConstant(x *big.Rat) constant {
	f, _ := x.Float64()
	return constant{x, outward(f, f)}
}

// ratio returns the constant num/den.
func ratio(num, den int64) constant { return newConstant(big.NewRat(num, den)) }

// short is arithmetic in float64.
type short struct{}

func (short) constant(c constant) span { return c.near }

func (short) uniform(u *exact.Uniform) span {
	f := u.Float()
	return span{max(0, f*(1-0x1p-52)), f*(1+0x1p-52) + 0x1p-63}
}

func (short) sqrt(x span) span {
	return outward(math.Sqrt(max(0, x.lo)), math.Sqrt(max(0, x.hi)))
}

// long is arithmetic with prec bits.
type long struct{ prec uint }

func (a long) constant(c constant) exact.Interval { return exact.FromRat(c.exact, a.prec) }

func (a long) uniform(u *exact.Uniform) exact.Interval { return u.Interval(a.prec) }

func (a long) sqrt(x exact.Interval) exact.Interval {
	root := func(x *big.Float, mode big.RoundingMode, direction float64) *big.Float {
		if x.Sign() <= 0 {
			return new(big.Float).SetPrec(a.prec)
		}
		// Round to nearest with more bits, then step outward by more than the error.
		p := a.prec + 64
		z := new(big.Float).SetPrec(p).Sqrt(new(big.Float).SetPrec(p).Set(x))
		step := new(big.Float).SetPrec(p).SetMantExp(z, -int(a.prec)-32)
		z.Add(z, step.Mul(step, big.NewFloat(direction)))
		return new(big.Float).SetPrec(a.prec).SetMode(mode).Set(z)
	}
	return exact.Interval{Lo: root(x.Lo, big.ToNegativeInf, -1), Hi: root(x.Hi, big.ToPositiveInf, 1)}
}

func larger(x, y *big.Float) *big.Float {
	if x.Cmp(y) < 0 {
		return y
	}
	return x
}

func smaller(x, y *big.Float) *big.Float {
	if x.Cmp(y) < 0 {
		return x
	}
	return y
}

// least returns the smallest of the numbers.
func least(x exact.Interval, others ...exact.Interval) exact.Interval {
	for _, y := range others {
		x = exact.Interval{Lo: smaller(x.Lo, y.Lo), Hi: smaller(x.Hi, y.Hi)}
	}
	return x
}
