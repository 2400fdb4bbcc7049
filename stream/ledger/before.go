package ledger

import (
	"maps"
	"slices"

	"github.com/shopspring/decimal"
)

// Before is what earlier budgets of a stream had paid for it, by name: budgets whose spending the present one does not
// count. nil means that no ε bounds it.
type Before map[string]*decimal.Decimal

// Without returns a copy without some budgets, or nil if none is left.
func (b Before) Without(names []string) Before {
	left := maps.Clone(b)
	maps.DeleteFunc(left, func(name string, _ *decimal.Decimal) bool { return slices.Contains(names, name) })
	if len(left) == 0 {
		return nil
	}
	return left
}
