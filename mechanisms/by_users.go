package mechanisms

import (
	"io"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget/privacy"
)

// The default of a median or quantile depends on public figures:
//   - with a tilt or a paid interval it is margin with a fixed tilt;
//   - with the adaptive measure, and where the budget sums up ρ (zCDP), it is the exponential mechanism by margin 1:1,
//     and in a tail by the utility tail: that is bounded-range and costs a quarter of what the others cost there;
//   - else it is permute-and-flip by the same utilities, or, in a tail with few users, above_threshold ([byUsers]).
//     above_threshold goes towards the tail from the other end of the grid, and stops early if it knows little. So it
//     is a bad choice if that end is far from 0, as for the lower tail of values from 0 to 60000.
//
// The study in the folder experiments says how far each choice is from the best mechanism.

// byDefault returns the mechanism of a quantile for which the query names none.
func (q *Query) byDefault() offer {
	switch {
	case q.Tilt != [2]int64{} || q.Interval != nil:
		return offer{name: "margin", build: newMargin, takes: []string{"tilt", "interval"}}
	case q.ZCDP || q.Prior == "adaptive":
		return offer{name: "margin", build: newBounded}
	}
	return offer{name: "permute_and_flip", build: newByUsers}
}

// best returns the utility for p/q and its R.
func (q *Query) best(p, den int64) (rankUtility, int64) {
	if !isTail(p, den) {
		return symmetric(p, den)
	}
	u := newTail(p, den, q.Epsilon.Rat())
	return u, u.divisor()
}

// newBounded returns the exponential mechanism by the best utility.
func newBounded(q *Query) (Mechanism, error) {
	m, err := q.ranks("margin", q.best)
	if err != nil {
		return nil, err
	}
	m.foldTail()
	return m, nil
}

// foldTail sets what one e-folding is worth on either side by the utility tail: two levels a rank on the inner side of
// the quantile and three on the outer one.
func (m *ranks) foldTail() {
	if u, ok := m.utility.(tail); ok {
		inner, outer := &m.left, &m.right
		if 2*u.p < u.q {
			inner, outer = outer, inner
		}
		*inner /= 2
		*outer /= 3
	}
}

// byUsers draws a quantile in a tail by permute-and-flip or, if too few users are in the tail, by above_threshold. The
// noisy count released for the same window says how many users there are. Without such a count, a part of ε pays for a
// noisy bit ([fewUsers]). Draw.Mechanism says which mechanism it was, and is part of the release.
//
// Privacy: ε-DP. A released count is public, and both mechanisms are ε-DP. Without one it is an adaptive composition of
// the bit, which costs share·ε, and a mechanism that is (1 − share)·ε-DP and that the bit chooses.
type byUsers struct {
	header
	whole   pair // of ε
	rest    pair // of what is left of ε when the bit is paid for
	test    fewUsers
	scratch *scratches
}

// pair holds the two mechanisms to choose from.
type pair struct {
	flip      *ranks
	threshold *aboveThreshold
}

func newByUsers(q *Query) (Mechanism, error) {
	whole, err := q.pair(q.best)
	if err != nil {
		return nil, err
	}
	flip := whole.flip
	if !isTail(flip.p, flip.q) || whole.threshold.endsAtZero(q.Grid) {
		return flip, nil
	}
	test := newFewUsers(flip.p, flip.q, q.Epsilon.Rat())
	switch {
	case q.ExpectedUsers >= test.limit:
		return flip, nil
	case q.ExpectedUsers > 0:
		return whole.threshold, nil
	}
	part := *q
	one := decimal.NewFromInt(1)
	part.Epsilon = q.Epsilon.Mul(one.Sub(one.Div(decimal.NewFromUint64(test.share))))
	rest, err := part.pair(q.best)
	if err != nil {
		return nil, err
	}
	return &byUsers{header{flip.name + "/" + whole.threshold.name, privacy.NewPure(q.Epsilon)}, whole, rest, test,
		&scratches{}}, nil
}

func (q *Query) pair(of func(p, q int64) (rankUtility, int64)) (pair, error) {
	flip, err := q.flip(of)
	if err != nil {
		return pair{}, err
	}
	flip.foldTail()
	threshold, err := newAboveThreshold(q)
	if err != nil {
		return pair{}, err
	}
	return pair{flip, threshold.(*aboveThreshold)}, nil
}

func (m *byUsers) Draw(s *Sample, public Public, random io.Reader) (Draw, error) {
	measure, err := m.whole.flip.measureOf(s, public)
	if err != nil {
		return Draw{}, err
	}
	k := m.scratch.take(random)
	defer m.scratch.put(k)
	of, few := m.whole, false
	if public.Users != nil {
		few = m.isFew(public.Users)
	} else {
		of, few = m.rest, m.test.ask(s, &k.source)
	}
	d := Draw{Mechanism: of.choose(few).Name()}
	if few {
		d.Values = of.threshold.draw(s, &k.source).Values
	} else {
		d.Values = single(of.flip.draw(s, measure, k), of.flip.bound(measure, public.Users))
	}
	return d, k.source.Err()
}

func (m *byUsers) isFew(users *NoisyCount) bool { return users.Value < m.test.limit }

// choose returns one of the two.
func (o pair) choose(few bool) Mechanism {
	if few {
		return o.threshold
	}
	return o.flip
}

// Errors are those of the mechanism that a released count chooses. Where a bit of the sample chooses, nothing is known.
func (m *byUsers) Errors(public Public) []Bound {
	if public.Users == nil {
		return []Bound{unbounded()}
	}
	return m.whole.choose(m.isFew(public.Users)).Errors(public)
}

// Likely returns the mechanism that a draw from n users is most likely to choose: m itself if there is no choice. users
// is the count that is released for the same window, or nil. The result is for forecasts, not for draws. Its cost is
// that of m.
func Likely(m Mechanism, n int64, users *NoisyCount) Mechanism {
	choosing, ok := m.(*byUsers)
	switch {
	case !ok:
		return m
	case users != nil:
		return choosing.whole.choose(choosing.isFew(users))
	}
	return choosing.rest.choose(n <= choosing.test.limit)
}

// StandIn returns the count that stands for n users in [Mechanism.Errors] if none is released. It is as good as exact.
// Where each draw counts the users itself, it is too poor to take that count's place. It is nil if the users expected
// are all that draws go by. The result is for forecasts, not for draws.
func StandIn(m Mechanism, n int64) *NoisyCount {
	if own, ok := m.(interface{ standIn(n int64) *NoisyCount }); ok {
		return own.standIn(n)
	}
	return &NoisyCount{Value: n, Epsilon: 1e6}
}
