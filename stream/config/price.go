package config

import (
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/stream/config/cost"
	"github.com/louver/louver/windows"
)

// Price returns the cost of a window to one user: each release, once for every group that the user may be in.
func (s *Stream) Price() []budget.Item {
	return s.windowPrice(func(c Cost) []budget.Item { return c.Items })
}

// EdgePrice returns what a window costs a user of whom only some events in it are removed. With the others the user may
// count by another value, or in other groups.
func (s *Stream) EdgePrice() []budget.Item { return s.windowPrice(s.partly) }

func (s *Stream) windowPrice(of func(Cost) []budget.Item) []budget.Item {
	items := []budget.Item{}
	for _, f := range s.Figures {
		if c := f.Cost(); c.Per == PerWindow {
			items = append(items, of(c)...)
		}
	}
	return items
}

// partly returns the cost of one charge to a user of whom only some events are removed. If the groups are listed, and a
// user may count in all of them, no group of theirs keeps them out of another. So the rest joins none.
func (s *Stream) partly(c Cost) []budget.Item {
	if c.Stays != nil && s.Found == nil && s.MaxGroups >= len(s.Groups) {
		return c.Stays
	}
	return c.Partly
}

// BesidePrice returns the most that counts in a period of the budget for everything that the stream has beside its
// windows.
func (s *Stream) BesidePrice() []budget.Item { return s.besidePrice(Cost.Most) }

func (s *Stream) besidePrice(of func(Cost) []budget.Item) (items []budget.Item) {
	for _, c := range s.beside() {
		items = append(items, of(c)...)
	}
	return items
}

// beside lists the costs of all figures that are charged for more than a window.
func (s *Stream) beside() (all []Cost) {
	for _, f := range s.Figures {
		if c := f.Cost(); c.Per == PerInstance || c.Per == PerPeriod {
			all = append(all, c)
		}
	}
	return all
}

// touched returns the most that everything beside the windows costs that one person has a part in during a stretch of
// time as long as the budget's period, if the stretch is taken back and all else that the person does remains.
//
// Privacy: what is touched in part costs Partly, because the person is removed from it and then added as what remains.
//
// Periods follow one another, so the stretch touches one more than end in as long a stretch, and at most two of them in
// part. Under max_windows a turn that is not used may be used later: see [windows.CapRule.ChangedBy].
//
// Instances look at windows one after another, and the windows that overlap the stretch end in two periods of the
// budget. An instance that is touched in part looks at a window that begins before the stretch or ends after it, or at
// those on both sides of its first or last moment. At each of these moments there are as many such windows as hold a
// moment. A watch that only counts the users of a single group sees in all windows that the person is gone, or no
// change.
func (s *Stream) touched() (items []budget.Item) {
	if s.Budget == nil || s.Budget.Per == 0 {
		return nil
	}
	edges := 2 * cost.Stream{Schedule: budget.Schedule{Size: s.Window.Size, Every: s.Window.Every}}.Overlapping(0)
	for _, c := range s.beside() {
		if c.Stretch != nil {
			items = append(items, c.Stretch...)
			continue
		}
		n, partly := 2*c.AtMost, edges
		if c.Per == PerPeriod {
			n, partly = c.AtMost+1, 2
		}
		partly, changed := min(partly, n), n
		if c.Cap != nil {
			partly, changed = min(partly, c.Cap.By.AtMostOf(n)), c.Cap.By.ChangedBy(n)
		}
		items = append(items, budget.Times(c.Items, changed-partly)...)
		items = append(items, budget.Times(s.partly(c), partly)...)
		items = append(items, twice(budget.Times(c.First, 2))...)
	}
	return items
}

// Cap returns how the costs of the stream's windows add up, in an era. It is the zero value if everybody counts in
// every window.
func (s *Stream) Cap(era int64) budget.Cap { return s.MaxWindows.cap(era) }

// withDelta is the stream as it would be if the budget had a δ, or had none: some statistics then have another
// mechanism by default.
func (s *Stream) withDelta(has bool) *Stream {
	with := *s
	with.Figures = make([]Figure, len(s.Figures))
	for i, f := range s.Figures {
		with.Figures[i] = f.WithDelta(has)
	}
	return &with
}

