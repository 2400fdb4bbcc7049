package smooth

import (
	"math/bits"
	"slices"

	"github.com/louver/louver/mechanisms/internal/uint128"
)

// ranks returns X(r), the r-th smallest value, and X(1) + … + X(r), for every whole r. Ranks below 1 hold the lower end
// of the grid and ranks above n the upper end, since edits may add those values. It is built in one pass over the
// distinct values and stores the sum of the values before every 32nd of them.
type ranks struct {
	values, upTo []int64 // upTo[j] users hold values[:j+1]
	sums         []wide  // sums of the values before each block of distinct ones
	n, last      int64
	total        wide
}

const blockSize = 32

func newRanks(values, upTo []int64, last int64) *ranks {
	x := &ranks{values: values, upTo: upTo, last: last, sums: make([]wide, 0, len(values)/blockSize+1)}
	for from := 0; from < len(values); from += blockSize {
		x.sums = append(x.sums, x.total)
		block, ends := values[from:min(from+blockSize, len(values))], upTo[from:]
		before, sum := x.n, uint64(0)
		for j, v := range block {
			sum += uint64(v) * uint64(ends[j]-before)
			before = ends[j]
		}
		if bits.Len64(uint64(last))+bits.Len64(uint64(before-x.n)) <= 64 { // no overflow
			x.total, x.n = x.total.Plus(uint128.Of(sum)), before
			continue
		}
		for j, v := range block {
			x.total, x.n = x.total.Plus(times(v, ends[j]-x.n)), ends[j]
		}
	}
	return x
}

// find returns the position of the distinct value of rank r, 1 ≤ r ≤ n.
func (x *ranks) find(r int64) int {
	j, _ := slices.BinarySearch(x.upTo, r)
	return j
}

// before returns how many users hold a smaller value than the j-th distinct one.
func (x *ranks) before(j int) int64 {
	if j == 0 {
		return 0
	}
	return x.upTo[j-1]
}

// at returns X(r).
func (x *ranks) at(r int64) int64 {
	if r < 1 {
		return 0
	}
	if r > x.n {
		return x.last
	}
	return x.values[x.find(r)]
}

// sum returns X(1) + … + X(r).
func (x *ranks) sum(r int64) wide {
	if r < 1 {
		return wide{}
	}
	if r > x.n {
		return x.total.Plus(times(r-x.n, x.last))
	}
	j := x.find(r)
	sum := x.sums[j/blockSize]
	for i := j - j%blockSize; i < j; i++ {
		sum = sum.Plus(times(x.values[i], x.upTo[i]-x.before(i)))
	}
	return sum.Plus(times(x.values[j], r-x.before(j)))
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
