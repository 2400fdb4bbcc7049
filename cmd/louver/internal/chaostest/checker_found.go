package chaostest

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/stream/ledger"
)

// Groups of a stream that finds them are the values of its events. Few users share a value, so its list moves all the
// time. The noise of its discoveries is so small that they find what at least two users have sent.
const (
	foundRow     = "values"
	foundEvery   = 2 * shortest
	foundKeep    = 5 * foundEvery / 2 // no name is last found exactly that long ago
	foundEpsilon = 50
)

var found = fmt.Sprintf("    groups: {keep: %s, discover: [{name: %s, every: %s, epsilon: %d, delta: 0.000000001, "+
	"max_groups: %d}]}\n    max_groups: %d\n", foundKeep, foundRow, foundEvery, foundEpsilon, namesOfAUser,
	namesOfAUser)

// checkFound compares what discoveries found with the truth, and the groups of each window with what was found before.
func (c *checker) checkFound() {
	for _, s := range c.streams {
		if !s.newest().finds {
			continue
		}
		own, periods := c.sent(s), c.row(s.name, foundRow)
		end := c.from.Truncate(foundEvery)
		for _, e := range periods {
			for end = end.Add(foundEvery); end.Before(e.WindowEnd); end = end.Add(foundEvery) {
				c.complain(&c.missing, "%s has no discovery that ends at %s", s.name, end.Format(time.TimeOnly))
			}
			if price := decimal.NewFromInt(foundEpsilon * namesOfAUser); !priceOf(e).Equal(price) {
				c.complain(&c.overspent, "%s: a discovery charges %s, want %s", windowKey(s.name, e.WindowStart),
					priceOf(e), price)
			}
			if c.explain(e); !e.Incomplete {
				c.checkFindings(s, e, own)
			}
			c.found += len(e.Discovery.Found)
		}
		for end = end.Add(foundEvery); !end.After(c.to); end = end.Add(foundEvery) {
			c.complain(&c.missing, "%s has no discovery that ends at %s", s.name, end.Format(time.TimeOnly))
		}
		for _, e := range c.of(s.name) {
			c.checkListed(e, periods)
		}
	}
}

// checkFindings compares what a discovery found with the events of its period. What is late for its window is late for
// the discovery, too.
func (c *checker) checkFindings(s promised, e ledger.Entry, deeds []deed) {
	v, key := s.newest(), windowKey(s.name, e.WindowStart)
	users := map[string]map[string]bool{} // of each name, those who may count for it, and whether they do for sure
	for _, d := range deeds {
		due := d.at.Truncate(v.every).Add(v.size + v.grace)
		if d.at.Before(e.WindowStart) || !d.at.Before(e.WindowEnd) || d.partition >= c.partitions(s.input, due) {
			continue
		}
		name := v.groupOf(d)
		if users[name] == nil {
			users[name] = map[string]bool{}
		}
		users[name][d.user] = users[name][d.user] || !d.acked.IsZero() && d.acked.Before(due)
	}
	found := map[string]int64{}
	for _, f := range e.Discovery.Found {
		if found[f.Name] = f.Value; users[f.Name] == nil {
			c.complain(&c.different, "%s found %s, which nobody sent", key, f.Name)
		}
	}
	for name, of := range users {
		low, high := int64(0), int64(len(of))
		for _, sure := range of {
			if sure {
				low++
			}
		}
		switch x, known := found[name]; {
		case known && (x < low || x > high):
			c.complain(&c.different, "%s found %s with %d users, but the events say %d to %d", key, name, x, low, high)
		case !known && low >= e.Discovery.Threshold:
			c.complain(&c.missing, "%s did not find %s, of %d users", key, name, low)
		}
	}
}

// checkListed compares the groups of a window with those that were found lately.
func (c *checker) checkListed(e ledger.Entry, periods []ledger.Entry) {
	last := map[string]time.Time{}
	var now time.Time
	for _, p := range periods {
		if p.WindowEnd.After(e.WindowEnd) {
			break
		}
		now = p.WindowEnd
		for _, f := range p.Discovery.Found {
			last[f.Name] = now
		}
	}
	maps.DeleteFunc(last, func(_ string, at time.Time) bool { return now.Sub(at) > foundKeep })
	var groups []string
	for _, g := range e.Groups {
		groups = append(groups, g.Name)
	}
	if want := slices.Sorted(maps.Keys(last)); !slices.Equal(groups, want) {
		c.complain(&c.different, "%s has the groups %v, and the list is %v", windowKey(e.Stream, e.WindowStart), groups,
			want)
	}
}
