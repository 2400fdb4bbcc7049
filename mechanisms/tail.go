package mechanisms

import "math/big"

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
// changes D by an amount that lies, over all x, in an interval of length R (flip.go has the lemma for both).
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
