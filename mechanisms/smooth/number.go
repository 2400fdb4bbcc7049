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

// span encloses a real number between two float64, lo ≤ x ≤ hi. If either is NaN, nothing is known.
type span struct{ lo, hi float64 }

// outward widens an enclosure whose ends were rounded to nearest. A lower bound of +Inf becomes the largest float64.
func outward(lo, hi float64) span {
	return span{math.Nextafter(lo, math.Inf(-1)), math.Nextafter(hi, math.Inf(1))}
}

// spanOf encloses a longer number.
func spanOf(x exact.Interval) span {
	lo, _ := x.Lo.Float64()
	hi, _ := x.Hi.Float64()
	return outward(lo, hi)
}

// Add returns x + y.
func (x span) Add(y span) span { return outward(x.lo+y.lo, x.hi+y.hi) }

// Sub returns x − y.
func (x span) Sub(y span) span { return outward(x.lo-y.hi, x.hi-y.lo) }

// Mul returns x·y.
func (x span) Mul(y span) span {
	a, b, c, d := x.lo*y.lo, x.lo*y.hi, x.hi*y.lo, x.hi*y.hi
	return outward(min(a, b, c, d), max(a, b, c, d)) // NaN stays NaN
}

// Quo returns x/y for y > 0.
func (x span) Quo(y span) span {
	y.lo = max(y.lo, 0) // rounding may have made it negative
	a, b, c, d := x.lo/y.lo, x.lo/y.hi, x.hi/y.lo, x.hi/y.hi
	return outward(min(a, b, c, d), max(a, b, c, d))
}

// ulps allows four times the documented error of math.Exp and math.Log, which is one unit in the last place.
const ulps = 0x1p-50

// Exp returns e^x.
func (x span) Exp() span {
	lo := min(math.Exp(x.lo)*(1-ulps), math.MaxFloat64) // +Inf is no lower bound
	return span{max(0, lo-math.SmallestNonzeroFloat64), math.Exp(x.hi)*(1+ulps) + math.SmallestNonzeroFloat64}
}

// Log returns ln x for x ≥ 0.
func (x span) Log() span {
	lo, hi := math.Log(max(0, x.lo)), math.Log(max(0, x.hi))
	return outward(lo-math.Abs(lo)*ulps, hi+math.Abs(hi)*ulps)
}

// one and two are constants in the formulas.
var (
	one = ratio(1, 1)
	two = ratio(2, 1)
)
