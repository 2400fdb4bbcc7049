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
	for _, s := range c.streams {
		shared[s.account]++
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
