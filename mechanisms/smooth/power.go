package smooth

import (
	"math/big"

	"github.com/louver/louver/mechanisms/exact"
)

// power is the noise of density (p−1)/2·(1+|z|)^−p, p = 1 + ε/β, drawn as |Z| = U^{−β/ε} − 1. It is the default: it is
// pure and has the least E|noise| of all.
//
// Admissible for ε > β: α = min(e^{ε/p} − 1, e^β(e^{(ε−β)/p} − 1)), tight. Proof: the loss at y is
// p·ln((1+|y'|)/(1+|y|)) − t with y' = e^t(y+s).
//
//   - t ≥ 0: |y'| ≤ e^t|y| + α, and (1 + e^t|y| + α)/(1 + |y|) is monotone in |y|, from 1 + α to e^t. So the loss is at
//     most p·ln(1+α) − t ≤ ε or (p−1)t ≤ (p−1)β = ε.
//   - t = −u ≤ 0: |y'| ≤ e^−u(|y| + α). At y = 0 the loss is p·ln(1 + αe^−u) + u, convex in u, so at most p·ln(1+α) ≤ ε
//     or p·ln(1 + αe^−β) + β ≤ ε. For |y| → ∞ it is −(p−1)u ≤ 0.
//
// Hladík & Tětek ("Smooth Sensitivity Revisited", FORC 2025) study noise of the same kind, which they call PolyPlace.
// The calibration and proof here do not depend on theirs.
type power struct {
	exponent constant // −β/ε
	// byShift = ε/p and byDilation = (ε−β)/p
	beta, byShift, byDilation *big.Rat
}

func newPower(c calibration) (noise, *big.Rat, error) {
	if c.published {
		return nil, nil, errNotPublished("power")
	}
	beta := c.betaOr(c.eighth())
	if err := betaBelow(beta, c.epsilon, "epsilon"); err != nil {
		return nil, nil, err
	}
	inverse := new(big.Rat).Add(c.epsilon, beta) // 1/p = β/(ε+β)
	inverse.Quo(beta, inverse)
	n := &power{beta: beta, byShift: new(big.Rat).Mul(c.epsilon, inverse)}
	n.byDilation = new(big.Rat).Sub(c.epsilon, beta)
	n.byDilation.Mul(n.byDilation, inverse)
	exponent := new(big.Rat).Quo(beta, c.epsilon)
	n.exponent = newConstant(exponent.Neg(exponent))
	return n, beta, nil
}

func (n *power) alpha(prec uint) exact.Interval {
	one := whole(1, prec)
	shift := rational(n.byShift, prec).Exp().Sub(one)
	dilation := rational(n.beta, prec).Exp().Mul(rational(n.byDilation, prec).Exp().Sub(one))
	return least(shift, dilation)
}

func (n *power) draw(s *exact.Source, v *variates) { v.u[0] = s.Uniform() }

func (n *power) short(v *variates) span { return powerSize(n, short{}, v) }

func (n *power) long(v *variates, prec uint) exact.Interval { return powerSize(n, long{prec}, v) }

func powerSize[R number[R], A arithmetic[R]](n *power, a A, v *variates) R {
	return pow(a.uniform(&v.u[0]), a.constant(n.exponent)).Sub(a.constant(one))
}
