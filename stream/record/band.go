package record

import (
	"encoding/json"
	"math"

	"github.com/louver/louver/mechanisms"
)

// Band is an interval in the value's unit that holds the truth, by public figures alone.
type Band struct {
	Low, High float64
	// Of says where it comes from.
	Of Source
}

// Source is where a band comes from.
type Source string

// The sources of bands, in the order in which they are preferred.
const (
	// OfInterval is the interval that was paid for, at its own level.
	OfInterval Source = "interval"
	// OfSmoothed is the estimate from this and earlier figures, at 90 %.
	OfSmoothed Source = "smoothed"
	// OfNoise is the value and its published error, at 95 %.
	OfNoise Source = "noise"
)

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

func between(low, high *json.Number, of Source) (Band, bool) {
	l, err := low.Float64()
	h, err2 := high.Float64()
	return Band{l, h, of}, err == nil && err2 == nil
}
