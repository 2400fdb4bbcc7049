package smooth

import (
	"math/bits"
	"slices"

	"github.com/louver/louver/mechanisms/internal/uint128"
)

// Values are a sample that has been added up, in one pass over the distinct values, for any number of draws. They store
// the sum of the values before every 32nd of them. They are immutable and safe for concurrent use.
type Values struct {
	values, upTo []int64 // upTo[j] users hold values[:j+1]
	sums         []wide  // sums of the values before each block of distinct ones
	n            int64
	total        wide
}

const blockSize = 32

// NewValues adds up a sample. values holds distinct whole numbers from 0 to 2^53 in ascending order. upTo holds, for
// each, how many users hold it or an earlier one, 2^28 at most. At least one user holds each. Both may be empty. They
// must not change afterwards.
func NewValues(values, upTo []int64) *Values {
	x := &Values{values: values, upTo: upTo, sums: make([]wide, 0, len(values)/blockSize+1)}
	for from := 0; from < len(values); from += blockSize {
		x.sums = append(x.sums, x.total)
		block := values[from:min(from+blockSize, len(values))]
		ends := upTo[from:][:len(block)] // its bounds are checked once
		if last := len(block) - 1; bits.Len64(uint64(block[last]))+bits.Len64(uint64(ends[last]-x.n)) <= 64 {
			x.total, x.n = x.total.Plus(uint128.Of(addUp(block, ends, x.n))), ends[last]
			continue
		}
		for j, v := range block {
			x.total, x.n = x.total.Plus(times(v, ends[j]-x.n)), ends[j]
		}
	}
	return x
}

// addUp returns the sum of some values, which fits into 64 bits. before users hold an earlier one. Eight values that
// one user each holds need no product.
func addUp(values, upTo []int64, before int64) (sum uint64) {
	for len(values) >= 8 && len(upTo) >= 8 {
		v, to := (*[8]int64)(values), (*[8]int64)(upTo)
		if to[7]-before == 8 {
			sum += uint64(v[0] + v[1] + v[2] + v[3] + v[4] + v[5] + v[6] + v[7])
			before = to[7]
		} else {
			for j := range v {
				sum += uint64(v[j]) * uint64(to[j]-before)
				before = to[j]
			}
		}
		values, upTo = values[8:], upTo[8:]
	}
	for j, v := range values {
		sum += uint64(v) * uint64(upTo[j]-before)
		before = upTo[j]
	}
	return sum
}

// Sum returns the sum of the values cut to low..high, as distances from low.
func (x *Values) Sum(low, high int64) uint128.Int { return x.within(low, high, 1).sum(x.n) }

// find returns the position of the distinct value of rank r, 1 ≤ r ≤ n.
func (x *Values) find(r int64) int {
	j, _ := slices.BinarySearch(x.upTo, r)
	return j
}

// before returns how many users hold a smaller value than the j-th distinct one.
func (x *Values) before(j int) int64 {
	if j == 0 {
		return 0
	}
	return x.upTo[j-1]
}

// below returns how many users hold a value less than v.
func (x *Values) below(v int64) int64 {
	j, _ := slices.BinarySearch(x.values, v)
	return x.before(j)
}

// least returns the sum of the r smallest values, 0 ≤ r ≤ n.
func (x *Values) least(r int64) wide {
	switch r {
	case 0:
		return wide{}
	case x.n:
		return x.total
	}
	j := x.find(r)
	sum, first := x.sums[j/blockSize], j-j%blockSize
	before := x.before(first)
	if bits.Len64(uint64(x.values[j]))+bits.Len64(uint64(r-before)) <= 64 {
		block := addUp(x.values[first:j], x.upTo[first:j], before)
		return sum.Plus(uint128.Of(block + uint64(x.values[j])*uint64(r-x.before(j))))
	}
	for i := first; i < j; i++ {
		sum = sum.Plus(times(x.values[i], x.upTo[i]-x.before(i)))
	}
	return sum.Plus(times(x.values[j], r-x.before(j)))
}

// ranks gives X(r), the r-th smallest of the values cut to low..high, and X(1) + … + X(r), for every whole r. The X are
// distances from low in parts of a step. Ranks below 1 hold 0, the lower end, and ranks above n the upper end, since
// edits may add those values.
type ranks struct {
	*Values
	low, parts, last  int64
	atLow, beforeHigh int64 // how many lie at low or are cut to it, and these with all others below high
	cut               wide  // the sum of the least atLow values
}

// within cuts the values to low..high, low ≤ high.
func (x *Values) within(low, high, parts int64) *ranks {
	atLow := x.below(low + 1)
	return &ranks{Values: x, low: low, parts: parts, last: (high - low) * parts, atLow: atLow,
		beforeHigh: max(atLow, x.below(high)), cut: x.least(atLow)}
}

// at returns X(r).
func (x *ranks) at(r int64) int64 {
	switch {
	case r <= x.atLow:
		return 0
	case r > x.beforeHigh:
		return x.last
	}
	return (x.values[x.find(r)] - x.low) * x.parts
}

// sum returns X(1) + … + X(r).
func (x *ranks) sum(r int64) wide {
	inner := min(r, x.beforeHigh)
	sum := wide{}
	if inner > x.atLow {
		sum = x.least(inner).Minus(x.cut).Minus(times(inner-x.atLow, x.low)).Multiple(uint64(x.parts))
	}
	if r > x.beforeHigh {
		sum = sum.Plus(times(r-x.beforeHigh, x.last))
	}
	return sum
}

// order is a view of the values: as they are, or with both ends of the grid swapped.
type order struct {
	*ranks
	mirrored bool
}

func (o order) at(r int64) int64 {
	if o.mirrored {
		return o.last - o.ranks.at(o.n+1-r)
	}
	return o.ranks.at(r)
}

// sum returns X(from) + … + X(to).
func (o order) sum(from, to int64) wide {
	if !o.mirrored {
		return o.ranks.sum(to).Minus(o.ranks.sum(from - 1))
	}
	// Ranks below 1 hold 0 here too; the others hold last − value.
	from = max(from, 1)
	if to < from {
		return wide{}
	}
	return times(to-from+1, o.last).Minus(o.ranks.sum(o.n + 1 - from).Minus(o.ranks.sum(o.n - to)))
}

type wide = uint128.Int

func wideOf(x int64) wide { return uint128.Of(uint64(x)) }

// times returns x·y for x, y ≥ 0.
func times(x, y int64) wide { return uint128.Product(uint64(x), uint64(y)) }
