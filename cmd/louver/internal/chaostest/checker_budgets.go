package chaostest

import (
	"maps"
	"slices"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/record"
)

// checkBudgets adds up the charges of every period.
func (c *checker) checkBudgets() {
	accounts, shared := map[string][]ledger.Entry{}, map[string]int{}
	beside := map[string][]*stepCharge{}
	for _, s := range c.streams {
		shared[s.account]++
		beside[s.account] = append(beside[s.account], c.stepCharges(s)...)
		for _, e := range c.of(s.name) {
			v := c.follows[windowKey(s.name, e.WindowStart)]
			if !v.charges(e) {
				c.complain(&c.overspent, "%s charges %s to %s of %s, want %s to %s of %s",
					windowKey(s.name, e.WindowStart), priceOf(e), e.Budget, e.Limit.Epsilon, v.price(), v.budget,
					v.limit.Epsilon)
			}
			accounts[s.account] = append(accounts[s.account], e)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(accounts)) {
		for _, e := range accounts[name] {
			key := windowKey(e.Stream, e.WindowStart)
			limit := c.follows[key].limit
			spent := decimal.Decimal{}
			for _, o := range accounts[name] {
				if o.Reason == "" && !o.WindowEnd.After(e.WindowEnd) && o.WindowEnd.After(e.WindowEnd.Add(-limit.Per)) {
					spent = spent.Add(priceOf(o))
				}
			}
			for _, h := range beside[name] {
				if h.counts(e.WindowEnd, limit.Per) {
					spent = spent.Add(h.price)
				}
			}
			if said := e.Standing.BudgetSpent; len(beside[name]) > 0 && shared[name] == 1 &&
				(said == nil || !said.Equal(spent)) {
				c.complain(&c.overspent, "with %s the account %s has spent %s, but says %s", key, name, spent, said)
			}
			switch {
			case e.Reason == "" && spent.Cmp(limit.Epsilon) > 0:
				c.complain(&c.overspent, "with %s the account %s has spent %s of %s", key, name, spent, limit.Epsilon)
			case e.Reason == record.BudgetExhausted && shared[name] == 1 &&
				spent.Add(priceOf(e)).Cmp(limit.Epsilon) <= 0:
				c.complain(&c.missing, "%s is withheld although the account %s has spent only %s of %s", key, name,
					spent, limit.Epsilon)
			}
		}
	}
}

// totalled is the name of the running total of visits. It begins again with each hour.
const totalled = "visits"

// checkTotals compares running totals with the truth. Groups of streams with totals have one user each, so that a total
// says in how many windows that user has counted since it began, whatever was killed.
func (c *checker) checkTotals() {
	for _, s := range c.streams {
		own := c.sent(s)
		same := func(a, b definition) bool { return a.total == b.total }
		c.instances(s, totalled, true, same, func(b begun) { c.checkTotal(s, b.step, b.windows, own) })
	}
}

// checkTotal compares a total after the last of some windows.
func (c *checker) checkTotal(s promised, w ledger.Continual, since []ledger.Entry, deeds []deed) {
	e := since[len(since)-1]
	for g, of := range w.Total.Groups {
		low, high := 0.0, 0.0
		for _, past := range since {
			truth := c.truthIn(s, c.follows[windowKey(s.name, past.WindowStart)], past, past.Groups[g].Name, deeds)
			if high += truth.high["users"]; !past.Incomplete {
				low += truth.low["users"]
			}
		}
		most := float64(w.Total.Most)
		low, high = min(low, most), min(high, most)
		c.totals++
		switch x := of.Value.InexactFloat64(); {
		case x > high:
			c.complain(&c.overspent, "%s: %s of %s is %v, but the events say at most %v",
				windowKey(s.name, e.WindowStart), w.Name, e.Groups[g].Name, x, high)
		case x < low:
			c.complain(&c.missing, "%s: %s of %s is %v, but the events say at least %v",
				windowKey(s.name, e.WindowStart), w.Name, e.Groups[g].Name, x, low)
		}
	}
}
