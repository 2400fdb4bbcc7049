package chaostest

import (
	"slices"

	"github.com/louver/louver/stream/outputs"
)

// The figures of streams with recent that cost their ε once for many windows are compared with the truth where they are
// exact: their ε is 2 and 3 million.
//
// False alarms: so_far draws whole numbers by a discrete Laplace law, on at most ten levels of an hour of 600 leaves
// and two of buckets. Each level has at least a hundredth of ε, so a number is another one with probability
// 2e^(−10,000). now has T = 14,400 leaves a day, and Laplace noise of the scale b = W₁/ε ≤ T/ε < 0.005 users. Its error
// is Σ w_j Z_j with w_0 = 1 and Σ_{j>0} w_j² < 0.03, so by Chernoff's bound at 0.9/b it is half a user or more with a
// probability of at most 11·e^(−0.9·0.5/b) < 10^−37. A run of twelve hours has fewer than 10⁶ numbers.

// checkSoFar compares distributions so far with the truth. A user counts once, in the bucket of their first value.
func (c *checker) checkSoFar() {
	for _, s := range c.streams {
		v := s.newest()
		if v.recent == (recent{}) {
			continue
		}
		own, records := c.sent(s), c.published(s.name)
		var seen map[string]map[string]presence // of each group, the users since the instance began
		var before map[string][]int64           // the last numbers of each group
		c.instances(s, soFar, true, definition.sameHistogram, func(b begun) {
			e := b.windows[len(b.windows)-1]
			if len(b.windows) == 1 {
				seen, before = map[string]map[string]presence{}, map[string][]int64{}
			}
			for _, group := range b.of.groups {
				if seen[group] == nil {
					seen[group] = map[string]presence{}
				}
				for user, p := range c.presences(s, b.of, e, group, own) {
					if of := seen[group][user]; !of.sure {
						seen[group][user] = presence{append(of.values, p.values...), p.sure}
					}
				}
				before[group] = c.checkDistribution(b, group, seen[group], before[group], records)
			}
		})
	}
}

// checkDistribution compares the distribution so far of a group with the users that it has seen, and with the numbers
// before it. It returns its numbers.
func (c *checker) checkDistribution(b begun, group string, seen map[string]presence, before []int64,
	records map[string]outputs.Record) []int64 {
	e, since := b.windows[len(b.windows)-1], b.windows[0].WindowStart
	key := figureKey(e.Stream, group, soFar, e.WindowEnd)
	r, known := records[key]
	switch {
	case !known && e.WindowEnd.Sub(since)%refreshed == 0 && !e.WindowEnd.After(c.to):
		c.complain(&c.missing, "%s is not published", key)
		return before
	case !known:
		return before
	case r.Buckets == nil || r.Since == nil || !r.Since.Equal(since) || r.Instance != b.number:
		c.complain(&c.different, "%s has the numbers %v of instance %d since %v, want those of instance %d since %s", key,
			r.Buckets, r.Instance, r.Since, b.number, since)
		return before
	case !b.of.exact:
		return before
	}
	c.soFar++
	for i, n := range r.Buckets.Raw {
		from, to := edges(r.Buckets, i)
		low, high := int64(0), int64(0)
		for _, p := range seen {
			in := func(v int) bool { return float64(v) > from && float64(v) <= to }
			if slices.ContainsFunc(p.values, in) {
				high++
				if p.sure && !slices.ContainsFunc(p.values, func(v int) bool { return !in(v) }) {
					low++
				}
			}
		}
		switch {
		case n > high:
			c.complain(&c.overspent, "%s has %d users above %v, up to %v, but the events say at most %d", key, n, from,
				to, high)
		case n < low:
			c.complain(&c.missing, "%s has %d users above %v, up to %v, but the events say at least %d", key, n, from,
				to, low)
		case before != nil && n < before[i]:
			c.complain(&c.different, "%s has %d users above %v, up to %v, and had %d before", key, n, from, to, before[i])
		}
	}
	return r.Buckets.Raw
}

// checkActive compares numbers of active users with the truth. They are incomplete while an instance has not looked at
// so much time, and where a window in it is.
func (c *checker) checkActive() {
	for _, s := range c.streams {
		if s.newest().recent == (recent{}) {
			continue
		}
		own, records := c.sent(s), c.published(s.name)
		same := func(a, b definition) bool { return a.sameHistogram(b) && a.recent.active == b.recent.active }
		c.instances(s, now, false, same, func(b begun) {
			if e := b.windows[len(b.windows)-1]; e.WindowEnd.Unix()%int64(refreshed.Seconds()) == 0 {
				for _, group := range b.of.groups {
					c.checkPresent(s, b, group, own, records)
				}
			}
		})
	}
}

// checkPresent compares the number of active users of a group.
func (c *checker) checkPresent(s promised, b begun, group string, deeds []deed, records map[string]outputs.Record) {
	e, active := b.windows[len(b.windows)-1], b.of.recent.active
	key := figureKey(e.Stream, group, now, e.WindowEnd)
	r, known := records[key]
	if !known {
		if !e.WindowEnd.After(c.to) {
			c.complain(&c.missing, "%s is not published", key)
		}
		return
	}
	incomplete := e.WindowEnd.Sub(b.windows[0].WindowStart) < active
	users := map[string]bool{} // who may be active, and whether they are for sure
	for _, o := range b.windows {
		if o.WindowStart.Before(e.WindowEnd.Add(-active)) {
			continue
		}
		incomplete = incomplete || o.Incomplete
		for user, p := range c.presences(s, c.follows[windowKey(s.name, o.WindowStart)], o, group, deeds) {
			users[user] = users[user] || p.sure
		}
	}
	if r.Incomplete != incomplete || r.Active != active.String() || r.Instance != b.number || r.Value == nil {
		c.complain(&c.different, "%s is %v of instance %d over %s, incomplete %v; want one of instance %d over %s, "+
			"incomplete %v", key, r.Value, r.Instance, r.Active, r.Incomplete, b.number, active, incomplete)
		return
	}
	if !b.of.exact {
		return
	}
	c.active++
	low, high := 0., float64(len(users))
	for _, sure := range users {
		if sure {
			low++
		}
	}
	switch x, _ := r.Value.Float64(); {
	case x > high:
		c.complain(&c.overspent, "%s is %v, but the events say at most %v", key, x, high)
	case x < low:
		c.complain(&c.missing, "%s is %v, but the events say at least %v", key, x, low)
	}
}
