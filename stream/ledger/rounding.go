package ledger

import (
	"math"

	"github.com/shopspring/decimal"
)

// Error turns an error into a figure with at least four significant digits, rounded up. Whole numbers stay exact. It is
// nil for NaN and infinities.
func Error(size float64) *decimal.Decimal {
	return figure(size, func(d decimal.Decimal) decimal.Decimal {
		return d.RoundCeil(max(0, 4-int32(d.NumDigits())-d.Exponent()))
	})
}

// RankError turns an error in ranks into a figure, rounded up to one decimal. It is nil for NaN and infinities.
func RankError(ranks float64) *decimal.Decimal {
	return figure(ranks, func(d decimal.Decimal) decimal.Decimal { return d.RoundCeil(1) })
}

// percentilePlaces is how many decimals p_low and p_high have: enough for p = 0.9999.
const percentilePlaces = 6

// PercentileLow turns a lower bound in [0, 1] into a figure, rounded down; nil for NaN and infinities.
func PercentileLow(p float64) *decimal.Decimal {
	return figure(p, func(d decimal.Decimal) decimal.Decimal { return d.RoundFloor(percentilePlaces) })
}

// PercentileHigh turns an upper bound in [0, 1] into a figure, rounded up; nil for NaN and infinities.
func PercentileHigh(p float64) *decimal.Decimal {
	return figure(p, func(d decimal.Decimal) decimal.Decimal { return d.RoundCeil(percentilePlaces) })
}

func figure(f float64, round func(decimal.Decimal) decimal.Decimal) *decimal.Decimal {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil
	}
	d := round(decimal.NewFromFloat(f))
	return &d
}
