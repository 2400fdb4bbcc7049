package smooth

import (
	"math/big"
	"math/bits"
)

// wide is a whole number 0 ≤ x < 2^128: sums of grid indices do not fit into 64 bits.
type wide struct{ hi, lo uint64 }

func wideOf(x int64) wide { return wide{0, uint64(x)} }

// times returns x·y for x, y ≥ 0.
func times(x, y int64) wide {
	hi, lo := bits.Mul64(uint64(x), uint64(y))
	return wide{hi, lo}
}

func (x wide) plus(y wide) wide {
	lo, carry := bits.Add64(x.lo, y.lo, 0)
	hi, _ := bits.Add64(x.hi, y.hi, carry)
	return wide{hi, lo}
}

// minus returns x − y, or 0 where y is the larger.
func (x wide) minus(y wide) wide {
	lo, borrow := bits.Sub64(x.lo, y.lo, 0)
	hi, borrow := bits.Sub64(x.hi, y.hi, borrow)
	if borrow != 0 {
		return wide{}
	}
	return wide{hi, lo}
}

// float returns x with a relative error below 2^−51.
func (x wide) float() float64 { return float64(x.hi)*0x1p64 + float64(x.lo) }

// scaled returns x·y for y ≥ 0 in three digits, the most significant first.
func (x wide) scaled(y int64) [3]uint64 {
	mid, low := bits.Mul64(x.lo, uint64(y))
	high, rest := bits.Mul64(x.hi, uint64(y))
	mid, carry := bits.Add64(mid, rest, 0)
	return [3]uint64{high + carry, mid, low}
}

func (x wide) big() *big.Int {
	z := new(big.Int).SetUint64(x.hi)
	return z.Lsh(z, 64).Add(z, new(big.Int).SetUint64(x.lo))
}
