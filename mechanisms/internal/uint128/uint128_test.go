package uint128

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// Every operation agrees with [big.Int], also where digits carry.
func TestAgreesWithBig(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	digit := func() uint64 {
		return []uint64{0, 1, math.MaxUint64, rng.Uint64(), rng.Uint64() >> 32}[rng.IntN(5)]
	}
	for range 10_000 {
		x, y, d := Int{digit() >> 1, digit()}, Int{digit() >> 1, digit()}, digit()
		a, b := x.Big(), y.Big()
		check := func(name string, got, want *big.Int) {
			t.Helper()
			if got.Cmp(want) != 0 {
				t.Errorf("%s of %v, %v and %d: %v; want %v", name, a, b, d, got, want)
			}
		}
		check("plus", x.Plus(y).Big(), new(big.Int).Add(a, b))
		check("minus", x.Minus(y).Big(), positive(new(big.Int).Sub(a, b)))
		check("product", Product(x.lo, d).Big(), new(big.Int).Mul(new(big.Int).SetUint64(x.lo),
			new(big.Int).SetUint64(d)))
		times := x.Times(d)
		digits := new(big.Int)
		for _, t := range times {
			digits.Lsh(digits, 64).Add(digits, new(big.Int).SetUint64(t))
		}
		check("times", digits, new(big.Int).Mul(a, new(big.Int).SetUint64(d)))
		if x.Less(y) != (a.Cmp(b) < 0) {
			t.Errorf("%v < %v: %t", a, b, x.Less(y))
		}
		if f, _ := new(big.Float).SetInt(a).Float64(); math.Abs(x.Float()-f) > f*0x1p-51 {
			t.Errorf("%v as a float: %v", a, x.Float())
		}
		if x.hi < d>>1 { // the quotient fits
			want := new(big.Int).Add(a, new(big.Int).SetUint64(d-1))
			check("quotient", big.NewInt(x.CeilDiv(d)), want.Quo(want, new(big.Int).SetUint64(d)))
		}
	}
}

func positive(x *big.Int) *big.Int {
	if x.Sign() < 0 {
		return new(big.Int)
	}
	return x
}
