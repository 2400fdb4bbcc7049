package mechanisms

import (
	"io"
	"math"
	"math/big"
	"slices"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget/privacy"
	"github.com/louver/louver/mechanisms/exact"
	"github.com/louver/louver/mechanisms/internal/parameter"
	"github.com/louver/louver/mechanisms/internal/uint128"
)

// clippedSum is the default for sums: it finds a magnitude c privately, cuts all values to −c … c, adds discrete
// Laplace noise of the scale c to their sum, and tells how many users are outside (see [Outsiders]). Information and
// shares of ε are as [clipping] says. Instead of an interval, it draws c from the distances between 0 and the borders
// of public cells. Out is the number of users with |v| > c. A user inside adds 4v to S, and one outside ± 3c.
//
//	P(c) ∝ e^{−ε_t·max(Out, k0)} / ((c + 1 + w0)²·(c + 1 + w1)),   w0 = ⌊max|v|/2^s⌋, w1 = ⌊max|v|/2^s₁⌋,
//	S̃ = S + Z, P(Z=z) ∝ e^{−|z|·ε_m/(4c)}, and the sum is (S̃ + g·k0·c)/4, rounded to the nearest unit, ties upward.
//
// So each user outside is a quarter short. k0 of them are expected, and their quarters are added back: g is 1 if no
// value is negative, −1 if none is positive, and 0 if there may be both or if c = max|v|.
//
// wholeSum does without the first step: c = max|v|, nobody is outside, and there are no quarters. Impossible sums are
// cut: if the bounds are not negative, the sum is not below 0. Values and sums are whole multiples of the greatest
// number that divides both the step and the lower bound. So a sum of them needs no rounding, unless the values are so
// large that it is published in coarser units.
//
// Privacy: ε-DP. A user of the value v adds 1 to Out for the c < |v| and leaves the others alone: the same argument as
// for an interval. One user inside changes S by 4c at most, and one outside by 3c, and the count of users outside by 1.
// If c = 0, S is 0. ε_m and what c costs are ε together. All else is post-processing.
type clippedSum struct {
	*clipping
	sums
}

// wholeSum adds noise for the largest value possible.
type wholeSum struct {
	header
	sums
	noise noise
}

// replaced says what another value of a user reveals.
//
// Privacy: it moves the sum by at most d = max v − min v. The noise has the scale c/ε, c = max|v|, so that the loss is
// at most ε·d/c. This is at most ε if no value is negative, or none positive, and 2ε if −c and c are the bounds.
func (m *wholeSum) replaced() privacy.Promise {
	d, c := decimal.NewFromInt(m.value(m.grid.last)-m.value(0)), decimal.NewFromInt(m.largest())
	if d.LessThanOrEqual(c) {
		return m.promise
	}
	const digits = 9
	share, rest := d.QuoRem(c, digits)
	if rest.IsPositive() {
		share = share.Add(decimal.New(1, -digits)) // rounded up: it is a bound
	}
	return privacy.NewPure(m.promise.Epsilon.Mul(share))
}

// sums knows the values of the grid's points in whole units.
type sums struct {
	grid *Grid
	unit int64 // in the grid's own units, 10^−digits
	// magnitudes are the c in ascending order; the last is max|v|.
	magnitudes []int64
	// power is how many units make one of those in which sums are published.
	power int64
}

// newSums takes the magnitudes of the points at which cells begin or, for the last one, end.
func newSums(g *Grid, borders ...int64) sums {
	s := sums{grid: g, unit: new(big.Int).GCD(nil, nil, big.NewInt(max(g.lo, -g.lo)), big.NewInt(g.width)).Int64()}
	for _, b := range borders {
		v := s.value(min(b, g.last))
		s.magnitudes = append(s.magnitudes, max(v, -v))
	}
	slices.Sort(s.magnitudes)
	s.magnitudes = slices.Compact(s.magnitudes)
	s.power = coarsening(s.largest())
	return s
}

func newClippedSum(q *Query) (Mechanism, error) { return q.clippedSum(newClipping) }

