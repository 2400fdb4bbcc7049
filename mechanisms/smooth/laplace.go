package smooth

import (
	"fmt"
	"math/big"

	"github.com/louver/louver/mechanisms/exact"
)

// laplace is the noise of density ½e^−|z|; it gives (ε, δ).
//
// Published: α = ε/2, β = ε/(2 ln(2/δ)) [Nissim, Raskhodnikova & Smith 2007, Lemma 2.9].
//
// Otherwise: β = ε/(2 ln(1/δ)) unless given, and α is the largest number with ε ≥ α + (e^β−1)ln(1/δ) − β, α ≤ ε and
// α ≤ e^β(ε−β). Proof that the loss |y'| − |y| − t, y' = e^t(y+s), exceeds ε with probability at most δ:
//
//   - t > 0: it is at most (e^t−1)|y| + α − t where the shift is outward, and less elsewhere, and so exceeds ε only if
//     |y| > (ε−α+t)/(e^t−1), which falls in t. The probability is at most e^{−(ε−α+β)/(e^β−1)} ≤ δ.
//   - t = −u ≤ 0: it is at most u + e^−u·α, convex in u, so at most α ≤ ε or β + e^−β·α ≤ ε.
//
// A β that is computed is rounded down to 12 digits, which keeps both.
type laplace struct {
	epsilon, beta, delta *big.Rat
	published            bool
}

func newLaplace(c calibration) (noise, *big.Rat, error) {
	ratio := new(big.Rat).Inv(c.delta)
	if c.published {
		ratio.Mul(ratio, big.NewRat(2, 1))
	}
	limit := quotient(c.epsilon, func(log exact.Interval) exact.Interval {
		return log.Mul(exact.FromInt(2, log.Prec()))
	}, ratio)
	beta := c.betaOr(limit)
	n := &laplace{epsilon: c.epsilon, beta: beta, delta: c.delta, published: c.published}
	if c.published && beta.Cmp(limit) > 0 {
		return nil, nil, fmt.Errorf("beta %s: want at most epsilon/(2 ln(2/delta)) = %s", text(beta), text(limit))
	}
	if n.alpha(firstPrec).Lo.Sign() <= 0 {
		return nil, nil, fmt.Errorf("beta %s: want it so small that epsilon - (e^beta - 1)·ln(1/delta) + beta and epsilon - beta are more than 0", text(beta))
	}
	return n, beta, nil
}

// quotient returns numerator/denominator(ln x), rounded down to 12 digits.
func quotient(numerator *big.Rat, denominator func(log exact.Interval) exact.Interval, x *big.Rat) *big.Rat {
	q := real(numerator, 0).Quo(denominator(real(x, 0).Log()))
	f, _ := q.Lo.Float64()
	z, _ := new(big.Rat).SetString(fmt.Sprintf("%.12e", f*(1-2e-12)))
	return z
}

func (n *laplace) alpha(prec uint) exact.Interval {
	epsilon, beta := real(n.epsilon, prec), real(n.beta, prec)
	if n.published {
		return epsilon.Quo(whole(2, prec))
	}
	grown := beta.Exp()
	log := real(n.delta, prec).Log().Neg()
	tail := epsilon.Sub(grown.Sub(whole(1, prec)).Mul(log)).Add(beta)
	return least(tail, epsilon, grown.Mul(epsilon.Sub(beta)))
}

func (n *laplace) draw(s *exact.Source, v *variates) { v.u[0] = s.Uniform() }

func (n *laplace) short(v *variates) span { return exponential(short{}, v) }

func (n *laplace) long(v *variates, prec uint) exact.Interval { return exponential(long{prec}, v) }

// exponential returns −ln U.
func exponential[R number[R], A arithmetic[R]](a A, v *variates) R {
	return a.constant(one).Sub(a.constant(one)).Sub(a.uniform(&v.u[0]).Log())
}
