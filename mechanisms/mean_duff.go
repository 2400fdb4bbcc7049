package mechanisms

import (
	"io"

	"github.com/louver/louver/budget/privacy"
	"github.com/louver/louver/mechanisms/exact"
	"github.com/louver/louver/mechanisms/internal/uint128"
)

// meanDuff is the exponential mechanism for the mean with the utility of Gillenwater & Muñoz Medina (2020): the fewest
// users to add and remove, at least one of them added, until the mean is x.
//
// Privacy: what k edits can reach from a sample, k+1 can reach from its neighbours, and the other way round; so the
// distance changes by at most 1 and e^{−ε·d/2} is ε-DP and ε-bounded-range. Edits without an addition do not count (not
// even the mean itself is at distance 0), because the last user cannot be removed: if they counted, the distance could
// change by more. Without users every point is one addition away.
type meanDuff struct {
	header
	grid    *Grid
	rate    exact.Rate
	measure *Measure
	scratch *scratches
}

func newMeanDuff(q *Query) (Mechanism, error) {
	return &meanDuff{header{"duff", privacy.NewBoundedRange(q.Epsilon)},
		q.Grid, q.rate(2), Uniform(q.Grid), &scratches{}}, nil
}

func (m *meanDuff) Draw(s *Sample, _ Public, random io.Reader) (Draw, error) {
	return m.scratch.draw(s, random, func(k *scratch) (Draw, error) {
		k.survey.outward(newMeanWalk(m.grid, s), m.rate, m.measure)
		return Draw{Values: single(k.survey.exponential(&k.source), unbounded())}, nil
	})
}

// meanWalk visits the intervals J_1 ⊂ J_2 ⊂ … of the means that k edits can reach.
type meanWalk struct {
	start       *meanWalk // as it was at first
	edits       int64     // k
	low, high   extreme
	from, end   int64 // the points of J_k: from ≤ x < end
	lo, hi      int64 // what has been seen: lo ≤ x < hi
	last, users int64
}

func newMeanWalk(g *Grid, s *Sample) *meanWalk {
	w := &meanWalk{last: g.last, users: s.n}
	sum := s.added().Sum(0, g.last)
	w.low = extreme{sample: s, top: len(s.values) - 1, sum: sum}
	w.high = extreme{sample: s, top: 0, mirrored: true, last: g.last,
		sum: uint128.Product(uint64(s.n), uint64(g.last)).Minus(sum)}
	start := *w
	w.start = &start
	return w
}

// widen moves on to the next k.
func (w *meanWalk) widen() {
	w.edits++
	w.from = w.low.least(w.users, w.edits)
	w.end = w.last - w.high.least(w.users, w.edits) + 1
}

func (w *meanWalk) next() (lo, hi, level int64) {
	if w.lo == w.hi { // the first run
		for w.from >= w.end {
			w.widen()
		}
		w.lo, w.hi = w.from, w.end
		return w.lo, w.hi, w.edits
	}
	if w.floor() > w.edits {
		w.widen() // one at a time: more may not be needed
	}
	if w.from < w.lo {
		lo, hi, w.lo = w.from, w.lo, w.from
	} else {
		lo, hi, w.hi = w.hi, w.end, w.end
	}
	return lo, hi, w.edits
}

func (w *meanWalk) floor() int64 {
	if w.from < w.lo || w.end > w.hi {
		return w.edits
	}
	return w.edits + 1
}

func (w *meanWalk) level(x int64) int64 {
	on := *w
	if w.lo <= x && x < w.hi {
		on = *w.start
	}
	for on.edits == 0 || x < on.from || x >= on.end {
		on.widen()
	}
	return on.edits
}

// extreme finds the least mean that k edits can reach: with the i largest values removed and k−i zeros added, i < k,
// it is (sum of the others)/(n + k − 2i). Removing one more is better while twice the sum is less than its value times
// the denominator; the best i does not fall as k grows. Mirrored, values count from the upper end of the grid down.
type extreme struct {
	sample   *Sample
	mirrored bool
	last     int64
	sum      uint128.Int // of the values kept
	removed  int64       // i
	top      int         // the distinct value to be removed next
	taken    int64       // users removed of it
}

// least returns the least grid point of J_k.
func (e *extreme) least(users, edits int64) int64 {
	for e.removed < min(users, edits-1) {
		value := e.sample.values[e.top]
		if e.mirrored {
			value = e.last - value
		}
		if twice := e.sum.Plus(e.sum); !twice.Less(uint128.Product(uint64(value), uint64(users+edits-2*e.removed))) {
			break
		}
		e.sum = e.sum.Minus(uint128.Of(uint64(value)))
		e.removed++
		if e.taken++; e.taken == e.sample.count(e.top) {
			e.taken = 0
			if e.mirrored {
				e.top++
			} else {
				e.top--
			}
		}
	}
	return e.sum.CeilDiv(uint64(users + edits - 2*e.removed))
}