// newClippedSumGaussian is the same with ρ-zCDP, ρ = ½ε², and discrete Gaussian noise of variance (4c)²/(2ρ_m).
func newClippedSumGaussian(q *Query) (Mechanism, error) { return q.clippedSum(newConcentrated) }

func (q *Query) clippedSum(clip func(*Query) (*clipping, error)) (Mechanism, error) {
	c, err := clip(q)
	if err != nil {
		return nil, err
	}
	return &clippedSum{c, newSums(q.Grid, c.borders...)}, nil
}

func newWholeSum(q *Query) (Mechanism, error) {
	num, den, err := parameter.Epsilon(q.Epsilon)
	if err != nil {
		return nil, err
	}
	whole := newSums(q.Grid, 0, q.Grid.last)
	return &wholeSum{header{"laplace", privacy.NewPure(q.Epsilon)}, whole, laplace{num, den, 1}}, nil
}

func (m *clippedSum) Draw(s *Sample, public Public, random io.Reader) (Draw, error) {
	return m.drawWith(s, public, random, func(p plan, k *scratch) (Draw, error) {
		c := m.choose(s, p, &k.source, &k.weights)
		return m.within(s, c, &p, &k.source), nil
	})
}

// within draws the sum of the values cut to −c … c, and how many are outside.
func (m *clippedSum) within(s *Sample, c int64, p *plan, source *exact.Source) Draw {
	low, high, largest := m.value(0), m.value(m.grid.last), m.largest()
	below, above := m.beyond(s, c)
	sum, bound := new(big.Int), noiseBound(0)
	if c > 0 {
		short := new(big.Int).Mul(big.NewInt(c), big.NewInt(below-above))
		sum.Lsh(m.total(s, c), 2).Add(sum, short)
		sum.Add(sum, p.sums.law(4*uint64(c))(source))
		if c < largest {
			sum.Add(sum, new(big.Int).Mul(big.NewInt(c), big.NewInt(p.free*m.sign())))
		}
		bound = m.bound(4*uint64(c), p.sums, 4)
	}
	x := p.outsiders(below+above, c > 0, c == largest, source)
	if c < largest {
		step := m.clipScale().Length(1).InexactFloat64()
		far := float64(largest) - 0.75*float64(c)
		x.Cut95 = max(float64(x.Users95)*far, float64(p.free)*float64(c)/4) * step
	}
	bound.outside = x
	return Draw{Values: m.publish(sum, 4, bound), Outside: x,
		Clip: []int64{min(max(-c, low), high), max(min(c, high), low)}}
}

// Errors depend on the magnitude drawn.
func (m *clippedSum) Errors(public Public) []Bound { return m.errors(math.Inf(1), public.Users) }

func (m *wholeSum) Draw(s *Sample, _ Public, random io.Reader) (Draw, error) {
	return drawOnce(s, random, func(source *exact.Source) Draw {
		sum := m.total(s, m.largest())
		sum.Add(sum, m.noise.law(uint64(m.largest()))(source))
		return Draw{Values: m.publish(sum, 1, m.Errors(Public{})[0])}
	})
}

// Errors is the bound of the noise.
func (m *wholeSum) Errors(Public) []Bound { return []Bound{m.bound(uint64(m.largest()), m.noise, 1)} }

// scale returns the scale of published sums.
func (m *sums) scale() Scale { return Scale{step: m.clipScale().Length(m.power)} }

// clipScale counts in units.
func (m *sums) clipScale() Scale { return Scale{step: m.grid.decimalOf(m.unit)} }

// value is the value of a grid point, in units.
func (m *sums) value(i int64) int64 { return (m.grid.lo + i*m.grid.width) / m.unit }

// largest returns max|v|.
func (m *sums) largest() int64 { return m.magnitudes[len(m.magnitudes)-1] }

// sign is 1 if no value is negative, −1 if none is positive, else 0.
func (m *sums) sign() int64 {
	switch {
	case m.grid.lo >= 0:
		return 1
	case m.grid.hi <= 0:
		return -1
	}
	return 0
}

