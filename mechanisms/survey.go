package mechanisms

import (
	"math"

	"github.com/louver/louver/mechanisms/exact"
)

// walk visits the points of a grid from the best level of a utility outward. What it has seen is always one interval.
type walk interface {
	// next widens what has been seen by one run of points lo ≤ x < hi of one level, at either end. The first run has
	// the best level of all. A run may be empty, the first one is not.
	next() (lo, hi, level int64)
	// floor returns a level that no unseen point is better than.
	floor() int64
	leveller
}

// leveller knows the level of any point.
type leveller interface {
	level(x int64) int64
}

// keeper is a walk whose levels are too good. A point drawn by its level is kept with a probability of its own.
type keeper interface {
	keep(x int64, source *exact.Source) bool
}

// never is the level of what does not exist.
const never = math.MaxInt64

// survey is what a draw has to know of the points: the best level, runs that have been seen, and of the rest how much
// it weighs, a level that none of it is better than, and how to draw from it.
//
// A utility is surveyed until the rest would weigh little even if all of it were on the floor. That takes
// about (1/κ)·ln(total mass) levels instead of all. How far the survey went makes no difference to the law that is
// drawn: see exponential and flip. The zero value is ready for begin; its memory is used again.
type survey struct {
	leveller
	keeper  keeper // nil: all points are kept
	measure *Measure
	rate    exact.Rate
	best    int64
	runs    []run
	wheel   exact.Wheel
	race    exact.Race
	groups  []group // of the race
	walk    walk
	rest    uint64
	floor   int64
	even    bool                             // all of the rest is on the floor, and the measure is uniform
	seen    run                              // what a walk has seen
	unseen  func(source *exact.Source) int64 // a point of the rest, by the measure; nil: of all but seen
}

// run is a run of points of one level, as masses of the measure.
type run struct {
	from, mass uint64
	level      int64
}

// negligible is how much the rest may weigh beside what has been seen. It is about the chance of another try: less would
// mean more levels to look at, which cost more than a few tries.
const negligible = 0x1p-3

// begin forgets all that was surveyed before.
func (v *survey) begin(points leveller, rate exact.Rate, measure *Measure, best int64) {
	if v.runs == nil {
		v.runs = make([]run, 0, 128)
	}
	v.leveller, v.walk, v.keeper, v.unseen, v.even = points, nil, nil, nil, false
	v.measure, v.rate, v.best, v.rest, v.runs = measure, rate, best, measure.total(), v.runs[:0]
	v.wheel.Reset(rate, best)
}

// outward surveys a walk.
func (v *survey) outward(w walk, rate exact.Rate, measure *Measure) {
	lo, hi, level := w.next()
	v.begin(w, rate, measure, level)
	v.walk = w
	v.keeper, _ = w.(keeper)
	v.seen = spanned(measure, lo, hi, level)
	v.see(v.seen)
	v.floor = w.floor()
	for v.rest > 0 && float64(v.rest)*v.wheel.Weight(v.floor) > negligible*v.wheel.Total() {
		v.widen()
	}
}

// widen surveys one more run of a walk, if any is left.
func (v *survey) widen() {
	if lo, hi, level := v.walk.next(); lo < hi {
		r := spanned(v.measure, lo, hi, level)
		v.see(r)
		v.seen.from = min(v.seen.from, r.from)
		v.seen.mass += r.mass
	}
	v.floor = v.walk.floor()
}

func spanned(measure *Measure, lo, hi, level int64) run {
	from := measure.below(lo)
	return run{from, measure.below(hi) - from, level}
}

// see adds a run.
func (v *survey) see(r run) {
	v.runs = append(v.runs, r)
	v.wheel.Add(r.mass, r.level)
	v.rest -= r.mass
}

// within returns a point of a run, by the measure.
func (v *survey) within(r run, source *exact.Source) int64 {
	return v.measure.at(r.from + source.Below(r.mass))
}

