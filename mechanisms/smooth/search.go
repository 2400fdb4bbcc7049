package smooth

import (
	"math"
	"math/big"
	"slices"

	"github.com/louver/louver/mechanisms/exact"
)

// axes are the numbers that describe an edited sample; each sensitivity defines their meaning.
type axes [3]int64

// region is a box of edited samples that includes both ends.
type region struct{ lo, hi axes }

// sensitivity knows the local sensitivities of edited samples.
type sensitivity interface {
	// whole is a box with every edited sample that can matter.
	whole() region
	// bound returns a term with at most as many edits as any sample in the box, and at least as large a local
	// sensitivity. It returns 0 if the box holds no sample.
	bound(r region) term
	// at reports the local sensitivities at one point of the box, k edits away, if such samples exist.
	at(p axes, report func(term))
}

// term is the local sensitivity num/den, den ≥ 1, of some sample k ≥ 0 edits away. It contributes e^{−βk}·num/den.
type term struct {
	k   int64
	num wide
	den int64
}

// covers reports whether t contributes at least as much as other for every β.
func (t term) covers(other term) bool { return t.k <= other.k && !other.more(t) }

// more reports whether t has the larger local sensitivity.
func (t term) more(other term) bool {
	a, b := t.num.Times(uint64(other.den)), other.num.Times(uint64(t.den))
	return slices.Compare(a[:], b[:]) > 0
}

// largest is the smooth sensitivity g = max e^{−βk}·A. It keeps the terms that may be the largest, as far as float64
// knows.
type largest struct {
	beta  float64
	known span   // ln g of the terms added so far
	terms []term // indistinguishable from the largest in float64; none covers another
	kept  [4]term
}

func newLargest(beta float64) largest {
	return largest{beta: beta, known: span{math.Inf(-1), math.Inf(-1)}}
}

// log encloses the logarithm of a nonzero term. The quotient, its logarithm, β and its product with k have a total
// relative error below 2^−50; four times that is allowed.
func (l *largest) log(t term) span {
	decay := l.beta * float64(t.k)
	v := math.Log(t.num.Float()/float64(t.den)) - decay
	slack := 0x1p-48 * (1 + math.Abs(v) + 2*decay)
	return span{v - slack, v + slack}
}

func (l *largest) add(t term) {
	if t.num == (wide{}) {
		return
	}
	v := l.log(t)
	switch {
	case v.hi < l.known.lo:
		return
	case v.lo > l.known.hi:
		l.terms = append(l.kept[:0], t)
	case !l.covers(t):
		l.terms = slices.DeleteFunc(l.terms, t.covers)
		l.terms = append(l.terms, t)
	}
	l.known = span{max(l.known.lo, v.lo), max(l.known.hi, v.hi)}
}

// covers reports whether a known term covers t, so that t cannot raise the maximum.
func (l *largest) covers(t term) bool {
	for _, o := range l.terms {
		if o.covers(t) {
			return true
		}
	}
	return false
}

// search finds the smooth sensitivity among all edited samples by branch and bound. It drops a box if its bound is less
// than the best term so far, and splits any other box in two, down to single points.
func (l *largest) search(s sensitivity) {
	l.descend(s, s.whole(), l.add)
}

func (l *largest) descend(s sensitivity, r region, add func(term)) {
	axis, extent := 0, int64(0)
	for i := range r.lo {
		if e := r.hi[i] - r.lo[i]; e > extent {
			axis, extent = i, e
		}
	}
	if extent == 0 {
		s.at(r.lo, add)
		return
	}
	left, right := r, r
	left.hi[axis] = r.lo[axis] + extent/2
	right.lo[axis] = left.hi[axis] + 1
	a, b := s.bound(left), s.bound(right)
	atLeft, atRight := l.above(a), l.above(b)
	if atLeft < atRight {
		left, right, a, b, atLeft, atRight = right, left, b, a, atRight, atLeft
	}
	// A box without a positive bound is at −∞.
	if atLeft >= l.known.lo && atLeft > math.Inf(-1) && !l.covers(a) {
		l.descend(s, left, add)
	}
	if atRight >= l.known.lo && atRight > math.Inf(-1) && !l.covers(b) {
		l.descend(s, right, add)
	}
}

// above returns an upper bound on the logarithm of a bound, and −∞ for 0.
func (l *largest) above(bound term) float64 {
	if bound.num == (wide{}) {
		return math.Inf(-1)
	}
	return l.log(bound).hi
}

// near encloses g.
func (l *largest) near() span { return l.known.Exp() }

// long encloses g with more digits.
func (l *largest) long(beta *big.Rat, prec uint) exact.Interval {
	var g exact.Interval
	for i, t := range l.terms {
		x := new(big.Rat).SetInt64(t.k)
		e := exact.FromRat(x.Mul(x, beta), prec).Neg().Exp()
		e = e.Mul(exact.FromRat(new(big.Rat).SetFrac(t.num.Big(), big.NewInt(t.den)), prec))
		if i == 0 {
			g = e
			continue
		}
		g = exact.Interval{Lo: larger(g.Lo, e.Lo), Hi: larger(g.Hi, e.Hi)}
	}
	return g
}
