package config

import (
	"slices"
	"time"

	"github.com/shopspring/decimal"
	"go.yaml.in/yaml/v3"

	"github.com/louver/louver/mechanisms"
)

// delta is a δ: the probability with which a promise may fail. It should be far below one over the number of users; at
// a tenth the promise would be worthless.
var delta = number(mechanisms.Span{Least: "0", Under: "0.1"})

// limitForm declares the keys of every budget; sharedForm adds the name of a shared one.
var limitForm = form{
	{name: "epsilon", required: true, example: "24", meaning: "what one user may lose in a period, in ε. A window that would cost more is withheld whole",
		value: into(number(mechanisms.Span{Over: "0"}), func(b *budgetNode, v decimal.Decimal) { b.Epsilon = v })},
	{name: "delta", fallback: "0", example: "0.000001", meaning: "the δ that goes with it. With one, many costs add up to less, and mechanisms may be used that need one. Their own δ may add up to a tenth of it",
		value: into(delta, func(b *budgetNode, v decimal.Decimal) { b.Delta = v })},
	{name: "per", required: true, example: "24h", meaning: "the rolling period: together, all windows that end within any stretch of this length cost a user no more than the limit. It is at least as long as a window. `forever`: the limit is for all windows together",
		value: into(orWord("forever", duration(time.Second), func(text string) (time.Duration, error) { return parseDuration(text, time.Second) }),
			func(b *budgetNode, v *time.Duration) {
				if v != nil {
					b.Per = *v
				}
			})},
}

var sharedForm = append(form{
	{name: "name", required: true, example: "shoppers", meaning: "the name that streams use for the budget",
		value: into(budgetName(), func(b *budgetNode, v string) { b.Name = v })},
}, limitForm...)

func budgetName() kind[string] {
	return name("name", "a name of 1–200 of the characters a–z, A–Z, 0–9, ., _ and -", `^[A-Za-z0-9._-]+$`, 200)
}

// budgetNode is a budget and its place.
type budgetNode struct {
	Budget
	mapping
}

func sharedBudget() kind[budgetNode] {
	return mappingOf(sharedForm, func(m mapping, b *budgetNode, _ bool) { b.mapping, b.Shared, b.Where = m, true, m.where() })
}

// payer is a stream's budget: the name of a shared one, or its own.
type payer struct {
	name string
	own  *budgetNode
}

func budgetOrName() kind[payer] {
	own := mappingOf(limitForm, func(m mapping, b *budgetNode, _ bool) { b.mapping, b.Where = m, m.where() })
	shared := budgetName()
	s := spec{name: "name, or mapping", want: "the name of a budget, or " + own.want, keys: limitForm,
		schema: schema{"anyOf": []any{shared.schema, own.schema}}}
	return kind[payer]{s, func(n node) (p payer, ok bool) {
		switch {
		case n.isMapping():
			b, ok := own.read(n)
			return payer{own: &b}, ok
		case n.yaml.Kind != yaml.ScalarNode || n.isNull():
			n.refuse("%s; want %s", n.shown(), s.want)
			return p, false
		}
		p.name, ok = shared.read(n)
		return p, ok
	}}
}

// resolveBudget finds the budget that a stream names, or uses the stream's own.
func (p *parser) resolveBudget(s *streamNode, f *File) {
	n, given := s.values["budget"]
	switch own := s.payer.own; {
	case !given:
		return
	case own != nil:
		b := own.Budget
		b.Name, s.Budget = s.Name, &b
		if !slices.ContainsFunc(f.Budgets, func(o *Budget) bool { return !o.Shared && o.Name == s.Name }) { // otherwise the clash of the streams' names is reported
			p.take(own.node, "budget", s.Name)
		}
		f.Budgets = append(f.Budgets, s.Budget)
		return
	}
	var names []string
	for _, b := range p.shared {
		if b.Name == s.payer.name {
			s.Budget = b
			return
		}
		names = append(names, b.Name)
	}
	switch near := nearest(s.payer.name, names); {
	case s.payer.name == "" || p.incomplete: // already reported, or possibly in a file that could not be read
	case near != "":
		n.refuse("%q is not one of the budgets; did you mean %q?", s.payer.name, near)
	case len(names) > 0:
		n.refuse("%q is not one of the budgets; want %s", s.payer.name, list(names, "or"))
	default:
		n.refuse("%q is not one of the budgets; define it under budgets, or write {epsilon: …, per: …} here", s.payer.name)
	}
}
