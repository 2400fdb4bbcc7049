package web

import (
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/budget/privacy"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/windows"
)

// seen returns the instances of a watch, a figure on change or a total whose records are in memory, by number.
func (s *Store) seen(of *config.Stream, watch string) ([]ledger.Seen, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	gone := !slices.ContainsFunc(of.Lasting(), func(f config.Figure) bool { return f.Heading().Name == watch })
	found, newest, withheld := map[int64]*ledger.Seen{}, int64(0), false
	for _, e := range s.series {
		if !e.watch || e.stream != of.Name || e.release != watch {
			continue
		}
		for _, f := range e.figures {
			if f.end >= newest {
				newest, withheld = f.end, f.unpaid
			}
			if !f.glance.looks || f.glance.instance < 1 {
				continue
			}
			end := f.end * int64(time.Second)
			one := found[f.glance.instance]
			if one == nil {
				cost, err := costOf(of, watch, f)
				if err != nil {
					return nil, err
				}
				one = &ledger.Seen{Number: f.glance.instance, Cost: cost, From: end, To: end}
				found[one.Number] = one
			}
			if f.glance.since != 0 { // a total has no records for some windows
				since := f.glance.since * int64(time.Second)
				one.From = min(one.From, since+int64(of.Window.Every))
				_, one.Until, _ = of.Period(watch, 0, windows.Window{Start: since, End: since + int64(of.Window.Every)})
			}
			one.From, one.To, one.Fired = min(one.From, end), max(one.To, end), one.Fired || f.glance.fires
			if f.glance.since != 0 && gone { // its calendar is not known any more, and what it had is over
				one.Until = one.To
			}
		}
	}
	var all []ledger.Seen
	for _, one := range found {
		one.Over = gone || one.Fired || one.To < newest*int64(time.Second) || one.To == of.Window.End
		all = append(all, *one)
	}
	slices.SortFunc(all, func(a, b ledger.Seen) int { return int(a.Number - b.Number) })
	if len(all) > 0 {
		all[len(all)-1].Withheld = withheld
	}
	return all, nil
}

// steps lists the watches, figures on change and totals of a stream whose records are in memory.
func (s *Store) steps(stream string) (names []string) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, e := range s.series {
		if e.watch && e.stream == stream {
			names = append(names, e.release)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// costOf is what the instance of a record cost. Records of earlier releases say only its ε. Then it costs what the
// newest definition says if that has the same ε; else it counts as pure, or has no bound that is known.
func costOf(of *config.Stream, name string, f *figure) ([]budget.Item, error) {
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
		if x.Heading().Name != name {
			continue
		}
		price := x.Cost().Items
		if c, err := budget.NewCharge(of.Name, 0, 1, price); err == nil && c.Epsilon.Equal(epsilon) {
			return price, nil
		}
	}
	return []budget.Item{{Promise: privacy.NewPure(epsilon), Times: 1}}, nil
}
