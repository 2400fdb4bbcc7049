package smooth

import (
	"math/big"

	"github.com/louver/louver/mechanisms/exact"
)

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
