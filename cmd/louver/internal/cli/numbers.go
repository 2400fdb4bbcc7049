package cli

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/stream/outputs"
	"github.com/louver/louver/stream/record"
)

// Figure is a decimal that is a number in JSON, not a string.
type Figure struct{ decimal.Decimal }

// NewFigure makes a figure.
func NewFigure(d decimal.Decimal) Figure { return Figure{d} }

// MarshalJSON implements [json.Marshaler].
func (f Figure) MarshalJSON() ([]byte, error) { return json.Marshal(json.Number(f.String())) }

// Short writes a number with at least three significant digits and no exponent.
func Short(x float64) string {
	digits := max(0, 2-int(math.Floor(math.Log10(max(math.Abs(x), 1e-9)))))
	text := strconv.FormatFloat(x, 'f', digits, 64)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}

// Certainty writes a probability with enough digits to distinguish it from 100 %.
func Certainty(p float64) string {
	for digits := 1; digits <= 6; digits++ {
		if text := strconv.FormatFloat(100*p, 'f', digits, 64); !strings.HasPrefix(text, "100") {
			return text + " %"
		}
	}
	return "practically 100 %"
}

// Tenths writes a number with at most one digit after the point.
func Tenths(x float64) string { return strings.TrimSuffix(fmt.Sprintf("%.1f", x), ".0") }

// Bound writes what is known about the value's error: in its unit where anything public gives that, else as
// percentiles.
func Bound(r outputs.Record) string {
	band, ok := r.Band()
	switch {
	case r.Value == nil:
		return ""
	case ok && band.Of == record.OfNoise:
		return "± " + r.Error95.String()
	case ok:
		return rounded(band.Low, band) + "–" + rounded(band.High, band)
	case r.PLow != nil && r.PHigh != nil:
		return fmt.Sprintf("p%s–p%s", percent(*r.PLow), percent(*r.PHigh))
	case r.RankError95 != nil:
		return "± " + WithUnit(r.RankError95.String(), "ranks")
	}
	return ""
}

// rounded writes an end of a band with one digit more than its width has meaning.
func rounded(x float64, band record.Band) string {
	digits := 0
	if width := band.High - band.Low; width > 0 {
		digits = max(0, 1-int(math.Floor(math.Log10(width))))
	}
	return strconv.FormatFloat(x, 'f', min(digits, 12), 64)
}

// percent writes a probability in percent, as for percentiles.
func percent(p json.Number) string {
	d, err := decimal.NewFromString(p.String())
	if err != nil {
		return p.String()
	}
	return d.Shift(2).Round(1).String()
}
