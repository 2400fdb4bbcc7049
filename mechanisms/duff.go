package mechanisms

// duff is the distance of a quantile: the fewest users to add or remove until X(⌈αn⌉), α = p/q, is x. With L, E, G
// users less than, at and more than x, U = pG − (q−p)(L+E) says how much x is too small and W = (q−p)L − p(E+G) how
// much it is too large, and e = [E = 0] that there must be a user at x at all.
//
// Privacy: a distance in single edits changes by at most 1 between neighbours, on both sides of 0, so e^{−ε·d/2} is
// ε-DP and ε-bounded-range. Without users the quantile is not defined: all distances are 1, which is no more than 1 off
// those of one user.
//
// Source: Gillenwater & Muñoz Medina (2020), as integers and with ties. For α ≠ ½ a data point can be one level better
// than the gaps around it.
type duff struct{ p, q int64 }

func (u duff) level(below, equal, above int64) int64 {
	p, r := u.p, u.q-u.p
	e := int64(0)
	if equal == 0 {
		e = 1
	}
	short := p*above - r*(below+equal)
	long := r*below - p*(equal+above)
	switch {
	case short > 0 && p >= r:
		return e + ceilDiv(max(0, short-r*e), p)
	case short > 0:
		return ceilDiv(short, r)
	case below >= 1 && long >= 0 && p >= r:
		return long/p + 1
	case below >= 1 && long >= 0:
		if left := long - p*e; left >= 0 {
			return e + left/r + 1
		}
	}
	return e
}

// ceilDiv returns ⌈a/b⌉ for a ≥ 0, b > 0.
func ceilDiv(a, b int64) int64 { return (a + b - 1) / b }

func newDuff(q *Query) (Mechanism, error) {
	m, err := q.ranks("duff", func(p, den int64) (rankUtility, int64) { return duff{p, den}, 2 })
	if err != nil {
		return nil, err
	}
	// An edit is worth at most max(α, 1−α) ranks: max(U, W) ≤ max(p, q−p)·d.
	m.left *= float64(max(m.p, m.q-m.p))
	m.right = m.left
	return m, nil
}
