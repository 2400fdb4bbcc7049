package mechanisms

// rankOfPublic is the rank utility where the number of users is public and neighbours differ in one user's value (the
// change-one relation of the papers): ⌈max(0, U, W)/q⌉ with the U and W of [duff].
//
// Privacy: a changed value moves one user between those less than x, at x and greater than x. Leaving or joining the
// greater ones changes U = pG − (q−p)(L+E) by q, and leaving or joining the lesser ones W = (q−p)L − p(E+G) by q;
// every other move changes neither. So the utility changes by at most 1, and the weight ε/2 gives ε-DP. The claim is
// for that relation alone: the service, for which the number of users is private, never asks for it.
type rankOfPublic struct{ p, q int64 }

func (u rankOfPublic) level(below, equal, above int64) int64 {
	p, r := u.p, u.q-u.p
	return ceilDiv(max(0, p*above-r*(below+equal), r*below-p*(equal+above)), u.q)
}

func newRankOfPublic(q *Query) (Mechanism, error) {
	m, err := q.ranks("rank", func(p, den int64) (rankUtility, int64) { return rankOfPublic{p, den}, 2 })
	if err != nil {
		return nil, err
	}
	m.left *= float64(m.q) // a level is a rank
	m.right = m.left
	m.measure, m.fixed = Uniform(q.Grid), true
	return m, nil
}
