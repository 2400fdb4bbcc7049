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

// uln is uniform noise on [−1, 1] times e^{σN}, N standard normal ("uniform log-normal"), σ ≥ √2; it gives ½ε²-zCDP for
// ε = β/σ + e^{1.5σ²}·√(2/(πσ²))·α, and no pure ε [Bun & Steinke 2019, Theorem 23]. The proof bounds the Fisher
// information along the path of shifts, as log-normal moments, and adds the dilation's as for lln.
//
// σ is √2, the smallest allowed, which has the least E|noise| for small β. Both calibrations are the same.
type uln struct{ epsilon, beta *big.Rat }

func newULN(c calibration) (noise, *big.Rat, error) {
	beta := c.betaOr(c.eighth())
	if err := betaBelow(beta, c.epsilon, "epsilon"); err != nil {
		return nil, nil, err
	}
	return &uln{c.epsilon, beta}, beta, nil
}

func (n *uln) alpha(prec uint) exact.Interval {
	root := long{prec + guard}.sqrt(whole(2, prec))
	left := rational(n.epsilon, prec).Sub(rational(n.beta, prec).Quo(root))
	// √(2/(πσ²)) = 1/√π and e^{1.5σ²} = e³.
	return left.Mul(long{prec + guard}.sqrt(pi(prec + guard))).Mul(whole(-3, prec).Exp())
}

func (n *uln) draw(s *exact.Source, v *variates) {
	drawDisc(s, v)
	v.u[2] = s.Uniform()
	v.choice = s.Coin(1, 2)
}

func (n *uln) short(v *variates) span { return ulnSize(short{}, v) }

func (n *uln) long(v *variates, prec uint) exact.Interval { return ulnSize(long{prec}, v) }

func ulnSize[R number[R], A arithmetic[R]](a A, v *variates) R {
	return a.uniform(&v.u[2]).Mul(logNormal(a, v, a.sqrt(a.constant(two))))
}

// pi encloses π = 16 arctan(1/5) − 4 arctan(1/239) (Machin).
func pi(prec uint) exact.Interval {
	return arctanInverse(5, prec).Mul(exact.FromInt(16, prec)).Sub(arctanInverse(239, prec).Mul(exact.FromInt(4, prec)))
}

// arctanInverse encloses arctan(1/x) = 1/x − 1/(3x³) + 1/(5x⁵) − …; the terms left out add up to less than the last one
// taken.
func arctanInverse(x int64, prec uint) exact.Interval {
	square := exact.FromInt(x*x, prec)
	power := exact.FromInt(1, prec).Quo(exact.FromInt(x, prec))
	sum := power
	for i := int64(1); ; i++ {
		power = power.Quo(square)
		t := power.Quo(exact.FromInt(2*i+1, prec))
		if i%2 == 1 {
			t = t.Neg()
		}
		sum = sum.Add(t)
		if t.Lo.MantExp(nil) < -int(prec) {
			if t.Lo.Sign() < 0 {
				t = t.Neg()
			}
			return sum.Add(exact.Interval{Lo: t.Neg().Lo, Hi: t.Hi})
		}
	}
}

// logNormal returns e^{σN} from a point of the disc and a sign.
func logNormal[R number[R], A arithmetic[R]](a A, v *variates, sigma R) R {
	exponent := halfNormal(a, v).Mul(sigma)
	if v.choice {
		exponent = a.constant(one).Sub(a.constant(one)).Sub(exponent)
	}
	return exponent.Exp()
}
