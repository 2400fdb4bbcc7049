package mechanisms

import "github.com/shopspring/decimal"

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
