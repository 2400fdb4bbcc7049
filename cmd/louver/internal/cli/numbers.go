package cli

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/shopspring/decimal"
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
