package windows

import (
	"slices"

	"github.com/google/btree"
)

// Point is a value of a sample with the number of users that have it: Index on the stream's grid, −1 below and N+1
// beyond the bounds; Count ≥ 1.
type Point struct{ Index, Count int64 }

// multiset is an ordered multiset of values: one group's of a window, in which the passes of a merge meet.
type multiset struct{ tree *btree.BTreeG[Point] }

// degree bounds the nodes of the trees: a node has up to 2·degree−1 values.
const degree = 32

// newMultisets returns n empty multisets.
func newMultisets(n int) []multiset {
	sets := make([]multiset, n)
	for i := range sets {
		sets[i].tree = btree.NewG(degree, func(a, b Point) bool { return a.Index < b.Index })
	}
	return sets
}

// add adds a value that so many users have.
func (m multiset) add(value, count int64) {
	p := Point{value, count}
	if before, had := m.tree.ReplaceOrInsert(p); had {
		p.Count += before.Count
		m.tree.ReplaceOrInsert(p)
	}
}

// points returns all values ascending, nil if there are none.
func (m multiset) points() []Point {
	if m.tree.Len() == 0 {
		return nil
	}
	points := make([]Point, 0, m.tree.Len())
	m.tree.Ascend(func(p Point) bool {
		points = append(points, p)
		return true
	})
	return points
}

// run puts the values of one group in order: expect each, begin, add each. Values that lie close together, as most do,
// are counted, and others sorted.
type run struct {
	n           int
	least, most int64
	counts      []uint32 // of the values from least on
	values      []int64  // if they are too far apart
}

func (r *run) expect(value int64) {
	if r.n == 0 {
		r.least, r.most = value, value
	}
	r.n, r.least, r.most = r.n+1, min(r.least, value), max(r.most, value)
}

func (r *run) begin() {
	// the difference of any two values, as an unsigned number, is right even where it overflows as a signed one
	switch span := uint64(r.most) - uint64(r.least); {
	case r.n == 0:
	case span < 2*uint64(r.n):
		r.counts = make([]uint32, span+1)
	default:
		r.values = make([]int64, 0, r.n)
	}
}

func (r *run) add(value int64) {
	if r.counts != nil {
		r.counts[value-r.least]++
	} else {
		r.values = append(r.values, value)
	}
}

// each calls f for the values, ascending, with how many there are of each.
func (r *run) each(f func(value, count int64)) {
	for i, count := range r.counts {
		if count > 0 {
			f(r.least+int64(i), int64(count))
		}
	}
	slices.Sort(r.values)
	for values := r.values; len(values) > 0; {
		n := 1
		for n < len(values) && values[n] == values[0] {
			n++
		}
		f(values[0], int64(n))
		values = values[n:]
	}
}