// total returns the sum of the values cut to −c … c.
func (m *sums) total(s *Sample, c int64) *big.Int {
	var above, below uint128.Int
	for j, x := range s.values {
		v := min(max(m.value(x), -c), c)
		if v >= 0 {
			above.Add(uint64(v), uint64(s.count(j)))
		} else {
			below.Add(uint64(-v), uint64(s.count(j)))
		}
	}
	sum := above.Big()
	return sum.Sub(sum, below.Big())
}

// bound is the bound of the noise for this sensitivity, if sums are in so many parts of a unit, and of the rounding to
// units in which sums are published.
func (m *sums) bound(sensitivity uint64, z noise, parts int64) Bound {
	reach, _ := z.reach(sensitivity, 0.05).Float64()
	reach /= float64(parts)
	if m.power*parts > 1 {
		reach += float64(m.power) / 2
	}
	return noiseBound(reach * m.clipScale().Length(1).InexactFloat64())
}

// choose draws c.
func (m *clippedSum) choose(s *Sample, p plan, source *exact.Source, memory *[]float64) int64 {
	outside := make([]int64, len(m.magnitudes))
	wide, fine := m.largest()>>p.halvings, m.largest()>>p.finer
	weights := (*memory)[:0]
	for i, c := range m.magnitudes {
		below, above := m.beyond(s, c)
		outside[i] = below + above
		weights = append(weights, p.beyond(outside[i])*p.perWidth(c+1, wide, fine))
	}
	*memory = weights
	return m.magnitudes[source.Pick(weights, weightSlack, func(prec uint) []exact.Interval {
		long := make([]exact.Interval, len(m.magnitudes))
		for i, c := range m.magnitudes {
			long[i] = p.interval.Interval(max(0, outside[i]-p.free), prec).Quo(p.volume(c+1, wide, fine, prec))
		}
		return long
	})]
}

// beyond returns how many users have v < −c, and how many v > c.
func (m *sums) beyond(s *Sample, c int64) (below, above int64) {
	g := m.grid
	upTo := floorDiv(c*m.unit-g.lo, g.width)  // the last point with v ≤ c
	from := -floorDiv(c*m.unit+g.lo, g.width) // the first point with v ≥ −c
	return s.Below(min(max(from, 0), g.last+1)), s.n - s.AtMost(min(upTo, g.last))
}

// mostUnits is the most that one user adds to a sum, in the units in which sums are published. With 2^32 users no sum
// is beyond 2^62 then.
const mostUnits = 1 << 30

// mostNumber is the largest [Value.Number] of a sum, and the least one without its sign.
const mostNumber = 1 << 62

// coarsening returns the least power of ten by which an amount has to be divided to be at most [mostUnits]. Only the
// public definition decides it, so it tells nothing.
func coarsening(amount int64) int64 {
	power := int64(1)
	for (amount-1)/power >= mostUnits {
		power *= 10
	}
	return power
}

// coarser returns x/power, rounded to the nearest whole number, ties upward. It may change x.
func coarser(x *big.Int, power int64) *big.Int {
	if power == 1 {
		return x
	}
	// ⌊(2x + power)/(2·power)⌋: Div rounds down.
	return x.Lsh(x, 1).Add(x, big.NewInt(power)).Div(x, big.NewInt(2*power))
}

// publish returns a noisy sum, in so many parts of a unit, as a number on the scale of the sum. Impossible sums are
// cut: if no value is negative, the sum is not below 0. b is the bound of the noise. Noise may carry a sum beyond
// [mostNumber]. It stops there, and nothing is known of its error.
func (m *sums) publish(sum *big.Int, parts int64, b Bound) []Value {
	sum = coarser(sum, parts*m.power)
	if sum.CmpAbs(big.NewInt(mostNumber)) > 0 {
		b = unbounded()
		b.stopped = true
	}
	switch m.sign() {
	case 1:
		return cutOff(sum, 0, mostNumber, b)
	case -1:
		return cutOff(sum, -mostNumber, 0, b)
	}
	return single(cut(sum, -mostNumber, mostNumber), b)
}
