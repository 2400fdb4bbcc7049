package chaostest

import (
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/stream/ledger"
)

// begun is an instance that looks, with the windows that it has looked at.
type begun struct {
	number  int64
	step    ledger.Continual // in the last window
	of      definition
	windows []ledger.Entry
}

// instances follows the instances of a step through the windows of a stream, and tells of each window at which one
// looks. One begins with the stream, where the definition changes, with an hour if hourly, and after a fault that may
// have lost parts or snapshots. What begins anew is charged anew, so any other beginning is too much.
func (c *checker) instances(s promised, step string, hourly bool, same func(a, b definition) bool, look func(b begun)) {
	var b begun
	for _, e := range c.of(s.name) {
		i := slices.IndexFunc(e.Continual, func(w ledger.Continual) bool { return w.Name == step })
		if i < 0 || !e.Continual[i].Looks() {
			continue
		}
		w, key, v := e.Continual[i], windowKey(s.name, e.WindowStart), c.follows[windowKey(s.name, e.WindowStart)]
		switch {
		case w.Arms:
			if n := len(b.windows); n > 0 && same(v, b.of) && !c.harmed(e) &&
				(!hourly || !turns(b.windows[n-1].WindowStart, e.WindowStart)) {
				c.complain(&c.overspent, "%s: %s begins again, and no fault explains it", key, step)
			}
			b = begun{number: w.Instance}
		case b.number != w.Instance:
			c.complain(&c.overspent, "%s has instance %d of %s look, which was never armed", key, w.Instance, step)
		case hourly && turns(b.windows[0].WindowStart, e.WindowStart):
			c.complain(&c.overspent, "%s: %s goes on into another hour", key, step)
		}
		b.step, b.of, b.windows = w, v, append(b.windows, e)
		look(b)
	}
}

// turns says that an hour begins between two moments.
func turns(a, b time.Time) bool { return !a.Truncate(time.Hour).Equal(b.Truncate(time.Hour)) }

// harmed says that a fault may have lost something of the stream before a window was released.
func (c *checker) harmed(e ledger.Entry) bool {
	return slices.ContainsFunc(c.harms, func(h harm) bool {
		return slices.Contains(h.streams, e.Stream) && !e.ReleasedAt.Before(h.at.Truncate(time.Second))
	})
}

// stepCharge is what a budget is charged for an instance: as long as it lasts, or for active users in each period that
// has a leaf.
type stepCharge struct {
	price    decimal.Decimal
	from, to time.Time
	leafwise bool
	leaves   []time.Time // their ends
}

// counts says that the charge counts in the period that ends at a moment.
func (h stepCharge) counts(at time.Time, per time.Duration) bool {
	if h.leafwise {
		return slices.ContainsFunc(h.leaves, func(t time.Time) bool { return !t.After(at) && t.After(at.Add(-per)) })
	}
	return !h.from.After(at) && h.to.After(at.Add(-per))
}

// stepCharges are the charges of the instances of a stream with recent. A distribution so far that ends early lasts
// until the window with which it ends, although it does not look at that.
func (c *checker) stepCharges(s promised) (all []*stepCharge) {
	open := map[string]*stepCharge{}
	for _, e := range c.of(s.name) {
		for _, i := range e.Ended {
			if h := open[i.Name]; h != nil && i.Stream == s.name {
				h.to = e.WindowEnd
				delete(open, i.Name)
			}
		}
		for _, w := range e.Continual {
			if w.Name != soFar && w.Name != now || !w.Looks() {
				continue
			}
			h := open[w.Name]
			if w.Arms || h == nil {
				if h != nil && !turns(h.to.Add(-1), e.WindowStart) {
					h.to = e.WindowEnd
				}
				h = &stepCharge{price: stepPrice(w.Name, c.follows[windowKey(s.name, e.WindowStart)].epsilon),
					from: e.WindowEnd, leafwise: w.Name == now}
				open[w.Name], all = h, append(all, h)
			}
			if h.to = e.WindowEnd; h.leafwise && e.WindowEnd.Unix()%int64(refreshed.Seconds()) == 0 {
				h.leaves = append(h.leaves, e.WindowEnd)
			}
		}
	}
	return all
}
