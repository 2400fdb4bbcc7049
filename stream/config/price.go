package config

import "github.com/louver/louver/budget"

// Price is what a window costs a user: each release once for every group that a user may be in.
func (s *Stream) Price() []budget.Item {
	items := make([]budget.Item, len(s.Releases))
	for i, r := range s.Releases {
		items[i] = budget.Item{Promise: r.Mechanism.Promise(), Times: int64(s.MaxGroups)}
	}
	return items
}

// Lost is what so many windows of the stream cost a user. What is promised in ρ has an ε for the budget's δ only.
func (s *Stream) Lost(windows int64) budget.Spending {
	items := budget.Times(s.Price(), windows)
	lost := budget.Limit{}.Compose(items)
	if lost.Unbounded {
		lost = s.Budget.Compose(items)
	}
	return lost
}

// Stretch is what a user can lose by all that happens in a stretch of time as long as the budget's period, and how many
// windows of the streams it falls into at most. A budget counts windows by their ends. Those that overlap such a stretch
// end within the period and the longest window, so that they cost no more than the limit of two periods, however many
// they are. The budget must have a period.
func (b *Budget) Stretch(streams []*Stream) (windows int64, lost budget.Spending) {
	var items []budget.Item
	for _, s := range streams {
		n := s.Window.Overlapping(b.Per)
		windows += n
		items = append(items, budget.Times(s.Price(), n)...)
	}
	lost = b.Compose(items)
	if two := b.Epsilon.Add(b.Epsilon); lost.Unbounded || lost.Epsilon.GreaterThan(two) {
		lost = budget.Spending{Epsilon: two, Delta: b.Delta.Add(b.Delta)}
	}
	return windows, lost
}
