package smooth

import (
	"math/bits"
	"sort"
)

// ranks answers X(r), the r-th smallest value, and X(1) + … + X(r), for every whole r: what lies below rank 1 is the
// lower end of the grid, what lies above rank n the upper end, since those are the values that edits may add. It is
// built in one pass over the distinct values and keeps a mark at every 32nd of them.
type ranks struct {
	values, counts []int64
	marks          []mark
	n, last        int64
	total          wide
}

// mark holds how many values come before a block of distinct ones, and their sum.
type mark struct {
	before int64
	sum    wide
}

const blockSize = 32

func newRanks(values, counts []int64, last int64) *ranks {
	x := &ranks{values: values, counts: counts, last: last, marks: make([]mark, 0, len(values)/blockSize+1)}
	for from := 0; from < len(values); from += blockSize {
		x.marks = append(x.marks, mark{x.n, x.total})
		block, sizes := values[from:min(from+blockSize, len(values))], counts[from:]
		n, sum := int64(0), uint64(0)
		for j, v := range block {
			n += sizes[j]
			sum += uint64(v) * uint64(sizes[j])
		}
		x.n += n
		if bits.Len64(uint64(last))+bits.Len64(uint64(n)) <= 64 { // nothing has overflowed
			x.total = x.total.plus(wide{0, sum})
			continue
		}
		for j, v := range block {
			x.total = x.total.plus(times(v, sizes[j]))
		}
	}
	return x
}

// find returns the position of the distinct value of rank r, 1 ≤ r ≤ n, with what comes before it.
func (x *ranks) find(r int64) (int, mark) {
	b := sort.Search(len(x.marks), func(b int) bool { return x.marks[b].before >= r }) - 1
	m := x.marks[b]
	for j := b * blockSize; ; j++ {
		if c := x.counts[j]; m.before+c < r {
			m.before += c
			m.sum = m.sum.plus(times(x.values[j], c))
			continue
		}
		return j, m
	}
}

// at returns X(r).
func (x *ranks) at(r int64) int64 {
	if r < 1 {
		return 0
	}
	if r > x.n {
		return x.last
	}
	j, _ := x.find(r)
	return x.values[j]
}

// sum returns X(1) + … + X(r).
func (x *ranks) sum(r int64) wide {
	if r < 1 {
		return wide{}
	}
	if r > x.n {
		return x.total.plus(times(r-x.n, x.last))
	}
	j, m := x.find(r)
	return m.sum.plus(times(x.values[j], r-m.before))
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
		return o.ranks.sum(to).minus(o.ranks.sum(from - 1))
	}
	// Ranks below 1 hold 0 here too; the others hold last − value.
	from = max(from, 1)
	if to < from {
		return wide{}
	}
	return times(to-from+1, o.last).minus(o.ranks.sum(o.n + 1 - from).minus(o.ranks.sum(o.n - to)))
}
