package mechanisms

import (
	"fmt"
	"math/big"

	"github.com/louver/louver/mechanisms/internal/parameter"
)

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

// margin is the default utility of quantiles. With c users below x, C users at or below x and side weights A, B it is
//
//	D(x) = max(A(pn − qC), B(qc − pn)),  P(x) ∝ μ(x)·e^{−ε·D(x)/R},  R = max(Ap, B(q−p)) + max(Bp, A(q−p)).
//
// Privacy: ε-DP and ε-bounded-range. One more user, at y, changes pn − qC by p (x < y) or p − q (x ≥ y), and qc − pn
// by −p (x ≤ y) or q − p (x > y). So D(x) grows by at most max(Ap, B(q−p)) and shrinks by at most
// max(A(q−p), Bp): all changes lie in a range of length R. Where weights change by factors in [e^{−b}, e^{a}], the
// normaliser does too, so that probabilities change by factors within e^{±(a+b)}, here e^{±ε}.
//
// The points with D ≤ 0 are those from X(⌈αn⌉) to X(⌊αn⌋+1): all medians, say. D(x)/(Aq) and D(x)/(Bq) are the ranks
// that x lies too far to the left and to the right, so that at A = B = 1 one e-folding is worth 2·max(α, 1−α)/ε ranks.
// For the median the utility is monotone, the same as max(L, G) in the users less and more than x.
//
// Derived here; at A = B = 1 it is the symmetric distance of Gillenwater & Muñoz Medina (2020) without its floor at 0
// and without rounding to whole edits, which is what separates a heap of equal values from the points beside it.
//
// shift moves the target by shift/q ranks; it is a public constant, in which the argument changes nothing.
type margin struct{ p, q, a, b, shift int64 }

func (u margin) level(below, equal, above int64) int64 {
	pn := u.p*(below+equal+above) + u.shift
	return max(u.a*(pn-u.q*(below+equal)), u.b*(u.q*below-pn))
}

// span returns R.
func (u margin) span() int64 {
	return max(u.a*u.p, u.b*(u.q-u.p)) + max(u.b*u.p, u.a*(u.q-u.p))
}

// tilt returns the side weights for p/q. A tail has few users on its outer side, so that side weighs more, at the cost
// of the inner side, which has many.
func tilt(p, q int64) (a, b int64) {
	switch {
	case 4*p > 3*q:
		return 1, 2
	case 4*p < q:
		return 2, 1
	}
	return 1, 1
}

// margin returns the mechanism that spends ε/share.
func (q *Query) margin(share int64) (*ranks, error) {
	var u margin
	m, err := q.ranks("margin", func(p, den int64) (rankUtility, int64) {
		u = margin{p: p, q: den}
		u.a, u.b = tilt(p, den)
		if q.Tilt != [2]int64{} {
			u.a, u.b = q.Tilt[0], q.Tilt[1]
		}
		return u, max(1, u.span()) * share
	})
	if err != nil {
		return nil, err
	}
	if min(u.a, u.b) < 1 || max(u.a, u.b) > 1000 || max(u.a, u.b)*u.q > 1e10 {
		return nil, parameter.Wrong("tilt", fmt.Sprintf("[%d, %d]", u.a, u.b),
			"two whole numbers from 1 to 1000, times the denominator %d of p at most 10^10", u.q)
	}
	m.share = share
	m.left /= float64(u.a)
	m.right /= float64(u.b)
	return m, nil
}

// tail is the default utility of quantiles in a tail, α = p/q > ¾ or α < ¼. With c users below x, C users at or below
// x, l = pn − qC, r = qc − pn and, for α > ¾,
//
//	D₁(x) = max(l, r),  D₂(x) = max(l, 2r),
//	D(x) = min(3·D₁, 2·D₂ + p·(n − few)),  P(x) ∝ μ(x)·e^{−ε·D(x)/R},  R = 6p.
//
// α < ¼ is the mirror image, with max(2l, r) and q − p. [margin] weighs its two sides 1:1 or 1:2, whatever the data: a
// tail has few users on its outer side, and weighing them more costs the inner side, which has many. The best weights
// depend on how many users there are. Here they follow: samples of more than few users have the slopes 3:3, smaller
// ones 2:4, at no cost in ε.
//
// Privacy: ε-DP by the exponential mechanism, and ε-bounded-range, and ε-DP by permute-and-flip, since one more user
// changes D by an amount that lies, over all x, in an interval of length R (survey.go has the lemma for both).
//
// With one more user, l changes by p at the points below the user and by p − q elsewhere, and r by −p or by q − p. So
// D₁ changes by −p to p, and 3·D₁ by −3p to 3p. D₂ changes by −2p to max(p, 2(q−p)) ≤ p, where 2(q−p) ≤ p since α > ¾.
// So 2·D₂ + pn changes by −4p + p = −3p to 2p + p = 3p. The minimum of two functions that change by amounts in an
// interval changes by an amount in it. The argument holds for any public number few.
//
// Where n = 0 all points are alike. Both D₁ and D₂ rise from the points from X(⌈αn⌉) to X(⌊αn⌋+1) outward, where they
// are at most 0, hence D does too: {D ≤ k} is one interval.
//
// How far off (α > ¾; T is the quantile): D(x) − D(T) is at least 2l(x) on the left, since D is 3l or 2l + p(n − few)
// there, and at T the same expressions are at most 0 and p(n − few). On the right it is at least 3r(x) in the same way.
//
// Derived here.
type tail struct{ p, q, few int64 }

// isTail reports whether a quantile is in a tail, where D₂'s change is in range.
func isTail(p, q int64) bool { return 4*max(p, q-p) > 3*q }

// newTail returns the utility for an exact ε. few is the number of users from which on the weights 1:1 are better: 30/ε
// of them beyond the quantile, by the study in the folder experiments.
func newTail(p, q int64, epsilon *big.Rat) tail {
	return tail{p, q, min(1e8, usersFor(30, p, q, epsilon))}
}

// usersFor returns how many users make ε·n·min(α, 1−α) at least information, at most 2^62.
func usersFor(information, p, q int64, epsilon *big.Rat) int64 {
	n := big.NewRat(information, 1)
	n.Mul(n, big.NewRat(q, min(p, q-p))).Quo(n, epsilon)
	whole := new(big.Int).Add(n.Num(), n.Denom())
	whole.Sub(whole, big.NewInt(1)).Quo(whole, n.Denom())
	if whole.BitLen() > 62 {
		return 1 << 62
	}
	return whole.Int64()
}

func (u tail) level(below, equal, above int64) int64 {
	n := below + equal + above
	l, r := u.p*n-u.q*(below+equal), u.q*below-u.p*n
	inner, outer := l, r
	if 2*u.p < u.q {
		inner, outer = r, l
	}
	return min(3*max(inner, outer), 2*max(inner, 2*outer)+max(u.p, u.q-u.p)*(n-u.few))
}

// divisor returns R.
func (u tail) divisor() int64 { return 6 * max(u.p, u.q-u.p) }
