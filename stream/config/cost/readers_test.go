package cost

import (
	"testing"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget"
)

// A reader gets four digits of a bound, never less than the bound, and no digit before the point is lost.
func TestLossForReaders(t *testing.T) {
	for exact, want := range map[string]string{"345.708763": "345.8", "0.1512345": "0.1513", "3662.1": "3663", "12": "12",
		"0": "0", "0.05": "0.05", "0.0000123456": "0.00001235", "123456": "123456", "99.999": "100", "0.15": "0.15"} {
		l := Loss{Spending: budget.Spending{Epsilon: decimal.RequireFromString(exact)},
			Sum: new(decimal.RequireFromString(exact))}
		got := l.ForReaders()
		if got.Epsilon.String() != want || got.Sum.String() != want || got.Epsilon.LessThan(l.Epsilon) {
			t.Errorf("%s: %s and %s; want %s", exact, got.Epsilon, got.Sum, want)
		}
		if l.Sum.String() != exact {
			t.Errorf("the loss itself has changed from %s to %s", exact, l.Sum)
		}
	}
}
