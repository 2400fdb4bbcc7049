package mechanisms

import (
	"fmt"

	"github.com/louver/louver/mechanisms/internal/parameter"
)

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
