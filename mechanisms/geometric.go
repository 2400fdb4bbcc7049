package mechanisms

import (
	"io"
	"math/big"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget/privacy"
	"github.com/louver/louver/mechanisms/exact"
)

// counting counts users and adds noise. Counts below 0 become 0, and those beyond 2^62 become 2^62, which is
// post-processing.
type counting struct {
	header
	of      func(s *Sample) int64
	noise   noise
	error95 float64
}

// newGeometric returns a count with discrete Laplace noise, P(z) ∝ e^{−ε|z|}.
//
// Privacy: ε-DP. One user changes the count by at most 1, and the noise's law by a factor within e^{±ε} for each step.
//
// Source: Ghosh, Roughgarden, Sundararajan (2009); drawn as in Canonne, Kamath, Steinke (2020).
func newGeometric(q *Query) (Mechanism, error) {
	num, den, err := positive(q.Epsilon)
	if err != nil {
		return nil, err
	}
	return q.counting(header{"geometric", privacy.NewPure(q.Epsilon)}, laplace{num, den, 1})
}

func (q *Query) counting(h header, z noise) (Mechanism, error) {
	of, err := newCounting(q)
	if err != nil {
		return nil, err
	}
	law := NoisyCount{Epsilon: q.Epsilon.InexactFloat64(), Mechanism: h.name}
	return &counting{h, of, z, float64(law.Error95())}, nil
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
func (m *counting) Counts() bool { return true }

func (m *counting) Draw(s *Sample, _ Public, random io.Reader) (Draw, error) {
	source := exact.NewSource(random)
	noisy := m.noise.draw(source, 1)
	noisy.Add(noisy, big.NewInt(m.of(s)))
	return Draw{Values: single(cut(noisy, 0, 1<<62), noiseBound(m.error95))}, source.Err()
}

// Errors is that of the noise.
func (m *counting) Errors(Public) []Bound { return []Bound{noiseBound(m.error95)} }

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
