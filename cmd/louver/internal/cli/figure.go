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

// Value writes a figure's value with the digits that its error allows, as the page does, and its unit. A share is in
// percent.
func Value(r outputs.Record) string {
	r = r.InPercent()
	if r.Value == nil {
		return ""
	}
	value, err := r.Value.Float64()
	if err != nil {
		return WithUnit(r.Value.String(), r.Unit)
	}
	band, ok := r.Band()
	switch {
	case !ok:
		return WithUnit(Rounded(value, 0), r.Unit)
	case band.Even(value):
		return WithUnit(Rounded(value, band.High-value), r.Unit)
	}
	return WithUnit(places(value, placeIn(band, value)), r.Unit)
}

// placeIn is the place of the last digit of a value and of the ends of its band: what the band allows, but no more than
// these numbers have behind the point.
func placeIn(band record.Band, value float64) int {
	digits := 0
	for _, number := range []float64{value, band.Low, band.High} {
		_, behind, _ := strings.Cut(strconv.FormatFloat(number, 'f', -1, 64), ".")
		digits = max(digits, len(behind))
	}
	if off := (band.High - band.Low) / 2; off > 0 {
		return max(record.PlaceOf(off), -digits)
	}
	return -digits
}

// Bound writes the band of a figure, as the page does, or else percentiles. It is empty if nothing is known.
func Bound(r outputs.Record) string {
	r = r.InPercent()
	band, ok := r.Band()
	switch {
	case r.Value == nil:
		return ""
	case ok:
		value, _ := r.Value.Float64() // the band says that it is a number
		return bandText(r, band, value)
	case r.PLow != nil && r.PHigh != nil:
		return fmt.Sprintf("p%s–p%s", percent(*r.PLow, 1), percent(*r.PHigh, 1))
	case r.RankError95 != nil:
		return WithUnit(record.Grouped(r.RankError95.String()), "users") + " above or below"
	}
	return ""
}

// bandText writes a band with the digits that it allows, its ends rounded outward.
func bandText(r outputs.Record, band record.Band, value float64) string {
	place := placeIn(band, value)
	low, high := outward(band.Low, place, math.Floor), outward(band.High, place, math.Ceil)
	switch {
	case r.AtMost():
		return "at most " + high
	case band.Even(value):
		return "± " + roundedUp(band.High-value)
	case band.Low < 0:
		return low + " to " + high
	}
	return low + "–" + high
}

// outward rounds an end of a band away from the value.
func outward(end float64, place int, round func(float64) float64) string {
	unit := math.Pow10(place)
	if nearest := math.Round(end / unit); math.Abs(end/unit-nearest) > 1e-9 {
		return places(round(end/unit)*unit, place)
	}
	return places(end, place)
}

// BoundInWords is Bound as the page writes it: a band in brackets, percentiles in words, and beside values that were
// cut how many users are outside.
func BoundInWords(r outputs.Record) string {
	bound := Bound(r)
	band, ok := r.Band()
	switch {
	case r.Value == nil:
		return ""
	case !ok && r.PLow != nil && r.PHigh != nil:
		return ordinal(*r.PLow) + "–" + ordinal(*r.PHigh) + " percentile"
	case !ok && r.Outside95 != nil:
		return outsideText(r)
	case !ok:
		return bound
	}
	if !strings.HasPrefix(bound, "± ") && !r.AtMost() {
		bound = "(" + bound + ")"
	}
	switch {
	case band.Of != record.OfClipped:
		return bound
	case r.Outside95 == nil:
		return "noise " + bound
	}
	return bound + "; " + outsideText(r)
}

// NoiseText is what stands in the place of a value that is only noise. Of a number of users that is how many there are
// at most.
func NoiseText(r outputs.Record) string {
	if r.AtMost() {
		return strings.TrimSpace(Bound(r) + " " + r.Unit)
	}
	return "too noisy to read"
}

// outsideText says how many users were outside what values were cut to: the most that is plausible, and of about how
// many. A share of the released number would be no bound, because that number is noisy too.
func outsideText(r outputs.Record) string {
	who := humanize.Comma(*r.Outside95) + " users are"
	switch {
	case r.Users != nil && *r.Users > *r.Outside95:
		who = fmt.Sprintf("%s of about %s users are", humanize.Comma(*r.Outside95), humanize.Comma(*r.Users))
	case *r.Outside95 == 1:
		who = "1 user is"
	}
	text := "at most " + who + " outside"
	if c := r.Clip; c != nil {
		text += " " + record.Grouped(c[0].String()) + "–" + record.Grouped(c[1].String())
	}
	return text
}

// Rounded writes a value with the digits that its error allows. Without a known error, off is 0: it then has four
// digits, or those before the point.
func Rounded(value, off float64) string {
	switch {
	case off > 0:
		return places(value, record.PlaceOf(off))
	case value == 0:
		return "0"
	case math.Abs(value) >= 1000:
		return places(value, 0)
	}
	text := places(value, int(math.Floor(math.Log10(math.Abs(value))))-3) // below 1,000
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
	place := record.PlaceOf(off)
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
	return record.Grouped(text)
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
