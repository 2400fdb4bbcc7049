package smooth

import (
	"math"
	"math/big"
	"slices"

	"github.com/louver/louver/mechanisms/exact"
)

// axes are the numbers that describe an edited sample; each sensitivity says what they mean.
type axes [3]int64

// region is a box of edited samples, both ends included.
type region struct{ lo, hi axes }

// sensitivity knows the local sensitivities of edited samples.
type sensitivity interface {
	// whole is a box that holds every edited sample that can matter.
	whole() region
	// bound returns a term such that each sample in the box is as many edits away or more, and has a local sensitivity as
	// large or less; 0 if there is none in the box.
	bound(r region) term
	// at reports the local sensitivities of one point of the box, k edits away, if there are such samples.
	at(p axes, report func(term))
}

// term is a local sensitivity num/den that some sample k ≥ 0 edits away has, den ≥ 1. It counts as e^{−βk}·num/den.
type term struct {
	k   int64
	num wide
	den int64
}

// covers says that t counts at least as much as other, whatever β is.
func (t term) covers(other term) bool { return t.k <= other.k && !other.more(t) }

// more says that t has the larger local sensitivity.
func (t term) more(other term) bool {
	a, b := t.num.Times(uint64(other.den)), other.num.Times(uint64(t.den))
	return slices.Compare(a[:], b[:]) > 0
}

// largest is the smooth sensitivity g = max e^{−βk}·A: the terms that may be the largest, as far as float64 can tell.
type largest struct {
	beta  float64
	known span   // of ln g over what was added
	terms []term // those that rounding does not tell apart from the largest; none covers another
	kept  [4]term
}

func newLargest(beta float64) largest {
	return largest{beta: beta, known: span{math.Inf(-1), math.Inf(-1)}}
}

// log encloses the logarithm of a term other than 0. The quotient, its logarithm, β and its product with k have relative
// errors below 2^−50 in all; four times that is allowed.
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

// covers says that no sample can count more than a term that is known.
func (l *largest) covers(t term) bool {
	for _, o := range l.terms {
		if o.covers(t) {
			return true
		}
	}
	return false
}

// search finds the smooth sensitivity among all edited samples by branch and bound: a box whose bound is less than
// the best term so far holds nothing of interest, any other is split in two, down to single points.
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

// above returns at least the logarithm of a bound, and −∞ for 0.
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
