package parse

import (
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/form"
)

// What many numbers have to be.
var (
	anyNumber = mechanisms.Span{}
	positive  = mechanisms.Span{Over: "0"}
	aShare    = mechanisms.Span{Over: "0", Under: "1"}
)

// aDelta limits a δ: the probability with which a promise may fail. It should be far below one over the number of
// users; at a tenth the promise would be worthless.
var aDelta = mechanisms.Span{Least: "0", Under: "0.1"}

// anOrder limits the order at which costs add up.
var anOrder = mechanisms.Span{Over: "1", Under: budget.MostOrder.String()}

// limitForm declares the keys of every budget; sharedForm adds the name of a shared one.
var limitForm = form.Form{
	{Name: "epsilon", Required: true, Example: "24",
		Meaning: "what one user may lose in a period, in ε. A window that would cost more is withheld whole",
		Value:   form.Into(form.Number(positive), func(b *budgetNode, v decimal.Decimal) { b.Epsilon = v })},
	{Name: "delta", Fallback: "0", Example: "0.000001",
		Meaning: "the δ that goes with it. With one, many costs add up to less, and mechanisms may be used that " +
			"need one. Their own δ may add up to a tenth of it",
		Value: form.Into(form.Number(aDelta), func(b *budgetNode, v decimal.Decimal) { b.Delta = v })},
	{Name: "order", Absent: "follows from `epsilon` and `delta`", Example: "30.22",
		Meaning: "the Rényi order at which costs add up under a `delta`. `louver check` says which one suits what " +
			"the budget pays for, if the same windows then cost noticeably less. Like `epsilon` and `delta`, it is not " +
			"to be changed because of what was published",
		Value: form.Into(form.Number(anOrder), func(b *budgetNode, v decimal.Decimal) { b.Order = v })},
	{Name: "per", Required: true, Example: "24h",
		Meaning: "the rolling period: together, all windows that end within any stretch of this length cost a user " +
			"no more than the limit. It is at least as long as a window. `forever`: the limit is for all windows " +
			"together",
		Value: form.Into(form.OrWord("forever", form.Duration(time.Second)), func(b *budgetNode, v *time.Duration) {
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
	config.Budget
	form.Mapping
}

func sharedBudget() form.Kind[budgetNode] {
	return form.MappingOf(sharedForm, readBudget)
}

// readBudget takes the place of a budget, and checks its keys together.
func readBudget(m form.Mapping, b *budgetNode, ok bool) {
	b.Mapping, b.Where = m, m.Where()
	if order, given := m.Values["order"]; given && ok {
		if err := b.Check(); err != nil { // the other keys are checked one by one
			order.Refuse("%s", err)
		}
	}
}

// payer is a stream's budget: the name of a shared one, or its own.
type payer struct {
	name string
	own  *budgetNode
}

func budgetOrName() form.Kind[payer] {
	own := form.MappingOf(limitForm, readBudget)
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

// refuseUnknown refuses the name of a budget that is not among the shared ones.
func (p payer) refuseUnknown(at form.Node, shared []*budgetNode) {
	var names []string
	for _, b := range shared {
		names = append(names, b.Name)
	}
	at.Refuse("%q is not one of the budgets; %s", p.name, form.Instead(p.name, names,
		"define it under budgets, or write {epsilon: …, per: …} here"))
}
