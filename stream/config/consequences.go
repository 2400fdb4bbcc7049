package config

import (
	"fmt"
	"slices"

	"github.com/dustin/go-humanize/english"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/stream/config/cost"
)

// Consequences says what it costs, in addition to windows, that one definition of a stream follows another. Who
// counted before is forgotten, and watches that have changed begin anew.
func Consequences(before, after *Stream) (all []string) {
	same := before.Budget.Name == after.Budget.Name
	if before.MaxWindows != nil && after.MaxWindows != nil {
		of := turns{after.MaxWindows, after.Price(), "window"}
		all = append(all, of.countAnew(turns{before.MaxWindows, before.Price(), "window"}, after.Budget, same))
	}
	for _, d := range All[*Discovery](after) {
		old, ok := Of[*Discovery](before, d.Name)
		if !ok || d.MaxWindows == nil || old.MaxWindows == nil {
			continue
		}
		of := turns{d.MaxWindows, d.Cost().Items, "period"}
		all = append(all, "discovery "+d.Name+": "+
			of.countAnew(turns{old.MaxWindows, old.Cost().Items, "period"}, after.Budget, same))
	}
	for _, f := range after.Lasting() {
		name, definition := f.Heading().Name, f.Heading().Definition
		i := slices.IndexFunc(before.Lasting(), func(old Figure) bool { return old.Heading().Name == name })
		if i >= 0 && (!same || before.Lasting()[i].Heading().Definition != definition) {
			all = append(all, beginsAnew(f, after.Budget, same))
		}
	}
	return all
}

// turns limits how many windows, or periods of a discovery, a user counts in. Each of them costs a user the price.
type turns struct {
	*MaxWindows
	price []budget.Item
	noun  string
}

// countAnew says what one person can lose while turns of two eras of max_windows count. same says that one budget pays
// for both.
func (t turns) countAnew(before turns, b *Budget, same bool) string {
	text := fmt.Sprintf("max_windows counts anew: what a person loses by the new %ss adds to what they lost by "+
		"the old ones", t.noun)
	if b.Per == 0 || len(t.price) == 0 {
		return text
	}
	old, now := before.in(b.Per), t.in(b.Per)
	lost := cost.Of(b.Limit, append(budget.Times(before.price, old), budget.Times(t.price, now)...))
	text += fmt.Sprintf(". In the first %s a person may count in %d %s of the old ones and in %d of the new ones, "+
		"for at most %s", Period(b.Per), old, english.PluralWord(int(old), t.noun, ""), now, lost)
	if same && lost.Epsilon.GreaterThan(b.Epsilon) {
		text += fmt.Sprintf("; budget %s withholds what passes its ε %s", b.Name, b.Epsilon)
	}
	return text
}

// beginsAnew says what it costs that a figure with instances differs from the former definition's.
func beginsAnew(f Figure, b *Budget, same bool) string {
	c := f.Cost()
	text := fmt.Sprintf("%s %s begins anew: the old instance ends, and the next one costs %s",
		Kinds[f.Kind()].Noun, f.Heading().Name, cost.Of(b.Limit, slices.Concat(c.Items, c.First)))
	switch {
	case !same:
		return text + " of budget " + b.Name
	case c.Per == PerPeriod:
		return text + ". It begins with the first window of the new definition"
	case c.AtMost > 1 && b.Per == 0:
		return fmt.Sprintf("%s. Its at_most of %d counts the old ones too", text, c.AtMost)
	case c.AtMost > 1:
		return fmt.Sprintf("%s. Its at_most of %d counts the old ones too, for %s after they have looked for the "+
			"last time", text, c.AtMost, Period(b.Per))
	case b.Per == 0:
		return text + ". Its at_most of 1 counts the old one too: if there was one, there is no next one"
	}
	return fmt.Sprintf("%s. Its at_most of 1 counts the old one too: the next one begins %s after the old one has "+
		"looked for the last time", text, Period(b.Per))
}
