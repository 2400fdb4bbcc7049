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

// noiseOf returns the law of the noise of a figure that has an error_95. A figure from a histogram has several noises.
// The last digit of a value is rounded, so no reach is below it.
func noiseOf(r outputs.Record) noise {
	reach := max(float(*r.Error95), math.Pow(10, float64(numberOf(*r.Value).Exponent())))
	switch {
	case r.From != "":
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
