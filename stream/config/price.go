package config

import (
	"slices"
	"time"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/config/cost"
	"github.com/shopspring/decimal"
)

// Price returns the cost of a window to one user: each release, once for every group that the user may be in.
func (s *Stream) Price() []budget.Item {
	items := make([]budget.Item, len(s.Releases))
	for i, r := range s.Releases {
		items[i] = budget.Item{Promise: r.Mechanism.Promise(), Times: int64(s.MaxGroups)}
	}
	return items
}

// StepPrice returns the most that counts in a period of the budget for everything that the stream has beside its
// windows.
func (s *Stream) StepPrice() (items []budget.Item) {
	for _, x := range s.Steps() {
		items = append(items, x.Most()...)
	}
	for _, d := range s.Discoveries() {
		items = append(items, budget.Times(d.Price(), d.AtMost)...)
	}
	return items
}

// EdgePrice returns what a window costs a user who takes back only a part of what they have in it, so that another
// value or other groups remain: see [privacy.Promise.Twice].
//
// Privacy: removing the user changes the samples of at most MaxGroups groups, and adding what remains those of as many.
// So these are at most MaxGroups pairs of steps, each of them twice a release. If there is but one group, a count says
// the same of whoever is still there.
func (s *Stream) EdgePrice() []budget.Item {
	items := s.Price()
	for i, r := range s.Releases {
		if r.Query.Statistic != mechanisms.Count || s.MostGroups() > 1 {
			items[i].Promise = items[i].Twice()
		}
	}
	return items
}

// touched returns the most that everything beside the windows costs that one person has a part in during a stretch of
// time as long as the budget's period, if the stretch is taken back and all else that the person does remains.
//
// Privacy: what is touched in part costs twice, because the person is removed from it and then added as what remains.
//
// The periods of a discovery follow one another, so the stretch touches at most two of them in part. In each, the
// counts of at most MaxGroups names lose the person, and those of as many others gain one: these are 2·MaxGroups draws
// of (ε, δ). Under max_windows a turn that is not used may be used later: see [windows.CapRule.ChangedBy].
//
// The instances of a watch, or the periods of a total, look at windows one after another. One that is touched in part
// looks at a window that begins before the stretch or ends after it, or at those on both sides of its first or last
// moment. At each of these moments there are as many such windows as hold a moment. A watch that only counts the users
// of a single group sees in all windows that the person is gone, or no change.
func (s *Stream) touched() (items []budget.Item) {
	if s.Budget == nil || s.Budget.Per == 0 {
		return nil
	}
	edges := 2 * cost.Stream{Schedule: budget.Schedule{Size: s.Window.Size, Every: s.Window.Every}}.Overlapping(0)
	for _, x := range s.Steps() {
		if s.counts(x.Name) {
			items = append(items, budget.Times(x.Most(), 2)...)
			continue
		}
		n := 2 * x.AtMost // the windows that overlap the stretch end in two periods of the budget
		if x.What == "total" {
			// The stretch may touch the last window of one more than the ends of as many windows do.
			n = min(n, x.AtMost+1)
		}
		partly := min(n, edges)
		items = append(items, budget.Times(x.Price, n-partly)...)
		items = append(items, twice(budget.Times(x.Price, partly))...)
		items = append(items, twice(budget.Times(x.First, 2))...)
	}
	for _, d := range s.Discoveries() {
		n := int64((s.Budget.Per-1)/d.Every) + 2
		partly, changed := min(n, 2), n
		if d.MaxWindows != nil {
			partly, changed = min(d.MaxWindows.By.AtMostOf(n), 2), d.MaxWindows.By.ChangedBy(n)
		}
		items = append(items, budget.Times(d.Price(), changed+partly)...)
	}
	return items
}

// counts reports whether a watch looks at nothing but how many users there are in a single group.
func (s *Stream) counts(watch string) bool {
	i := slices.IndexFunc(s.Alarms, func(a Alarm) bool { return a.Name == watch })
	return i >= 0 && s.MostGroups() == 1 && s.Alarms[i].Query.Conditions[0].UsersBelow != nil
}

func twice(items []budget.Item) []budget.Item {
	for i := range items {
		items[i].Promise = items[i].Twice()
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
	with.Releases, with.Totals = slices.Clone(s.Releases), slices.Clone(s.Totals)
	for i := range with.Releases {
		r := &with.Releases[i]
		q := r.Query
		q.ZCDP = has
		if m, err := mechanisms.New(q); err == nil {
			r.Mechanism = m
		}
	}
	for i := range with.Totals {
		t := &with.Totals[i]
		t.Query.ZCDP = has
		if m, err := mechanisms.NewTotal(t.Query); err == nil {
			t.Mechanism = m
		}
	}
	return &with
}

// Cost returns what the loss of one person through the stream depends on. A stream with start: now begins at now.
func (s *Stream) Cost(now time.Time) cost.Stream {
	w := s.Window
	of := cost.Stream{Topic: s.Input.Topic, Grace: w.Grace, Watches: s.StepPrice(),
		Endless: len(s.Totals) > 0 && s.Budget != nil && s.Budget.Per == 0 && w.End == 0, Schedule: budget.Schedule{
			Stream: s.Name, Start: w.FirstStart(now), Size: w.Size, Every: w.Every, End: w.End, Cap: s.Cap(0),
			Items: s.Price()}, Edge: s.EdgePrice(), Touched: s.touched()}
	if s.MaxWindows != nil {
		of.MaxWindows = &s.MaxWindows.By
	}
	for _, d := range s.Discoveries() {
		of.Longest = max(of.Longest, d.Every)
		if d.MaxWindows != nil {
			of.Turns = append(of.Turns, d.MaxWindows.By)
		}
	}
	return of
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
	for _, b := range f.Budgets {
		if p := f.Payer(b, now); len(p.Streams) > 0 {
			all = append(all, p)
		}
	}
	return all
}
