package histogram

import (
	"fmt"
	"math"
	"slices"
)

// Most is the largest number of buckets.
const Most = 1000

// coarseFrom is the number of buckets from which on a second level pays off.
const coarseFrom = 40

// Buckets divide the points 0..last of a grid, and what lies beyond them. Each bucket holds the points after the end of
// the one before, up to its own end. The last one, +Inf, holds what is above the grid. Where values below the grid are
// possible, the first bucket has the end −1 and holds them. It is immutable and safe for concurrent use.
type Buckets struct {
	ends   []int64 // of all buckets but +Inf, ascending
	last   int64
	groups int // of the second level, or 0 if there is none
	// wholes[g] is the variance of the sum of all buckets of the groups before g, for numbers of variance 1.
	wholes []float64
}

// New makes buckets with these ends, which are grid indices from −1 to last, in any order. It adds last if it is
// missing. below says that values below the grid are possible. levels is 1, 2, or 0 for 2 from 40 buckets on.
func New(ends []int64, last int64, below bool, levels int) (*Buckets, error) {
	ends = append(slices.Clone(ends), last)
	if below {
		ends = append(ends, -1)
	}
	slices.Sort(ends)
	ends = slices.Compact(ends)
	k := len(ends) + 1
	switch {
	case ends[0] < -1 || ends[0] == -1 && !below || ends[len(ends)-1] != last:
		return nil, fmt.Errorf("ends from %d to %d; want them within 0 to %d", ends[0], ends[len(ends)-1], last)
	case k > Most:
		return nil, fmt.Errorf("%d buckets; want at most %d", k, Most)
	case levels < 0 || levels > 2:
		return nil, fmt.Errorf("%d levels; want 1 or 2", levels)
	}
	b := &Buckets{ends: ends, last: last}
	if levels == 2 || levels == 0 && k >= coarseFrom {
		b.groups = int(math.Round(math.Sqrt(float64(k))))
	}
	b.wholes = make([]float64, b.groups+1)
	for g := range b.groups {
		from, to := b.within(g)
		m := float64(to - from)
		b.wholes[g+1] = b.wholes[g] + m/(m+1)
	}
	return b, nil
}

// Len is the number of buckets, +Inf included: at least 2.
func (b *Buckets) Len() int { return len(b.ends) + 1 }

// Groups is the number of groups of neighbours that the second level counts, or 0 if there is no second level.
func (b *Buckets) Groups() int { return b.groups }

// Levels is 1 or 2.
func (b *Buckets) Levels() int {
	if b.groups == 0 {
		return 1
	}
	return 2
}

// Ends are the last points of all buckets but +Inf, as grid indices. The caller must not change them.
func (b *Buckets) Ends() []int64 { return b.ends }

// Below reports whether the first bucket holds the values below the grid.
func (b *Buckets) Below() bool { return b.ends[0] == -1 }

// Of returns the bucket of a grid index. −1 is below the grid, and last+1 above it.
func (b *Buckets) Of(index int64) int {
	i, _ := slices.BinarySearch(b.ends, index)
	return i
}

// EndAt returns the bucket that ends at a grid index, or false if none does.
func (b *Buckets) EndAt(index int64) (bucket int, found bool) {
	return slices.BinarySearch(b.ends, index)
}

// Beside returns the ends before and after a grid index at which no bucket ends. One of them may be −1 or last+1.
func (b *Buckets) Beside(index int64) (before, after int64) {
	i := b.Of(index)
	before, after = -1, b.last+1
	if i > 0 {
		before = b.ends[i-1]
	}
	if i < len(b.ends) {
		after = b.ends[i]
	}
	return before, after
}

// With returns the buckets with further ends. levels is as for [New].
func (b *Buckets) With(ends []int64, levels int) (*Buckets, error) {
	return New(append(slices.Clone(b.ends), ends...), b.last, b.Below(), levels)
}

// span returns the first and the last point of a bucket, within the grid.
func (b *Buckets) span(bucket int) (first, last int64) {
	if bucket == len(b.ends) {
		return b.last, b.last
	}
	if bucket > 0 {
		first = b.ends[bucket-1] + 1
	}
	return max(0, first), max(0, b.ends[bucket])
}

// Group returns the group of a bucket, ⌊i·G/K⌋, or −1 on one level.
func (b *Buckets) Group(bucket int) int {
	if b.groups == 0 {
		return -1
	}
	return bucket * b.groups / b.Len()
}

// within returns the buckets from ≤ i < to of a group: the first i with ⌊iG/K⌋ = g is ⌈gK/G⌉.
func (b *Buckets) within(group int) (from, to int) {
	k, g := b.Len(), b.groups
	return (group*k + g - 1) / g, ((group+1)*k + g - 1) / g
}

// Sums returns the exact numbers of the users in each bucket and each group. below returns how many users are at points
// less than a grid index, which is −1 or more. all is the number of all users. The sums are private.
func (b *Buckets) Sums(below func(index int64) int64, all int64) (fine, coarse []int64) {
	fine, coarse = make([]int64, b.Len()), make([]int64, b.groups)
	before := int64(0)
	for i, end := range b.ends {
		upTo := below(end + 1)
		fine[i], before = upTo-before, upTo
	}
	fine[len(b.ends)] = all - before
	for g := range coarse {
		from, to := b.within(g)
		for _, n := range fine[from:to] {
			coarse[g] += n
		}
	}
	return fine, coarse
}
