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

// clippedMean is the default for means: it finds an interval [l, h] privately (see [clipping]), and releases two noisy
// sums of the values cut to it, and how many users are outside (see [Outsiders]). With W = h − l, a user inside adds
// 4(x − l) to A and 4(h − x) to B, one above h adds 3W to A, and one below l adds 3W to B.
//
//	Ã = A + Z₁, B̃ = B + Z₂, P(Z=z) ∝ e^{−|z|·ε_m/(4W)},
//	the mean is l + W·a/(a + b) for a = max(0, Ã + t·k0·W) and b = max(0, B̃ + u·k0·W), the middle if both are 0.
//
// So each user outside is a quarter short. k0 of them are expected, and their quarters are added back: (t, u) is (1, 0)
// if only h is inside the bounds, (0, 1) if only l is, (½, ½) if both are, and (0, 0) if neither is.
//
// If a count N0 was released for the same window with ε₀ ≥ ε_m, one sum from the middle is better: a user inside adds
// 4(2x − l − h) to S, and one outside ± 3W.
//
//	S̃ = S + Z, and the mean is (l + h)/2 + (S̃ + (t − u)·k0·W)/(8·max(1, N0)), cut to [l, h].
//
// wholeMean does without the interval: l and h are the bounds, and nobody is outside. Its sums need no quarters: A =
// Σ(x − l), B = Σ(h − x), S = Σ(2x − l − h), and P(Z=z) ∝ e^{−|z|·ε/W}.
//
// The mean is rounded to the nearest part of a step (see [Grid.parts]), ties upward.
//
// Privacy: ε-DP. For l = h there are no sums: every user would add 0. One user inside changes A by 4(x − l) and B by
// 4(h − x), which is 4W in all, and S by 4·|2x − l − h| ≤ 4W. One outside changes A, B or S by 3W, and the count of
// users outside by 1. [Outsiders] says why sums and count cost ε_m together, and [clipping] why ε_m and what the
// interval costs are ε. All else is post-processing of these and of the released count.
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

// newClippedMeanGaussian is the same with ρ-zCDP, ρ = ½ε²: Z is discrete Gaussian noise of variance (4W)²/(2ρ_m). One
// user inside changes (A, B) by 4W at most in the L2 norm too. At the same ρ its error is about 0.6 times that of
// clipped.
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
		return m.within(s, l, h, &p, public.Users, &k.source), nil
	})
}

// within draws the mean of the values cut to l..h, and how many are outside.
func (m *clippedMean) within(s *Sample, l, h int64, p *plan, users *NoisyCount, source *exact.Source) Draw {
	lowest, highest := l == 0, h == m.grid.last
	below, above := s.Below(l), s.n-s.AtMost(h)
	value, off := l*m.parts, int64(0)
	if l < h {
		x := s.meanSums(l, h)
		x.inQuarters(below, above)
		x.addBack(lowest, highest, p.free)
		value, off = m.noisy(x, p.sums, users, source)
	}
	out := p.outsiders(below+above, l < h, lowest && highest, source)
	if !lowest || !highest {
		step := m.scale().Length(1).InexactFloat64()
		down, up := float64(value)*step, float64(m.grid.last*m.parts-value)*step
		most, back := max(down, up), float64(h-l)*float64(m.parts)*step*float64(p.free)/4
		if lowest {
			down = 0
		}
		if highest {
			up = 0
		}
		out.cutsMean(max(down, up), most, back)
	}
	b := m.bound(off)
	b.outside = out
	return Draw{Values: single(value, b), Outside: out, Clip: []int64{l * m.parts, h * m.parts}}
}

// Errors depend on the interval and the sums drawn.
func (m *clippedMean) Errors(public Public) []Bound { return m.errors(math.Inf(1), public.Users) }

