package smooth

import (
	"math/big"

	"github.com/louver/louver/mechanisms/exact"
	"github.com/louver/louver/mechanisms/internal/parameter"
)

// cauchy is the noise of density proportional to 1/(1+|z|^γ), γ > 1; γ = 2 is the Cauchy law.
//
// Published: α = β = ε/(2(γ+1)) [Nissim, Raskhodnikova & Smith 2007, Lemma 2.7].
//
// Tight, for ε > max(1, γ−1)·β: the loss at y is ln((1+|y'|^γ)/(1+|y|^γ)) − t with y' = e^t(y+s), so that |y'| is at
// most e^t|y| + α for t ≥ 0 and e^t(|y| + α) for t ≤ 0. Its exponential is convex in e^−t (the perspective of a convex
// function), so that only t = 0, β and −β matter. That 1 + (x|y| + c)^γ ≤ Λ(1+|y|^γ) holds for all y is, by Hölder's
// inequality with exponents γ and γ/(γ−1), the same as
//
//	c^γ ≤ (Λ−1)·(1 − (x^γ/Λ)^{1/(γ−1)})^{γ−1},
//
// and some y makes it an equality. With (x, c, Λ) = (1, α, e^ε), (e^β, α, e^{ε+β}) and (e^−β, αe^−β, e^{ε−β}) it gives
// the three bounds whose least is α. For γ = 2 it is α² = min(2e^β(cosh ε − cosh β), 2(cosh ε − 1)).
//
// Drawn by rejection from min(1, |z|^−γ): |Z| = V with probability (γ−1)/γ, else V^{−1/(γ−1)}, kept with probability
// 1/(1+|z|^γ) or 1/(1+|z|^−γ), which is at least ½.
type cauchy struct {
	epsilon, beta, gamma *big.Rat
	published            bool

	toCentre constant // γ/(γ−1)
	tail     constant // −1/(γ−1)
	odds     [2]constant
}

func newCauchy(c calibration) (noise, *big.Rat, error) {
	one := big.NewRat(1, 1)
	gamma := c.gamma
	if gamma == nil {
		gamma = big.NewRat(2, 1)
	}
	if gamma.Cmp(one) <= 0 {
		return nil, nil, parameter.Wrong("gamma", text(gamma),
			"more than 1, or the density 1/(1+|z|^gamma) has no finite mass")
	}
	less := new(big.Rat).Sub(gamma, one)
	beta := c.eighth()
	if c.published {
		if c.beta != nil {
			return nil, nil, parameter.Wrong("beta", text(c.beta),
				"none: the published calibration of cauchy sets beta itself")
		}
		beta = new(big.Rat).Add(gamma, one)
		beta.Quo(c.epsilon, beta.Mul(beta, big.NewRat(2, 1)))
	} else {
		steepest := less
		if less.Cmp(one) < 0 {
			steepest = one
		}
		limit := new(big.Rat).Quo(c.epsilon, steepest)
		if c.beta == nil && beta.Cmp(limit) >= 0 { // γ ≥ 9
			beta = new(big.Rat).Mul(limit, big.NewRat(1, 2))
		}
		beta = c.betaOr(beta)
		if err := betaBelow(beta, limit, "epsilon/max(1, gamma-1)"); err != nil {
			return nil, nil, err
		}
	}
	inverse := new(big.Rat).Inv(less)
	ratio := new(big.Rat).Mul(gamma, inverse)
	return &cauchy{
		epsilon: c.epsilon, beta: beta, gamma: gamma, published: c.published,
		toCentre: newConstant(ratio), tail: newConstant(new(big.Rat).Neg(inverse)),
		odds: [2]constant{newConstant(gamma), newConstant(ratio)},
	}, beta, nil
}

func (n *cauchy) alpha(prec uint) exact.Interval {
	if n.published {
		return rational(n.beta, prec)
	}
	one, epsilon := whole(1, prec), rational(n.epsilon, prec)
	beta, gamma := rational(n.beta, prec), rational(n.gamma, prec)
	less := gamma.Sub(one)
	bound := func(lambda exact.Interval, share exact.Interval) exact.Interval {
		base := one.Sub(share.Quo(less).Neg().Exp())
		return lambda.Exp().Sub(one).Mul(pow(base, less))
	}
	still := bound(epsilon, epsilon)
	wider := bound(epsilon.Add(beta), epsilon.Sub(less.Mul(beta)))
	narrower := bound(epsilon.Sub(beta), epsilon.Add(less.Mul(beta))).Mul(gamma.Mul(beta).Exp())
	return pow(least(still, wider, narrower), one.Quo(gamma))
}

func (n *cauchy) draw(s *exact.Source, v *variates) {
	for {
		v.u[0], v.u[1] = s.Uniform(), s.Uniform()
		v.choice = belowOne(
			short{}.uniform(&v.u[0]).Mul(n.toCentre.near),
			func(prec uint) exact.Interval {
				return long{prec}.uniform(&v.u[0]).Mul(long{prec}.constant(n.toCentre))
			},
		)
		v.u[0] = s.Uniform()
		if belowOne(
			cauchyCoin(n, short{}, v),
			func(prec uint) exact.Interval { return cauchyCoin(n, long{prec}, v) },
		) {
			return
		}
	}
}

// cauchyCoin returns a number that is less than 1 with the probability of keeping |Z|.
func cauchyCoin[R number[R], A arithmetic[R]](n *cauchy, a A, v *variates) R {
	e := n.odds[0]
	if !v.choice {
		e = n.odds[1]
	}
	odds := pow(a.uniform(&v.u[0]), a.constant(e))
	return a.uniform(&v.u[1]).Mul(a.constant(one).Add(odds))
}

func (n *cauchy) short(v *variates) span { return cauchySize(n, short{}, v) }

func (n *cauchy) long(v *variates, prec uint) exact.Interval { return cauchySize(n, long{prec}, v) }

func cauchySize[R number[R], A arithmetic[R]](n *cauchy, a A, v *variates) R {
	u := a.uniform(&v.u[0])
	if v.choice {
		return u
	}
	return pow(u, a.constant(n.tail))
}
