package config

import "github.com/louver/louver/budget"

// Step is what the alarms, the releases on change and the running totals of a stream have in common: they live longer
// than a window. Each has instances, and Step says what these cost one user.
type Step struct {
	Name string
	// What is its kind as users call it: "watch", "release" or "total".
	What string
	// Definition is a fingerprint of everything that an instance depends on.
	Definition string
	// AtMost is the most instances that count in a period of the budget.
	AtMost int64
	// Price is what each instance costs. First is what the first one costs in addition.
	Price, First []budget.Item
}

// Most returns the most that counts in a period of the budget.
func (s Step) Most() []budget.Item { return append(budget.Times(s.Price, s.AtMost), s.First...) }

// StepOf returns a figure that has instances with their costs.
func StepOf(f Figure) Step {
	h, c := f.Heading(), f.Cost()
	return Step{h.Name, Kinds[f.Kind()].Noun, h.Definition, c.AtMost, c.Items, c.First}
}

// Paid returns how many of AtMost instances a limit pays for in a period of the budget if nothing else is charged.
func (s Step) Paid(limit budget.Limit) int64 {
	return Cost{Items: s.Price, First: s.First, AtMost: s.AtMost}.Paid(limit)
}
