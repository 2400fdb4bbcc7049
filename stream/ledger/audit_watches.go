package ledger

// compareWatches compares what an entry's watches did with what follows from the earlier entries, and counts instances.
// That each instance is charged once and fires once, the books see to: they refuse an entry that contradicts them.
func (a *Audit) compareWatches(b booking, want []Watch) {
	for i, w := range b.entry.Watches {
		if now := want[i]; w.Instance != now.Instance || w.Arms != now.Arms || w.Reason != now.Reason {
			a.fault(WatchDiffers, b.at, "%s: watch %q has instance %d (%s); the entries before it give %d (%s)", b.entry.name(), w.Name, w.Instance, w.doing(), now.Instance, now.doing())
		}
		if w.Arms {
			a.findings.Instances++
		}
		if w.Looks() && w.Fired != nil {
			a.findings.Firings++
		}
	}
}

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
