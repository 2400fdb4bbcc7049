package smooth

import (
	"fmt"
	"math/big"

	"github.com/louver/louver/mechanisms/exact"
)

// gaussian is the standard normal noise; it gives (ε, δ).
//
// Both calibrations are α = ε/(5√(2 ln(2/δ))), β = ε/(4(1 + ln(2/δ))) [Nissim, Raskhodnikova & Smith 2007, Lemma 2.10]; a
// smaller β may be given. Its proof bounds the shift's loss |s||y| + s²/2 and the dilation's, each by ε/2 outside of a
// tail of probability δ/2.
//
// A β that is computed is rounded down to 12 digits, which keeps the promise.
type gaussian struct{ epsilon, delta *big.Rat }

func newGaussian(c calibration) (noise, *big.Rat, error) {
	twice := new(big.Rat).Quo(big.NewRat(2, 1), c.delta)
	limit := quotient(c.epsilon, func(log exact.Interval) exact.Interval {
		p := log.Prec()
		return log.Add(exact.FromInt(1, p)).Mul(exact.FromInt(4, p))
	}, twice)
	beta := c.betaOr(limit)
	if beta.Cmp(limit) > 0 {
		return nil, nil, fmt.Errorf("beta %s: want at most epsilon/(4(1 + ln(2/delta))) = %s", text(beta), text(limit))
	}
	return &gaussian{c.epsilon, c.delta}, beta, nil
}

func (n *gaussian) alpha(prec uint) exact.Interval {
	log := whole(2, prec).Quo(real(n.delta, prec)).Log()
	root := long{prec + guard}.sqrt(log.Mul(whole(2, prec)))
	return real(n.epsilon, prec).Quo(root.Mul(whole(5, prec)))
}

func (n *gaussian) draw(s *exact.Source, v *variates) { drawDisc(s, v) }

func (n *gaussian) short(v *variates) span { return halfNormal(short{}, v) }

func (n *gaussian) long(v *variates, prec uint) exact.Interval { return halfNormal(long{prec}, v) }
