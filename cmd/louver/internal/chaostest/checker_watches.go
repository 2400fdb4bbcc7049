package chaostest

import (
	"fmt"
	"time"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/windows"
)

// The period of caps, and into how many parts it is divided.
const (
	capPer   = time.Minute
	capParts = 3
)

// watches are the names of the definition's watches. They say how many users it takes.
func (v definition) watches() []string {
	if v.alarm == 0 {
		return nil
	}
	return []string{fmt.Sprint("slow-", v.alarm)}
}

// steps are the names of what the definition has besides its windows.
func (v definition) steps() []string {
	if v.total > 0 {
		return append([]string{totalled}, v.watches()...)
	}
	if v.recent != (recent{}) {
		return []string{soFar, now}
	}
	return v.watches()
}

// totalOf is the max_total of an entry's total; 0 if it has none.
func totalOf(e ledger.Entry) int64 {
	for _, s := range e.Continual {
		if s.Total != nil {
			return s.Total.Most
		}
	}
	return 0
}

// checkCaps looks for users who count too often. Groups of streams with caps have one user each, so their counts say
// who counts where. A user has blocks of windows, which begin somewhere, and counts in a limited number of each block.
// An era begins again from 0.
func (c *checker) checkCaps() {
	for _, s := range c.streams {
		eras := map[budget.Cap]map[string][]int64{} // of users, the numbers of the windows in which they count
		for _, e := range c.of(s.name) {
			if e.Cap.Count == 0 || e.Reason != "" {
				continue
			}
			if eras[e.Cap] == nil {
				eras[e.Cap] = map[string][]int64{}
			}
			for _, g := range e.Groups {
				if n := *g.Values[0].Value; !n.IsZero() {
					c.counted++
					eras[e.Cap][g.Name] = append(eras[e.Cap][g.Name], e.WindowStart.UnixNano()/int64(e.Every))
				}
			}
		}
		for limit, users := range eras {
			v := s.newest()
			rule, err := windows.CapSpec{Count: limit.Count, Per: limit.Per,
				Parts: capParts}.Rule(windows.Schedule{Size: v.size, Every: v.every})
			if err != nil {
				c.complain(&c.different, "%s has an impossible cap: %v", s.name, err)
				continue
			}
			for user, counted := range users {
				if !keepsTo(counted, rule) {
					c.complain(&c.overspent, "%s of %s counts more than %d times in a block of %d windows of the era "+
						"%d: %v", user, s.name, rule.Most, rule.Block, limit.Era, counted)
				}
			}
		}
	}
}

// keepsTo says that blocks can begin so that none holds too many of the windows, whose numbers ascend.
func keepsTo(counted []int64, rule windows.CapRule) bool {
	for shift := range rule.Block {
		times, fits := map[int64]int64{}, true
		for _, n := range counted {
			block := (n + shift) / rule.Block
			times[block]++
			fits = fits && times[block] <= rule.Most
		}
		if fits {
			return true
		}
	}
	return false
}

// checkWatches compares what watches did with the truth, and looks for instances that are armed or fire twice. Only one
// instance of a watch is armed at a time.
func (c *checker) checkWatches() {
	for _, s := range c.streams {
		own := c.sent(s)
		open, used, secrets := map[string]int64{}, map[ledger.Instance]bool{}, map[string]bool{}
		for _, e := range c.of(s.name) {
			key := windowKey(s.name, e.WindowStart)
			for _, w := range e.Continual {
				if w.Watch == nil {
					continue
				}
				if w.Arms {
					instance := ledger.Instance{Stream: e.Stream, Name: w.Name, Number: w.Instance}
					if used[instance] || secrets[string(w.Sealed)] {
						c.complain(&c.overspent, "%s arms instance %d of %s again", key, w.Instance, w.Name)
					}
					open[w.Name], used[instance], secrets[string(w.Sealed)] = w.Instance, true, true
				}
				if !w.Looks() {
					continue
				}
				if open[w.Name] != w.Instance {
					c.complain(&c.overspent, "%s has instance %d of %s look, which has fired or was never armed", key,
						w.Instance, w.Name)
				}
				if w.Fires() != nil {
					c.firings++
					delete(open, w.Name)
				}
				if !e.Incomplete {
					c.checkLook(s, e, w, own)
				}
			}
		}
	}
}

// checkLook compares what a watch saw in a window. Its ε is so large that it sees what there is, up to its margin.
func (c *checker) checkLook(s promised, e ledger.Entry, w ledger.Continual, deeds []deed) {
	v := c.follows[windowKey(s.name, e.WindowStart)]
	at := w.Fires()
	for _, g := range e.Groups {
		truth := c.truthIn(s, v, e, g.Name, deeds)
		fired := at != nil && *at == g.Name
		switch {
		case fired && truth.high["slow"] <= float64(v.alarm):
			c.complain(&c.different, "%s: %s fires in %s, but the events say %v", windowKey(s.name, e.WindowStart),
				w.Name, g.Name, truth)
		case !fired && truth.low["slow"] > float64(v.alarm)+w.Watch.Excess95.InexactFloat64()+1:
			c.complain(&c.missing, "%s: %s is silent in %s, but the events say %v", windowKey(s.name, e.WindowStart),
				w.Name, g.Name, truth)
		}
		if fired {
			return // the groups after it are not looked at
		}
	}
}
