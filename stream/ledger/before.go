package ledger

import (
	"maps"
	"slices"

	"github.com/shopspring/decimal"
)

// Before is what other budgets had paid for a stream before its present one did, by name. nil is an ε without bound.
type Before map[string]*decimal.Decimal

// Without leaves out budgets. It returns nil if none is left.
func (b Before) Without(names []string) Before {
	left := maps.Clone(b)
	maps.DeleteFunc(left, func(name string, _ *decimal.Decimal) bool { return slices.Contains(names, name) })
	if len(left) == 0 {
		return nil
	}
	return left
}
