package cli

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/shopspring/decimal"

	"github.com/louver/louver/stream/outputs"
	"github.com/louver/louver/stream/record"
)

// Value writes a figure's value with the digits that its error allows, as the page does, and its unit.
func Value(r outputs.Record) string {
	if r.Value == nil {
		return ""
	}
	value, err := r.Value.Float64()
	if err != nil {
		return WithUnit(r.Value.String(), r.Unit)
	}
	band, ok := bandOf(r)
	switch {
	case !ok || r.Held():
		return WithUnit(Rounded(value, 0), r.Unit)
	case band.Of == record.OfNoise:
		return WithUnit(Rounded(value, band.High-value), r.Unit) // the lower end may be cut at 0
	}
	return WithUnit(within(value, band, value), r.Unit)
}

// within writes a value or an end of its band with the digits that the band allows, but no more than these numbers have
// behind the point.
func within(x float64, band record.Band, value float64) string {
	off := (band.High - band.Low) / 2
	if off <= 0 {
		return Rounded(x, 0)
	}
	digits := 0
	for _, number := range []float64{value, band.Low, band.High} {
		_, behind, _ := strings.Cut(strconv.FormatFloat(number, 'f', -1, 64), ".")
		digits = max(digits, len(behind))
	}
	return places(x, max(placeOf(off), -digits))
}

// Bound writes what is known about the value's error: in its unit where anything public gives that, as the page does,
// else as percentiles. It is empty if nothing is known.
func Bound(r outputs.Record) string {
	band, ok := bandOf(r)
	switch {
	case r.Value == nil:
		return ""
	case ok && band.Of == record.OfNoise:
		off, _ := r.Error95.Float64() // the band says that it is a number
		return "± " + roundedUp(off)
	case ok:
		value, _ := r.Value.Float64() // the band says that it is a number
		return within(band.Low, band, value) + "–" + within(band.High, band, value)
	case r.PLow != nil && r.PHigh != nil:
		return fmt.Sprintf("p%s–p%s", percent(*r.PLow, 1), percent(*r.PHigh, 1))
	case r.RankError95 != nil:
		return WithUnit(r.RankError95.String(), "users") + " above or below"
	}
	return ""
}

// BoundInWords is Bound as the page writes it: a band in brackets, percentiles in words, and beside values that were
// cut that the error is that of the noise alone.
func BoundInWords(r outputs.Record) string {
	band, ok := r.Band()
	switch {
	case r.Value == nil:
	case ok && band.Of != record.OfNoise:
		return "(" + Bound(r) + ")"
	case ok && r.Clip != nil:
		return "noise " + Bound(r)
	case ok:
	case r.PLow != nil && r.PHigh != nil:
		return ordinal(*r.PLow) + "–" + ordinal(*r.PHigh) + " percentile"
	}
	return Bound(r)
}

// bandOf returns the figure's band, widened to hold the value, as on the page.
func bandOf(r outputs.Record) (record.Band, bool) {
	band, ok := r.Band()
	if ok && band.Of == record.OfSmoothed {
		if value, err := r.Value.Float64(); err == nil {
			band.Low, band.High = min(band.Low, value), max(band.High, value)
		}
	}
	return band, ok
}

// placeOf is the place of the last digit that an error of that size allows: 1 for tens, 0 for units, −1 for tenths. One
// digit of the error is shown, two if it begins with 1 or 2.
func placeOf(off float64) int {
	place := int(math.Floor(math.Log10(off) + 1e-9))
	if off/math.Pow10(place) < 3-1e-9 {
		place--
	}
	return place
}

// Rounded writes a value with the digits that its error allows. Without a known error, off is 0: it then has four
// digits, or those before the point.
func Rounded(value, off float64) string {
	switch {
	case off > 0:
		return places(value, placeOf(off))
	case value == 0:
		return "0"
	case math.Abs(value) >= 1000:
		return places(value, 0)
	}
	text := places(value, int(math.Floor(math.Log10(math.Abs(value))))-3)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}

// roundedUp writes an error, rounded up.
func roundedUp(off float64) string {
	if off <= 0 {
		return "0"
	}
	place := placeOf(off)
	unit := math.Pow10(place)
	return places(math.Ceil(off/unit-1e-9)*unit, place)
}

// places writes a value down to a place, and no further than the twelfth digit behind the point.
func places(value float64, place int) string {
	if place > 0 {
		unit := math.Pow10(place)
		value = math.Round(value/unit) * unit
	}
	text := strconv.FormatFloat(value, 'f', min(12, max(0, -place)), 64)
	if strings.Trim(text, "-0.") == "" {
		text = strings.TrimPrefix(text, "-")
	}
	return text
}

// percent writes a probability in percent, with at most that many digits after the point.
func percent(p json.Number, digits int32) string {
	d, err := decimal.NewFromString(p.String())
	if err != nil {
		return p.String()
	}
	return d.Shift(2).Round(digits).String()
}

// ordinal writes a probability as the place of a percentile, such as 42nd, and in the tails with one digit more:
// 99.5th.
func ordinal(p json.Number) string {
	digits := int32(0)
	if x, err := p.Float64(); err == nil && (x < 0.1 || x > 0.9) {
		digits = 1
	}
	number := percent(p, digits)
	n, err := strconv.Atoi(number)
	if err != nil { // 99.5
		return number + "th"
	}
	return humanize.Ordinal(n)
}
