// Package general offers the tools behind Louver's statistics for other uses: choosing one of a finite set of scored
// candidates ([Selection], by the exponential mechanism, permute-and-flip or report-noisy-max), and adding noise to a
// number ([Laplace], [DiscreteLaplace]). They draw their laws exactly, from the decimal text of ε.
//
// Neighbouring inputs differ by one person's data, added or removed. The caller must know the sensitivity of a score or
// number.
package general

import (
	"fmt"
	"io"
	"math/big"
	"slices"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms/exact"
)

// Selection chooses among candidates by their scores. Scores are whole numbers: scale fractions up.
type Selection struct {
	// Epsilon > 0 is the ε of a choice. Required.
	Epsilon decimal.Decimal
	// Sensitivity ≥ 1 is the most by which one person changes any candidate's score. Required.
	Sensitivity int64
	// Monotone promises that adding a person never moves two candidates' scores in opposite directions, as with votes.
	// The choice is then as accurate as one with twice the ε without it.
	Monotone bool
}

// maxScore bounds the size of scores, so that differences fit in an int64.
const maxScore = 1 << 61

func (c Selection) rate() (exact.Rate, error) {
	if err := checkEpsilon(c.Epsilon); err != nil {
		return exact.Rate{}, err
	}
	if c.Sensitivity < 1 || c.Sensitivity > maxScore {
		return exact.Rate{}, fmt.Errorf("sensitivity %d; want from 1 to 2^61", c.Sensitivity)
	}
	divisor := big.NewRat(c.Sensitivity, 1)
	if !c.Monotone {
		divisor.Mul(divisor, big.NewRat(2, 1))
	}
	return exact.NewRate(divisor.Quo(c.Epsilon.Rat(), divisor)), nil
}

func checkEpsilon(epsilon decimal.Decimal) error {
	if epsilon.Sign() <= 0 {
		return fmt.Errorf("epsilon %s; want more than 0", epsilon)
	}
	if epsilon.Exponent() < -100 || epsilon.Exponent() > 18 || epsilon.NumDigits() > 100 {
		return fmt.Errorf("epsilon has too many digits: at most 100")
	}
	return nil
}

// check returns the rate κ of weights e^{κ·score} and the best score.
func (c Selection) check(scores []int64) (rate exact.Rate, top int64, err error) {
	if rate, err = c.rate(); err != nil {
		return rate, 0, err
	}
	if len(scores) == 0 {
		return rate, 0, fmt.Errorf("scores: none; want at least one candidate")
	}
	if slices.Max(scores) > maxScore || slices.Min(scores) < -maxScore {
		return rate, 0, fmt.Errorf("scores must lie between −2^61 and 2^61")
	}
	return rate, slices.Max(scores), nil
}

// Exponential returns the position of a candidate, drawn with P(i) ∝ e^{ε·score_i/(2Δ)}, or ∝ e^{ε·score_i/Δ} if the
// scores are monotone. [Selection.NoisyMaxGumbel] draws the same law.
//
// Privacy: ε-DP and ε-bounded-range: all weights change by factors within a range of e^ε, and so does their sum.
// Source: McSherry & Talwar 2007; for monotone scores, Dwork & Roth 2014, section 3.4.
func (c Selection) Exponential(scores []int64, random io.Reader) (int, error) {
	rate, top, err := c.check(scores)
	if err != nil {
		return 0, err
	}
	var wheel exact.Wheel
	wheel.Reset(rate, 0)
	for _, s := range scores {
		wheel.Add(1, top-s)
	}
	source := exact.NewSource(random)
	return wheel.Spin(source), source.Err()
}

// PermuteAndFlip returns the position of a candidate. It goes through the candidates in random order and takes each
// with probability e^{−ε(best−score_i)/(2Δ)}, or e^{−ε(best−score_i)/Δ} if the scores are monotone, until one is taken.
// [Selection.NoisyMaxExponential] draws the same law. Its scores are never worse than those of Exponential with the
// same ε, but it is not bounded-range, so many choices cost more.
//
// Privacy: ε-DP. Source: McKenna & Sheldon 2020.
func (c Selection) PermuteAndFlip(scores []int64, random io.Reader) (int, error) {
	rate, top, err := c.check(scores)
	if err != nil {
		return 0, err
	}
	// The first head in random order is equally likely to be any of the heads.
	source := exact.NewSource(random)
	chosen, heads := 0, uint64(0)
	for i, s := range scores {
		if source.ExpCoin(rate, top-s) {
			heads++
			if source.Coin(1, heads) {
				chosen = i
			}
		}
	}
	return chosen, source.Err()
}

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
