package mechanisms

// rank is the rank utility ⌈max(0, U, W)/edit⌉ with the U and W of [duff]: how many edits the ranks alone require,
// without the one that puts a user at x.
//
// Privacy: one more user changes U and W by at most edit = max(p, q−p), hence the utility by at most 1: ε-DP and
// ε-bounded-range at the weight ε/2. It is 0 at the quantile, but also at neighbouring points without users. So its
// error has a floor where many users share a value, up to 30 times the error of duff.
//
// With ReplaceOne the number of users is public and neighbours differ in one user's value (the change-one relation of
// the papers). A changed value moves one user between those less than x, at x and greater than x. Leaving or joining
// the greater ones changes U = pG − (q−p)(L+E) by q, and leaving or joining the lesser ones W = (q−p)L − p(E+G) by q;
// every other move changes neither. So with edit = q the utility changes by at most 1, and the weight ε/2 gives ε-DP.
// The claim is for that relation alone: the service, for which the number of users is private, never asks for it.
type rank struct{ p, q, edit int64 }

func (u rank) level(below, equal, above int64) int64 {
	p, r := u.p, u.q-u.p
	return ceilDiv(max(0, p*above-r*(below+equal), r*below-p*(equal+above)), u.edit)
}

func newRank(q *Query) (Mechanism, error) {
	edit := func(p, den int64) int64 {
		if q.ReplaceOne {
			return den
		}
		return max(p, den-p)
	}
	m, err := q.ranks("rank", func(p, den int64) (rankUtility, int64) { return rank{p, den, edit(p, den)}, 2 })
	if err != nil {
		return nil, err
	}
	m.left *= float64(edit(m.p, m.q)) // as for duff
	m.right = m.left
	m.measure, m.fixed = Uniform(q.Grid), true
	return m, nil
}

// midRank is OpenDP's score of a quantile as a whole number, |(q−p)L − pG|, for L users less than x and G more.
//
// Privacy: one more user changes it by at most max(p, q−p): ε-DP and ε-bounded-range at the weight ε/(2·max(p, q−p)).
// It is not 0 at the quantile, so public figures do not bound its error. Between a large heap of equal values and a
// smaller one, points without users score better than either, and the error never vanishes. On heaps of similar size it
// acts like duff at 2ε.
type midRank struct{ p, q int64 }

func (u midRank) level(below, _, above int64) int64 {
	d := (u.q-u.p)*below - u.p*above
	return max(d, -d)
}

func newMidRank(q *Query) (Mechanism, error) {
	m, err := q.ranks("mid_rank", func(p, den int64) (rankUtility, int64) {
		return midRank{p, den}, 2 * max(p, den-p)
	})
	if err != nil {
		return nil, err
	}
	m.measure, m.fixed, m.unbounded = Uniform(q.Grid), true, true
	return m, nil
}
