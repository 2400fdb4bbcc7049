package mechanisms

import (
	"io"
	"math"
	"sync"

	"github.com/louver/louver/mechanisms/exact"
)

// walk visits the points of a grid from the best level of a utility outward. What it has seen is always one interval.
type walk interface {
	// next widens what has been seen by one run of points lo ≤ x < hi of one level, at either end. The first run has
	// the best level of all. A run may be empty, the first one is not.
	next() (lo, hi, level int64)
	// floor returns a level that no unseen point is better than.
	floor() int64
	levels
}

// levels knows the level of any point.
type levels interface {
	level(x int64) int64
}

// thinning is a walk with levels that are too good. A point that is drawn by its level is kept only with some
// probability.
type thinning interface {
	keep(x int64, source *exact.Source) bool
}

// never is the level of points that do not exist.
const never = math.MaxInt64

// survey holds what a draw has to know about the points: the best level, the runs that have been seen and, about the
// rest, its weight, a level that none of it surpasses, and how to draw from it.
//
// A utility is surveyed until the rest would weigh little even if all of it were on the floor. That takes about
// (1/κ)·ln(total mass) levels instead of all. How far the survey goes makes no difference to the law: see try. The zero
// value is ready for begin; its memory is used again.
type survey struct {
	levels
	thinned thinning // nil: all points are kept
	measure *Measure
	rate    exact.Rate
	runs    []run
	wheel   exact.Wheel
	flips   exact.Flip
	walk    walk
	rest    uint64
	floor   int64
	seen    seen
	unseen  func(source *exact.Source) int64 // a point of the rest, by the measure; nil: of all but seen
}

// run is a run of points of one level, as masses of the measure.
type run struct {
	from, mass uint64
	heaviest   uint64 // of its points, by the measure
	level      int64
	peak       float64 // what that point weighs, about: heaviest·e^{−κ·(level−best)}
}

// seen is the part of a measure that a walk has seen: points in a row up to x < hi, in the cells from left to right,
// and their masses.
type seen struct {
	measure     *Measure
	hi          int64
	left, right int
	from, mass  uint64
}

// negligible is how much the rest may weigh relative to what has been seen. It is about the chance of another try. A
// smaller value would mean more levels to visit, which costs more than a few tries.
const negligible = 0x1p-3

// begin forgets all that was surveyed before.
func (v *survey) begin(points levels, rate exact.Rate, measure *Measure, best int64) {
	if v.runs == nil {
		v.runs = make([]run, 0, 128)
	}
	v.levels, v.walk, v.thinned, v.unseen = points, nil, nil, nil
	v.measure, v.rate, v.rest, v.runs = measure, rate, measure.total(), v.runs[:0]
	v.wheel.Reset(rate, best)
}

// outward surveys a walk.
func (v *survey) outward(w walk, rate exact.Rate, measure *Measure) {
	v.first(w, rate, measure)
	for v.rest > 0 && float64(v.rest)*v.wheel.Weight(v.floor) > negligible*v.wheel.Total() {
		v.widen()
	}
}

// first surveys the first run of a walk.
func (v *survey) first(w walk, rate exact.Rate, measure *Measure) {
	lo, hi, level := w.next()
	v.begin(w, rate, measure, level)
	v.walk = w
	v.thinned, _ = w.(thinning)
	v.seen = nothingAt(lo, measure)
	v.see(v.seen.grow(lo, hi, level))
	v.floor = w.floor()
}

// widen surveys one more run of a walk, if any is left.
func (v *survey) widen() {
	if lo, hi, level := v.walk.next(); lo < hi {
		v.see(v.seen.grow(lo, hi, level))
	}
	v.floor = v.walk.floor()
}

// nothingAt has seen nothing yet and begins at the point x.
func nothingAt(x int64, m *Measure) seen {
	cell := m.cell(x)
	return seen{measure: m, hi: x, left: cell, right: cell, from: m.upTo[cell] +
		m.weight[cell]*uint64(x-m.bounds[cell])}
}

