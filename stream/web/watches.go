package web

import (
	"cmp"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/budget/privacy"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/windows"
)

// watched is what the records of one figure with instances say of them.
type watched struct {
	instances map[int64]*ledger.PublishedInstance // by their numbers
	newest    int64                               // the end of the newest window, in Unix seconds
	withheld  bool                                // the budget could not pay in the newest window
}

// instances returns the instances of the figures that a stream has beside its windows, by the figures' names and in
// the order of their numbers, as far as their records are in memory. Figures that the newest definition no longer has
// are among them, because their charges still count.
func (s *Store) instances(of *config.Stream) (map[string][]ledger.PublishedInstance, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	all := map[string]*watched{}
	for _, e := range s.series {
		if !e.watch || e.computed || e.stream != of.Name {
			continue
		}
		if all[e.release] == nil {
			all[e.release] = &watched{instances: map[int64]*ledger.PublishedInstance{}}
		}
		for _, f := range e.points {
			if err := all[e.release].add(of, f); err != nil {
				return nil, err
			}
		}
	}
	instances := map[string][]ledger.PublishedInstance{}
	for name, w := range all {
		gone := !slices.ContainsFunc(of.Lasting(), func(f config.Figure) bool { return f.Heading().Name == name })
		instances[name] = w.end(of, gone)
	}
	return instances, nil
}

// add adds a record of a window. An instance looked at the window, or none did. If the newest definition no longer has
// a total, nobody knows when its period ends, and it is taken to end with its last window.
func (w *watched) add(of *config.Stream, f *point) error {
	if f.end >= w.newest {
		w.newest, w.withheld = f.end, f.unpaid
	}
	if !f.look.Looks || f.look.Instance < 1 {
		return nil
	}
	end := f.end * int64(time.Second)
	one := w.instances[f.look.Instance]
	if one == nil {
		cost, err := costOf(of, f)
		if err != nil {
			return err
		}
		one = &ledger.PublishedInstance{Number: f.look.Instance, Cost: cost, From: end, To: end}
		w.instances[one.Number] = one
	}
	one.From, one.To, one.Fired = min(one.From, end), max(one.To, end), one.Fired || f.look.Fires
	if at, found := slices.BinarySearch(one.Leaves, end); f.look.Leaf && !found { // there is one for each group
		one.Leaves = slices.Insert(one.Leaves, at, end)
	}
	if f.look.Since != 0 { // a total has no records for some windows
		first := windows.Window{Start: f.look.Since * int64(time.Second)}
		first.End = first.Start + int64(of.Window.Every)
		one.From, one.Until = min(one.From, first.End), one.To
		if _, until, known := of.Period(f.series.release, 0, first); known {
			one.Until = until
		}
	}
	return nil
}

// end returns the instances, and says which of them look no more: all, if the figure is gone from the newest
// definition.
func (w *watched) end(of *config.Stream, gone bool) (all []ledger.PublishedInstance) {
	for _, one := range w.instances {
		one.Over = gone || one.Fired || one.To < w.newest*int64(time.Second) || one.To == of.Window.End
		all = append(all, *one)
	}
	slices.SortFunc(all, func(a, b ledger.PublishedInstance) int { return cmp.Compare(a.Number, b.Number) })
	if len(all) > 0 {
		all[len(all)-1].Withheld = w.withheld
	}
	return all
}

// costOf returns what the instance of a record cost. Some records say only its ε. Then the newest definition says the
// cost if it has the same ε, and otherwise the cost is that ε alone.
func costOf(of *config.Stream, f *point) ([]budget.Item, error) {
	if f.charged {
		return f.charge, nil
	}
	r, err := f.decode()
	if err != nil {
		return nil, err
	}
	epsilon, err := decimal.NewFromString(r.Epsilon.String())
	if err != nil {
		return nil, err
	}
	for _, x := range of.Lasting() {
		if x.Heading().Name != f.series.release {
			continue
		}
		price := x.Cost().Items
		if c, err := budget.NewCharge(of.Name, 0, 1, price); err == nil && c.Epsilon.Equal(epsilon) {
			return price, nil
		}
	}
	return []budget.Item{{Promise: privacy.NewPure(epsilon), Times: 1}}, nil
}
