package smooth

import (
	"math/big"

	"github.com/louver/louver/mechanisms/exact"
	"github.com/louver/louver/mechanisms/internal/parameter"
)

// laplace is the noise of density ½e^−|z|. It gives (ε, δ)-DP.
//
// Published: α = ε/2, β = ε/(2 ln(2/δ)) [Nissim, Raskhodnikova & Smith 2007, Lemma 2.9], for ε up to about 6. Above
// that, the proof below does not cover it.
//
// Otherwise: β = b := ε/(2 ln(1/δ)) unless given, or ln(1 + b) if b is more than 1, and α is the largest number with ε
// ≥ α + (e^β−1)ln(1/δ) − β, α ≤ ε and α ≤ e^β(ε−β). Proof that the loss |y'| − |y| − t, y' = e^t(y+s), exceeds ε with
// probability at most δ:
//
//   - t > 0: it is at most (e^t−1)|y| + α − t where the shift is outward, and less elsewhere. So it exceeds ε only if
//     |y| > (ε−α+t)/(e^t−1), which falls as t grows. The probability is at most e^{−(ε−α+β)/(e^β−1)} ≤ δ.
//   - t = −u ≤ 0: it is at most u + e^−u·α, convex in u, so at most α ≤ ε or β + e^−β·α ≤ ε.
//
// A computed β is rounded down to 12 digits, which keeps the promise.
type laplace struct {
	epsilon, beta, delta *big.Rat
	published            bool
}

func newLaplace(c calibration) (noise, *big.Rat, error) {
	log := rational(c.delta, firstPrec).Log().Neg()
	if c.published {
		log = rational(new(big.Rat).Quo(big.NewRat(2, 1), c.delta), firstPrec).Log()
	}
	own := rational(c.epsilon, firstPrec).Quo(log.Mul(whole(2, firstPrec)))
	limit := roundDown(own)
	if one := whole(1, firstPrec); !c.published && one.Before(own) {
		limit = roundDown(one.Add(own).Log())
	}
	beta := c.betaOr(limit)
	n := &laplace{c.epsilon, beta, c.delta, c.published}
	if c.published && beta.Cmp(limit) > 0 {
		return nil, nil, parameter.Wrong("beta", text(beta), "at most epsilon/(2 ln(2/delta)) = %s", text(limit))
	}
	largest := n.largestAlpha(firstPrec).Lo
	if largest.Sign() <= 0 {
		return nil, nil, parameter.Wrong("beta", text(beta),
			"a number so small that epsilon - (e^beta - 1)·ln(1/delta) + beta and epsilon - beta are more than 0")
	}
	if c.published && largest.Cmp(n.alpha(firstPrec).Hi) < 0 {
		return nil, nil, parameter.Wrong("epsilon", text(c.epsilon),
			"less, or calibration tight: the published one holds for small epsilon only")
	}
	return n, beta, nil
}

func (n *laplace) alpha(prec uint) exact.Interval {
	if n.published {
		return rational(n.epsilon, prec).Quo(whole(2, prec))
	}
	return n.largestAlpha(prec)
}

func (n *laplace) largestAlpha(prec uint) exact.Interval {
	epsilon, beta := rational(n.epsilon, prec), rational(n.beta, prec)
	grown := beta.Exp()
	log := rational(n.delta, prec).Log().Neg()
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
