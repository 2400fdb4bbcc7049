package record

import (
	"encoding/json"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/budget/privacy"
)

// LossFields are the fields of a record that say what one person can have lost, and what was charged for it. The fields
// that were there before say what counts against the limit of the budget, which can be far more: see
// [budget.Account.Lost].
type LossFields struct {
	// StreamLost is for all windows of the stream up to this one, and BudgetLost for the period of the budget that ends
	// with it. They are nil if no ε bounds that.
	StreamLost *json.Number `json:"stream_epsilon_lost"`
	BudgetLost *json.Number `json:"budget_epsilon_lost"`
	// WindowsUsed is how many of the stream's windows the budget has paid in that period, at this price.
	WindowsUsed int64 `json:"budget_windows_used"`
	// Charge is what one user was charged for the window, the instance or the period that the record is of. It is the
	// same in all records of that, and counts once.
	Charge []Charge `json:"charge"`
}

// Charge is an item of a charge, as in the ledger.
type Charge struct {
	Kind    privacy.Kind `json:"kind"`
	Epsilon json.Number  `json:"epsilon"`
	Delta   *json.Number `json:"delta,omitempty"`
	Rho     *json.Number `json:"rho,omitempty"`
	Times   int64        `json:"times"`
}

// Charged writes items as a record does, never as null.
func Charged(items []budget.Item) []Charge {
	number := func(d decimal.Decimal) *json.Number {
		if d.IsZero() {
			return nil
		}
		return new(json.Number(d.String()))
	}
	all := make([]Charge, len(items))
	for i, x := range items {
		all[i] = Charge{x.Kind, json.Number(x.Epsilon.String()), number(x.Delta), number(x.Rho), x.Times}
	}
	return all
}

// Items returns the items of a charge in canonical order. It fails if one is not a valid promise.
func Items(charge []Charge) ([]budget.Item, error) {
	var items []budget.Item
	for _, c := range charge {
		i := budget.Item{Promise: privacy.Promise{Kind: c.Kind}, Times: c.Times}
		for _, n := range []struct {
			from *json.Number
			to   *decimal.Decimal
		}{{&c.Epsilon, &i.Epsilon}, {c.Delta, &i.Delta}, {c.Rho, &i.Rho}} {
			if n.from == nil {
				continue
			}
			d, err := decimal.NewFromString(n.from.String())
			if err != nil {
				return nil, err
			}
			*n.to = d
		}
		items = append(items, i)
	}
	return budget.Canonical(items)
}
