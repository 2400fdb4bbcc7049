package smooth

import (
	"math"
	"math/big"

	"github.com/louver/louver/mechanisms/exact"
	"github.com/louver/louver/mechanisms/internal/parameter"
)

// arsinh is the noise sinh(σN)/σ, N standard normal ("arsinh-normal"); it gives ½ε²-zCDP for
// ε = √(β(β/σ² + 1/σ + 2)) + α(2/(3σ) + σ/2), and no pure ε [Bun & Steinke 2019, Theorem 27]. The proof computes the
// divergences of a dilation and of a shift, and adds their square roots by zCDP's triangle inequality.
//
// Published: the σ with the largest α for β → 0, which is 2/√3 to 4 digits. Otherwise: the multiple of 0.01 with the
// least E|noise|. The default β is ε/8, but ε²/8 if ε < 1, because no σ allows a β of ε²/2 or more.
type arsinh struct {
	epsilon, beta *big.Rat
	sigma         constant
}

func newArsinh(c calibration) (noise, *big.Rat, error) {
	own := c.eighth()
	if c.epsilon.Cmp(big.NewRat(1, 1)) < 0 {
		own.Mul(own, c.epsilon)
	}
	beta := c.betaOr(own)
	n := &arsinh{epsilon: c.epsilon, beta: beta}
	epsilon, _ := c.epsilon.Float64()
	b, _ := beta.Float64()
	best := math.Inf(1)
	for hundredths := int64(1); hundredths <= 1000; hundredths++ {
		sigma := float64(hundredths) / 100
		if c.published {
			sigma = 1.1547
		}
		if e := arsinhNoise(epsilon, b, sigma); e < best {
			best, n.sigma = e, ratio(hundredths, 100)
			if c.published {
				n.sigma = ratio(11547, 10000)
			}
		}
	}
	if math.IsInf(best, 1) || n.alpha(firstPrec).Lo.Sign() <= 0 {
		return nil, nil, parameter.Wrong("beta", text(beta),
			"√(beta(beta/sigma² + 1/sigma + 2)) < epsilon = %s, so a beta well below epsilon²/2", text(c.epsilon))
	}
	return n, beta, nil
}

// arsinhNoise returns E|noise| in units of g, or +∞ if σ is not possible.
func arsinhNoise(epsilon, beta, sigma float64) float64 {
	left := epsilon - math.Sqrt(beta*(beta/(sigma*sigma)+1/sigma+2))
	if left <= 0 {
		return math.Inf(1)
	}
	// E sinh(σ|N|) = e^{σ²/2}·erf(σ/√2)
	mean := math.Exp(sigma*sigma/2) * math.Erf(sigma/math.Sqrt2) / sigma
	return mean * (2/(3*sigma) + sigma/2) / left
}

func (n *arsinh) alpha(prec uint) exact.Interval {
	sigma, beta := rational(n.sigma.exact, prec), rational(n.beta, prec)
	inner := beta.Quo(sigma).Quo(sigma).Add(whole(1, prec).Quo(sigma)).Add(whole(2, prec))
	left := rational(n.epsilon, prec).Sub(long{prec + guard}.sqrt(beta.Mul(inner)))
	slope := whole(2, prec).Quo(sigma.Mul(whole(3, prec))).Add(sigma.Quo(whole(2, prec)))
	return left.Quo(slope)
}

func (n *arsinh) draw(s *exact.Source, v *variates) { drawDisc(s, v) }

func (n *arsinh) short(v *variates) span { return arsinhSize(n, short{}, v) }

func (n *arsinh) long(v *variates, prec uint) exact.Interval { return arsinhSize(n, long{prec}, v) }

func arsinhSize[R number[R], A arithmetic[R]](n *arsinh, a A, v *variates) R {
	sigma := a.constant(n.sigma)
	grown := halfNormal(a, v).Mul(sigma).Exp()
	return grown.Sub(a.constant(one).Quo(grown)).Quo(sigma.Mul(a.constant(two)))
}
