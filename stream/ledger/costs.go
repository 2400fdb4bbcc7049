package ledger

import (
	"slices"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/budget/privacy"
)

// The versions of entries. All of them are read for ever.
//
// A cost in version 2 says its ρ. In version 1 it says its ρ only where that is not [impliedRho]. An entry is written in
// version 1 if both say the same: a process of an earlier release then reads it too, and can work beside this one while
// an app is upgraded. A change that an earlier reader would misread needs another version; a new optional field does not.
const (
	oldest = 1
	newest = 2
)

// impliedRho is the ρ of a cost in version 1 that does not say one; 0 where it must say it, or has none.
func impliedRho(p privacy.Promise) decimal.Decimal {
	switch p.Kind {
	case privacy.Pure:
		return p.Epsilon.Mul(p.Epsilon).Mul(decimal.New(5, -1))
	case privacy.BoundedRange:
		return privacy.NewBoundedRange(p.Epsilon).Rho
	}
	return decimal.Decimal{}
}

// storedCosts returns the costs as they are written, and in which version.
func storedCosts(items []budget.Item) (stored []budget.Item, version int) {
	stored = slices.Clone(items)
	for i, item := range items {
		switch {
		case item.Rho.Equal(impliedRho(item.Promise)):
			stored[i].Rho = decimal.Decimal{}
		case item.Kind == privacy.BoundedRange: // it has no ρ of its own in version 1
			return items, newest
		}
	}
	return stored, oldest
}

// readCosts returns the costs that stand in an entry.
func readCosts(stored []budget.Item, version int) []budget.Item {
	items := slices.Clone(stored)
	for i, item := range items {
		if version == oldest && item.Rho.IsZero() {
			items[i].Rho = impliedRho(item.Promise)
		}
	}
	return items
}
