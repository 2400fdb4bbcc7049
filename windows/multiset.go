package windows

import "github.com/google/btree"

// Point is a value of a sample with the number of users that have it: Index on the stream's grid, −1 below and N+1
// beyond the bounds; Count ≥ 1.
type Point struct{ Index, Count int64 }

// multiset is an ordered multiset of values. With the point of a value, one can be removed without a search, unless it
// is the last of its kind.
type multiset struct {
	tree *btree.BTreeG[item]
	pool *pool
}

// item is an item of a tree. It holds the value next to the pointer, so that a search does not follow pointers.
type item struct {
	value int64
	point *Point
}

// degree is that of the trees: a node has up to 2·degree−1 items.
const degree = 32

func newMultiset(p *pool) multiset {
	return multiset{btree.NewWithFreeListG(degree, lessItem, p.nodes), p}
}

func lessItem(a, b item) bool { return a.value < b.value }

// add adds the value n times and returns its point, which is valid until the last of them is removed.
func (m multiset) add(value, n int64) *Point {
	found, ok := m.tree.Get(item{value, nil})
	if ok {
		found.point.Count += n
		return found.point
	}
	p := m.pool.take()
	*p = Point{value, n}
	m.tree.ReplaceOrInsert(item{value, p})
	return p
}

// remove removes p's value once.
func (m multiset) remove(p *Point) {
	if p.Count--; p.Count == 0 {
		m.tree.Delete(item{p.Index, nil})
		m.pool.free = append(m.pool.free, p)
	}
}

// points returns all values ascending, nil if there are none.
func (m multiset) points() []Point {
	if m.tree.Len() == 0 {
		return nil
	}
	points := make([]Point, 0, m.tree.Len())
	m.tree.Ascend(func(i item) bool {
		points = append(points, *i.point)
		return true
	})
	return points
}

// pool recycles the items and nodes of a bag's multisets, so that values that come and go allocate nothing.
type pool struct {
	nodes *btree.FreeListG[item]
	free  []*Point
	block []Point // not yet handed out
	made  int     // points in all blocks
}

func newPool() *pool { return &pool{nodes: btree.NewFreeListG[item](btree.DefaultFreeListSize)} }

func (p *pool) take() *Point {
	if n := len(p.free); n > 0 {
		point := p.free[n-1]
		p.free = p.free[:n-1]
		return point
	}
	if len(p.block) == 0 {
		p.block = make([]Point, min(max(p.made, 8), 512)) // double each time: cheap for few values, few blocks for many
		p.made += len(p.block)
	}
	point := &p.block[0]
	p.block = p.block[1:]
	return point
}
