package mechanisms

import (
	"math"
	"math/big"

	"github.com/shopspring/decimal"
)

// Quality says in one word whether a released value can be relied on.
type Quality string

// The qualities. The empty one means that nothing public bounds the error.
const (
	Useful Quality = "useful"
	Rough  Quality = "rough"
	Noise  Quality = "noise"
)

// Judge returns the quality of the i-th value of a draw. b is the bound of that value. value is a number of users for
// counts, and in the unit of the grid otherwise. users is the count released for the same window and group, or nil. The
// number of users expected does not take its place: it is a forecast, and bounds nothing. A count of all users is
// judged by itself alone, even beside another one. Only public figures enter, so the quality may be published and costs
// nothing.
//
//   - If the released count is within its own noise, ± Error95, the window may be empty: every value is Noise. So is a
//     sum whose noise went beyond the largest number there is.
//   - A median or quantile is judged by its band, if it has one: see [Query.JudgeBand]. Without a band and without a
//     released count it has no quality. Else the value of p lies between the percentiles l and h with 95 % confidence:
//     Noise if the odds x/(1−x) of neither l nor h are within a factor of 9 of those of p, else Rough. So Noise begins
//     at 10–90 % for p50, below 50 % for p90 and below 91.7 % for p99, if the upper end is 100 % too. The bound holds
//     whatever the data. The typical error is about a tenth of it.
//   - A count of some users only (above, below, outside) is Useful if its error is at most a tenth of it or a twentieth
//     of all users, Noise if it is at least as large as the count and half of all users, else Rough. So the news that
//     there is hardly anybody is Useful too.
//   - Everything else is judged by an error and a reference: Useful up to a tenth of the reference, Noise from the
//     whole reference on, else Rough. The error of a count of all users is compared with the count. The error of a mean
//     is compared with its distance from 0, or with a tenth of the bounds' width if that is more and 0 lies inside the
//     bounds. The error of a sum is compared likewise, with a tenth of that width for each user.
//   - A mean or sum whose values were cut to an interval that the mechanism found is no better than the number of
//     users outside allows, compared with all of them: Useful if at most a twentieth of the users are outside and maybe
//     nobody, Rough if at most a third are and maybe fewer than a fiftieth, else Noise. If no count of all users was
//     drawn, by a release or by the mechanism, it is Rough at best.
//   - A mode is Noise if [Lead95] is at least the number of users: with so few, no mode could be found. Otherwise its
//     error depends on the data, and it has no quality. The same is true of all that is not named here.
func (q Query) Judge(b Bound, i int, value float64, users *NoisyCount) Quality {
	if b.paid {
		return q.JudgeBand(b.half*q.Grid.step.InexactFloat64(), value, BasisInterval, users)
	}
	quality := q.Foresee(b, i, value, users)
	if quality == Useful && q.Statistic.Family() == OfRanks {
		return Rough
	}
	return quality
}

// Foresee is [Query.Judge] for a draw that is still to come. It differs for medians and quantiles, whose bands in their
// own unit nobody knows yet: these are Useful if the odds of both percentiles are within a factor of 3 of those of p,
// as from 25 to 75 % for a median. Then their bands are likely to be narrow enough, if they have any.
func (q Query) Foresee(b Bound, i int, value float64, users *NoisyCount) Quality {
	n := 0.
	if users != nil && !q.CountsUsers() {
		if n = float64(users.Value); n <= float64(users.Error95()) {
			return Noise
		}
	}
	of, _ := q.Statistic.find()
	switch of.family {
	case OfRanks:
		if users == nil {
			return ""
		}
		return judgeOdds(b, q.Probabilities()[i].InexactFloat64(), n)
	case OfLeads:
		if n > 0 && float64(Lead95(q.Epsilon.InexactFloat64(), q.Grid.last)) >= n {
			return Noise
		}
		return ""
	}
	if b.stopped {
		return Noise
	}
	if of.width != nil && b.outside != nil && b.outside.best() == Noise {
		return Noise
	}
	if !finite(b.Error95) {
		return ""
	}
	reference := math.Abs(value)
	switch {
	case of.family == OfUsers && !q.OfEverybody():
		return judgePart(b.Error95, value, n)
	case of.width != nil:
		reference = max(reference, of.width(q.Grid, n)/10)
	}
	quality := compare(b.Error95, reference)
	if b.outside != nil {
		return worse(quality, b.outside.best())
	}
	return quality
}

// worse returns the worse of two qualities.
func worse(x, y Quality) Quality {
	for _, q := range []Quality{Noise, Rough} {
		if x == q || y == q {
			return q
		}
	}
	return Useful
}

// JudgeBand returns the quality of a median or quantile that has a band in its own unit: Useful if half the band's
// width is at most a tenth of the value's size, Noise if it is at least that size, else Rough. The size is the value's
// distance from 0, but no less than 10 steps, nor than a 64th of the bounds' width if 0 lies inside the bounds. A band
// that heavy-tailed values would have is Rough at best, since it does not hold the figure where that lies in a gap. If
// the released count is within its own noise, every value is Noise.
func (q Query) JudgeBand(half, value float64, basis Basis, users *NoisyCount) Quality {
	if users != nil && users.Value <= users.Error95() {
		return Noise
	}
	size := max(math.Abs(value), 10*q.Grid.step.InexactFloat64(), widthOfMean(q.Grid, 1)/64)
	quality := compare(half, size)
	if basis == BasisShape && quality == Useful {
		return Rough
	}
	return quality
}

