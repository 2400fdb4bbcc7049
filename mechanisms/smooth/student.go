package smooth

import (
	"math/big"

	"github.com/louver/louver/mechanisms/exact"
)

// student is Student's t with d degrees of freedom: density proportional to (1 + z²/d)^{−(d+1)/2}.
//
// Published: ε = (d+1)β + α(d+1)/(2√d) [Bun & Steinke 2019, Theorem 31]. Otherwise: ε = dβ + α(d+1)/(2√d), for d ≥ 1.
// Proof: the loss at y is h(y') − h(y) − t with h(y) = (d+1)/2·ln(1 + y²/d) and y' = e^t(y+s).
//
//   - By dilation: h(e^t y) − h(y) − t grows with |t·y|, up to (d+1)t − t = dt for t ≥ 0. For t < 0 it is at most −t.
//     Both are at most dβ.
//   - By shift: |h'(y)| = (d+1)|y|/(d+y²) ≤ (d+1)/(2√d), over a distance of e^t|s| ≤ α.
//
// Drawn by Bailey's polar method: with (u, v) uniform in the quarter disc and w = u² + v², |Z| = u·√(d(w^{−2/d}−1)/w).
type student struct {
	degrees   constant
	exponent  constant // −2/d
	remaining *big.Rat // the part of ε left after β
}

// studentDegrees is d, the same for every release.
const studentDegrees = 3

func newStudent(c calibration) (noise, *big.Rat, error) {
	return newStudentOf(big.NewRat(studentDegrees, 1), c)
}

func newStudentOf(d *big.Rat, c calibration) (noise, *big.Rat, error) {
	beta := c.betaOr(c.eighth())
	slope, rule := d, "epsilon/3"
	if c.published {
		slope, rule = new(big.Rat).Add(d, big.NewRat(1, 1)), "epsilon/4"
	}
	if err := betaBelow(beta, new(big.Rat).Quo(c.epsilon, slope), rule); err != nil {
		return nil, nil, err
	}
	remaining := new(big.Rat).Mul(slope, beta)
	return &student{
		degrees:   newConstant(d),
		exponent:  newConstant(new(big.Rat).Quo(big.NewRat(-2, 1), d)),
		remaining: remaining.Sub(c.epsilon, remaining),
	}, beta, nil
}

func (n *student) alpha(prec uint) exact.Interval {
	d := rational(n.degrees.exact, prec)
	root := long{prec + guard}.sqrt(d)
	return rational(n.remaining, prec).Mul(whole(2, prec)).Mul(root).Quo(d.Add(whole(1, prec)))
}

func (n *student) draw(s *exact.Source, v *variates) { drawDisc(s, v) }

func (n *student) short(v *variates) span { return studentSize(n, short{}, v) }

func (n *student) long(v *variates, prec uint) exact.Interval { return studentSize(n, long{prec}, v) }

func studentSize[R number[R], A arithmetic[R]](n *student, a A, v *variates) R {
	w := squaredRadius(a, v)
	over := pow(w, a.constant(n.exponent)).Sub(a.constant(one))
	return a.uniform(&v.u[0]).Mul(a.sqrt(a.constant(n.degrees).Mul(over).Quo(w)))
}
