package general

import (
	"io"

	"github.com/louver/louver/mechanisms/exact"
)

// NoisyMaxExponential returns the position of the largest score_i + (2Δ/ε)·E_i, or score_i + (Δ/ε)·E_i if the scores
// are monotone, for independent exponential variables E_i of mean 1.
//
// Its law is that of [Selection.PermuteAndFlip]. With E_i = −ln U_i and p_i = e^{−κ(best−score_i)} the winner has the
// least U_i/p_i. For the best score that is at most 1, so only candidates with U_i ≤ p_i can win: those whose coin p_i
// comes up heads. Given heads, U_i/p_i is uniform in [0, 1], so each of the heads is equally likely to win, like the
// first one in random order.
//
// Privacy: ε-DP. Source: Ding, Kifer, Saghaian, Steinke, Wang, Xiao, Zhang 2021.
func (c Selection) NoisyMaxExponential(scores []int64, random io.Reader) (int, error) {
	return c.noisyMax(exact.ExponentialNoise, scores, random)
}

// NoisyMaxGumbel returns the position of the largest score_i + (2Δ/ε)·G_i, or score_i + (Δ/ε)·G_i if the scores are
// monotone, for independent Gumbel variables G_i = −ln E_i.
//
// Its law is that of [Selection.Exponential]. With w_i = e^{κ·score_i} the winner has the least E_i/w_i. These are
// exponential with rates w_i, and the i-th is the least with probability w_i/Σw_j.
//
// Privacy: ε-DP and ε-bounded-range. Source: Durfee & Rogers 2019.
func (c Selection) NoisyMaxGumbel(scores []int64, random io.Reader) (int, error) {
	return c.noisyMax(exact.GumbelNoise, scores, random)
}

func (c Selection) noisyMax(noise exact.Noise, scores []int64, random io.Reader) (int, error) {
	rate, top, err := c.check(scores)
	if err != nil {
		return 0, err
	}
	source := exact.NewSource(random)
	return source.NoisyMax(noise, rate, top, scores), source.Err()
}
