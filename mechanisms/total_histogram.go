package mechanisms

import (
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

// TotalNoise is the noise of each number of a histogram so far, after a leaf.
func TotalNoise(s running.Strategy, leaf int64) histogram.Noise {
	variance, reach := s.Noise(leaf)
	return histogram.Noise{Variance: variance, Reach: reach}
}
