package mechanisms

import (
	"math"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms/histogram"
	"github.com/louver/louver/mechanisms/running"
)

// The distribution so far is a running total of each number of a histogram: of the users in each bucket, and on two
// levels also of those in each group of neighbouring buckets. A user adds 1 to the numbers of their bucket in each
// window in which they count, at most Most times in a period.
//
// Privacy: ε-DP or ρ-zCDP for a period, as the strategy promises for [running.Period.Parts] sums side by side. In each
// level of buckets, one user changes the numbers by Σ|v| ≤ Most in all, over all leaves and whichever buckets they are
// in: [Total.Enter] adds each of their windows to one number of the level. Of two levels each has half of ε or of ρ.
//
// Figures: all noisy sums are of a stretch of time and a set of buckets, and those of a level of buckets have the same
// noise. So the best linear estimate may be made in two steps: first the total of each number, and then the estimate of
// package histogram with the variance of a total ([TotalNoise]). Totals are rounded in between. That adds at most a
// twelfth to a variance, which the ½ in all errors covers.

// Numbers is how many numbers a group has: one, or those of all buckets and then those of the groups of buckets.
func (t *Total) Numbers() int {
	if t.Buckets == nil {
		return 1
	}
	return t.Buckets.Len() + t.Buckets.Groups()
}

// Places is how many amounts of a window are kept apart in a group, and Place is that of a value: its bucket. index is
// as in [Total.Adds].
func (t *Total) Places() int {
	if t.Buckets == nil {
		return 1
	}
	return t.Buckets.Len()
}

// Place is the place of a value: see [Total.Places].
func (t *Total) Place(index int64) int {
	if t.Buckets == nil {
		return 0
	}
	return t.Buckets.Of(index) // values below the grid are in the first bucket, and those above it in the last one
}

// Enter adds what a window adds in each place of a group to the group's numbers, in a leaf that is not finished. open
// has a stretch for each number, and Enter changes it. Each amount goes to one number of each level.
func (t *Total) Enter(open []running.Open, leaf int64, amounts []int64) {
	for place, amount := range amounts {
		if amount == 0 {
			continue
		}
		open[place] = t.Add(open[place], leaf, amount)
		if t.Buckets != nil && t.Buckets.Groups() > 0 {
			group := t.Buckets.Len() + t.Buckets.Group(place)
			open[group] = t.Add(open[group], leaf, amount)
		}
	}
}

// Error95 is the distance from the truth that a total up to a leaf keeps to with a probability of at least 95 %. Of a
// histogram it is that of the number of all users.
func (t *Total) Error95(leaf int64) int64 {
	if t.Buckets == nil {
		return t.Strategy.Error95(leaf)
	}
	_, off := t.Buckets.Estimate(make([]int64, t.Buckets.Len()), make([]int64, t.Buckets.Groups()),
		TotalNoise(t, leaf), 1).Users()
	return int64(off)
}

// Needs returns about how many users a histogram has to hold after a leaf for a quantile that is more than noise, and
// for a useful one. Both are proportional to the noise of a number: the quality goes by the band, and that reaches as
// far as the noise of the users up to the quantile does. The factors are those of simulated days of 1,000 to 50,000
// users with lognormal latencies in 113 buckets, rounded to the safe side. Fewer buckets need fewer users.
func (t *Total) Needs(p decimal.Decimal, leaf int64) (rough, useful int64) {
	variance, _ := t.Noise(leaf)
	side := decimal.Min(p, decimal.NewFromInt(1).Sub(p)).InexactFloat64()
	users := func(factor float64) int64 { return int64(math.Ceil(factor * math.Sqrt(variance/8) / side)) }
	if side > 0.25 {
		return users(24), users(110)
	}
	return users(16), users(80)
}

// NoiseSoFar is at least the noise of each number of a histogram so far, by the published error of the number of all
// users. The mechanism is one of [TotalMechanisms].
func NoiseSoFar(mechanism string, b *histogram.Buckets, error95 float64) (histogram.Noise, error) {
	s, err := NewStrategy(mechanism, running.Period{Leaves: 1, Longest: 1}, decimal.NewFromInt(1), 1)
	if err != nil {
		return histogram.Noise{}, err
	}
	_, reach := s.Noise(1) // the same after each leaf
	return b.NoiseOf(error95, reach), nil
}

// TotalNoise is the noise of each number of a histogram so far, after a leaf.
func TotalNoise(s running.Strategy, leaf int64) histogram.Noise {
	variance, reach := s.Noise(leaf)
	return histogram.Noise{Variance: variance, Reach: reach}
}