// grow sees the points lo ≤ x < hi, which begin or end where what has been seen ends or begins.
func (s *seen) grow(lo, hi, level int64) run {
	m, r := s.measure, run{level: level}
	if lo == s.hi {
		for m.bounds[s.right+1] <= lo {
			s.right++
		}
		r.heaviest = m.weight[s.right]
		for m.bounds[s.right+1] < hi {
			s.right++
			r.heaviest = max(r.heaviest, m.weight[s.right])
		}
		r.from = s.from + s.mass
		r.mass = m.upTo[s.right] + m.weight[s.right]*uint64(hi-m.bounds[s.right]) - r.from
		s.hi = hi
	} else {
		for m.bounds[s.left] >= hi {
			s.left--
		}
		r.heaviest = m.weight[s.left]
		for m.bounds[s.left] > lo {
			s.left--
			r.heaviest = max(r.heaviest, m.weight[s.left])
		}
		r.from = m.upTo[s.left] + m.weight[s.left]*uint64(lo-m.bounds[s.left])
		r.mass = s.from - r.from
		s.from = r.from
	}
	s.mass += r.mass
	return r
}

// see adds a run.
func (v *survey) see(r run) {
	v.wheel.Add(r.mass, r.level)
	r.peak = v.peak(r.heaviest, r.level)
	v.runs = append(v.runs, r)
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

// try spins the wheel and returns a point and its level, with a probability proportional to μ(x)·e^{−κ·level(x)}, or
// false.
//
// The rest must be on the wheel as one piece on the floor. If it is chosen, one of its points is drawn by the measure
// and taken with probability e^{−κ(level(x)−floor)}. So a try ends at a seen point x with probability ∝
// μ(x)·e^{−κ·level(x)} and at another with probability ∝ μ(x)·e^{−κ·floor}·e^{−κ(level(x)−floor)}: the same.
func (v *survey) try(source *exact.Source) (x, level int64, ok bool) {
	if i := v.wheel.Spin(source); i < len(v.runs) {
		return v.within(v.runs[i], source), v.runs[i].level, true
	}
	x = v.another(source)
	level = v.level(x)
	return x, level, source.ExpCoin(v.rate, level-v.floor)
}

// exponential draws a point with P(x) ∝ μ(x)·e^{−κ·level(x)}: the exponential mechanism, exactly. It tries until it
// succeeds.
func (v *survey) exponential(source *exact.Source) int64 {
	v.addRest()
	for {
		if x, _, ok := v.try(source); ok && (v.thinned == nil || v.thinned.keep(x, source)) {
			return x
		}
	}
}

// Permute-and-flip under a measure, for quantiles and for the mode. Each point has the weight
//
//	w(x) = μ(x)·e^{−κ·D(x)},  κ = ε/R,
//
// for a public measure μ. The points come in random order, each flips a coin with probability w(x)/max w, and the first
// head wins. Equivalently each point comes at the time V_x/w(x), for independent V_x uniform in [0, 1], and the first
// one wins:
//
//	P(x) = E min(1, w_x·min_{z≠x} V_z/w_z) = (w_x/w_max)·∫₀¹ Π_{z≠x} (1 − t·w_z/w_max) dt.
//
// ln μ is a public offset of the utility. (The exponential mechanism is the same race with exponential times.)
//
// Privacy. Let R be such that for all samples and every user y more, the changes of D(x) lie, over all x, in an
// interval of length R. Then both are ε-DP. Multiplying all weights by one number changes neither; so scale those of
// the larger sample such that w_x ≤ w'_x ≤ e^ε·w_x.
//   - Exponential mechanism: the normaliser lies in [1, e^ε] times the other one too. Hence ε-DP, and ε-bounded-range.
//   - Permute-and-flip: with the same V, m = min_{z≠x} V_z/w_z and m' = min_{z≠x} V_z/w'_z have e^{−ε}·m ≤ m' ≤ m. So
//     min(1, w'_x·m') ≤ min(1, e^ε·w_x·m) ≤ e^ε·min(1, w_x·m), and min(1, w'_x·m') ≥ min(1, e^{−ε}·w_x·m) ≥
//     e^{−ε}·min(1, w_x·m). Take expectations. It is not bounded-range: zCDP ρ = ε²/2.
//
// R is 2·max(p, q−p) for the margin 1:1, and that of [tail] in the tails. For the users of a mode, whom one
// user raises by 1 at one value, R is 1.
//
// How far off it may be: a point beats the quantile T with probability at most E min(1, V_T·w_x/w_T) ≤ w_x/(2w_T), so
// that all points whose D is more than d above that of T win with probability at most V/(2μ(T))·e^{−κd}, V the total
// mass. It is half of the bound for the exponential mechanism. No data-independent bound is much better: where T and
// its neighbour are the points of the least weight and all that lies on the other side is that far away, the
// probability is two thirds of it.
//
// Source: McKenna & Sheldon (2020), and Ding, Kifer et al. (2021) for the race; the range in place of twice the
// sensitivity and the measure are derived here. At equal ε it is never worse than the exponential mechanism, and
// noticeably better if there is much information.

// flip draws a point by permute-and-flip under the measure, by the law above. Its tries are those of the exponential
// mechanism, and [exact.Flip] keeps one. It needs one thing more, the heaviest point. So the survey goes on until no
// point of the rest can be heavier.
func (v *survey) flip(source *exact.Source) int64 {
	top := v.runs[0]
	for i := 1; ; i++ {
		for i == len(v.runs) && v.rest > 0 &&
			v.heavier(run{heaviest: v.measure.heaviest, level: v.floor,
				peak: v.peak(v.measure.heaviest, v.floor)}, top) {
			v.widen()
		}
		if i == len(v.runs) {
			break
		}
		if v.heavier(v.runs[i], top) {
			top = v.runs[i]
		}
	}
	v.addRest()
	v.flips.Reset(&v.wheel, top.candidate())
	for {
		v.flips.Arrive(source)
		if x, level, ok := v.try(source); ok &&
			v.flips.Keep(source, exact.Candidate{Mass: v.measure.weight[v.measure.cell(x)], Level: level}) {
			return x
		}
	}
}

// peak returns about how much a point of this weight and level weighs.
func (v *survey) peak(weight uint64, level int64) float64 {
	return float64(weight) * v.wheel.Weight(level)
}

// heavier reports whether the heaviest point of a run weighs more than that of another.
func (v *survey) heavier(r, other run) bool {
	return r.peak > other.peak*(1-0x1p-30) && v.rate.Heavier(r.candidate(), other.candidate())
}

// candidate is the heaviest point of a run.
func (r run) candidate() exact.Candidate { return exact.Candidate{Mass: r.heaviest, Level: r.level} }

// addRest puts the rest on the wheel, as if all of it were on the floor.
func (v *survey) addRest() {
	if v.rest > 0 {
		v.wheel.Add(v.rest, v.floor)
	}
}

// scratch holds the working memory of one draw.
type scratch struct {
	source   exact.Source
	survey   survey
	spread   spread
	messages messages
	weights  []float64
	clipped  intervals
}

// draw checks a sample and draws from it, with working memory of these.
func (d *scratches) draw(s *Sample, random io.Reader, draw func(k *scratch) (Draw, error)) (Draw, error) {
	if err := s.Check(); err != nil {
		return Draw{}, err
	}
	k := d.take(random)
	defer d.put(k)
	x, err := draw(k)
	if err == nil {
		err = k.source.Err()
	}
	return x, err
}

// drawOnce checks a sample and draws from it, for a mechanism that needs no working memory.
func drawOnce(s *Sample, random io.Reader, draw func(source *exact.Source) Draw) (Draw, error) {
	if err := s.Check(); err != nil {
		return Draw{}, err
	}
	source := exact.NewSource(random)
	d := draw(source)
	return d, source.Err()
}

// scratches keeps a mechanism's working memory for later draws, because most draws need memory of the same kind and
// size. The zero value is ready for use; it is safe for concurrent use.
type scratches struct{ pool sync.Pool }

// take returns working memory that gets its random bits from a reader.
func (d *scratches) take(random io.Reader) *scratch {
	k, ok := d.pool.Get().(*scratch)
	if !ok {
		k = &scratch{}
	}
	k.source.Reset(random)
	return k
}

// put takes working memory back, and lets go of the reader and of the sample.
func (d *scratches) put(k *scratch) {
	k.source.Reset(nil)
	k.survey.levels, k.survey.walk, k.survey.thinned, k.survey.unseen = nil, nil, nil, nil
	k.spread.sample = nil
	clear(k.spread.placed)
	d.pool.Put(k)
}
