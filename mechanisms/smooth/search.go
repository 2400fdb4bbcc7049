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

func (t term) log(beta float64) float64 {
	return math.Log(t.num.float()/float64(t.den)) - beta*float64(t.k)
}

// covers says that t counts at least as much as other, whatever β is.
func (t term) covers(other term) bool { return t.k <= other.k && !other.more(t) }

// more says that t has the larger local sensitivity.
func (t term) more(other term) bool {
	a, b := t.num.scaled(other.den), other.num.scaled(t.den)
	return slices.Compare(a[:], b[:]) > 0
}

// largest is the smooth sensitivity g = max e^{−βk}·A: the terms that may be the largest, as far as float64 can tell.
type largest struct {
	beta  float64
	best  float64 // ln of the largest so far
	terms []term  // those that rounding does not tell apart from it; none covers another
	kept  [4]term
}

// slack bounds the error of the logarithm of a term: β, its product with k, the quotient and the logarithm have
// relative errors of 2^−50 in all.
func (l *largest) slack(log, k float64) float64 {
	return 0x1p-48 * (1 + math.Abs(log) + 2*l.beta*k)
}

func (l *largest) add(t term) {
	if t.num == (wide{}) {
		return
	}
	v := t.log(l.beta)
	slack := l.slack(v, float64(t.k))
	switch {
	case v < l.best-slack:
		return
	case v > l.best+slack:
		l.terms = append(l.kept[:0], t)
	case !l.covers(t):
		l.terms = slices.DeleteFunc(l.terms, t.covers)
		l.terms = append(l.terms, t)
	}
	l.best = max(l.best, v)
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
	if l.above(a) < l.above(b) {
		left, right, a, b = right, left, b, a
	}
	if l.open(a) {
		l.descend(s, left, add)
	}
	if l.open(b) {
		l.descend(s, right, add)
	}
}

// open says that a box with this bound may hold something that counts more than what is known.
func (l *largest) open(bound term) bool {
	return bound.num != (wide{}) && l.above(bound) >= l.best && !l.covers(bound)
}

// above returns a little more than the logarithm of a bound.
func (l *largest) above(t term) float64 {
	if t.num == (wide{}) {
		return math.Inf(-1)
	}
	v := t.log(l.beta)
	return v + 2*l.slack(v, float64(t.k))
}

// near encloses g.
func (l *largest) near() span {
	g := span{}
	for _, t := range l.terms {
		v := t.log(l.beta)
		s := l.slack(v, float64(t.k))
		e := span{v - s, v + s}.Exp()
		g = span{max(g.lo, e.lo), max(g.hi, e.hi)}
	}
	return g
}

// long encloses g with more digits.
func (l *largest) long(beta *big.Rat, prec uint) exact.Interval {
	var g exact.Interval
	for i, t := range l.terms {
		x := new(big.Rat).SetInt64(t.k)
		e := exact.FromRat(x.Mul(x, beta), prec).Neg().Exp()
		e = e.Mul(exact.FromRat(new(big.Rat).SetFrac(t.num.big(), big.NewInt(t.den)), prec))
		if i == 0 {
			g = e
			continue
		}
		g = exact.Interval{Lo: larger(g.Lo, e.Lo), Hi: larger(g.Hi, e.Hi)}
	}
	return g
}
