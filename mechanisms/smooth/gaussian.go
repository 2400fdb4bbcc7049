package smooth

import (
	"math/big"

	"github.com/louver/louver/mechanisms/exact"
	"github.com/louver/louver/mechanisms/internal/parameter"
)

// gaussian is standard normal noise. It gives (ε, δ)-DP.
//
// Both calibrations are α = ε/(5L), L = √(2 ln(2/δ)), and β = ε/(4(1 + ln(2/δ))) [Nissim, Raskhodnikova & Smith 2007,
// Lemma 2.10]; a smaller β may be given. The paper requires ε < 1. For larger ε this proof holds: |y| ≤ L except with
// probability δ/2, and there the loss ½(y'² − y²) − t, y' = e^t(y+s), is at most
//
//   - ½((e^t L + α)² − L²) − t for t ≥ 0, which is convex in t, so at most Lα + ½α² ≤ ε or what it is at β,
//   - ½((L + α)² − L²) + β for t ≤ 0.
//
// So β is also at most ln((√(2ε + L²) − α)/L), which makes the first at most ε, and Lα + ½α² + β ≤ ε is checked.
//
// A computed β is rounded down to 12 digits, which keeps the promise.
type gaussian struct{ epsilon, delta *big.Rat }

func newGaussian(c calibration) (noise, *big.Rat, error) {
	n := &gaussian{c.epsilon, c.delta}
	epsilon, reach, alpha := rational(c.epsilon, firstPrec), n.reach(firstPrec), n.alpha(firstPrec)
	square := reach.Mul(reach)
	half := alpha.Mul(alpha).Quo(whole(2, firstPrec))
	byShift := reach.Mul(alpha).Add(half)
	tooLarge := parameter.Wrong("epsilon", text(c.epsilon),
		"less: the calibration of gaussian holds up to roughly 70 ln(2/delta) only")
	if !byShift.Before(epsilon) {
		return nil, nil, tooLarge
	}
	published := epsilon.Quo(square.Mul(whole(2, firstPrec)).Add(whole(4, firstPrec)))
	root := long{firstPrec + guard}.sqrt(square.Add(epsilon.Mul(whole(2, firstPrec)))) // more than L + α
	limit := roundDown(least(published, root.Sub(alpha).Quo(reach).Log()))
	beta := c.betaOr(limit)
	if beta.Cmp(limit) > 0 {
		return nil, nil, parameter.Wrong("beta", text(beta), "at most epsilon/(4(1 + ln(2/delta))) = %s", text(limit))
	}
	if !byShift.Add(rational(beta, firstPrec)).Before(epsilon) {
		return nil, nil, tooLarge
	}
	return n, beta, nil
}

// reach is L.
func (n *gaussian) reach(prec uint) exact.Interval {
	log := whole(2, prec).Quo(rational(n.delta, prec)).Log()
	return long{prec + guard}.sqrt(log.Mul(whole(2, prec)))
}

func (n *gaussian) alpha(prec uint) exact.Interval {
	return rational(n.epsilon, prec).Quo(n.reach(prec).Mul(whole(5, prec)))
}

func (n *gaussian) draw(s *exact.Source, v *variates) { drawDisc(s, v) }

func (n *gaussian) short(v *variates) span { return halfNormal(short{}, v) }

func (n *gaussian) long(v *variates, prec uint) exact.Interval { return halfNormal(long{prec}, v) }

// drawDisc puts a uniform point of the quarter disc into the first two numbers.
func drawDisc(s *exact.Source, v *variates) {
	for {
		v.u[0], v.u[1] = s.Uniform(), s.Uniform()
		if belowOne(
			squaredRadius(short{}, v),
			func(prec uint) exact.Interval { return squaredRadius(long{prec}, v) },
		) {
			return
		}
	}
}

func squaredRadius[R number[R], A arithmetic[R]](a A, v *variates) R {
	x, y := a.uniform(&v.u[0]), a.uniform(&v.u[1])
	return x.Mul(x).Add(y.Mul(y))
}

// halfNormal returns |N| of a standard normal N, from a point of the disc, by Marsaglia's polar method:
// x·√(−2 ln w/w), w = x² + y².
func halfNormal[R number[R], A arithmetic[R]](a A, v *variates) R {
	w := squaredRadius(a, v)
	zero := a.constant(one).Sub(a.constant(one))
	return a.uniform(&v.u[0]).Mul(a.sqrt(zero.Sub(w.Log()).Mul(a.constant(two)).Quo(w)))
}
