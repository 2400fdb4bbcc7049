package config

import (
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget"
)

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
// how many windows of the streams that stretch overlaps at most. The budget must have a period.
//
// A budget counts windows by their ends. All windows that overlap the stretch end within the period plus the longest window, so
// together those in which the user counts cost at most the limit of two periods. Under max_windows the user may count later in
// windows in which they would not have counted: see [windows.CapRule.ChangedBy]. Together these cost at most the limit of the
// periods that cover a block.
func (b *Budget) Stretch(streams []*Stream) (windows int64, lost budget.Spending) {
	var items []budget.Item
	var later int64 // periods
	for _, s := range streams {
		n := s.Window.Overlapping(b.Per)
		windows += n
		items = append(items, budget.Times(s.Price(), s.Changed(n))...)
		items = append(items, budget.Times(s.WatchPrice(), 2)...) // two periods cover the ends of these windows
		if m := s.MaxWindows; m != nil {
			later = max(later, b.Periods(time.Duration(m.By.Block)*s.Window.Every+s.Window.Size))
		}
	}
	lost = b.Compose(items)
	paid := decimal.NewFromInt(2 + later)
	if most := b.Epsilon.Mul(paid); lost.Unbounded || lost.Epsilon.GreaterThan(most) {
		lost = budget.Spending{Epsilon: most, Delta: b.Delta.Mul(paid)}
	}
	return windows, lost
}
