package compare

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/stream/outputs"
	"github.com/louver/louver/stream/record"
)

// numberOf reads a number of a record. Decoding has checked that it is one.
func numberOf(n json.Number) decimal.Decimal {
	d, err := decimal.NewFromString(n.String())
	if err != nil {
		return decimal.Decimal{}
	}
	return d
}

// float is numberOf as a float64.
func float(n json.Number) float64 { return numberOf(n).InexactFloat64() }

func exactly(d decimal.Decimal) json.Number { return json.Number(d.String()) }

// changed writes two values of figures like one, and their unit. A share is in percent, as on the page.
func changed(like outputs.Record, x, y decimal.Decimal, off float64) string {
	shift := shiftOf(like)
	return strings.TrimSpace(both(x.Shift(shift), y.Shift(shift), off*math.Pow10(int(shift))) + " " +
		like.InPercent().Unit)
}

// shiftOf is by how many places the point of a figure's values moves in a sentence.
func shiftOf(r outputs.Record) int32 {
	if r.InPercent().Unit != r.Unit {
		return 2
	}
	return 0
}

// both writes two numbers with equally many digits, as many as their error allows, as the page does: see
// [record.PlaceOf]. Numbers that differ also look different. off is 0 if no error is known.
func both(x, y decimal.Decimal, off float64) string {
	finest := max(0, -x.Exponent(), -y.Exponent())
	places := finest
	if off > 0 {
		places = min(finest, -int32(record.PlaceOf(off))) //nolint:gosec // a float has at most 308 places
	}
	for places < finest && x.Round(places).Equal(y.Round(places)) && !x.Equal(y) {
		places++
	}
	return grouped(x.StringFixed(places)) + " → " + grouped(y.StringFixed(places))
}

// grouped writes a number as the page does: with a comma at each thousand and a typographic minus.
func grouped(number string) string { return strings.Replace(record.Grouped(number), "-", "−", 1) }

// off is how far a figure may be from the truth, on either side; 0 if nothing public says it.
func off(r outputs.Record) float64 {
	band, _ := r.Band()
	return (band.High - band.Low) / 2
}

func clock(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func several(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
