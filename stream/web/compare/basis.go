package compare

import (
	"math"
	"slices"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/outputs"
	"github.com/louver/louver/stream/record"
)

// The fields of a record that a probability is computed from.
const (
	byUsual    = "usual_95" // noise and usual variation, as the last values of a median or quantile show them
	byError    = "error_95" // the law of the noise
	byInterval = "interval" // an interval of some level
	byFigures  = "figures"  // no field, but how far the figures of two ranges lie apart
)

// finding is what public figures say of a difference.
type finding struct {
	basis string // "": nothing public tells
	p     float64
	// cut says that the noise does not explain the difference, and that values were cut to different intervals, which
	// may.
	cut bool
}

// missesOfCuts is the probability with which the bound on what cuts did to a difference may fail.
const missesOfCuts = 0.01

// find says how often a difference of d arises if nothing has changed: between two figures, or between the middles of
// two ranges of figures. All have values. The first of these that all have counts:
//
//   - usual_95, of medians and quantiles. Of a range its median counts, and of both sides the larger one. Nothing is
//     gained by many windows, because their figures depend on each other;
//   - interval, of a quantile: a paid one, or that of a figure from a histogram. If both intervals hold the truth and
//     it is the same, they meet. The level leaves a probability that an interval does not hold it, and so those of two
//     windows are apart with the sum of these at most. Nothing is said of those that meet. Of longer ranges, the usual
//     variation is how far their own figures lie apart, and nothing is said if most intervals meet;
//   - error_95: the law of a count's noise is known from its mechanism and its ε. That of means and sums is Laplace, or
//     normal for clipped_gaussian. If values were cut to different intervals, that may explain the difference too.
func find(a, b []outputs.Record, d float64) finding {
	if x, y := usualOf(a), usualOf(b); x > 0 && y > 0 {
		return finding{basis: byUsual, p: mechanisms.Apart(d, max(x, y))}
	}
	if isQuantile(a[0]) {
		return byIntervals(a, b, d)
	}
	x, okX := noises(a)
	y, okY := noises(b)
	if !okX || !okY {
		return finding{}
	}
	byNoise, ok := chanceOfAny(x, y, d)
	if !ok || byNoise >= rare {
		return finding{basis: byError, p: byNoise}.known(ok)
	}
	moved, ok := movedByCuts(slices.Concat(a, b), len(a), missesOfCuts)
	if !ok || moved >= d {
		return finding{cut: true}
	}
	if moved > 0 {
		byNoise, _ = chanceOfAny(x, y, d-moved)
		byNoise += missesOfCuts
	}
	return finding{basis: byError, p: byNoise, cut: byNoise >= rare}.known(byNoise < rare)
}

// known returns the finding, or one without a probability.
func (f finding) known(known bool) finding {
	if !known {
		return finding{cut: f.cut}
	}
	return f
}

// isQuantile reports whether a figure is a median or a quantile.
func isQuantile(r outputs.Record) bool {
	s := mechanisms.Statistic(r.Statistic)
	return s == mechanisms.Median || s == mechanisms.Quantile
}

// usualOf returns the middle usual difference of some figures, or 0 if not all have one.
func usualOf(records []outputs.Record) float64 {
	all := make([]float64, len(records))
	for i, r := range records {
		if r.BandFields == nil || r.Basis != record.OfScatter || r.Usual95 == nil {
			return 0
		}
		all[i] = float(*r.Usual95)
	}
	return median(all)
}

// byIntervals compares quantiles that have intervals.
func byIntervals(a, b []outputs.Record, d float64) finding {
	x, okX := middleInterval(a)
	y, okY := middleInterval(b)
	single := len(a) == 1 && len(b) == 1
	if !okX || !okY || x.high >= y.low && y.high >= x.low || !single && min(len(a), len(b)) < leastBefore {
		return finding{}
	}
	if single {
		return finding{basis: byInterval, p: min(1, 2-float(a[0].Interval.Level)-float(b[0].Interval.Level))}
	}
	v := variationOf(append(neighbours(a), neighbours(b)...))
	return finding{basis: byFigures, p: v.apart(d)}
}

// middleInterval returns the middle of the ends of some intervals. ok is false if a figure has none.
func middleInterval(records []outputs.Record) (of struct{ low, high float64 }, ok bool) {
	var lows, highs []float64
	for _, r := range records {
		if r.Interval == nil {
			return of, false
		}
		lows, highs = append(lows, float(r.Interval.Low)), append(highs, float(r.Interval.High))
	}
	of.low, of.high = median(lows), median(highs)
	return of, true
}

// neighbours returns how far each figure of a range is from the one before it.
func neighbours(records []outputs.Record) (far []float64) {
	for i := range records[1:] {
		far = append(far, math.Abs(float(*records[i+1].Value)-float(*records[i].Value)))
	}
	return far
}

