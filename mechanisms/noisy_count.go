package mechanisms

import "math"

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