// another returns a point of the rest, by the measure.
func (v *survey) another(source *exact.Source) int64 {
	if v.unseen != nil {
		return v.unseen(source)
	}
	u := source.Below(v.rest)
	if u >= v.seen.from {
		u += v.seen.mass
	}
	return v.measure.at(u)
}

// chooser draws a point of what has been surveyed.
type chooser func(v *survey, source *exact.Source) int64

// exponential draws a point with P(x) ∝ μ(x)·e^{−κ·level(x)}: the exponential mechanism, exactly.
//
// The rest goes on the wheel as one piece on the floor. If it is chosen, one of its points is drawn by the measure and
// kept with probability e^{−κ(level(x)−floor)}; if it is not kept, all is drawn again. A try ends at a seen point x
// with probability ∝ μ(x)·e^{−κ·level(x)} and at another with probability ∝ μ(x)·e^{−κ·floor}·e^{−κ(level(x)−floor)}:
// the same.
func (v *survey) exponential(source *exact.Source) int64 {
	if v.rest > 0 {
		v.wheel.Add(v.rest, v.floor)
	}
	for {
		var x int64
		if i := v.wheel.Spin(source); i < len(v.runs) {
			x = v.within(v.runs[i], source)
		} else if x = v.another(source); !source.ExpCoin(v.rate, v.level(x)-v.floor) {
			continue
		}
		if v.keeper == nil || v.keeper.keep(x, source) {
			return x
		}
	}
}

// flip draws a point by permute-and-flip under the measure: each point x comes at a uniform time in [0, 1/w(x)] for
// w(x) = μ(x)·e^{−κ·level(x)}, and the first one wins. See flip.go for the law and [exact.Race] for how it is drawn.
//
// The points of a run that lie in one cell of the measure are alike: they are a group of the race. The survey goes on
// until no point of the rest can weigh more than half as much as the heaviest that has been seen, which is what the race
// asks for. That is so soon, since all of the rest together weighs next to nothing.
func (v *survey) flip(source *exact.Source) int64 {
	v.groups = v.groups[:0]
	v.race.Reset(source, v.rate, v.best)
	heaviest := 0.
	for i := 0; ; i++ {
		// Half of the half, for what float64 leaves open.
		if i == len(v.runs) && (v.even || v.rest == 0 || 4*float64(v.measure.heaviest)*v.wheel.Weight(v.floor) <= heaviest) {
			break
		}
		for i == len(v.runs) {
			v.widen()
		}
		heaviest = max(heaviest, v.enter(v.runs[i]))
	}
	switch {
	case v.rest == 0:
	case v.even:
		v.race.Enter(v.rest, 1, v.floor)
	default:
		v.race.Rest(v.rest, v.floor)
	}
	for {
		if i := v.race.Winner(); i < len(v.groups) {
			return v.groups[i].lo + int64(source.Below(v.groups[i].count))
		}
		x := v.another(source)
		if v.even || v.race.Keep(v.measure.weight[v.measure.cell(x)], v.level(x)) {
			return x
		}
	}
}

// group is a run of points of one level and one cell that is in the race.
type group struct {
	lo    int64
	count uint64
}

// enter sends the points of a run into the race and returns how much the heaviest of them weighs, e^{κ·best} times.
func (v *survey) enter(r run) float64 {
	m, most := v.measure, uint64(0)
	for cell := m.cellOf(r.from); r.mass > 0; cell++ {
		mass, weight := min(r.mass, m.upTo[cell+1]-r.from), m.weight[cell]
		if v.race.Enter(mass/weight, weight, r.level) {
			v.groups = append(v.groups, group{m.bounds[cell] + int64((r.from-m.upTo[cell])/weight), mass / weight})
		}
		r.from, r.mass, most = r.from+mass, r.mass-mass, max(most, weight)
	}
	return float64(most) * v.race.Weight(r.level)
}
