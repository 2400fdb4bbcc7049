package demo

import (
	"fmt"

	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/cost"
	"github.com/louver/louver/stream/outputs"
)

// cheaper shows two ways to pay less for a figure: drawing it on change, and max_windows in a stream beside this one.
// It is empty if the demo does not have both.
func (p picture) cheaper() []string {
	if len(p.stream.OnChange) == 0 || len(p.beside) == 0 || p.beside[0].stream.MaxWindows == nil {
		return nil
	}
	calm, limited := p.stream.OnChange[0], p.beside[0]
	names := [2]string{calm.Name, limited.stream.Name}
	values := aligned(shortly(p.watches, calm.Name), shortly(limited.records, limited.stream.Releases[0].Name))
	width := max(len(names[0]), len(names[1]))
	for i := range names {
		names[i] = text.Pad(names[i], width, ' ') + values[i] + " " + p.stream.Unit
	}
	draws := instances(p.watches, calm.Name)
	of := limited.stream.MaxWindows
	count, per := of.By.AtMost(), config.Duration(of.Per)
	windows := int64((of.Per-1)/limited.stream.Window.Every) + 1
	lost := func(n int64) cost.Loss {
		return cost.Of(limited.stream.Budget.Limit, budget.Times(limited.stream.Price(), n))
	}
	drawn := func(items []budget.Item) cost.Loss { return cost.Of(p.stream.Budget.Limit, items) }
	return []string{
		fmt.Sprintf("Less ε: %s is drawn when it moves; %s counts a user %d times in any %s.", calm.Name, limited.stream.Name,
			count, per),
		fmt.Sprintf("%s  (%s: %s; %s: %s)", names[0], cli.Plural(draws, "draw"), drawn(instancesOf(calm, draws)),
			cli.Plural(p.count, "window"), drawn(budget.Times(calm.Redraw(), int64(p.count)))),
		fmt.Sprintf("%s  (%s in any %s; unlimited: %s)", names[1], lost(count), per, lost(windows)),
	}
}

// shortly writes the values of a release in all groups, without a unit.
func shortly(records []outputs.Record, release string) (values []string) {
	for _, r := range records {
		if r.Release != release {
			continue
		}
		value := "–"
		if r.Unit = ""; r.Value != nil {
			value = measured(r)
		}
		values = append(values, text.Faint.Sprint(r.Group)+" "+text.Bold.Sprint(value))
	}
	return values
}

// aligned writes two lines of values in columns.
func aligned(above, below []string) (lines [2]string) {
	for i := range min(len(above), len(below)) {
		width := max(text.StringWidthWithoutEscSequences(above[i]), text.StringWidthWithoutEscSequences(below[i]))
		lines[0] += "  " + text.Pad(above[i], width, ' ')
		lines[1] += "  " + text.Pad(below[i], width, ' ')
	}
	return lines
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

// instancesOf returns what so many instances of a watch cost one user.
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
