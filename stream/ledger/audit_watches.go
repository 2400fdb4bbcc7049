package ledger

// compareWatches compares what an entry's watches did with what follows from the earlier entries, and counts instances.
// That each instance is charged once and fires once, the books see to: they refuse an entry that contradicts them.
func (a *Audit) compareWatches(b booking, want []Watch) {
	for i, w := range b.entry.Watches {
		now := want[i]
		// While it holds, the watch repeats in which group it has fired, and when.
		repeats := w.Looks() || equalText(w.Fired, now.Fired) && (w.Since == nil) == (now.Since == nil) && (w.Since == nil || w.Since.Equal(*now.Since))
		if w.Instance != now.Instance || w.Arms != now.Arms || w.Reason != now.Reason || w.Begins != now.Begins || !repeats {
			a.fault(WatchDiffers, b.at, "%s: watch %q has instance %d (%s); the entries before it give %d (%s)", b.entry.name(), w.Name, w.Instance, w.doing(), now.Instance, now.doing())
		}
		if err := w.compareValues(b.entry, now.Values); err != nil {
			a.fault(WatchDiffers, b.at, "%s: release %q: %v", b.entry.name(), w.Name, err)
		}
		if w.Arms {
			a.findings.Instances++
		}
		if w.Looks() && w.Fired != nil {
			a.findings.Firings++
		}
	}
}

func equalText(a, b *string) bool { return a == b || a != nil && b != nil && *a == *b }

// doing says what a watch does in a window.
func (w Watch) doing() string {
	switch {
	case w.Arms:
		return "armed"
	case w.Looks():
		return "looks"
	}
	return w.Reason
}
