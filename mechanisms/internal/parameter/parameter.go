// Package parameter says which parameter of a query, watch or grid is wrong, and reads the numbers that they share.
package parameter

import (
	"fmt"
	"math/big"

	"github.com/shopspring/decimal"
)

// Error names a parameter that is wrong.
type Error struct {
	// Parameter is the name in streams files, for example "epsilon".
	Parameter string
	// Value is the given value, as text. Want describes valid values.
	Value, Want string
}

// Error implements error: "epsilon 0; want more than 0".
func (e *Error) Error() string { return fmt.Sprintf("%s %s; want %s", e.Parameter, e.Value, e.Want) }

// Wrong makes an [Error].
func Wrong(parameter string, value any, want string, args ...any) error {
	return &Error{Parameter: parameter, Value: fmt.Sprint(value), Want: fmt.Sprintf(want, args...)}
}

// Quoted puts a text into quotation marks.
func Quoted(text string) string { return `"` + text + `"` }

// Shown prints a decimal that may have an absurd exponent.
func Shown(d decimal.Decimal) string {
	if d.Exponent() > 100 || d.Exponent() < -200 {
		return fmt.Sprintf("%se%d", d.Coefficient(), d.Exponent())
	}
	return d.String()
}

// Epsilon returns an ε > 0 as num/den in lowest terms, each at most 10^18. The error is an [Error] about "epsilon".
func Epsilon(d decimal.Decimal) (num, den uint64, err error) {
	if d.Sign() <= 0 {
		return 0, 0, Wrong("epsilon", Shown(d), "a number greater than 0")
	}
	limit := big.NewInt(1e18)
	if d.Exponent() >= -200 && d.Exponent() <= 18 {
		r := d.Rat()
		if r.Num().Cmp(limit) <= 0 && r.Denom().Cmp(limit) <= 0 {
			return r.Num().Uint64(), r.Denom().Uint64(), nil
		}
	}
	return 0, 0, Wrong("epsilon", Shown(d), "at most 18 digits before and after the point together")
}

// Probability returns a number in (0, 1) as num/den in lowest terms, den ≤ 10^9. The error is an [Error] about "p".
func Probability(d decimal.Decimal) (num, den int64, err error) {
	if d.Sign() <= 0 || d.Cmp(decimal.NewFromInt(1)) >= 0 {
		return 0, 0, Wrong("p", Shown(d), "a number greater than 0 and less than 1")
	}
	if d.Exponent() >= -200 {
		if r := d.Rat(); r.Denom().Cmp(big.NewInt(1e9)) <= 0 {
			return r.Num().Int64(), r.Denom().Int64(), nil
		}
	}
	return 0, 0, Wrong("p", Shown(d), "at most 9 digits after the point")
}
