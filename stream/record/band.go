package record

import (
	"encoding/json"
	"math"

	"github.com/louver/louver/mechanisms"
)

// BandFields are the fields of a record that say between which values the exact figure of the window lies. Fields that
// say nothing are null. Records of earlier releases have none of them.
type BandFields struct {
	// Low and High are the ends of the band, in the value's unit, and Level the probability with which it holds the
	// exact figure.
	Low   *json.Number `json:"low"`
	High  *json.Number `json:"high"`
	Level *json.Number `json:"level"`
	Basis Basis        `json:"basis"`
	// Usual95 is by how much the values of two windows differ at most, in 95 % of the pairs between which nothing
	// changed but who came.
	Usual95 *json.Number `json:"usual_95"`
}

// Basis says what a band follows from; "" is written as null.
type Basis string

// The bases of bands.
const (
	// OfInterval is the interval that was paid for, at its own level.
	OfInterval Basis = "interval"
	// OfHistogram is the interval that follows from the histogram of the window.
	OfHistogram Basis = "histogram"
	// OfNoise is the published error of a known law of noise. OfClipped is the same without what was cut off.
	OfNoise   Basis = "noise"
	OfClipped Basis = "clipped"
	// OfScatter is how far the last values of the series lie apart. OfShape is what heavy-tailed values would give,
	// where the last values tell too little.
	OfScatter Basis = "scatter"
	OfShape   Basis = "shape"
	// OfRanks says that there is no band in the value's unit, and at most p_low and p_high.
	OfRanks Basis = "ranks"
	// OfSmoothed is the estimate from this and earlier figures, at 90 %.
	OfSmoothed Basis = "smoothed"
)

// MarshalJSON implements [json.Marshaler].
func (b Basis) MarshalJSON() ([]byte, error) { return nullable(string(b)) }

// Band is an interval in the value's unit that holds the truth, by public figures alone.
type Band struct {
	Low, High float64
	// Of says where it comes from.
	Of Basis
}

// Band returns the figure's band, or false if nothing public gives one in the value's unit. The public gauges, the
// command line and the page choose in this order. `louver rules` predicts the choice from the definition.
func (f Figure) Band() (Band, bool) {
	if f.Value == nil {
		return Band{}, false
	}
	switch {
	case f.Interval != nil:
		return between(&f.Interval.Low, &f.Interval.High, OfInterval)
	case f.Smoothed != nil && f.Smoothed.Low != nil && f.Smoothed.High != nil:
		return between(f.Smoothed.Low, f.Smoothed.High, OfSmoothed)
	case f.Error95 != nil:
		value, err := f.Value.Float64()
		off, err2 := f.Error95.Float64()
		low := value - off
		if mechanisms.Statistic(f.Statistic).Family() == mechanisms.OfUsers {
			low = math.Max(0, low) // a number of users is never negative
		}
		return Band{low, value + off, OfNoise}, err == nil && err2 == nil
	}
	return Band{}, false
}

func between(low, high *json.Number, of Basis) (Band, bool) {
	l, err := low.Float64()
	h, err2 := high.Float64()
	return Band{l, h, of}, err == nil && err2 == nil
}
