package mechanisms

import (
	"io"
	"math"
	"math/big"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget/privacy"
	"github.com/louver/louver/mechanisms/exact"
	"github.com/louver/louver/mechanisms/internal/parameter"
	"github.com/louver/louver/mechanisms/internal/uint128"
)

// The variance of the users' values, Σ(x − mean)²/n, and its square root.
const (
	Variance Statistic = "variance"
	StdDev   Statistic = "stddev"
)

// clippedVariance is the default for variances: it finds an interval [l, h] privately (see [clipping]), and releases
// three noisy sums of the values cut to it, and how many users are outside (see [Outsiders]). With W = h − l and a = x
// − l for a value x inside, W² = (W−a)² + 2a(W−a) + a², and such a user adds
//
//	4(W−a)² to S₀, 4·2a(W−a) to S₁, 4a² to S₂, each with noise P(Z=z) ∝ e^{−|z|·ε_m/(4W²)}.
//
// One below l adds 3W² to S₀, and one above h adds it to S₂. wholeVariance does without the interval: l and h are the
// bounds, nobody is outside, and the sums and the scale of the noise are a quarter of these.
//
// s₀, s₁, s₂ are the noisy sums, at least 0, and T is all three together. Then the mean of a/W is about (s₁/2 + s₂)/T
// and that of (a/W)² about s₂/T, so that the variance is
//
//	W²·(s₂/T − ((s₁/2 + s₂)/T)²) = W²·(4·s₀·s₂ − s₁²)/(4T²), at least 0; 0 where T is 0.
//
// Privacy: ε-DP. One user inside changes the three sums by 4(W−a)², 8a(W−a) and 4a², none of which is negative: by 4W²
// in all. One outside changes one of them by 3W², and the count of users outside by 1. [Outsiders] says why they cost
// ε_m together. For l = h there are no sums: every user would add 0. All else is post-processing. [clipping] says why
// ε_m and what the interval costs are ε together.
//
// With the weights of a mean's interval, the rare wide ones make up most of the error: in a study of 444 settings (37
// inputs, ε·n ≥ 100) it is 1.8 times that with these in the geometric mean.
//
// No public figure bounds the error, or the effect of the cut: far values make up more of a variance than of a mean.
// With t for the mean's place in [l, h], the noise of the variance is about W²/(ε_m·n) for t near ½, and less near the
// ends.
//
// Derived here: [clippedMean]'s two sums are the same with W = (W−a) + a. Both are the Bernstein polynomials of a/W,
// which are not negative and add up to 1.
type clippedVariance struct {
	*clipping
	threeSums
}

type wholeVariance struct {
	header
	threeSums
	noise noise
}

// threeSums turns the values in an interval into a noisy variance or its root.
type threeSums struct {
	grid  *Grid
	root  bool
	shift int32 // the result is in units of 10^−shift squared steps, or of 10^−shift steps for the root
}

// mostVarianceSteps keeps 4W², times the denominator of a share of ε, below 2^64.
const mostVarianceSteps = 1 << 28

func newThreeSums(q *Query) (threeSums, error) {
	if q.Grid.last > mostVarianceSteps {
		return threeSums{}, parameter.Wrong("step", q.Grid.step,
			"a step that fits at most 2^28 times between the bounds, for a %s", q.Statistic)
	}
	x := threeSums{grid: q.Grid, root: q.Statistic == StdDev, shift: 3}
	bound := float64(q.Grid.last) * float64(q.Grid.last) / 4
	for !x.root && bound*math.Pow10(int(x.shift)) > MaxPoints {
		x.shift--
	}
	return x, nil
}

func newClippedVariance(q *Query) (Mechanism, error) {
	sums, err := newThreeSums(q)
	if err != nil {
		return nil, err
	}
	c, err := newClipping(q)
	if err != nil {
		return nil, err
	}
	c.steepen()
	return &clippedVariance{c, sums}, nil
}

// steepen has the weights of intervals fall by a power more with the width.
func (c *clipping) steepen() {
	for own := range c.shares {
		for sure := range c.shares[own] {
			c.shares[own][sure].steep = true
		}
	}
}

func newWholeVariance(q *Query) (Mechanism, error) {
	sums, err := newThreeSums(q)
	if err != nil {
		return nil, err
	}
	num, den, err := parameter.Epsilon(q.Epsilon)
	if err != nil {
		return nil, err
	}
	return &wholeVariance{header{"three_sums", privacy.NewPure(q.Epsilon)}, sums, laplace{num, den, 1}}, nil
}

func (m *clippedVariance) Draw(s *Sample, public Public, random io.Reader) (Draw, error) {
	return m.drawWith(s, public, random, func(p plan, k *scratch) (Draw, error) {
		l, h := m.draw(s, p, &k.source, &k.clipped)
		return m.within(s, l, h, &p, &k.source), nil
	})
}

