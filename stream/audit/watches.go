package audit

import (
	"fmt"
	"time"

	"github.com/louver/louver/stream/ledger"
)

// unlikeWatch says how a watch of an entry differs from what follows from the earlier entries, or returns "". That each
// instance is charged once and fires once, the books see to: they refuse an entry that contradicts them.
func unlikeWatch(w, want ledger.Watch) string {
	// While it holds, the watch repeats in which group it has fired, and when.
	repeats := w.Looks() || equalText(w.Fired, want.Fired) && equalTime(w.Since, want.Since)
	if w.Instance != want.Instance || w.Arms != want.Arms || w.Reason != want.Reason || w.Begins != want.Begins ||
		!repeats {
		return fmt.Sprintf("instance %d (%s); the entries before it give %d (%s)",
			w.Instance, doing(w), want.Instance, doing(want))
	}
	return ""
}

// unlikeValues says which of the values that an entry repeats are not those before it, or returns "".
func unlikeValues(e ledger.Entry, w ledger.Watch, before []ledger.Drawn) string {
	if !w.Looks() {
		return ""
	}
	for g, v := range w.Values {
		if name := e.Groups[g].Name; !w.Draws(name) && (g >= len(before) || !v.Equal(before[g])) {
			return fmt.Sprintf("group %q has another value than before, and none was drawn", name)
		}
	}
	return ""
}

func equalText(a, b *string) bool { return a == b || a != nil && b != nil && *a == *b }

func equalTime(a, b *time.Time) bool { return a == b || a != nil && b != nil && a.Equal(*b) }

// doing says what a watch does in a window.
func doing(w ledger.Watch) string {
	switch {
	case w.Arms:
		return "armed"
	case w.Looks():
		return "looks"
	}
	return w.Reason
}
