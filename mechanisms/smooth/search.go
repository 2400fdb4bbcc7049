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
	// bound returns k and a such that each sample in the box is k edits away or more, and has a local sensitivity of a or
	// less; the float64 errs by less than a relative 2^−46.
	bound(r region) (k int64, a float64)
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

// more says that t has the larger local sensitivity.
func (t term) more(other term) bool {
	a, b := t.num.scaled(other.den), other.num.scaled(t.den)
	return slices.Compare(a[:], b[:]) > 0
}

// largest is the smooth sensitivity g = max e^{−βk}·A: the terms that may be the largest, as far as float64 can tell.
type largest struct {
	beta  float64
	best  float64 // ln of the largest so far
	terms []term  // those that rounding does not tell apart from it, one for each k
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
	default:
		if i := slices.IndexFunc(l.terms, func(o term) bool { return o.k == t.k }); i < 0 {
			l.terms = append(l.terms, t)
		} else if t.more(l.terms[i]) {
			l.terms[i] = t
		}
	}
	l.best = max(l.best, v)
}

// search finds the smooth sensitivity among all edited samples by branch and bound: a box whose bound is less than
// the best term so far holds nothing of interest, any other is split in two, down to single points.
func (l *largest) search(s sensitivity) {
	l.descend(s, s.whole())
}

func (l *largest) descend(s sensitivity, r region) {
	axis, extent := 0, int64(0)
	for i := range r.lo {
		if e := r.hi[i] - r.lo[i]; e > extent {
			axis, extent = i, e
		}
	}
	if extent == 0 {
		s.at(r.lo, l.add)
		return
	}
	left, right := r, r
	left.hi[axis] = r.lo[axis] + extent/2
	right.lo[axis] = left.hi[axis] + 1
	a, b := l.bound(s, left), l.bound(s, right)
	if a < b {
		left, right, a, b = right, left, b, a
	}
	if a >= l.best && a > math.Inf(-1) {
		l.descend(s, left)
	}
	if b >= l.best && b > math.Inf(-1) {
		l.descend(s, right)
	}
}

// bound returns more than the logarithm of every term in the box.
func (l *largest) bound(s sensitivity, r region) float64 {
	k, a := s.bound(r)
	if a <= 0 {
		return math.Inf(-1)
	}
	v := math.Log(a) - l.beta*float64(k)
	return v + 0x1p-44*(1+math.Abs(v)+2*l.beta*float64(k))
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
