package histogram

import (
	"fmt"
	"math"
	"math/big"
	"slices"

	"github.com/shopspring/decimal"
)

// MostScale is the finest scale of native buckets.
const MostScale = 5

// NativeEnds returns the ends of the buckets of Prometheus' native histograms, as far as they hold a point of the grid
// lower + i·step, 0 ≤ i ≤ last. A point v > 0 is in bucket i if 2^((i−1)/2^s) < v ≤ 2^(i/2^s), for the scale s. 0 has a
// bucket of its own, and negative values mirror the positive ones. It fails if there are more than [Most].
//
// The comparison is exact: v^(2^s) ≤ 2^i, in whole numbers.
func NativeEnds(scale int, lower, step decimal.Decimal, last int64) ([]int64, error) {
	if scale < 0 || scale > MostScale {
		return nil, fmt.Errorf("scale %d; want 0 to %d", scale, MostScale)
	}
	// All points are whole multiples of 1/unit.
	digits := max(0, -lower.Exponent(), -step.Exponent())
	n := native{scale: uint(scale), lo: lower.Shift(digits).BigInt(), width: step.Shift(digits).BigInt(), last: last,
		unit: new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(digits)), nil)}
	var ends []int64
	for at := int64(0); at <= last; at++ {
		switch v := n.point(at); v.Sign() {
		case -1: // up to the last point with |v| > 2^((i−1)/2^s), which is still in the bucket of |v|
			i := n.bucket(v.Neg(v))
			at = n.lastWhere(at, func(v *big.Int) bool { return v.Sign() < 0 && n.bucket(new(big.Int).Neg(v)) >= i })
		case 1:
			i := n.bucket(v)
			at = n.lastWhere(at, func(v *big.Int) bool { return n.within(v, i) })
		}
		if ends = append(ends, at); len(ends) > Most {
			return nil, fmt.Errorf("scale %d has more than %d buckets within the bounds; want a smaller scale, "+
				"or a list", scale, Most)
		}
	}
	return slices.Clip(ends), nil
}

// native knows the buckets of a scale. Values are multiples of 1/unit.
type native struct {
	scale           uint
	lo, width, unit *big.Int
	last            int64
}

func (n *native) point(i int64) *big.Int {
	v := big.NewInt(i)
	return v.Mul(v, n.width).Add(v, n.lo)
}

// lastWhere returns the last point from at on for which in is true. It is true for at, and for all points up to the
// last.
func (n *native) lastWhere(at int64, in func(v *big.Int) bool) int64 {
	low, step := at, int64(1)
	for low+step <= n.last && in(n.point(low+step)) {
		low += step
		step *= 2
	}
	high := min(low+step, n.last+1) // not within
	for high-low > 1 {
		if mid := low + (high-low)/2; in(n.point(mid)) {
			low = mid
		} else {
			high = mid
		}
	}
	return low
}

// bucket returns the least i with v ≤ 2^(i/2^s), v > 0.
func (n *native) bucket(v *big.Int) int {
	f, _ := new(big.Rat).SetFrac(v, n.unit).Float64()
	i := int(math.Round(math.Log2(f) * float64(int64(1)<<n.scale)))
	for n.within(v, i-1) {
		i--
	}
	for !n.within(v, i) {
		i++
	}
	return i
}

// within reports whether v ≤ 2^(i/2^s): (v·unit⁻¹)^(2^s) ≤ 2^i.
func (n *native) within(v *big.Int, i int) bool {
	left, right := new(big.Int).Set(v), new(big.Int).Set(n.unit)
	for range n.scale {
		left.Mul(left, left)
		right.Mul(right, right)
	}
	if i >= 0 {
		right.Lsh(right, uint(i))
	} else {
		left.Lsh(left, uint(-i))
	}
	return left.Cmp(right) <= 0
}
