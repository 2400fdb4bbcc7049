package demo

import (
	"fmt"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/cost"
	"github.com/louver/louver/stream/outputs"
)

// cheaper shows two ways to pay less for a figure: drawing it on change, and max_windows in a stream next to this one.
// It is empty if the demo does not have both.
func (p picture) cheaper() []string {
	if len(p.stream.OnChange) == 0 || len(p.beside) == 0 || p.beside[0].stream.MaxWindows == nil {
		return nil
	}
	calm, limited := p.stream.OnChange[0], p.beside[0]
	of := limited.stream.MaxWindows
	per := config.Duration(of.Per)
	windows := int64((of.Per-1)/limited.stream.Window.Every) + 1
	lost := func(n int64) cost.Loss {
		return cost.Of(limited.stream.Budget.Limit, budget.Times(limited.stream.Price(), n))
	}
	drawn := func(items []budget.Item) cost.Loss { return cost.Of(p.stream.Budget.Limit, items) }
	return []string{
		fmt.Sprintf("Less ε: %s is drawn when it moves: %s so far; in every window: %s.", calm.Name,
			drawn(instancesOf(calm, instances(p.watches, calm.Name))), drawn(budget.Times(calm.Redraw(),
				int64(p.count)))),
		fmt.Sprintf("        %s counts a user %d times in any %s: at most %s; without it: %s.", limited.stream.Name,
			of.By.AtMost(), per, lost(of.By.AtMost()), lost(windows)),
	}
}

// instances returns how many instances of a watch there were. A figure on change was drawn in as many windows: each
// instance but the first began because of a draw, and the first began with one.
func instances(records []outputs.Record, name string) (n int64) {
	for _, r := range records {
		if r.Release == name {
			n = max(n, r.Instance)
		}
	}
	return n
}

// instancesOf returns what that many instances of a watch cost one user.
func instancesOf(w config.OnChange, instances int64) []budget.Item {
	if instances == 0 {
		return nil
	}
	return append(budget.Times(w.Price(), instances), w.First()...)
}

// loss is what the window can cost one user.
func (p picture) loss() cost.Loss { return cost.Of(p.stream.Budget.Limit, p.price()) }

// price is what the window can cost one user, in all streams: its figures, and one instance of each watch.
func (p picture) price() (items []budget.Item) {
	items = p.stream.Price()
	for _, x := range p.stream.Steps() {
		items = append(items, x.Price...)
		if p.count == 1 {
			items = append(items, x.First...)
		}
	}
	for _, beside := range p.beside {
		items = append(items, beside.price()...)
	}
	return items
}
