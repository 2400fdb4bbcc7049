package mechanisms

import (
	"math/big"

	"github.com/louver/louver/mechanisms/exact"
)

// fewUsers spends a little ε on one bit: whether so few users are in the tail p/q that above_threshold is the better
// mechanism,
//
//	n + Z ≤ limit,  limit = ⌈8q/(min(p, q−p)·ε)⌉,  P(Z = z) ∝ e^{−share·ε·|z|}.
//
// That is the size of a sample with ε·n·min(α, 1−α) = 8. The share of ε is 1/32, and 1/128 in a tail of less than 1/20,
// where the limit is so large that less is enough.
//
// Privacy: share·ε-DP. The number of users changes by 1 between neighbours, and the law of Z by a factor within
// e^{±share·ε} for each step; the bit is post-processing. It may be published.
//
// The bit is wrong only near the limit, where both mechanisms are about equally good.
//
// Source: Ghosh, Roughgarden, Sundararajan (2009) for the noise; the limit and the shares are from the study in the
// folder experiments.
type fewUsers struct {
	num, den, share uint64 // the noise has the rate num/(den·share)
	limit           int64
}

// information is ε·n·min(α, 1−α) below which above_threshold is better than permute-and-flip.
const information = 8

func newFewUsers(p, q int64, epsilon *big.Rat) fewUsers {
	share := uint64(128)
	if 20*min(p, q-p) >= q {
		share = 32
	}
	return fewUsers{epsilon.Num().Uint64(), epsilon.Denom().Uint64(), share, usersFor(information, p, q, epsilon)}
}

// ask draws the bit.
func (t fewUsers) ask(s *Sample, source *exact.Source) bool {
	noisy := source.DiscreteLaplace(t.num, t.den, t.share)
	return noisy.Add(noisy, big.NewInt(s.n)).Cmp(big.NewInt(t.limit)) <= 0
}
