package windows

import "github.com/google/btree"

// Point is a value of a sample with the number of users that have it: Index on the stream's grid, −1 below and N+1
// beyond the bounds; Count ≥ 1.
type Point struct{ Index, Count int64 }

// multiset is an ordered multiset of values: one group's of a window, in which the passes of a merge meet.
type multiset struct{ tree *btree.BTreeG[Point] }

// degree is that of the trees: a node has up to 2·degree−1 items.
const degree = 32

// newMultisets returns n empty multisets.
func newMultisets(n int) []multiset {
	sets := make([]multiset, n)
	for i := range sets {
		sets[i].tree = btree.NewG(degree, func(a, b Point) bool { return a.Index < b.Index })
	}
	return sets
}

// addSorted adds values that ascend.
func (m multiset) addSorted(values []int64) {
	for len(values) > 0 {
		n := 1
		for n < len(values) && values[n] == values[0] {
			n++
		}
		p := Point{values[0], int64(n)}
		if before, had := m.tree.ReplaceOrInsert(p); had {
			p.Count += before.Count
			m.tree.ReplaceOrInsert(p)
		}
		values = values[n:]
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
