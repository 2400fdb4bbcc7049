package mechanisms

import (
	"io"
	"math"
	"math/big"

	"github.com/louver/louver/budget/privacy"
	"github.com/louver/louver/mechanisms/exact"
	"github.com/louver/louver/mechanisms/internal/parameter"
	"github.com/louver/louver/mechanisms/internal/uint128"
)

// clippedMean is the default for means: it finds an interval [l, h] privately (see [clipping]), cuts the values to it,
// and releases two noisy sums. twoSums does without the first step, on the whole grid. With W = h − l and x' the value
// x cut,
//
//	A = Σ(x' − l), B = Σ(h − x'), ã = A + Z₁, b̃ = B + Z₂, P(Z=z) ∝ e^{−|z|·ε_m/W},
//	the mean is l + W·a/(a + b) for a = max(ã, 0) and b = max(b̃, 0), and the middle of l and h if both are 0.
//
// If a count N0 was released for the same window with ε₀ ≥ ε_m, one sum from the middle is better:
//
//	S = Σ(2x' − l − h), S̃ = S + Z, and the mean is (l + h)/2 + S̃/(2·max(1, N0)), cut to [l, h].
//
// The mean is rounded to the nearest part of a step (see [Grid.parts]), ties upward.
//
// Privacy: ε-DP. For l = h there is no noise: every user adds 0 then. One user at x' changes A by x' − l and B by h −
// x', which is W in all, and so the law of (ã, b̃) by a factor in e^{±ε_m}; the user changes S by |2x' − l − h| ≤ W.
// All else is post-processing of these and of the count. [clipping] says why ε_m and what the interval costs are ε
// together.
//
// Why two sums: both have all of ε_m, since one user cannot move both by much. With t for the mean's place in [l, h],
// the error is about (1 − t(1−t))·W/(ε_m·n), where a sum and a count of half of ε each have 1.5 to 2 times W/(ε_m·n).
// It is the K-norm mechanism of (sum, count) (Hardt & Talwar 2010), whose unit ball is a square.
type clippedMean struct {
	*clipping
	twoSums
}

// wholeMean is twoSums on the whole grid. It is better than clippedMean if the data fill the bounds.
type wholeMean struct {
	header
	twoSums
	noise noise
}

// twoSums turns the values in an interval into a noisy mean.
type twoSums struct {
	grid  *Grid
	parts int64
}

func newClippedMean(q *Query) (Mechanism, error) { return q.clippedMean(newClipping) }

// newClippedMeanGaussian is the same with ρ-zCDP, ρ = ½ε²: Z is discrete Gaussian noise of variance W²/(2ρ_m). One user
// changes (A, B) by W at most in the L2 norm too. At the same ρ its error is about 0.6 times that of clipped.
func newClippedMeanGaussian(q *Query) (Mechanism, error) { return q.clippedMean(newConcentrated) }

func (q *Query) clippedMean(clip func(*Query) (*clipping, error)) (Mechanism, error) {
	c, err := clip(q)
	if err != nil {
		return nil, err
	}
	return &clippedMean{c, q.twoSums()}, nil
}

func (q *Query) twoSums() twoSums { return twoSums{q.Grid, q.Grid.parts()} }

func newTwoSums(q *Query) (Mechanism, error) {
	num, den, err := parameter.Epsilon(q.Epsilon)
	if err != nil {
		return nil, err
	}
	return &wholeMean{header{"two_sums", privacy.NewPure(q.Epsilon)}, q.twoSums(), laplace{num, den, 1}}, nil
}

func (m *clippedMean) Draw(s *Sample, public Public, random io.Reader) (Draw, error) {
	return m.drawWith(s, public, random, func(p plan, k *scratch) (Draw, error) {
		l, h := m.draw(s, p, &k.source, &k.clipped)
		d := m.mean(s, l, h, p.sums, public.Users, &k.source)
		d.Clip = []int64{l * m.parts, h * m.parts}
		return d, nil
	})
}

// Errors depend on the interval and the sums drawn.
func (m *clippedMean) Errors(public Public) []Bound { return m.errors(math.Inf(1), public.Users) }

func (m *wholeMean) Draw(s *Sample, public Public, random io.Reader) (Draw, error) {
	return drawOnce(s, random, func(source *exact.Source) Draw {
		return m.mean(s, 0, m.grid.last, m.noise, public.Users, source)
	})
}

// Errors depend on the sums drawn.
func (m *wholeMean) Errors(Public) []Bound { return []Bound{noiseBound(math.Inf(1))} }

// MeanError95 bounds the error of a mean by two_sums of n users, for any data, with probability 95 %, in the unit of
// the grid. count is the count released for the same window, or a similar one; nil if there is none.
//
// Two sums of n·W in all are off by z in all, which moves the quotient by z/(n·W − z) at most. One sum from the middle,
// of n·W at most, off by z and divided by 2N0 instead of 2n, is off by (z + W·c)/(2(n − c)), c = |N0 − n|.
func (q Query) MeanError95(n int64, count *NoisyCount) float64 {
	epsilon, width := q.Epsilon.InexactFloat64(), uint64(q.Grid.last)
	z, err := newTwoSums(&q)
	if err != nil {
		return math.NaN()
	}
	sums, share := z.(*wholeMean).noise, 1.0
	if count != nil && count.Epsilon >= epsilon {
		off, _ := sums.reach(width, 0.025).Float64()
		c := count.reach(0.025 / 2)
		if left := float64(n) - c; left > 0 {
			share = (off/float64(width) + c) / (2 * left)
		}
	} else {
		off, _ := sums.pairReach(width)[0][0].Float64()
		if left := float64(n) - off/float64(width); left > 0 {
			share = off / float64(width) / left
		}
	}
	return min(share, 1) * q.Grid.upper.Sub(q.Grid.lower).InexactFloat64()
}

