package smooth

import (
	"math"

	"github.com/louver/louver/mechanisms/exact"
)

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
