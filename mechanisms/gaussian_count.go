package mechanisms

import (
	"math/big"

	"github.com/louver/louver/budget/privacy"
	"github.com/louver/louver/mechanisms/internal/parameter"
)

// newGaussianCount returns a count with discrete Gaussian noise of variance parameter σ² = 1/ε², P(z) ∝ e^{−z²ε²/2}.
// Its error is two thirds of that of geometric.
//
// Privacy: ρ-zCDP, ρ = ½ε², as one user changes the count by at most 1. There is no pure ε: the privacy loss grows with
// the noise drawn and has no bound, so that a budget needs a δ to say what it costs.
//
// Source: Canonne, Kamath, Steinke (2020), Theorem 14 and Algorithm 3.
func newGaussianCount(q *Query) (Mechanism, error) {
	if _, _, err := parameter.Epsilon(q.Epsilon); err != nil {
		return nil, err
	}
	rho := q.Epsilon.Rat()
	rho.Mul(rho, rho).Mul(rho, big.NewRat(1, 2))
	return q.counting(header{gaussianCount, privacy.NewZCDP(q.Epsilon)}, gaussian{rho})
}
