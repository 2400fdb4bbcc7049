package mechanisms

import (
	"io"
	"math"
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

// replaced is the promise itself: with another value the user is counted or not, so that the count changes by at most
// 1.
func (m *counting) replaced() privacy.Promise { return m.promise }

// Counts reports whether the values are numbers of users.
func (m *counting) Counts() bool { return true }

func (m *counting) Draw(s *Sample, _ Public, random io.Reader) (Draw, error) {
	source := exact.NewSource(random)
	noisy := m.noise.law(1)(source)
	noisy.Add(noisy, big.NewInt(m.of(s)))
	return Draw{Values: cutOff(noisy, 0, mostNumber, noiseBound(m.error95))}, source.Err()
}

// Errors returns the bound of the noise.
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

// newGaussianCount returns a count with discrete Gaussian noise of variance parameter σ² = 1/ε², P(z) ∝ e^{−z²ε²/2}.
// Its error is two thirds of that of geometric.
//
// Privacy: ρ-zCDP, ρ = ½ε², as one user changes the count by at most 1. There is no pure ε: the privacy loss grows with
// the noise drawn and has no bound, so that a budget needs a δ to say what it costs.
//
// Source: Canonne, Kamath, Steinke (2020), Theorem 14 and Algorithm 3.
func newGaussianCount(q *Query) (Mechanism, error) {
	if _, _, err := parameter.Epsilon(q.Epsilon); err != nil {
		return nil, err
	}
	rho := q.Epsilon.Rat()
	rho.Mul(rho, rho).Mul(rho, big.NewRat(1, 2))
	return q.counting(header{gaussianCount, privacy.NewZCDP(q.Epsilon)}, gaussian{rho})
}

// NoisyCount is a released count and the law of its noise Z. Both are public.
type NoisyCount struct {
	Value int64
	// Epsilon is the ε of the count, greater than 0.
	Epsilon float64
	// Mechanism names the count's mechanism: with "gaussian", Z is discrete Gaussian of variance 1/ε²; with any other
	// name, or none, it is discrete Laplace, P(Z=z) ∝ e^{−ε|z|}, as with "geometric".
	Mechanism string
}

// Error95 is the least whole t ≥ 0 with P(|Z| > t) ≤ 5 %.
func (c NoisyCount) Error95() int64 { return int64(c.reach(0.025)) }

// Tail is P(Z > t) for a whole t ≥ 0, or a little more with Gaussian noise: see [gaussianTail].
func (c NoisyCount) Tail(t int64) float64 {
	if c.Mechanism == gaussianCount {
		return gaussianTail(1/c.Epsilon, float64(t))
	}
	return laplaceTail(c.Epsilon, float64(t))
}

// reach is the least whole t ≥ 0 with P(Z > t) ≤ eta, for an eta of at most 0.15.
func (c NoisyCount) reach(eta float64) float64 {
	if c.Mechanism == gaussianCount {
		return gaussianReach(1/c.Epsilon, eta)
	}
	return math.Ceil(laplaceReach(c.Epsilon, eta))
}
