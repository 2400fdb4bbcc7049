package histogram

import (
	"math"
	"math/big"
	"slices"

	"github.com/shopspring/decimal"
)

// fraction is the number of binary places of estimates.
const fraction = 16

// MostUsers bounds each drawn number and each sum of them, in both directions: sums of estimates stay within 62 bits.
const MostUsers = 1 << 34

// Noise is the noise of each drawn number.
type Noise struct {
	// Variance is the variance of one number, or a little more.
	Variance float64
	// Reach is a number of standard deviations. The noise of a sum exceeds them, and half a user more, on one side with
	// a probability of 2.5 % at most.
	Reach float64
	// rate is the rate of Laplace noise, and 0 for other noise.
	rate float64
}

// Laplace is the noise of numbers of discrete Laplace law P(Z=z) ∝ r^|z|, r = e^{−rate}: its variance is 2r/(1−r)².
//
// Reach: 2.12 is the 95 % point of a single Laplace number in units of its σ, and sums have less. Half a user more
// covers numbers that are mostly 0.
func Laplace(rate float64) Noise {
	m := -math.Expm1(-rate)
	return Noise{Variance: 2 * math.Exp(-rate) / (m * m), Reach: 2.12, rate: rate}
}

// Gaussian is the noise of numbers of discrete Gaussian law with the variance parameter σ², which is not less than
// their variance (Canonne, Kamath, Steinke 2020, Corollary 9).
func Gaussian(variance float64) Noise { return Noise{Variance: variance, Reach: 1.96} }

// Estimate is what the numbers that were drawn for one group of a window say. It is immutable and safe for concurrent
// use.
type Estimate struct {
	*Buckets
	noise Noise   // of sums over all windows
	best  []int64 // unbiased estimates in multiples of 2^−16, cumulated: Σ_{≤j} a
	shown []int64 // shown numbers in multiples of 2^−16, cumulated
}

// Estimate makes the estimates from the numbers that were drawn for the buckets and for their groups, or from their
// sums over several windows. windows is at least 1.
//
// With F the sum of the numbers f of a group's m buckets, and c the group's own number, the bucket's estimate is
//
//	a = f + (c − F)/(m+1),
//
// which is unbiased and has the least variance of all linear ones, as all numbers have the same. On one level a = f.
// What is shown is the nearest vector without negative numbers: first of the groups' sums, then of the buckets of each
// group. It is cumulated before it is rounded, so that the shown counts have the rounded sum.
func (b *Buckets) Estimate(raw, coarse []int64, noise Noise, windows int64) *Estimate {
	noise.Variance *= float64(windows)
	e := &Estimate{Buckets: b, noise: noise}
	a := make([]int64, b.Len())
	for i := range a {
		a[i] = bounded(raw[i]) << fraction
	}
	sums := make([]int64, b.groups)
	for g := range sums {
		from, to := b.within(g)
		own := a[from:to]
		off := bounded(coarse[g]) << fraction
		for _, f := range own {
			off -= f
		}
		share := nearest(off, int64(len(own)+1))
		for i := range own {
			own[i] += share
			sums[g] += own[i]
		}
	}
	e.best = cumulated(a)
	e.shown = e.show(a, sums)
	return e
}

func bounded(x int64) int64 { return min(max(x, -MostUsers), MostUsers) }

// Bounded returns a number of users, cut to [MostUsers] in both directions.
func Bounded(x *big.Int) int64 {
	if !x.IsInt64() {
		return int64(x.Sign()) * MostUsers
	}
	return bounded(x.Int64())
}

func cumulated(x []int64) []int64 {
	c, sum := make([]int64, len(x)), int64(0)
	for i, v := range x {
		sum += v
		c[i] = sum
	}
	return c
}

// show returns the shown numbers, cumulated.
func (e *Estimate) show(a, sums []int64) []int64 {
	total := e.best[len(e.best)-1]
	var shown []int64
	if e.groups == 0 {
		shown = project(a, total)
	} else {
		for g, of := range project(sums, total) {
			from, to := e.within(g)
			shown = append(shown, project(a[from:to], of)...)
		}
	}
	c, all := cumulated(shown), max(0, total)
	for i := range c {
		c[i] = min(c[i], all)
	}
	c[len(c)-1] = all // the projections may miss it by their roundings
	return c
}

// Users returns the estimated number of all users, at least 0, and its error with 95 % confidence.
func (e *Estimate) Users() (n int64, error95 float64) {
	return e.Count(func(int) bool { return true })
}

// NoiseOf returns noise with this reach of which the number of all users has this error, or a little more noise: errors
// are rounded up.
func (b *Buckets) NoiseOf(error95, reach float64) Noise {
	all := float64(b.Len())
	if b.groups > 0 {
		all = b.wholes[b.groups]
	}
	sigma := max(0, error95-0.5) / reach
	return Noise{Variance: sigma * sigma / all, Reach: reach}
}

