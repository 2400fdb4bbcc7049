package mechanisms

import (
	"math"
	"math/big"

	"github.com/shopspring/decimal"
)

// Bound says how far a value may be from the truth, from public figures alone. Each figure holds with probability 95 %.
// NaN means that it is not known.
type Bound struct {
	// RankError95 bounds the distance from the true quantile, in ranks.
	RankError95 float64
	// Error95 bounds the noise: in users for counts, else in the unit of the grid. It says nothing about values that
	// were cut. If [Mechanism.Errors] says +Inf, each draw comes with a bound of its own.
	Error95 float64
	// PLow and PHigh are the percentiles between which the value lies, known only with a noisy count.
	PLow, PHigh float64
	// paid says that an interval was paid for, and half is half its width in steps of the grid.
	paid bool
	half float64
	// outside says how many users are outside the interval to which a mechanism cut values. It is nil for other
	// mechanisms, and if it does not tell how good the value is.
	outside *Outsiders
	// stopped says that the value ends at the largest number there is, and that the noise went further.
	stopped bool
}

// Stopped reports whether the noise went beyond the largest number there is, so that the value is that number.
func (b Bound) Stopped() bool { return b.stopped }

// unbounded is the bound of a value about which nothing is known.
func unbounded() Bound {
	nan := math.NaN()
	return Bound{RankError95: nan, Error95: nan, PLow: nan, PHigh: nan}
}

// noiseBound bounds the noise and nothing else.
func noiseBound(error95 float64) Bound {
	b := unbounded()
	b.Error95 = error95
	return b
}

// single returns the values of a draw that has only one.
func single(number int64, b Bound) []Value { return []Value{{Number: number, Bound: b}} }

// numbered gives each number its bound.
func numbered(numbers []int64, bounds []Bound) []Value {
	values := make([]Value, len(numbers))
	for i, b := range bounds {
		values[i] = Value{Number: numbers[i], Bound: b}
	}
	return values
}

// cutOff returns the value of a draw that has only one, which is cut off where it is impossible: below least and above
// most. Sums of values that were cut would be too large, because noise of one sign would be gone. So Raw keeps the
// noise of both.
func cutOff(drawn *big.Int, least, most int64, b Bound) []Value {
	raw := cut(drawn, -mostNumber, mostNumber)
	return []Value{{Number: min(max(raw, least), most), Raw: &raw, Bound: b}}
}

// Value is one value of a draw: a whole number on the scale of [Query.Scale], and how far it may be off.
type Value struct {
	Number int64
	// Raw is the number before impossible ones were cut off, as numbers of users below 0 are. Its noise has a mean of 0,
	// so it may be added up. It is nil where nothing is cut off.
	Raw *int64
	Bound
}

// Limits returns the least and the largest value that the exact statistic can have. nil means that there is no such
// limit.
func (q Query) Limits() (least, most *decimal.Decimal) {
	switch f := q.Statistic.Family(); {
	case f == OfUsers, q.Statistic == Variance, q.Statistic == StdDev:
		return &decimal.Zero, nil
	case q.Statistic == Sum:
		if !q.Grid.lower.IsNegative() {
			least = &decimal.Zero
		}
		if !q.Grid.upper.IsPositive() {
			most = &decimal.Zero
		}
		return least, most
	}
	return &q.Grid.lower, &q.Grid.upper
}
