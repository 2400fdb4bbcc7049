package mechanisms

import (
	"io"
	"math"
	"math/big"
	"slices"

	"github.com/louver/louver/budget/privacy"
	"github.com/louver/louver/mechanisms/exact"
	"github.com/louver/louver/mechanisms/internal/parameter"
	"github.com/louver/louver/mechanisms/internal/uint128"
)

// clippedSum is the default for sums: it finds a magnitude c privately, cuts all values to −c … c, and adds discrete
// Laplace noise of the scale c to their sum. Information and shares of ε are as [clipping] says. Instead of an
// interval, it draws c from the distances between 0 and the borders of public cells, with
//
//	P(c) ∝ (c + 1 + w0)^−4 · e^{−ε_t·#(|v| > c)},   w0 = ⌊max|v|/2^s⌋,
//	S̃ = Σ v' + Z, v' the value v cut to −c … c, P(Z=z) ∝ e^{−|z|·ε_m/c}.
//
// wholeSum does without the first step: c = max|v|. Impossible sums are cut: if the bounds are not negative, the sum is
// not below 0. Values and sums are whole multiples of the greatest number that divides both the step and the lower
// bound. So a sum needs no rounding, unless the values are so large that it is published in coarser units.
//
// Privacy: ε-DP. A user of the value v multiplies the weights of the c < |v| by e^{−ε_t} and leaves the others alone:
// the same argument as for an interval. One user changes Σ v' by c at most. ε_m and what c costs are ε together. All
// else is post-processing.
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

// newClippedSumGaussian is the same with ρ-zCDP, ρ = ½ε², and discrete Gaussian noise of variance c²/(2ρ_m).
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
		d := m.sum(s, c, p.sums, &k.source)
		low, high := m.value(0), m.value(m.grid.last)
		d.Clip = []int64{min(max(-c, low), high), max(min(c, high), low)}
		return d, nil
	})
}

// Errors depend on the magnitude drawn.
func (m *clippedSum) Errors(public Public) []Bound { return m.errors(math.Inf(1), public.Users) }

func (m *wholeSum) Draw(s *Sample, _ Public, random io.Reader) (Draw, error) {
	return drawOnce(s, random, func(source *exact.Source) Draw { return m.sum(s, m.largest(), m.noise, source) })
}

// Errors is the bound of the noise.
func (m *wholeSum) Errors(Public) []Bound { return []Bound{m.bound(m.largest(), m.noise)} }

// scale is that of published sums.
func (m *sums) scale() Scale { return Scale{step: m.clipScale().Length(m.power)} }

// clipScale counts in units.
func (m *sums) clipScale() Scale { return Scale{step: m.grid.decimalOf(m.unit)} }

// value is the value of a grid point, in units.
func (m *sums) value(i int64) int64 { return (m.grid.lo + i*m.grid.width) / m.unit }

// largest returns max|v|.
func (m *sums) largest() int64 { return m.magnitudes[len(m.magnitudes)-1] }

// sum draws the noisy sum of the values cut to −c … c.
func (m *sums) sum(s *Sample, c int64, z noise, source *exact.Source) Draw {
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
	sum.Sub(sum, below.Big())
	if c > 0 {
		sum.Add(sum, z.law(uint64(c))(source))
	}
	least, most := int64(math.MinInt64), int64(math.MaxInt64)
	if m.grid.lo >= 0 {
		least = 0
	}
	if m.grid.hi <= 0 {
		most = 0
	}
	return Draw{Values: m.publish(sum, least, most, m.bound(c, z))}
}

// bound is the bound of the noise for values cut to −c … c, and of the rounding to units in which sums are published.
func (m *sums) bound(c int64, z noise) Bound {
	if c == 0 {
		return noiseBound(0)
	}
	reach, _ := z.reach(uint64(c), 0.05).Float64()
	if m.power > 1 {
		reach += float64(m.power) / 2
	}
	return noiseBound(reach * m.clipScale().Length(1).InexactFloat64())
}

// choose draws c.
func (m *clippedSum) choose(s *Sample, p plan, source *exact.Source, memory *[]float64) int64 {
	outside, widen := make([]int64, len(m.magnitudes)), m.largest()>>p.halvings
	weights := (*memory)[:0]
	for i, c := range m.magnitudes {
		outside[i] = m.beyond(s, c)
		width := float64(c) + float64(1+widen)
		inverse := 1 / (width * width)
		weights = append(weights, inverse*inverse*orZero(p.interval.Weight(outside[i])))
	}
	*memory = weights
	return m.magnitudes[source.Pick(weights, weightSlack, func(prec uint) []exact.Interval {
		long := make([]exact.Interval, len(m.magnitudes))
		for i, c := range m.magnitudes {
			long[i] = p.interval.Interval(outside[i], prec).Quo(fourth(c+1+widen, prec))
		}
		return long
	})]
}

// beyond returns how many users have |v| > c.
func (m *sums) beyond(s *Sample, c int64) int64 {
	g := m.grid
	upTo := floorDiv(c*m.unit-g.lo, g.width)  // the last point with v ≤ c
	from := -floorDiv(c*m.unit+g.lo, g.width) // the first point with v ≥ −c
	return s.n - s.AtMost(min(upTo, g.last)) + s.Below(min(max(from, 0), g.last+1))
}
