package mechanisms

import (
	"math"

	"github.com/louver/louver/mechanisms/exact"
)

// walk visits the points of a grid from the best level of a utility outward. What it has seen is always one interval.
type walk interface {
	// next widens what has been seen by one run of points lo ≤ x < hi of one level, at either end. The first run has
	// the best level of all. A run may be empty.
	next() (lo, hi, level int64)
	// floor returns a level that no unseen point is better than.
	floor() int64
	// level returns the level of any point.
	level(x int64) int64
}

// negligible is how much all that is unseen may weigh beside what has been seen: the chance of another try.
const negligible = 0x1p-10

// outward draws a point with P(x) ∝ μ(x)·e^{−κ·level(x)}: the exponential mechanism, exactly.
//
// It stops walking as soon as the unseen points would weigh next to nothing even if all were on the floor. They go on
// the wheel as one piece of that level. If it is chosen, an unseen point is drawn by the measure and kept with
// probability e^{−κ(level(x)−floor)}; if it is not kept, all is drawn again. A try ends at a seen point x with
// probability ∝ μ(x)·e^{−κ·level(x)} and at an unseen one with probability ∝ μ(x)·e^{−κ·floor}·e^{−κ(level(x)−floor)},
// which is the same, wherever the walk stopped. It visits about (1/κ)·ln(total mass) levels instead of all.
func outward(w walk, rate exact.Rate, measure *Measure, source *exact.Source) int64 {
	type run struct{ from, mass uint64 }
	runs := make([]run, 0, 128)
	var wheel exact.Wheel
	seen, rest := run{}, measure.total()
	floor := int64(0)
	for rest > 0 {
		if len(runs) > 0 {
			floor = w.floor()
			if float64(rest)*wheel.Weight(floor) <= negligible*wheel.Total() {
				wheel.Add(rest, floor)
				break
			}
		}
		lo, hi, level := w.next()
		if lo >= hi {
			continue
		}
		r := run{from: measure.below(lo)}
		r.mass = measure.below(hi) - r.from
		if len(runs) == 0 {
			wheel.Reset(rate, level)
			seen = r
		} else {
			seen.from = min(seen.from, r.from)
			seen.mass += r.mass
		}
		wheel.Add(r.mass, level)
		runs = append(runs, r)
		rest -= r.mass
	}
	for {
		if i := wheel.Spin(source); i < len(runs) {
			return measure.at(runs[i].from + source.Below(runs[i].mass))
		}
		u := source.Below(rest)
		if u >= seen.from {
			u += seen.mass
		}
		x := measure.at(u)
		if source.ExpCoin(rate, w.level(x)-floor) {
			return x
		}
	}
}

// never is the level of what does not exist.
const never = math.MaxInt64
