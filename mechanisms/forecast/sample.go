package forecast

import (
	"math"
	"slices"

	"github.com/louver/louver/mechanisms"
	"github.com/shopspring/decimal"
)

// sorted holds n values on a grid: the distinct ones, how many users hold each, and how many users there are up to
// each.
type sorted struct {
	points []mechanisms.Point
	upTo   []int64
}

// add puts users at a grid point that is not below the earlier ones.
func (x *sorted) add(index, users int64) {
	if last := len(x.points) - 1; last >= 0 && x.points[last].Index == index {
		x.points[last].Count += users
		x.upTo[last] += users
		return
	}
	x.upTo = append(x.upTo, x.users()+users)
	x.points = append(x.points, mechanisms.Point{Index: index, Count: users})
}

func (x *sorted) users() int64 {
	if len(x.upTo) == 0 {
		return 0
	}
	return x.upTo[len(x.upTo)-1]
}

// truths returns the correct answers for each value of a draw. For a quantile between two values, that is their
// midpoint.
func truths(q mechanisms.Query, s *mechanisms.Sample) (all [][]float64) {
	for _, right := range q.Truth(s) {
		var values []float64
		for _, v := range right {
			values = append(values, v.InexactFloat64())
		}
		if q.Statistic.Family() == mechanisms.OfRanks {
			values = []float64{(values[0] + values[len(values)-1]) / 2}
		}
		all = append(all, values)
	}
	return all
}

// off returns the distance from the nearest of several values.
func off(value float64, from []float64) float64 {
	least := math.Inf(1)
	for _, x := range from {
		least = min(least, math.Abs(value-x))
	}
	return least
}

// sampler makes random samples of a shape. A quantile's error depends on the gaps between the values next to it. By
// chance these are narrower or wider than average, and the mean error over samples is not the error on a mean sample.
// So the ranks within [reach] of a quantile are drawn at random. Ranks further away take their expected values, in
// bundles of up to 1/64 of their distance, since only the average of many gaps counts there. For all other statistics
// every value is random.
type sampler struct {
	shape  *Shape
	grid   *mechanisms.Grid
	n      int64
	parts  []part
	random *lattice
	shares []float64 // reused memory
}

// part is a range of ranks, from lo to hi.
type part struct {
	lo, hi int64
	random bool // else all are at the middle of the range
}

// reach is how many ranks on either side of a quantile are drawn at random: many more than the error of a draw, which
// is about 3/ε, or so many that chance evens out.
const reach = 192

// sampler prepares samples of n users for a query.
func (s *Shape) sampler(q mechanisms.Query, n int64) *sampler {
	x := &sampler{shape: s, grid: q.Grid, n: n, random: newLattice()}
	var near []part
	around := func(rank int64) {
		lo, hi := max(1, rank-reach), min(n, rank+reach)
		if last := len(near) - 1; last >= 0 && near[last].hi >= lo-1 {
			near[last].hi = hi
			return
		}
		near = append(near, part{lo, hi, true})
	}
	if q.Statistic.Family() != mechanisms.OfRanks {
		near = []part{{1, n, true}}
	}
	for _, p := range q.Probabilities() { // in ascending order
		around(p.Mul(decimalOf(n)).Ceil().IntPart())
	}
	next, left := int64(1), n // the next rank, and its distance from the random ranks before it, if there are any
	for _, r := range append(near, part{lo: n + 1}) {
		for next < r.lo {
			right := n
			if r.random {
				right = r.lo - next
			}
			size := min(max(1, min(left, right)/64), r.lo-next)
			x.parts = append(x.parts, part{lo: next, hi: next + size - 1})
			next, left = next+size, left+size
		}
		if r.random {
			x.parts = append(x.parts, r)
			next, left = r.hi+1, 1
		}
	}
	return x
}

// affordable returns how many samples to make for a number of draws: fewer if all of a large sample is random.
func (x *sampler) affordable(draws int) int {
	random := int64(0)
	for _, p := range x.parts {
		if p.random {
			random += p.hi - p.lo + 1
		}
	}
	return int(min(max((1<<18)/random, 1), 512, int64(draws)))
}

// next draws the next sample.
func (x *sampler) next() *sorted {
	x.random.next().word = wellSpread
	n, s := float64(x.n), &sorted{}
	expected := func(rank float64) float64 { return (rank - 0.5) / n }
	for _, p := range x.parts {
		if !p.random {
			s.add(x.shape.index(expected(float64(p.lo+p.hi)/2), x.grid), p.hi-p.lo+1)
			continue
		}
		// The values between two known ranks are independent of each other and of everything else.
		from, to := 0., 1.
		if p.lo > 1 {
			from = expected(float64(p.lo - 1))
		}
		if p.hi < x.n {
			to = expected(float64(p.hi + 1))
		}
		x.shares = x.shares[:0]
		for range p.hi - p.lo + 1 {
			x.shares = append(x.shares, from+(to-from)*(float64(x.random.coordinate()>>11)+0.5)*0x1p-53)
		}
		slices.Sort(x.shares)
		for _, u := range x.shares {
			s.add(x.shape.index(u, x.grid), 1)
		}
	}
	return s
}

func decimalOf(n int64) decimal.Decimal { return decimal.NewFromInt(n) }
