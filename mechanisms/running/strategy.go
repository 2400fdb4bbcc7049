package running

import (
	"io"
	"math"
	"math/big"

	"github.com/louver/louver/budget/privacy"
)

// Open holds exact sums of what one group has added to stretches that are not finished. They are personal, like the
// records themselves, and are published only with noise.
type Open []int64

// Known holds what totals are computed from: everything in it follows from draws, and is public.
type Known []*big.Int

// MostTotal is the largest c. Then no exact sum leaves 64 bits, with as many persons as memory can hold.
const MostTotal = 1 << 30

// Strategy says what is drawn at the end of each leaf, and what the total is then. Leaves are numbered from 1. It is
// immutable, and safe for concurrent use.
type Strategy interface {
	// Name is the name of the mechanism.
	Name() string
	// Promise is what all draws of a period together cost one person in one group.
	Promise() privacy.Promise
	// Longest is the most leaves of a period, or 0 if there is no limit.
	Longest() int64
	// Add adds an amount to a leaf that is not finished, which is the last one. It may change open. The amounts of one
	// person in all leaves of a period must add up to c at most, in absolute terms.
	Add(open Open, leaf, amount int64) Open
	// Draw draws the noisy sums of the stretches that end with a leaf. It changes nothing. Each sum must be drawn only
	// once.
	Draw(open Open, leaf int64, random io.Reader) ([]*big.Int, error)
	// Close forgets the stretches in open that end with a leaf.
	Close(open Open, leaf int64)
	// Draws is how many sums are drawn at the end of a leaf.
	Draws(leaf int64) int
	// Fold returns what is known after a leaf, from what was known before it and its draws. It changes neither.
	Fold(known Known, leaf int64, draws []*big.Int) Known
	// Total returns the total up to a leaf from what is known after it.
	Total(known Known, leaf int64) *big.Int
	// Noise is the variance of the noise in a total up to a leaf, or a little more, and reach is how many standard
	// deviations, and half of one more, that noise exceeds on one side with a probability of 2.5 % at most. The same
	// holds for weighted sums of totals whose noise is independent, with the variance of the sum.
	Noise(leaf int64) (variance, reach float64)
	// Error95 is the distance from the truth that a total up to a leaf keeps to with a probability of at least 95 %.
	Error95(leaf int64) int64
	// Apart bounds the probability that the totals of two periods up to the same leaf differ by more than a distance in
	// a given direction by their noise alone.
	Apart(leaf, distance int64) float64
}

// Active is a strategy for numbers that rise and fall, such as the users seen lately. An amount of a leaf is the whole
// number at its end. One person is 0 or 1 of it in each leaf. There are no periods: leaves follow one another for ever,
// and Promise is what all draws of any day cost one person.
type Active interface {
	Strategy
	// Touched is what all draws together cost one person who is active in so many leaves in a row at most, and in no
	// others. It is for the removal of a stretch of time from a person's history. Beyond these leaves it counts what is
	// left of them in later draws, except for what rounding leaves: that is below 2^−12 of the price of a day.
	Touched(leaves int64) privacy.Promise
}

// Period describes the leaves of a period. Nothing in it depends on data.
type Period struct {
	// Leaves is how many leaves a period usually has.
	Leaves int64
	// Longest is the most leaves that a period may have, at least Leaves.
	Longest int64
	// Parts is how many sums run side by side to each of which one person adds, such as the users of a bucket and those
	// of a group of buckets. Each has an equal part of ε or ρ, and the promise is for all of them together. 0 means
	// one.
	Parts int64
}

// parts is Parts, at least 1.
func (p Period) parts() int64 { return max(1, p.Parts) }

// The 95 % points of noise in units of its standard deviation. That of a single Laplace number is 2.12, and sums of
// several have less.
const (
	laplaceReach  = 2.12
	gaussianReach = 1.96
)

// error95 is what noise keeps to, with ½ for the rounding of the total.
func error95(variance, reach float64) int64 { return int64(math.Ceil(reach*math.Sqrt(variance) + 0.5)) }

// at returns k[i], or 0.
func (k Known) at(i int) *big.Int {
	if i < len(k) {
		return k[i]
	}
	return new(big.Int)
}

// nearest returns x/y rounded to the nearest whole number, halves upward, for y > 0.
func nearest(x, y *big.Int) *big.Int {
	twice := new(big.Int).Lsh(x, 1)
	twice.Add(twice, y)
	return twice.Div(twice, new(big.Int).Lsh(y, 1)) // Div rounds down, for y > 0
}