// noises returns the laws of the noise of some figures. ok is false if not all are known.
func noises(records []outputs.Record) (all []noise, ok bool) {
	for _, r := range records {
		if r.Error95 == nil {
			return nil, false
		}
		all = append(all, noiseOf(r))
	}
	return all, true
}

// noiseOf returns the law of the noise of a figure that has an error_95. A figure from a histogram has several noises,
// and so have a running total and a number of active users, some of which are normal. Two values of one instance share
// noise, always with the same sign, so they differ less than two of independent noise. The last digit of a value is
// rounded, so no reach is below it.
func noiseOf(r outputs.Record) noise {
	reach := max(float(*r.Error95), math.Pow(10, float64(numberOf(*r.Value).Exponent())))
	switch {
	case r.From != "", r.Held():
		return ofReach(mixed, reach)
	case r.Mechanism == "geometric":
		return noise{geometric, 1 / float(r.Epsilon)}
	case r.Mechanism == "gaussian":
		return noise{gaussian, 1 / float(r.Epsilon)}
	case r.Mechanism == clippedGaussian:
		return ofReach(normal, reach)
	}
	return ofReach(laplace, reach)
}

// clippedGaussian is the mechanism whose noise is normal.
const clippedGaussian = "clipped_gaussian"

// cut says to which interval the values of a window were cut, and what is public of the users outside it.
type cut struct {
	low, high float64
	sum       bool // of values, and not their mean
	// outside is the noisy number of users outside, and users that of all users of a mean. off and missed are the laws
	// of their noise.
	outside, users float64
	off, missed    noise
}

// cutOf returns the cut of a figure. tells is false if its record does not say enough about the users outside to bound
// how far the cut has moved the value: it is none of a mean or sum, it is one of an earlier release, or nobody counted
// all users.
//
// A record does not say with which ε its users were counted. A count that is good enough for clipped has at least a
// sixteenth of the ε of its release.
func cutOf(r outputs.Record) (c cut, tells bool) {
	if r.Clip == nil {
		return cut{}, false
	}
	c = cut{low: float(r.Clip[0]), high: float(r.Clip[1]), sum: r.Statistic == "sum"}
	if r.Outside == nil || r.Cut95 == nil || !c.sum && r.Users == nil {
		return c, false
	}
	l := laplace
	if r.Mechanism == clippedGaussian {
		l = normal
	}
	const leastShare = 16
	c.outside, c.off = float64(r.Outside.Value), ofReach(l, float64(r.Outside.Error95))
	c.missed = noise{l, leastShare / float(r.Epsilon)}
	if r.Users != nil {
		c.users = float64(*r.Users)
	}
	return c, true
}

// moved bounds how far the value may be from what the same data give in a wider interval. The bound on the number of
// users outside fails with probability miss, that on all users of a mean with 5 %, as for cut_95.
//
// Let K bound the number of users outside. Each of them is moved by at most the distance between the ends of both
// intervals. Besides, a user outside has only three quarters of the weight of a user at the end, and as many quarters
// are added back as the law expects. With W for the width, or the largest value of a sum, that is off by W/4 for each
// of K users at most: K is never below 1/ε_t, what is added back, since the reach of the count's noise is not. For a
// mean, all of this is divided by the number of users.
func (c cut) moved(wider cut, miss float64) float64 {
	by, width, users := max(c.low-wider.low, wider.high-c.high), c.high-c.low, 1.0
	if c.sum {
		width = max(math.Abs(c.low), math.Abs(c.high))
	} else if users = c.users - c.missed.beyond(1-level); users <= 0 {
		return math.Inf(1)
	}
	return (max(c.outside, 0) + c.off.beyond(miss)) * (by + width/4) / users
}

// movedByCuts bounds how far cuts alone may have moved the difference of the means of two ranges of figures, of which
// the first has so many. It is 0 if all values were cut to the same interval. ok is false if nothing public bounds it.
// The bound fails with probability miss at most.
func movedByCuts(all []outputs.Record, first int, miss float64) (moved float64, ok bool) {
	cuts := make([]cut, len(all))
	equal, tell := true, true
	wider := cut{low: math.Inf(1), high: math.Inf(-1)}
	for i, r := range all {
		c, tells := cutOf(r)
		cuts[i], tell = c, tell && tells
		equal = equal && (r.Clip == nil) == (all[0].Clip == nil) && c.low == cuts[0].low && c.high == cuts[0].high
		wider.low, wider.high = min(wider.low, c.low), max(wider.high, c.high)
	}
	if equal || !tell {
		return 0, equal
	}
	for i, c := range cuts {
		side := first
		if i >= first {
			side = len(all) - first
		}
		moved += c.moved(wider, miss/float64(len(all))) / float64(side)
	}
	return moved, true
}
