package budget

import "math"

// Guess bounds the probability, from 0.5 to 1, that a guess about whether one user is in the data is right, if both are
// equally likely beforehand. The bound holds even for someone who knows everything about everyone else.
//
// A guess is a test between two neighbouring inputs. It says "yes" with probability t if the user is in the data, and f
// if not. (ε, δ)-DP gives t ≤ e^ε·f + δ and 1 − f ≤ e^ε·(1 − t) + δ. The sum of both bounds t − f by (e^ε − 1 +
// 2δ)/(e^ε + 1), and the guess is right in (1 + t − f)/2 ≤ (e^ε + δ)/(e^ε + 1) of all cases.
//
// Source: Kairouz, Oh, Viswanath (2015), theorem 2.1.
func (s Spending) Guess() float64 {
	if s.Unbounded {
		return 1
	}
	shrink := math.Exp(-s.Epsilon.InexactFloat64())
	return min(1, (1+s.Delta.InexactFloat64()*shrink)/(1+shrink))
}
