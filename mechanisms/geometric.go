package mechanisms

import (
	"io"
	"math"
	"math/big"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget/privacy"
	"github.com/louver/louver/mechanisms/exact"
)

// geometric counts users and adds discrete Laplace noise, P(z) ∝ e^{−ε|z|}; counts below 0 become 0, and those beyond
// 2^62 become 2^62.
//
// Privacy: ε-DP. One user changes the count by at most 1, and the noise's law by a factor within e^{±ε} for each step.
// Cutting the sum is post-processing.
//
// Source: Ghosh, Roughgarden, Sundararajan (2009); drawn as in Canonne, Kamath, Steinke (2020).
type geometric struct {
	header
	num, den uint64 // ε
	of       func(s *Sample) int64
	error95  float64
}

func newGeometric(q *Query) (Mechanism, error) {
	num, den, err := positive(q.Epsilon)
	if err != nil {
		return nil, err
	}
	of, err := newCounting(q)
	if err != nil {
		return nil, err
	}
	return &geometric{header{"geometric", privacy.NewPure(q.Epsilon)}, num, den, of, float64(CountError95(q.Epsilon.InexactFloat64()))}, nil
}

// newCounting returns a function that counts the users of a sample whom the query counts.
func newCounting(q *Query) (of func(s *Sample) int64, err error) {
	if q.Statistic == Outside {
		return func(s *Sample) int64 { return s.outside }, nil
	}
	// Strictly above and strictly below, in indices: greater than first and less than end.
	g := q.Grid
	first, end := int64(-1), g.last+1
	if q.Above != nil {
		if first, err = g.floor("above", *q.Above); err != nil {
			return nil, err
		}
	}
	if q.Below != nil {
		floor, err := g.floor("below", *q.Below)
		if err != nil {
			return nil, err
		}
		if end = floor; g.Value(floor).LessThan(*q.Below) {
			end++
		}
	}
	switch {
	case first+1 < end:
	case q.Below == nil:
		return nil, wrong("above", shown(*q.Above), "less than %s, the highest value: nobody is above that", shown(g.upper))
	case q.Above == nil:
		return nil, wrong("below", shown(*q.Below), "more than %s, the lowest value: nobody is below that", shown(g.lower))
	default:
		return nil, wrong("above", shown(*q.Above), "a point of the grid between it and below, which is %s", shown(*q.Below))
	}
	return func(s *Sample) int64 { return s.below(end) - s.atMost(first) }, nil
}

// floor returns the index of the last grid point at or below a threshold, which must lie within the bounds.
func (g *Grid) floor(name string, d decimal.Decimal) (int64, error) {
	if d.Cmp(g.lower) < 0 || d.Cmp(g.upper) > 0 {
		return 0, wrong(name, shown(d), "a number within the bounds, %s to %s", g.lower, g.upper)
	}
	steps, _ := d.Sub(g.lower).QuoRem(g.step, 0)
	return steps.IntPart(), nil
}

// Counts reports whether the values are numbers of users.
func (m *geometric) Counts() bool { return true }

func (m *geometric) Draw(s *Sample, _ Public, random io.Reader) (Draw, error) {
	source := exact.NewSource(random)
	noisy := source.DiscreteLaplace(m.num, m.den, 1)
	noisy.Add(noisy, big.NewInt(m.of(s)))
	return Draw{Values: single(cut(noisy, 0, 1<<62), noiseBound(m.error95))}, source.Err()
}

// Errors is that of the noise.
func (m *geometric) Errors(Public) []Bound { return []Bound{noiseBound(m.error95)} }

// CountError95 is the least t ≥ 0 with P(|Z| > t) = 2a^(t+1)/(1+a) ≤ 5 %, a = e^−ε, for the noise Z of a count.
func CountError95(epsilon float64) int64 { return int64(math.Ceil(laplaceReach(epsilon, 0.025))) }

// cut returns x, but at least low and at most high.
func cut(x *big.Int, low, high int64) int64 {
	switch {
	case x.IsInt64():
		return min(max(x.Int64(), low), high)
	case x.Sign() < 0:
		return low
	}
	return high
}
