// Package uint128 has whole numbers of 128 bits. Sums of 2^28 grid indices of 53 bits need 81.
package uint128

import (
	"math/big"
	"math/bits"
)

// Int is a whole number 0 ≤ x < 2^128.
type Int struct{ hi, lo uint64 }

// Of returns x.
func Of(x uint64) Int { return Int{0, x} }

// Product returns x·y.
func Product(x, y uint64) Int {
	hi, lo := bits.Mul64(x, y)
	return Int{hi, lo}
}

// Plus returns x + y, which must be less than 2^128.
func (x Int) Plus(y Int) Int {
	lo, carry := bits.Add64(x.lo, y.lo, 0)
	return Int{x.hi + y.hi + carry, lo}
}

// Add adds a·b to x.
func (x *Int) Add(a, b uint64) { *x = x.Plus(Product(a, b)) }

// Minus returns x − y, or 0 if y is the larger.
func (x Int) Minus(y Int) Int {
	lo, borrow := bits.Sub64(x.lo, y.lo, 0)
	hi, borrow := bits.Sub64(x.hi, y.hi, borrow)
	if borrow != 0 {
		return Int{}
	}
	return Int{hi, lo}
}

// Less reports whether x < y.
func (x Int) Less(y Int) bool { return x.hi < y.hi || x.hi == y.hi && x.lo < y.lo }

// QuoRem returns ⌊x/d⌋, which must fit into 64 bits, and the rest.
func (x Int) QuoRem(d uint64) (quotient, rest uint64) { return bits.Div64(x.hi, x.lo, d) }

// CeilDiv returns ⌈x/d⌉, which must fit into 63 bits.
func (x Int) CeilDiv(d uint64) int64 {
	quotient, rest := x.QuoRem(d)
	if rest > 0 {
		quotient++
	}
	return int64(quotient)
}

// Times returns x·y in three digits of 64 bits, the most significant first.
func (x Int) Times(y uint64) [3]uint64 {
	mid, low := bits.Mul64(x.lo, y)
	high, rest := bits.Mul64(x.hi, y)
	mid, carry := bits.Add64(mid, rest, 0)
	return [3]uint64{high + carry, mid, low}
}

// Multiple returns x·y, which must be less than 2^128.
func (x Int) Multiple(y uint64) Int {
	hi, lo := bits.Mul64(x.lo, y)
	return Int{x.hi*y + hi, lo}
}

// Float returns x with a relative error below 2^−51.
func (x Int) Float() float64 { return float64(x.hi)*0x1p64 + float64(x.lo) }

// Big returns x as a [big.Int].
func (x Int) Big() *big.Int {
	z := new(big.Int).SetUint64(x.hi)
	return z.Lsh(z, 64).Add(z, new(big.Int).SetUint64(x.lo))
}
