package config

import (
	"fmt"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget"
)

func (p *parser) sharedBudget(n node) {
	m, ok := n.mapping("name", "epsilon", "delta", "per")
	if !ok {
		return
	}
	b := &Budget{Shared: true, Where: n.where()}
	const want = "a name of the characters a–z, A–Z, 0–9, ., _ and -"
	if v, ok := m.require("name", want); ok {
		b.Name, _ = v.name(budgetName, want)
	}
	b.Limit = m.limit()
	p.unique(n, "budget", b.Name)
	p.shared = append(p.shared, b)
}

// limit reads a budget's figures.
func (m mapping) limit() (l budget.Limit) {
	const epsilonWant = "a number greater than 0: what a user may lose in a period"
	const perWant = "a duration, such as 24h, or forever"
	if v, ok := m.require("epsilon", epsilonWant); ok {
		l.Epsilon = v.positive(epsilonWant)
	}
	if v, ok := m.get("delta"); ok {
		const want = "a number of at least 0 and less than 1, such as 0.000001"
		if l.Delta, ok = v.number(want); ok && (l.Delta.Sign() < 0 || l.Delta.Cmp(decimal.NewFromInt(1)) >= 0) {
			v.refuse("%q; want %s", l.Delta, want)
		}
	}
	if v, ok := m.require("per", perWant); ok {
		if text, ok := v.text(perWant); ok && text != "forever" {
			l.Per = v.duration(time.Second, perWant)
		}
	}
	return l
}

// resolveBudget finds the budget that a stream names, or reads its own.
func (p *parser) resolveBudget(s *streamNode, f *File) {
	n, ok := s.keys["budget"]
	if !ok {
		return
	}
	if isMapping(n) {
		m, ok := n.mapping("epsilon", "delta", "per")
		if !ok || s.Name == "" {
			return
		}
		s.Budget = &Budget{Name: s.Name, Limit: m.limit(), Where: n.where()}
		p.unique(n, "budget", s.Name)
		f.Budgets = append(f.Budgets, s.Budget)
		return
	}
	name, ok := n.text("the name of a budget, or {epsilon: …, per: …}")
	if !ok {
		return
	}
	var names []string
	for _, b := range p.shared {
		if b.Name == name || b.Name == "" { // one without a name was refused, and may be this
			s.Budget = b
			return
		}
		names = append(names, b.Name)
	}
	switch near := nearest(name, names); {
	case near != "":
		n.refuse("%q is not one of the budgets; did you mean %q?", name, near)
	case len(names) > 0:
		n.refuse("%q is not one of the budgets; want %s", name, list(names, "or"))
	default:
		n.refuse("%q is not one of the budgets; want it listed under budgets, or {epsilon: …, per: …}", name)
	}
}

func plural(n int, noun string) string {
	if n == 1 {
		return fmt.Sprintf("%d %s", n, noun)
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
