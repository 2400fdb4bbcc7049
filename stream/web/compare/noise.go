package compare

import (
	"encoding/json"
	"math"

	"github.com/louver/louver/stream/outputs"
)

// byNoise returns the chance of a difference of d. It uses the first of these that both records have:
//
//   - interval, which was paid for: an interval of that level around the value;
//   - error_95: the law of a count's noise is known from its mechanism and its ε. That of means and sums is Laplace, or
//     normal for clipped_gaussian, and error_95 bounds it. It does not cover what was cut away, which may differ
//     between windows;
//   - smoothed: the free 90 % band of a quantile, from this and earlier releases.
//
// The two sides of an interval or band may differ in length. If both values have the same truth, only the sides that
// face each other matter. Their tails are exponential or lighter, like those of the exponential mechanism.
func byNoise(a, b outputs.Record, d float64) (basis string, p float64, ok bool) {
	up := numberOf(*b.Value).GreaterThan(numberOf(*a.Value))
	if a.Interval != nil && b.Interval != nil {
		x := facing(a, a.Interval.Low, a.Interval.High, up, numberOf(a.Interval.Level).InexactFloat64())
		y := facing(b, b.Interval.Low, b.Interval.High, !up, numberOf(b.Interval.Level).InexactFloat64())
		p, ok = chance(x, y, d)
		return "interval", p, ok
	}
	if a.Error95 != nil && b.Error95 != nil {
		p, ok = chance(errorOf(a), errorOf(b), d)
		return "error_95", p, ok
	}
	if s, t := a.Smoothed, b.Smoothed; s != nil && t != nil && s.Low != nil && s.High != nil && t.Low != nil &&
		t.High != nil {
		p, ok = chance(facing(a, *s.Low, *s.High, up, 0.9), facing(b, *t.Low, *t.High, !up, 0.9), d)
		return "smoothed", p, ok
	}
	return "", 0, false
}

// errorOf returns the law of a value's noise.
func errorOf(r outputs.Record) noise {
	reach := numberOf(*r.Error95).InexactFloat64()
	switch r.Mechanism {
	case "geometric":
		return noise{geometric, 1 / numberOf(r.Epsilon).InexactFloat64()}
	case "gaussian":
		return noise{gaussian, 1 / numberOf(r.Epsilon).InexactFloat64()}
	case "clipped_gaussian":
		return ofReach(normal, atLeast(reach, r), 0.95)
	}
	return ofReach(laplace, atLeast(reach, r), 0.95)
}

// facing returns the law of the error on one side of a value.
func facing(r outputs.Record, low, high json.Number, up bool, level float64) noise {
	reach := numberOf(*r.Value).Sub(numberOf(low))
	if up {
		reach = numberOf(high).Sub(numberOf(*r.Value))
	}
	return ofReach(laplace, atLeast(reach.InexactFloat64(), r), level)
}

// atLeast makes a reach positive, because a value at the very end of its band may still be off by its last digit.
func atLeast(reach float64, r outputs.Record) float64 {
	return max(reach, math.Pow(10, float64(numberOf(*r.Value).Exponent())))
}

// byNoiseOfMeans returns the chance that the means of two ranges differ by d if the means of the truth are the same,
// from the first basis of [byNoise] that all records have. Each window has a draw of its own, so the errors are
// independent, even where windows overlap. An interval or band counts with the longer of its sides. Counts are cut at
// 0. If many are, a range of small counts seems a little larger than it is.
func byNoiseOfMeans(a, b []outputs.Record, d float64) (basis string, p float64, ok bool) {
	for _, by := range bases {
		x, inA := all(a, by.noise)
		y, inB := all(b, by.noise)
		if inA && inB {
			return by.name, chanceOfMeans(x, y, d), true
		}
	}
	return "", 0, false
}

// bases are the fields of a record that tell the law of its error, in the order of [byNoise].
var bases = [...]struct {
	name  string
	noise func(outputs.Record) (noise, bool)
}{
	{"interval", func(r outputs.Record) (noise, bool) {
		if r.Interval == nil {
			return noise{}, false
		}
		return wider(r, r.Interval.Low, r.Interval.High, numberOf(r.Interval.Level).InexactFloat64()), true
	}},
	{"error_95", func(r outputs.Record) (noise, bool) {
		if r.Error95 == nil {
			return noise{}, false
		}
		return errorOf(r), true
	}},
	{"smoothed", func(r outputs.Record) (noise, bool) {
		if s := r.Smoothed; s != nil && s.Low != nil && s.High != nil {
			return wider(r, *s.Low, *s.High, 0.9), true
		}
		return noise{}, false
	}},
}

func all(records []outputs.Record, of func(outputs.Record) (noise, bool)) (laws []noise, ok bool) {
	for _, r := range records {
		law, ok := of(r)
		if !ok {
			return nil, false
		}
		laws = append(laws, law)
	}
	return laws, true
}

// wider returns the law of the error on the longer side of a value.
func wider(r outputs.Record, low, high json.Number, level float64) noise {
	x, y := facing(r, low, high, false, level), facing(r, low, high, true, level)
	if x.scale > y.scale {
		return x
	}
	return y
}
