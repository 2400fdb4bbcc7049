package smooth

import (
	"math/big"
	"math/bits"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms/internal/parameter"
)

// fraction is a number num/den in [0, 1) with at most 18 decimals.
type fraction struct{ num, den uint64 }

func newFraction(name string, x decimal.Decimal) (fraction, error) {
	r := x.Rat()
	if r.Sign() < 0 || r.Cmp(big.NewRat(1, 1)) >= 0 || !r.Denom().IsUint64() || r.Denom().Uint64() > 1e18 {
		return fraction{}, parameter.Wrong(name, x, "a number of at least 0 and less than 1, of at most 18 decimals")
	}
	return fraction{r.Num().Uint64(), r.Denom().Uint64()}, nil
}

// floor returns ⌊f·n⌋, and 0 for n ≤ 0.
func (f fraction) floor(n int64) int64 {
	q, _ := f.of(n)
	return q
}

// ceil returns ⌈f·n⌉, and 0 for n ≤ 0.
func (f fraction) ceil(n int64) int64 {
	q, rest := f.of(n)
	if rest > 0 {
		q++
	}
	return q
}

func (f fraction) of(n int64) (int64, uint64) {
	hi, lo := bits.Mul64(f.num, uint64(max(n, 0)))
	q, rest := bits.Div64(hi, lo, f.den) // hi < den since num < den and n < 2^64
	return int64(q), rest
}
