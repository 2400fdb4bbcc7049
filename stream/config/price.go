package config

import "github.com/louver/louver/budget"

// Price returns the cost of a window to one user: each release, once for every group that the user may be in.
func (s *Stream) Price() []budget.Item {
	items := make([]budget.Item, len(s.Releases))
	for i, r := range s.Releases {
		items[i] = budget.Item{Promise: r.Mechanism.Promise(), Times: int64(s.MaxGroups)}
	}
	return items
}

// Lost returns the cost of this many windows of the stream to one user. Promises in ρ have an ε only for the budget's
// δ.
func (s *Stream) Lost(windows int64) budget.Spending {
	items := budget.Times(s.Price(), windows)
	lost := budget.Limit{}.Compose(items)
	if lost.Unbounded {
		lost = s.Budget.Compose(items)
	}
	return lost
}

// Stretch returns the most that a user can lose through events in a stretch of time as long as the budget's period, and
// how many windows of the streams that stretch overlaps at most. A budget counts windows by their ends. All windows
// that overlap the stretch end within the period plus the longest window, so together they cost at most the limit of
// two periods. The budget must have a period.
func (b *Budget) Stretch(streams []*Stream) (windows int64, lost budget.Spending) {
	var items []budget.Item
	for _, s := range streams {
		n := s.Window.Overlapping(b.Per)
		windows += n
		items = append(items, budget.Times(s.Price(), min(n, s.Counts(b.Per+s.Window.Size)))...)
		items = append(items, budget.Times(s.WatchPrice(), 2)...) // two periods cover the ends of these windows
	}
	lost = b.Compose(items)
	if two := b.Epsilon.Add(b.Epsilon); lost.Unbounded || lost.Epsilon.GreaterThan(two) {
		lost = budget.Spending{Epsilon: two, Delta: b.Delta.Add(b.Delta)}
	}
	return windows, lost
}
