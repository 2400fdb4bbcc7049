package config

import (
	"slices"
	"time"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/config/cost"
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

// Cap returns how the costs of the stream's windows add up, in an era. It is the zero value if everybody counts in
// every window.
func (s *Stream) Cap(era int64) budget.Cap { return s.MaxWindows.cap(era) }

// priceWithDelta is Price as it would be if the budget had a δ: some statistics then have another mechanism by default.
func (s *Stream) priceWithDelta() []budget.Item {
	items := s.Price()
	for i, r := range s.Releases {
		q := r.Query
		q.ZCDP = true
		if m, err := mechanisms.New(q); err == nil {
			items[i].Promise = m.Promise()
		}
	}
	return items
}

// stepPriceWithDelta is StepPrice as it would be if the budget had a δ.
func (s *Stream) stepPriceWithDelta() []budget.Item {
	with := *s
	with.Totals = slices.Clone(s.Totals)
	for i := range with.Totals {
		t := &with.Totals[i]
		t.Query.ZCDP = true
		if m, err := mechanisms.NewTotal(t.Query); err == nil {
			t.Mechanism = m
		}
	}
	return with.StepPrice()
}

// Cost returns what the loss of one person through the stream depends on. A stream with start: now begins at now.
func (s *Stream) Cost(now time.Time) cost.Stream {
	w := s.Window
	of := cost.Stream{Topic: s.Input.Topic, Grace: w.Grace, Watches: s.StepPrice(),
		Endless: len(s.Totals) > 0 && s.Budget != nil && s.Budget.Per == 0 && w.End == 0, Schedule: budget.Schedule{
			Stream: s.Name, Start: w.FirstStart(now), Size: w.Size, Every: w.Every, End: w.End, Cap: s.Cap(0),
			Items: s.Price()}}
	if s.MaxWindows != nil {
		of.MaxWindows = &s.MaxWindows.By
	}
	for _, d := range s.Discoveries() {
		if d.MaxWindows != nil {
			of.Turns = append(of.Turns, cost.Turns{Rule: d.MaxWindows.By, Items: d.Price(), AtMost: d.AtMost})
		}
	}
	return of
}

// CostWithDelta is Cost as it would be if the budget had a δ.
func (s *Stream) CostWithDelta(now time.Time) cost.Stream {
	of := s.Cost(now)
	of.Items, of.Watches = s.priceWithDelta(), s.stepPriceWithDelta()
	return of
}

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
