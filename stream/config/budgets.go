package config

import (
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/config/form"
)

// delta is a δ: the probability with which a promise may fail. It should be far below one over the number of users; at
// a tenth the promise would be worthless.
var delta = form.Number(mechanisms.Span{Least: "0", Under: "0.1"})

// limitForm declares the keys of every budget; sharedForm adds the name of a shared one.
var limitForm = form.Form{
	{Name: "epsilon", Required: true, Example: "24",
		Meaning: "what one user may lose in a period, in ε. A window that would cost more is withheld whole",
		Value: form.Into(form.Number(mechanisms.Span{Over: "0"}),
			func(b *budgetNode, v decimal.Decimal) { b.Epsilon = v })},
	{Name: "delta", Fallback: "0", Example: "0.000001",
		Meaning: "the δ that goes with it. With one, many costs add up to less, and mechanisms may be used that " +
			"need one. Their own δ may add up to a tenth of it",
		Value: form.Into(delta, func(b *budgetNode, v decimal.Decimal) { b.Delta = v })},
	{Name: "per", Required: true, Example: "24h",
		Meaning: "the rolling period: together, all windows that end within any stretch of this length cost a user " +
			"no more than the limit. It is at least as long as a window. `forever`: the limit is for all windows " +
			"together",
		Value: form.Into(form.OrWord("forever", form.Duration(time.Second)),
			func(b *budgetNode, v *time.Duration) {
				if v != nil {
					b.Per = *v
				}
			})},
}

var sharedForm = append(form.Form{
	{Name: "name", Required: true, Example: "shoppers", Meaning: "the name that streams use for the budget",
		Value: form.Into(budgetName(), func(b *budgetNode, v string) { b.Name = v })},
}, limitForm...)

func budgetName() form.Kind[string] {
	return form.Name("name", "a name of 1–200 of the characters a–z, A–Z, 0–9, ., _ and -", `^[A-Za-z0-9._-]+$`, 200)
}

// budgetNode is a budget and its place.
type budgetNode struct {
	Budget
	form.Mapping
}

func sharedBudget() form.Kind[budgetNode] {
	return form.MappingOf(sharedForm, func(m form.Mapping, b *budgetNode, _ bool) { b.Mapping, b.Shared, b.Where = m, true, m.Where() })
}

// payer is a stream's budget: the name of a shared one, or its own.
type payer struct {
	name string
	own  *budgetNode
}

func budgetOrName() form.Kind[payer] {
	own := form.MappingOf(limitForm, func(m form.Mapping, b *budgetNode, _ bool) { b.Mapping, b.Where = m, m.Where() })
	shared := budgetName()
	s := form.Spec{Name: "name, or mapping", Want: "the name of a budget, or " + own.Want, Keys: limitForm,
		Schema: form.Schema{"anyOf": []any{shared.Schema, own.Schema}}}
	return form.Kind[payer]{Spec: s, Read: func(n form.Node) (p payer, ok bool) {
		switch {
		case n.IsMapping():
			b, ok := own.Read(n)
			return payer{own: &b}, ok
		case !n.IsText():
			n.Refuse("%s; want %s", n.Shown(), s.Want)
			return p, false
		}
		p.name, ok = shared.Read(n)
		return p, ok
	}}
}

// resolveBudget finds the budget that a stream names, or uses the stream's own.
func (p *parser) resolveBudget(s *streamNode, f *File) {
	n, given := s.Values["budget"]
	switch own := s.payer.own; {
	case !given:
		return
	case own != nil:
		b := own.Budget
		b.Name, s.Budget = s.Name, &b
		if !slices.ContainsFunc(f.Budgets, func(o *Budget) bool { return !o.Shared && o.Name == s.Name }) { // otherwise the clash of the streams' names is reported
			p.take(own.Node, "budget", s.Name)
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
	switch near := form.Nearest(s.payer.name, names); {
	case s.payer.name == "" || p.incomplete: // already reported, or possibly in a file that could not be read
	case near != "":
		n.Refuse("%q is not one of the budgets; did you mean %q?", s.payer.name, near)
	case len(names) > 0:
		n.Refuse("%q is not one of the budgets; want %s", s.payer.name, form.List(names, "or"))
	default:
		n.Refuse("%q is not one of the budgets; define it under budgets, or write {epsilon: …, per: …} here", s.payer.name)
	}
}
