package web

import (
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/budget/privacy"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/ledger"
)

// seen returns the instances of a watch, a figure on change or a total whose records are in memory, by number.
func (s *Store) seen(of *config.Stream, watch string) ([]ledger.Seen, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
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
				cost, err := costOf(f)
				if err != nil {
					return nil, err
				}
				one = &ledger.Seen{Number: f.glance.instance, Cost: cost, From: end, To: end}
				found[one.Number] = one
			}
			if f.glance.since != 0 { // a total has no records for some windows
				since := f.glance.since * int64(time.Second)
				one.From = min(one.From, since+int64(of.Window.Every))
				one.Until = until(of, watch, since)
			}
			one.From, one.To, one.Fired = min(one.From, end), max(one.To, end), one.Fired || f.glance.fires
		}
	}
	var all []ledger.Seen
	for _, one := range found {
		one.Over = one.Fired || one.To < newest*int64(time.Second) || one.To == of.Window.End
		all = append(all, *one)
	}
	slices.SortFunc(all, func(a, b ledger.Seen) int { return int(a.Number - b.Number) })
	if len(all) > 0 {
		all[len(all)-1].Withheld = withheld
	}
	return all, nil
}

// until is when the period of a total that began at since ends; 0 if the stream no longer has such a total.
func until(of *config.Stream, name string, since int64) int64 {
	i := slices.IndexFunc(of.Totals, func(t config.Total) bool { return t.Name == name })
	if i < 0 {
		return 0
	}
	_, end := of.Totals[i].PeriodAt(since, of.Window.Every)
	return end
}

// costOf is what the instance of a record cost.
func costOf(f *figure) ([]budget.Item, error) {
	r, err := f.decode()
	if err != nil {
		return nil, err
	}
	epsilon, err := decimal.NewFromString(r.Epsilon.String())
	return []budget.Item{{Promise: privacy.NewPure(epsilon), Times: 1}}, err
}