func (m *wholeMean) Draw(s *Sample, public Public, random io.Reader) (Draw, error) {
	return drawOnce(s, random, func(source *exact.Source) Draw {
		value, off := m.noisy(s.meanSums(0, m.grid.last), m.noise, public.Users, source)
		return Draw{Values: single(value, m.bound(off))}
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

// scale returns the grid's scale with its steps divided into parts.
func (m *twoSums) scale() Scale { return m.grid.scale(m.parts) }

// bound is the bound of a mean whose noise is known, in parts of a step.
func (m *twoSums) bound(off int64) Bound { return noiseBound(m.scale().Length(off).InexactFloat64()) }

// meanSums are the sums from which a mean is computed, without noise.
type meanSums struct {
	l, h         int64
	fine         int64    // 4 if the sums are in quarters, else 1: one user changes them by fine·(h − l) at most
	a, b         *big.Int // A and B
	backA, backB big.Int  // twice what is added back to Ã and B̃
}

// meanSums returns Σ(x' − l) and Σ(h − x') over all users, x' being their values cut to l..h.
func (s *Sample) meanSums(l, h int64) *meanSums {
	a, b := s.distances(l, h)
	return &meanSums{l: l, h: h, fine: 1, a: a, b: b}
}

// inQuarters turns the sums into those in quarters, in which so many users below l and above h are a quarter short.
func (x *meanSums) inQuarters(below, above int64) {
	width := big.NewInt(x.h - x.l)
	x.fine = 4
	x.a.Lsh(x.a, 2).Sub(x.a, new(big.Int).Mul(width, big.NewInt(above)))
	x.b.Lsh(x.b, 2).Sub(x.b, new(big.Int).Mul(width, big.NewInt(below)))
}

// addBack adds the quarters of so many users outside to the noisy sums. lowest and highest say which of l and h are
// bounds, beyond which nobody is.
func (x *meanSums) addBack(lowest, highest bool, users int64) {
	t, u := int64(1), int64(1) // twice those of the law
	switch {
	case lowest && highest:
		t, u = 0, 0
	case lowest:
		t, u = 2, 0
	case highest:
		t, u = 0, 2
	}
	back := new(big.Int).Mul(big.NewInt(x.h-x.l), big.NewInt(users))
	x.backA.Mul(back, big.NewInt(t))
	x.backB.Mul(back, big.NewInt(u))
}

// width is what one user changes the sums by at most.
func (x *meanSums) width() uint64 { return uint64(x.fine) * uint64(x.h-x.l) }

// noisy draws the mean. error95 bounds how far it is from the mean that the sums give without noise, with probability
// 95 %.
func (m *twoSums) noisy(x *meanSums, z noise, users *NoisyCount, source *exact.Source) (value, error95 int64) {
	if users != nil && users.Epsilon >= z.rate() {
		return m.counted(x, z, users, source)
	}
	return m.paired(x, z, source)
}

// paired draws two sums.
func (m *twoSums) paired(x *meanSums, z noise, source *exact.Source) (value, error95 int64) {
	draw := z.law(x.width())
	a := x.a.Add(x.a, draw(source))
	b := x.b.Add(x.b, draw(source))
	return m.pairOf(x, a, b, z.pairReach(x.width()))
}

// pairOf returns the mean that two noisy sums give, with what is added back, and its error. All is doubled.
func (m *twoSums) pairOf(x *meanSums, a, b *big.Int, reach [][2]*big.Int) (value, error95 int64) {
	var twice [][2]*big.Int
	for _, off := range reach {
		twice = append(twice, [2]*big.Int{new(big.Int).Lsh(off[0], 1), new(big.Int).Lsh(off[1], 1)})
	}
	a.Lsh(a, 1).Add(a, &x.backA)
	b.Lsh(b, 1).Add(b, &x.backB)
	return m.ratio(x.l, x.h, a, b, twice)
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
func (m *twoSums) counted(x *meanSums, z noise, users *NoisyCount, source *exact.Source) (value, error95 int64) {
	width := x.width()
	sum := x.a.Sub(x.a, x.b)
	sum.Add(sum, z.law(width)(source))
	return m.quotient(x, sum, z.reach(width, 0.025), users.Value, whole(users.reach(0.025/2)))
}

// quotient returns the mean that a noisy sum from the middle and a noisy count give, with what is added back, and its
// error.
func (m *twoSums) quotient(x *meanSums, sum, offSum *big.Int, users int64, offUsers *big.Int) (value, error95 int64) {
	back := new(big.Int).Sub(&x.backA, &x.backB)
	sum.Add(sum, back.Quo(back, big.NewInt(2)))
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
	// W/2 + S/(2·fine·n) from l is (fine·W·n + S)/(2·fine·n).
	width := new(big.Int).SetUint64(x.width())
	part := func(sum, count *big.Int, round func(int64, *big.Int, *big.Int) *big.Int) int64 {
		num, den := new(big.Int).Mul(width, count), new(big.Int).Mul(count, big.NewInt(2*x.fine))
		return cut(round(m.parts, num.Add(num, sum), den), 0, m.parts*(x.h-x.l))
	}
	at := part(sum, count, nearest)
	return x.l*m.parts + at, max(at-part(least, leastCount, portion), part(most, mostCount, portionUp)-at)
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

// meanLaplace divides a noisy sum by a noisy count, each with half of ε and discrete Laplace noise; the quotient is
// clamped to the grid and rounded to its nearest point, ties upward. A noisy count below 1 is taken as 1.
//
// Privacy: ε-DP. The sum is of distances from the middle of the grid, so that one user changes it by at most
// reach = ⌈N/2⌉ and, with noise of P(z) ∝ e^{−|z|·(ε/2)/reach}, its law by a factor within e^{±ε/2}; the count by 1 and
// its law by the same. All else is post-processing.
//
// Source: Dwork, McSherry, Nissim, Smith (2006).
type meanLaplace struct {
	header
	middle, last int64
	num, den     uint64 // ε/2 a user
	reach        uint64
}

func newMeanLaplace(q *Query) (Mechanism, error) {
	num, den, err := parameter.Epsilon(q.Epsilon)
	if err != nil {
		return nil, err
	}
	m := &meanLaplace{header: header{"laplace", privacy.NewPure(q.Epsilon)}, middle: q.Grid.last / 2, last: q.Grid.last,
		num: num, den: 2 * den}
	m.reach = uint64(m.last - m.middle)
	return m, nil
}

func (m *meanLaplace) Draw(s *Sample, _ Public, random io.Reader) (Draw, error) {
	return drawOnce(s, random, func(source *exact.Source) Draw {
		sum := s.added().Sum(0, m.last).Big() // less n times the middle it is the sum of the distances
		sum.Sub(sum, new(big.Int).Mul(big.NewInt(m.middle), big.NewInt(s.n)))
		x := m.quotient(sum, s.n,
			source.DiscreteLaplace(m.num, m.den, m.reach), source.DiscreteLaplace(m.num, m.den, 1))
		return Draw{Values: single(x, unbounded())}
	})
}

// quotient returns the grid point nearest to the noisy mean.
func (m *meanLaplace) quotient(sum *big.Int, n int64, sumNoise, countNoise *big.Int) int64 {
	total, count := new(big.Int).Add(sum, sumNoise), new(big.Int).Add(big.NewInt(n), countNoise)
	if count.Sign() <= 0 {
		count.SetInt64(1)
	}
	// ⌊total/count + ½⌋
	total.Lsh(total, 1).Add(total, count)
	total.Div(total, count.Lsh(count, 1))
	return m.middle + cut(total, -m.middle, m.last-m.middle)
}
