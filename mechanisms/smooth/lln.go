package smooth

import (
	"math/big"
	"strconv"

	"github.com/louver/louver/mechanisms/exact"
)

// lln is Laplace noise times e^{σN}, N standard normal ("Laplace log-normal"); it gives ½ε²-zCDP for ε = β/σ +
// e^{1.5σ²}·α, and no pure ε [Bun & Steinke 2019, Proposition 3 and Theorem 4]. Proof sketch: a dilation by e^t shifts
// σN by t, which is worth (t/σ)²/2 as for Gaussian noise. Given N, the shift is worth α·e^{−σN}, whose moments are
// log-normal. zCDP's triangle inequality adds the square roots.
//
// σ is the root of 5(ε/β)σ³ − 5σ² − 1 = 0, which makes the variance least (ibid., section 3.1), to 4 digits. Both
// calibrations are the same.
type lln struct {
	epsilon, beta *big.Rat
	sigma         constant
}

func newLLN(c calibration) (noise, *big.Rat, error) {
	beta := c.betaOr(c.eighth())
	if err := betaBelow(beta, c.epsilon, "epsilon"); err != nil {
		return nil, nil, err
	}
	return &lln{epsilon: c.epsilon, beta: beta, sigma: newConstant(llnSigma(c.epsilon, beta))}, beta, nil
}

// llnSigma bisects: the cubic is negative below its only positive root.
func llnSigma(epsilon, beta *big.Rat) *big.Rat {
	q, _ := new(big.Rat).Quo(epsilon, beta).Float64()
	low, high := 0.0, 2.0 // q > 1 and so the cubic is positive at 2
	for range 60 {
		if mid := (low + high) / 2; 5*q*mid*mid*mid-5*mid*mid-1 < 0 {
			low = mid
		} else {
			high = mid
		}
	}
	sigma, _ := new(big.Rat).SetString(strconv.FormatFloat(high, 'g', 4, 64))
	return sigma
}

func (n *lln) alpha(prec uint) exact.Interval {
	sigma := rational(n.sigma.exact, prec)
	left := rational(n.epsilon, prec).Sub(rational(n.beta, prec).Quo(sigma))
	return left.Mul(rational(big.NewRat(-3, 2), prec).Mul(sigma).Mul(sigma).Exp())
}

func (n *lln) draw(s *exact.Source, v *variates) {
	drawDisc(s, v)
	v.u[2] = s.Uniform()
	v.choice = s.Coin(1, 2)
}

func (n *lln) short(v *variates) span { return llnSize(n, short{}, v) }

func (n *lln) long(v *variates, prec uint) exact.Interval { return llnSize(n, long{prec}, v) }

func llnSize[R number[R], A arithmetic[R]](n *lln, a A, v *variates) R {
	zero := a.constant(one).Sub(a.constant(one))
	return zero.Sub(a.uniform(&v.u[2]).Log()).Mul(logNormal(a, v, a.constant(n.sigma)))
}
