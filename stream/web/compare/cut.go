package compare

import (
	"math"

	"github.com/louver/louver/stream/outputs"
)

// cut says to which interval the values of a window were cut, and what is public of the users outside it.
type cut struct {
	low, high float64
	sum       bool // of values, and not their mean
	// outside is the noisy number of users outside, and users that of all users of a mean. off and missed are the laws
	// of their noise.
	outside, users float64
	off, missed    noise
}

// cutOf returns the cut of a figure. tells is false if its record does not say enough about the users outside to bound
// how far the cut has moved the value: it is none of a mean or sum, it is one of an earlier release, or nobody counted
// all users.
//
// A record does not say with which ε its users were counted. A count that is good enough for clipped has at least a
// sixteenth of the ε of its release.
func cutOf(r outputs.Record) (c cut, tells bool) {
	if r.Clip == nil {
		return cut{}, false
	}
	c = cut{low: float(r.Clip[0]), high: float(r.Clip[1]), sum: r.Statistic == "sum"}
	if r.Outside == nil || r.Cut95 == nil || !c.sum && r.Users == nil {
		return c, false
	}
	l := laplace
	if r.Mechanism == clippedGaussian {
		l = normal
	}
	const leastShare = 16
	c.outside, c.off = float64(r.Outside.Value), ofReach(l, float64(r.Outside.Error95))
	c.missed = noise{l, leastShare / float(r.Epsilon)}
	if r.Users != nil {
		c.users = float64(*r.Users)
	}
	return c, true
}

// moved bounds how far the value may be from what the same data give in a wider interval. The bound on the number of
// users outside fails with probability miss, that on all users of a mean with 5 %, as for cut_95.
//
// Let K bound the number of users outside. Each of them is moved by at most the distance between the ends of both
// intervals. Besides, a user outside has only three quarters of the weight of a user at the end, and as many quarters
// are added back as the law expects. With W for the width, or the largest value of a sum, that is off by W/4 for each
// of K users at most: K is never below 1/ε_t, what is added back, since the reach of the count's noise is not. For a
// mean, all of this is divided by the number of users.
func (c cut) moved(wider cut, miss float64) float64 {
	by, width, users := max(c.low-wider.low, wider.high-c.high), c.high-c.low, 1.0
	if c.sum {
		width = max(math.Abs(c.low), math.Abs(c.high))
	} else if users = c.users - c.missed.beyond(1-level); users <= 0 {
		return math.Inf(1)
	}
	return (max(c.outside, 0) + c.off.beyond(miss)) * (by + width/4) / users
}

// movedByCuts bounds how far cuts alone may have moved the difference of the means of two ranges of figures, of which
// the first has so many. It is 0 if all values were cut to the same interval. ok is false if nothing public bounds it.
// The bound fails with probability miss at most.
func movedByCuts(all []outputs.Record, first int, miss float64) (moved float64, ok bool) {
	cuts := make([]cut, len(all))
	equal, tell := true, true
	wider := cut{low: math.Inf(1), high: math.Inf(-1)}
	for i, r := range all {
		c, tells := cutOf(r)
		cuts[i], tell = c, tell && tells
		equal = equal && (r.Clip == nil) == (all[0].Clip == nil) && c.low == cuts[0].low && c.high == cuts[0].high
		wider.low, wider.high = min(wider.low, c.low), max(wider.high, c.high)
	}
	if equal || !tell {
		return 0, equal
	}
	for i, c := range cuts {
		side := first
		if i >= first {
			side = len(all) - first
		}
		moved += c.moved(wider, miss/float64(len(all))) / float64(side)
	}
	return moved, true
}
