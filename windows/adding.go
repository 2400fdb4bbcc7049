package windows

// The policies that add up. What one user counts with in a group is then made of all their events there. It is one
// contribution all the same, and it is clipped to the bounds after adding. So a mechanism's sensitivity is what it is
// for any other policy.
const (
	Sum   Policy = "sum"   // the sum of the values
	Count Policy = "count" // the number of events
	Mean  Policy = "mean"  // the mean of the values
)

// Adds reports whether a policy makes one contribution of all records of a user in a group. Then each record has to be
// in one of the parts that are merged: see [Gathering.Adds].
func (p Policy) Adds() bool { return p == Sum || p == Count || p == Mean }

// MostUnits is how much the value of one event is at most, in absolute units: larger ones count as this much. Sums are
// kept modulo 2^64, so that they do not depend on the order in which events come, and so on other people's events. It
// takes 8,192 events of that size to wrap. Then that user's own value is wrong, and it is still within the bounds.
const MostUnits = 1 << 50

// Adding says how totals become points of a grid. An event's value is a whole number of units, of which a step has
// Step. For policy count the value of each event is 1, and a unit is one event.
type Adding struct {
	Lower, Step int64 // in units; Step is at least 1, and Lower and the upper bound are at most MostUnits in size
	Last        int64 // N, the index of the upper bound
}

// point returns the index of the point that is nearest to total/n, ties upward, or −1 or N+1 for a quotient beyond the
// bounds. It is exact: for total/n = q + r/n with 0 ≤ r < n, the point nearest to it has the index
// ⌊(total/n − Lower)/Step + 1/2⌋ = ⌊(2(q − Lower) + Step + [2r ≥ n]) / (2·Step)⌋, as all but 2r/n < 2 are whole.
func (a Adding) point(total, n int64) int64 {
	q, r := total, int64(0)
	if n > 1 {
		if q, r = total/n, total%n; r < 0 {
			q, r = q-1, r+n
		}
	}
	upper := a.Lower + a.Step*a.Last
	switch {
	case q < a.Lower:
		return -1
	case q > upper || q == upper && r > 0:
		return a.Last + 1
	}
	x := 2*(q-a.Lower) + a.Step
	if r > 0 && r >= n-r {
		x++
	}
	return x / (2 * a.Step)
}

// point returns the point of the grid that a row counts with.
func (b *Bag) point(r *row) int64 {
	if !b.adds {
		return r.value
	}
	return b.spec.Adding.point(r.value, r.order)
}
