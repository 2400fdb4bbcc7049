package mechanisms

import (
	"math/big"

	"github.com/shopspring/decimal"
)

// Scale says what the numbers of a [Draw] mean: the number i is the value origin + i·step. It is immutable.
type Scale struct{ origin, step decimal.Decimal }

// Decimal returns the value of i, exact.
func (s Scale) Decimal(i int64) decimal.Decimal { return s.origin.Add(s.Length(i)) }

// Text returns the value of i without exponent and without trailing zeros.
func (s Scale) Text(i int64) string { return s.Decimal(i).String() }

// Float returns the value of i as the nearest float64.
func (s Scale) Float(i int64) float64 { return s.Decimal(i).InexactFloat64() }

// Length returns the distance of n steps.
func (s Scale) Length(n int64) decimal.Decimal { return s.step.Mul(decimal.NewFromInt(n)) }

// Scale returns the scale of what m, the mechanism of this query, draws: numbers of users for counts, finer points than
// those of the grid for means, and the points of the grid for most others.
func (q *Query) Scale(m Mechanism) Scale {
	if own, ok := m.(interface{ scale() Scale }); ok {
		return own.scale()
	}
	if m.Counts() {
		return Scale{step: decimal.NewFromInt(1)}
	}
	return q.Grid.scale(1)
}

// ClipScale returns the scale of [Draw].Clip.
func (q *Query) ClipScale(m Mechanism) Scale {
	if own, ok := m.(interface{ clipScale() Scale }); ok {
		return own.clipScale()
	}
	return q.Scale(m)
}

// scale returns the scale of the grid's points, with each step divided into parts.
func (g *Grid) scale(parts int64) Scale {
	digits := int32(0)
	for n := parts; n > 1; n /= 10 {
		digits++
	}
	return Scale{origin: g.lower, step: g.step.Shift(-digits)}
}

// parts returns how many parts a step is divided into for means: 1000, or a smaller power of ten if there would be more
// than [MaxPoints] points. Rounding to the grid would be most of a mean's error from 10^5 users on. A finer rounding is
// just another way to write down what was drawn.
func (g *Grid) parts() int64 {
	parts := int64(1000)
	for parts > 1 && g.last > MaxPoints/parts {
		parts /= 10
	}
	return parts
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