// within draws the variance, or its root, of the values cut to l..h, and how many are outside.
func (m *clippedVariance) within(s *Sample, l, h int64, p *plan, source *exact.Source) Draw {
	below, above := s.Below(l), s.n-s.AtMost(h)
	sums, square := s.bernstein(l, h), uint64((h-l)*(h-l))
	if l < h {
		inQuarters(&sums, square, below, above)
		for i := range sums {
			sums[i].Add(sums[i], p.sums.law(4*square)(source))
		}
	}
	x := p.outsiders(below+above, l < h, l == 0 && h == m.grid.last, source)
	x.Cut95 = math.NaN()
	return Draw{Values: single(m.ratio(h-l, sums), unbounded()), Outside: x, Clip: []int64{l, h}}
}

func (m *wholeVariance) Draw(s *Sample, _ Public, random io.Reader) (Draw, error) {
	return drawOnce(s, random, func(source *exact.Source) Draw {
		width := m.grid.last
		sums := s.bernstein(0, width)
		for i := range sums {
			sums[i].Add(sums[i], m.noise.law(uint64(width*width))(source))
		}
		return Draw{Values: single(m.ratio(width, sums), unbounded())}
	})
}

// ratio returns the variance, or its root, that three noisy sums give.
func (x *threeSums) ratio(width int64, sums [3]*big.Int) int64 {
	s0, s1, s2 := positivePart(sums[0]), positivePart(sums[1]), positivePart(sums[2])
	all := new(big.Int).Add(s0, s1)
	all.Add(all, s2)
	above := new(big.Int).Mul(s0, s2)
	above.Lsh(above, 2).Sub(above, new(big.Int).Mul(s1, s1))
	if all.Sign() == 0 || above.Sign() <= 0 {
		return 0
	}
	// The variance is num/den squared steps.
	num, den := above.Mul(above, big.NewInt(width*width)), all.Mul(all, all)
	den.Lsh(den, 2)
	power := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(x.shift, -x.shift))), nil)
	switch {
	case x.root: // ⌊√(num/den)·10^shift + ½⌋ = ⌊(⌊√(4·10^(2·shift)·num/den)⌋ + 1)/2⌋
		num.Mul(num, power).Mul(num, power).Lsh(num, 2).Quo(num, den).Sqrt(num)
		return (num.Int64() + 1) / 2
	case x.shift < 0:
		den.Mul(den, power)
	default:
		num.Mul(num, power)
	}
	return nearest(1, num, den).Int64()
}

// scale returns the scale of squared steps, or of steps for the root.
func (x *threeSums) scale() Scale {
	if x.root {
		return Scale{step: x.grid.step.Shift(-x.shift)}
	}
	return Scale{step: x.grid.step.Mul(x.grid.step).Shift(-x.shift)}
}

func (x *threeSums) clipScale() Scale { return x.grid.scale(1) }

// bernstein returns the sums of (W−a)², 2a(W−a) and a² over all users, for W = h − l and the distance a from l of a
// value cut to l..h.
func (s *Sample) bernstein(l, h int64) [3]*big.Int {
	width := uint64(h - l)
	var first, second uint128.Int // Σa and Σa²
	from, to := s.position(l), s.position(h)
	for j := from; j < to; j++ {
		a, users := uint64(s.values[j]-l), uint64(s.count(j))
		first.Add(a, users)
		second.Add(a*a, users)
	}
	first.Add(width, uint64(s.n-s.before(to)))
	second.Add(width*width, uint64(s.n-s.before(to)))
	s2 := second.Big()
	cross := new(big.Int).Mul(first.Big(), new(big.Int).SetUint64(width)) // Σ a·W
	s1 := new(big.Int).Sub(cross, s2)
	s0 := uint128.Product(uint64(s.n), width*width).Big()
	s0.Sub(s0, cross).Sub(s0, s1)
	return [3]*big.Int{s0, s1.Lsh(s1, 1), s2}
}

// inQuarters turns the sums for a W² into those in quarters, in which so many users below l and above h are a quarter
// short.
func inQuarters(sums *[3]*big.Int, square uint64, below, above int64) {
	for i, outside := range [3]int64{below, 0, above} {
		sums[i].Lsh(sums[i], 2).Sub(sums[i], uint128.Product(square, uint64(outside)).Big())
	}
}

// trueVariance has 40 decimals of a squared step, and its root 20 of a step.
func trueVariance(q *Query, s *Sample) [][]decimal.Decimal {
	sums := s.bernstein(0, q.Grid.last)
	n := big.NewInt(s.n)
	// n²·variance = n·Σa² − (Σa)², Σa = (S₁/2 + S₂)/W.
	sum := new(big.Int).Rsh(sums[1], 1)
	sum.Add(sum, sums[2]).Quo(sum, big.NewInt(q.Grid.last))
	num := new(big.Int).Mul(n, sums[2])
	num.Sub(num, sum.Mul(sum, sum))
	variance := decimal.NewFromBigInt(num, 0).DivRound(decimal.NewFromBigInt(n.Mul(n, n), 0), 40)
	if q.Statistic == Variance {
		return [][]decimal.Decimal{{q.Grid.step.Mul(q.Grid.step).Mul(variance)}}
	}
	root := new(big.Int).Sqrt(variance.Shift(40).BigInt())
	return [][]decimal.Decimal{{q.Grid.step.Mul(decimal.NewFromBigInt(root, -20))}}
}

// squared is the unit of a variance.
func squared(unit string) string {
	if unit == "" {
		return ""
	}
	return unit + "²"
}