// Cost returns what the loss of one person through the stream depends on. A stream with start: now begins at now.
func (s *Stream) Cost(now time.Time) cost.Stream {
	w := s.Window
	of := cost.Stream{Topic: s.Input.Topic, Grace: w.Grace, Watches: s.BesidePrice(), Daily: s.besidePrice(Cost.InADay),
		Endless: s.endless(),
		Schedule: budget.Schedule{
			Stream: s.Name, Start: w.FirstStart(now), Size: w.Size, Every: w.Every, End: w.End, Cap: s.Cap(0),
			Items: s.Price()}, Edge: s.EdgePrice(), Touched: s.touched()}
	if s.MaxWindows != nil {
		of.MaxWindows = &s.MaxWindows.By
	}
	for _, d := range All[*Discovery](s) {
		of.Longest = max(of.Longest, d.Every)
		if d.MaxWindows != nil {
			of.Turns = append(of.Turns, d.MaxWindows.By)
		}
	}
	return of
}

// endless reports whether a budget for ever has to pay for periods of instances without end.
func (s *Stream) endless() bool {
	return s.Budget != nil && s.Budget.Per == 0 && s.Window.End == 0 &&
		slices.ContainsFunc(s.Lasting(), func(f Figure) bool { return f.Cost().Per == PerPeriod })
}

// CostWithDelta is Cost as it would be if the budget had a δ.
func (s *Stream) CostWithDelta(now time.Time) cost.Stream { return s.withDelta(true).Cost(now) }

// PayerWithDelta is Payer as it would be with the δ that is suggested, if the budget has none.
func (f *File) PayerWithDelta(b *Budget, now time.Time) cost.Payer {
	p := f.Payer(b, now)
	if p.Delta.IsPositive() {
		return p
	}
	p.Delta = cost.Suggested
	for i, s := range f.StreamsOf(b) {
		p.Streams[i] = s.CostWithDelta(now)
	}
	return p
}

// PayerWithoutDelta is Payer as it would be if the budget had no δ.
func (f *File) PayerWithoutDelta(b *Budget, now time.Time) cost.Payer {
	p := cost.Payer{Name: b.Name, Limit: b.Limit}
	p.Delta, p.Order = decimal.Zero, decimal.Zero
	for _, s := range f.StreamsOf(b) {
		p.Streams = append(p.Streams, s.withDelta(false).Cost(now))
	}
	return p
}

// Payer returns a budget with the streams that it pays for, in their order. Streams with start: now begin at now.
func (f *File) Payer(b *Budget, now time.Time) cost.Payer {
	p := cost.Payer{Name: b.Name, Limit: b.Limit}
	for _, s := range f.StreamsOf(b) {
		p.Streams = append(p.Streams, s.Cost(now))
	}
	return p
}

// Payers returns all budgets that pay for streams.
func (f *File) Payers(now time.Time) (all []cost.Payer) {
	of := PayersOf(f.Streams, now)
	for _, b := range f.Budgets {
		if p, pays := of[b]; pays {
			all = append(all, p)
		}
	}
	return all
}

// PayersOf is [File.Payer] for each budget that pays for some of the streams. With a thousand streams of one budget, it
// takes as long as one call of that.
func PayersOf(streams []*Stream, now time.Time) map[*Budget]cost.Payer {
	all := map[*Budget]cost.Payer{}
	for _, s := range streams {
		p := all[s.Budget]
		p.Name, p.Limit, p.Streams = s.Budget.Name, s.Budget.Limit, append(p.Streams, s.Cost(now))
		all[s.Budget] = p
	}
	return all
}

// MaxWindows limits in how many windows of a period one user counts, or in how many periods of a discovery.
type MaxWindows struct {
	windows.CapSpec
	// By says in which windows a user counts.
	By windows.CapRule
}

// Remembers reports whether anything remembers who has counted in the stream's windows or periods.
func (s *Stream) Remembers() bool {
	return s.MaxWindows != nil || slices.ContainsFunc(s.Figures, func(f Figure) bool {
		c := f.Cost()
		return c.Cap != nil || c.Per == PerPeriod && Kinds[f.Kind()].Lasts
	})
}

// cap is how costs add up under the limit, in an era; nil is no limit.
func (m *MaxWindows) cap(era int64) budget.Cap {
	if m == nil {
		return budget.Cap{}
	}
	return budget.Cap{Count: m.By.AtMost(), Per: m.Per, Era: era}
}

// in returns the most windows in which one user counts, of those that end in any half-open stretch of time.
func (m *MaxWindows) in(stretch time.Duration) int64 {
	return m.By.AtMostOf(int64((stretch-1)/m.By.Every()) + 1)
}
