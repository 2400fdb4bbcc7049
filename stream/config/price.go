package config

import (
	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/mechanisms"
)

// Price is what a window costs a user: every release as often as one user may be in a group.
func (s *Stream) Price() []budget.Item {
	items := make([]budget.Item, len(s.Releases))
	for i, r := range s.Releases {
		items[i] = budget.Item{Cost: Cost(r.Mechanism.Promise()), Times: int64(s.MaxGroups)}
	}
	return items
}

// Cost is a mechanism's promise as the books know it.
func Cost(p mechanisms.Promise) budget.Cost {
	c := budget.Cost{Kind: budget.Pure, Epsilon: p.Epsilon, Delta: p.Delta}
	// Twelve decimals, rounded up: ρ came as a float64 that was rounded up already.
	rho := decimal.NewFromFloat(p.Rho).RoundCeil(12)
	switch {
	case p.Delta.IsPositive():
		c.Kind = budget.Approximate
	case p.BoundedRange:
		c.Kind = budget.BoundedRange
	case p.Concentrated:
		c.Kind, c.Rho = budget.ZCDP, rho
	case rho.LessThan(p.Epsilon.Mul(p.Epsilon).Mul(decimal.New(5, -1))): // a mechanism of several pieces
		c.Rho = rho
	}
	return c
}
