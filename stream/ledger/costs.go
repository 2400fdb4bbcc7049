package ledger

import (
	"slices"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/budget/privacy"
)

// The versions of entries. Every release of Louver reads all of them.
//
// Version 3 is version 2 with what watches did. An earlier reader would miss their charges. Version 4 is version 3 with
// releases on change. An earlier reader would take them for alarms, and miss what their first values cost.
//
// In version 2 a cost always states its ρ. In version 1 it states ρ only if that is not [impliedRho]. If both versions
// would say the same, the entry is written in version 1. Then processes of an earlier release can read it too, and run
// alongside this one during an upgrade. A change that an earlier reader would misread needs a new version; a new
// optional field does not.
const (
	oldest  = 1
	stated  = 2
	watched = 3
	changed = 4
	newest  = changed
)

// impliedRho is the ρ of a cost in version 1 that does not state one. It is 0 if the cost must state its ρ, or has
// none.
func impliedRho(p privacy.Promise) decimal.Decimal {
	switch p.Kind {
	case privacy.Pure:
		return p.Epsilon.Mul(p.Epsilon).Mul(decimal.New(5, -1))
	case privacy.BoundedRange:
		return privacy.NewBoundedRange(p.Epsilon).Rho
	}
	return decimal.Decimal{}
}

// watchVersion is the version that the entry's watches need, or 0 if there are none.
func (e Entry) watchVersion() int {
	switch {
	case e.OnChange():
		return changed
	case len(e.Watches)+len(e.Ended) > 0:
		return watched
	}
	return 0
}

// storedCosts returns the costs as they are written, and in which version: at least that which the entry's watches need.
func storedCosts(items []budget.Item, least int) (written []budget.Item, version int) {
	if least != 0 {
		return items, least
	}
	written = slices.Clone(items)
	for i, item := range items {
		switch {
		case item.Rho.Equal(impliedRho(item.Promise)):
			written[i].Rho = decimal.Decimal{}
		case item.Kind == privacy.BoundedRange: // it has no ρ of its own in version 1
			return items, stated
		}
	}
	return written, oldest
}

// readCosts returns the costs in an entry.
func readCosts(stored []budget.Item, version int) []budget.Item {
	items := slices.Clone(stored)
	for i, item := range items {
		if version == oldest && item.Rho.IsZero() {
			items[i].Rho = impliedRho(item.Promise)
		}
	}
	return items
}
