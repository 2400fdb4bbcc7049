package mechanisms

import (
	"io"
	"math/big"

	"github.com/louver/louver/budget/privacy"
	"github.com/louver/louver/mechanisms/exact"
	"github.com/louver/louver/mechanisms/internal/parameter"
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
	num, den, err := parameter.Epsilon(q.Epsilon)
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
		return func(s *Sample) int64 { return s.outside() }, nil
	}
	first, end, err := q.Grid.Between(q.Above, q.Below)
	if err != nil {
		return nil, err
	}
	return func(s *Sample) int64 { return s.Below(end) - s.Below(first) }, nil
}

// Counts reports whether the values are numbers of users.
func (m *counting) Counts() bool { return true }

func (m *counting) Draw(s *Sample, _ Public, random io.Reader) (Draw, error) {
	source := exact.NewSource(random)
	noisy := m.noise.law(1)(source)
	noisy.Add(noisy, big.NewInt(m.of(s)))
	return Draw{Values: cutOff(noisy, 0, mostNumber, noiseBound(m.error95))}, source.Err()
}

// Errors is the bound of the noise.
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

// addCut returns noise + n, cut to low..high. It may change the noise.
func addCut(noise *big.Int, n, low, high int64) int64 {
	if most := int64(1) << 62; noise.IsInt64() && noise.Int64() > -most && noise.Int64() < most &&
		n > -most && n < most {
		return min(max(noise.Int64()+n, low), high)
	}
	return cut(noise.Add(noise, big.NewInt(n)), low, high)
}
