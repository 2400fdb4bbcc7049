package record

import (
	"encoding/json"
	"math"
	"math/big"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/shopspring/decimal"

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

// Basis is a [mechanisms.Basis]: what a band follows from; "" is written as null.
type Basis string

// The bases of bands.
const (
	// OfInterval is the interval that was paid for, at its own level.
	OfInterval = Basis(mechanisms.BasisInterval)
	// OfHistogram is the interval that follows from the histogram of the window.
	OfHistogram = Basis(mechanisms.BasisHistogram)
	// OfNoise is the published error of a known law of noise. OfClipped is the same without what was cut off.
	OfNoise   = Basis(mechanisms.BasisNoise)
	OfClipped = Basis(mechanisms.BasisClipped)
	// OfScatter is how far the last values of the series lie apart. OfShape is what heavy-tailed values would give,
	// where the last values tell too little.
	OfScatter = Basis(mechanisms.BasisScatter)
	OfShape   = Basis(mechanisms.BasisShape)
	// OfRanks says that there is no band in the value's unit, and at most p_low and p_high.
	OfRanks = Basis(mechanisms.BasisRanks)
)

// MarshalJSON implements [json.Marshaler].
func (b Basis) MarshalJSON() ([]byte, error) { return nullable(string(b)) }

// Band is the band of a figure: the same on every surface.
type Band struct {
	// Low and High are its ends, in the value's unit, and Level its confidence, above 0 and below 1.
	Low, High, Level float64
	// Of says what it follows from.
	Of Basis
}

// Band returns the band that the record says, or false if it says none.
func (f Value) Band() (Band, bool) {
	if f.Value == nil || f.BandFields == nil || f.Low == nil || f.High == nil {
		return Band{}, false
	}
	low, err := f.Low.Float64()
	high, err2 := f.High.Float64()
	band := Band{Low: low, High: high, Of: f.Basis}
	if err == nil && err2 == nil && f.Level != nil {
		band.Level, err = f.Level.Float64()
	}
	return band, err == nil && err2 == nil
}

// InPercent returns a share as people read it: 17 % where the record has 0.17, with its band. Other figures stay as
// they are.
func (f Value) InPercent() Value {
	const percent = "%"
	if f.Statistic != string(mechanisms.Share) || f.Unit == percent {
		return f
	}
	f.Unit, f.Value = percent, hundredfold(f.Value)
	if f.BandFields != nil {
		band := *f.BandFields
		band.Low, band.High = hundredfold(band.Low), hundredfold(band.High)
		f.BandFields = &band
	}
	return f
}

func hundredfold(n *json.Number) *json.Number {
	if n == nil {
		return nil
	}
	d, err := decimal.NewFromString(n.String())
	if err != nil {
		return n // cannot happen: a published record has numbers
	}
	return new(json.Number(d.Shift(2).String()))
}

// Even reports whether the band goes as far below a value as above it, because the noise does.
func (b Band) Even(value float64) bool {
	above, below := b.High-value, value-b.Low
	return (b.Of == OfNoise || b.Of == OfClipped) && math.Abs(above-below) <= 1e-9*(above+below)
}

// AtMost reports whether the band says of a number of users only how many there are at most.
func (f Value) AtMost() bool {
	b, ok := f.Band()
	return ok && b.Low == 0 && mechanisms.Statistic(f.Statistic).Family() == mechanisms.OfUsers
}

// PlaceOf is the place of the last digit that an error of that size, greater than 0, allows: 1 for tens, 0 for units,
// −1 for tenths. One digit of the error is shown, two if it begins with 1 or 2.
func PlaceOf(off float64) int {
	place := int(math.Floor(math.Log10(off) + 1e-9))
	if off/math.Pow10(place) < 3-1e-9 {
		place--
	}
	return place
}

// Grouped writes a number as people read it: with a comma at each thousand. It takes a number that is written in
// decimal, and returns any other text unchanged.
func Grouped(number string) string {
	whole, behind, fraction := strings.Cut(number, ".")
	n, ok := new(big.Int).SetString(whole, 10)
	if !ok {
		return number
	}
	text := humanize.BigComma(n)
	if strings.HasPrefix(whole, "-") && n.Sign() == 0 {
		text = "-" + text
	}
	if fraction {
		text += "." + behind
	}
	return text
}