// Unit is what [Estimate.Above] counts in: the 2^16th part of a user.
const Unit = 1.0 / (1 << fraction)

// Above returns the estimated number of the users above the end of a bucket and of all users, in multiples of [Unit].
// They are unbiased and may be negative, so those of several windows may be added up.
func (e *Estimate) Above(bucket int) (above, all int64) {
	all = e.best[len(e.best)-1]
	return all - e.best[bucket], all
}

// Counts returns the shown number of users in each bucket: never negative, with the sum of [Estimate.Users].
func (e *Estimate) Counts() []int64 {
	counts, before := make([]int64, len(e.shown)), int64(0)
	for i, c := range e.shown {
		rounded := nearest(c, 1<<fraction)
		counts[i], before = rounded-before, rounded
	}
	return counts
}

// nobody reports whether nobody is shown.
func (e *Estimate) nobody() bool { return nearest(e.total(), 1<<fraction) == 0 }

// total is the total of the shown numbers.
func (e *Estimate) total() int64 { return e.shown[len(e.shown)-1] }

// users is the estimated number of all users, which may be negative.
func (e *Estimate) users() float64 { return e.upTo(e.Len() - 1) }

// upTo is the estimated number of the users up to the end of a bucket.
func (e *Estimate) upTo(bucket int) float64 {
	if bucket < 0 {
		return 0
	}
	return float64(e.best[bucket]) / (1 << fraction)
}

// Quantile is an estimated quantile, in grid indices, with an interval that holds the true one with 95 % confidence.
type Quantile struct {
	Index, Low, High int64
	// PLow and PHigh are the shown shares of the users below the interval and up to its end.
	PLow, PHigh float64
}

// Quantile estimates the value that a share p of the users does not exceed: in the first bucket with a shown cumulative
// count of at least p·total, by linear interpolation, rounded up to a point. It is false if nobody is shown.
func (e *Estimate) Quantile(p decimal.Decimal) (Quantile, bool) {
	if e.nobody() {
		return Quantile{}, false
	}
	total := e.total()
	wanted := p.Mul(decimal.NewFromInt(total))
	j := 0
	for least := wanted.Ceil().IntPart(); e.shown[j] < least; { // whole numbers are less than both or than neither
		j++
	}
	var q Quantile
	if first, last := e.span(j); first == last {
		q.Index = last
	} else {
		before := int64(0)
		if j > 0 {
			before = e.shown[j-1]
		}
		// The bucket reaches from the end before it to its own; the first one holds the first point too.
		width := last - first + 1
		if j == 0 {
			width = last
		}
		part := wanted.Sub(decimal.NewFromInt(before)).Mul(decimal.NewFromInt(width)).Rat()
		part.Quo(part, decimal.NewFromInt(e.shown[j]-before).Rat())
		q.Index = last - width + ceiling(part)
	}
	low, high := e.interval(p.InexactFloat64())
	q.Low, _ = e.span(low)
	_, q.High = e.span(high)
	q.Low, q.High = min(q.Low, q.Index), max(q.High, q.Index)
	if low > 0 {
		q.PLow = float64(e.shown[low-1]) / float64(total)
	}
	q.PHigh = float64(e.shown[high]) / float64(total)
	return q, true
}

// Mode returns the last point of the bucket that shows most users, or of the lowest of them if there are several. It is
// false if nobody is shown.
func (e *Estimate) Mode() (index int64, ok bool) {
	if e.nobody() {
		return 0, false
	}
	best, most := 0, int64(0)
	for i, n := range e.Counts() {
		if n > most {
			best, most = i, n
		}
	}
	_, index = e.span(best)
	return index, true
}

// project returns the vector nearest to x that is nowhere negative and has the sum t: max(x_i − τ, 0), in whole
// numbers, with τ rounded to the nearest. It is all zeros if t ≤ 0. The sum may miss t by a rounding of each number.
//
// Source: Duchi, Shalev-Shwartz, Singer, Chandra (2008), Figure 1: with x in descending order, τ = (Σ_{j≤k} x_j − t)/k
// for the largest k whose x_k is greater than that.
func project(x []int64, t int64) []int64 {
	shown := make([]int64, len(x))
	if t <= 0 {
		return shown
	}
	sorted := slices.Clone(x)
	slices.Sort(sorted)
	slices.Reverse(sorted)
	var sum, above, kept int64
	for j, v := range sorted {
		sum += v
		if k := int64(j + 1); v*k > sum-t {
			above, kept = sum-t, k
		}
	}
	tau := nearest(above, kept)
	for i, v := range x {
		shown[i] = max(0, v-tau)
	}
	return shown
}

// nearest returns num/den rounded to the nearest whole number, halves upward, for den > 0.
func nearest(num, den int64) int64 {
	q, r := num/den, num%den
	if r < 0 {
		q, r = q-1, r+den
	}
	if r >= den-r {
		q++
	}
	return q
}