// judgeEnds judges a quantile from a histogram by the ends of its band, like [Query.JudgeBand]. Noise in the tail may
// place the value near the upper end of a wide band, and half of the band is less than such a value. So the size is at
// most the geometric mean of the ends: from an upper end of 5.83 times the lower one on, the quantile is Noise.
//
// The band holds the truth in more than 95 % of draws. So five of six Rough values are as near to it as Useful ones
// have to be, and a third of those that are Noise. Still no wider band is Useful. Bands end with buckets, so that half
// of one is 0.09 of the size with two buckets of scale 3, and 0.14 with three. In simulated days of distributions so
// far, values with three were within a tenth of the truth in 98 % of all cases, but only in 92 % in one setting: see
// so_far.go in the folder experiments.
func (q Query) judgeEnds(value, low, high float64) Quality {
	size := math.Abs(value)
	if low*high >= 0 {
		size = min(size, math.Sqrt(low*high))
	}
	return q.JudgeBand((high-low)/2, size, BasisHistogram, nil)
}

// judgeOdds judges a quantile p among n users by the percentiles between which its value lies.
func judgeOdds(b Bound, p, n float64) Quality {
	low, high, bounded := b.PLow, b.PHigh, finite(b.PLow)
	if !bounded && finite(b.RankError95) && n > 0 {
		low, high = percentiles(p, b.RankError95, b.RankError95, n)
		bounded = true
	}
	below, above := oddsApart(p, low), oddsApart(p, high)
	switch {
	case !bounded:
		return ""
	case max(below, above) <= 3:
		return Useful
	case min(below, above) > 9:
		return Noise
	}
	return Rough
}

// judgePart judges a number of some of n users, or a share of them if n is 1. n is 0 if it is unknown.
func judgePart(noise, value, n float64) Quality {
	switch {
	case noise <= max(value/10, n/20):
		return Useful
	case noise >= max(value, n/2):
		return Noise
	}
	return Rough
}

// oddsApart is the factor, at least 1, between the odds x/(1−x) of two probabilities.
func oddsApart(p, r float64) float64 {
	return math.Exp(math.Abs(math.Log(p/(1-p)) - math.Log(r/(1-r))))
}

// compare judges an error by a reference.
func compare(noise, reference float64) Quality {
	switch {
	case noise >= reference:
		return Noise
	case noise <= reference/10:
		return Useful
	}
	return Rough
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// widthOfMean is the width of the bounds if 0 lies inside them, else 0.
func widthOfMean(g *Grid, _ float64) float64 {
	if !g.lower.IsNegative() || !g.upper.IsPositive() {
		return 0
	}
	return g.upper.Sub(g.lower).InexactFloat64()
}

// widthOfSum is that width for each of n users.
func widthOfSum(g *Grid, n float64) float64 { return n * widthOfMean(g, n) }

// Bound says how far a value may be from the truth, from public figures alone. Each figure holds with probability 95 %.
// NaN means that it is not known.
type Bound struct {
	// RankError95 bounds the distance from the true quantile, in ranks.
	RankError95 float64
	// Error95 bounds the noise: in users for counts, else in the unit of the grid. It says nothing about values that
	// were cut. If [Mechanism.Errors] says +Inf, each draw comes with a bound of its own.
	Error95 float64
	// PLow and PHigh are the percentiles between which the value lies, known only with a noisy count.
	PLow, PHigh float64
	// paid says that an interval was paid for, and half is half its width in steps of the grid.
	paid bool
	half float64
	// outside says how many users are outside the interval to which a mechanism cut values. It is nil for other
	// mechanisms, and if it does not tell how good the value is.
	outside *Outsiders
	// stopped says that the value ends at the largest number there is, and that the noise went further.
	stopped bool
}

// Stopped reports whether the noise went beyond the largest number there is, so that the value is that number.
func (b Bound) Stopped() bool { return b.stopped }

// unbounded is the bound of a value about which nothing is known.
func unbounded() Bound {
	nan := math.NaN()
	return Bound{RankError95: nan, Error95: nan, PLow: nan, PHigh: nan}
}

// noiseBound bounds the noise and nothing else.
func noiseBound(error95 float64) Bound {
	b := unbounded()
	b.Error95 = error95
	return b
}

// single returns the values of a draw that has only one.
func single(number int64, b Bound) []Value { return []Value{{Number: number, Bound: b}} }

// numbered gives each number its bound.
func numbered(numbers []int64, bounds []Bound) []Value {
	values := make([]Value, len(numbers))
	for i, b := range bounds {
		values[i] = Value{Number: numbers[i], Bound: b}
	}
	return values
}

// cutOff returns the value of a draw that has only one, which is cut off where it is impossible: below least and above
// most. Sums of values that were cut would be too large, because noise of one sign would be gone. So Raw keeps the
// noise of both.
func cutOff(drawn *big.Int, least, most int64, b Bound) []Value {
	raw := cut(drawn, -mostNumber, mostNumber)
	return []Value{{Number: min(max(raw, least), most), Raw: &raw, Bound: b}}
}

// Value is one value of a draw: a whole number on the scale of [Query.Scale], and how far it may be off.
type Value struct {
	Number int64
	// Raw is the number before impossible ones were cut off, as numbers of users below 0 are. Its noise has a mean of
	// 0, so it may be added up. It is nil where nothing is cut off.
	Raw *int64
	Bound
}

// Limits returns the least and the largest value that the exact statistic can have. nil means that there is no such
// limit.
func (q Query) Limits() (least, most *decimal.Decimal) {
	switch f := q.Statistic.Family(); {
	case f == OfUsers, q.Statistic == Variance, q.Statistic == StdDev:
		return &decimal.Zero, nil
	case q.Statistic == Sum:
		if !q.Grid.lower.IsNegative() {
			least = &decimal.Zero
		}
		if !q.Grid.upper.IsPositive() {
			most = &decimal.Zero
		}
		return least, most
	}
	return &q.Grid.lower, &q.Grid.upper
}