// scale is that of the grid, with steps divided into parts.
func (m *twoSums) scale() Scale { return m.grid.scale(m.parts) }

// mean draws the mean of the values cut to l..h, with a bound of its noise.
func (m *twoSums) mean(s *Sample, l, h int64, z noise, users *NoisyCount, source *exact.Source) Draw {
	value, off := l*m.parts, int64(0)
	switch {
	case l == h: // needs no noise
	case users != nil && users.Epsilon >= z.rate():
		value, off = m.counted(s, l, h, z, users, source)
	default:
		value, off = m.paired(s, l, h, z, source)
	}
	return Draw{Values: single(value, noiseBound(m.scale().Length(off).InexactFloat64()))}
}

// paired draws two sums. error95 bounds how far the value is from the mean of the cut values, with probability 95 %.
func (m *twoSums) paired(s *Sample, l, h int64, z noise, source *exact.Source) (value, error95 int64) {
	width := uint64(h - l)
	a, b := s.distances(l, h)
	draw := z.law(width)
	a.Add(a, draw(source))
	b.Add(b, draw(source))
	return m.ratio(l, h, a, b, z.pairReach(width))
}

// ratio returns the mean that two noisy sums give, and its error: the true sums lie within reach of the noisy ones, and
// neither is negative, so that the share of either is least where it is less by what the noise may have added and the
// other one is more.
func (m *twoSums) ratio(l, h int64, noisyA, noisyB *big.Int, reach [][2]*big.Int) (value, error95 int64) {
	width := m.parts * (h - l)
	a, b := positivePart(noisyA), positivePart(noisyB)
	at := width / 2
	if all := new(big.Int).Add(a, b); all.Sign() > 0 {
		at = nearest(width, a, all).Int64()
	}
	low, high := width, int64(0)
	for _, off := range reach {
		low = min(low, leastShare(width, noisyA, b, off))
		high = max(high, width-leastShare(width, noisyB, a, off))
	}
	return l*m.parts + at, max(at-low, high-at)
}

// leastShare returns the least part of the width that a sum and the rest may have in this relation.
func leastShare(width int64, noisy, rest *big.Int, off [2]*big.Int) int64 {
	sum := new(big.Int).Sub(noisy, off[0])
	if sum.Sign() <= 0 {
		return 0
	}
	all := new(big.Int).Add(sum, rest)
	return portion(width, sum, all.Add(all, off[1])).Int64()
}

// counted draws one sum and divides it by a released count. Each of the two noises exceeds its reach with probability
// at most 2.5 %. Within their reaches, the true quotient is furthest off at an end of the possible range.
func (m *twoSums) counted(s *Sample, l, h int64, z noise, users *NoisyCount,
	source *exact.Source) (value, error95 int64) {
	width := uint64(h - l)
	a, b := s.distances(l, h)
	sum := a.Sub(a, b)
	sum.Add(sum, z.law(width)(source))
	return m.quotient(l, h, sum, z.reach(width, 0.025), users.Value, whole(users.reach(0.025/2)))
}

// quotient returns the mean that a noisy sum from the middle and a noisy count give, and its error.
func (m *twoSums) quotient(l, h int64, sum, offSum *big.Int, users int64, offUsers *big.Int) (value, error95 int64) {
	count := big.NewInt(max(1, users))
	few := new(big.Int).Sub(count, offUsers)
	if few.Sign() <= 0 {
		few.SetInt64(1)
	}
	many := new(big.Int).Add(count, offUsers)
	least, most := new(big.Int).Sub(sum, offSum), new(big.Int).Add(sum, offSum)
	// A negative sum is furthest from 0 if there are few users.
	leastCount, mostCount := many, few
	if least.Sign() < 0 {
		leastCount = few
	}
	if most.Sign() < 0 {
		mostCount = many
	}
	// W/2 + S/(2n) from l is (W·n + S)/(2n).
	width := big.NewInt(h - l)
	part := func(sum, count *big.Int, round func(int64, *big.Int, *big.Int) *big.Int) int64 {
		num := new(big.Int).Mul(width, count)
		return cut(round(m.parts, num.Add(num, sum), new(big.Int).Lsh(count, 1)), 0, m.parts*(h-l))
	}
	at := part(sum, count, nearest)
	return l*m.parts + at, max(at-part(least, leastCount, portion), part(most, mostCount, portionUp)-at)
}

// distances returns the sums of x' − l and of h − x' over all users, x' being their values cut to l..h.
func (s *Sample) distances(l, h int64) (fromLow, fromHigh *big.Int) {
	fromLow = s.added().Sum(l, h).Big()
	fromHigh = uint128.Product(uint64(s.n), uint64(h-l)).Big()
	return fromLow, fromHigh.Sub(fromHigh, fromLow)
}

func positivePart(x *big.Int) *big.Int {
	if x.Sign() < 0 {
		return new(big.Int)
	}
	return x
}

// portion returns ⌊w·num/den⌋ for den > 0.
func portion(w int64, num, den *big.Int) *big.Int {
	x := new(big.Int).Mul(big.NewInt(w), num)
	return x.Div(x, den)
}

// portionUp returns ⌈w·num/den⌉.
func portionUp(w int64, num, den *big.Int) *big.Int {
	x := portion(-w, num, den)
	return x.Neg(x)
}

// nearest returns w·num/den rounded to the nearest whole number, ties upward: ⌊w·num/den + ½⌋.
func nearest(w int64, num, den *big.Int) *big.Int {
	x := new(big.Int).Mul(big.NewInt(2*w), num)
	return x.Add(x, den).Div(x, new(big.Int).Lsh(den, 1))
}
