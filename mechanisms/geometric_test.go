package mechanisms

import (
	"math"
	"testing"
)

// Compares the least t with P(|Z| ≤ t) ≥ 95 % with the sum of the probabilities (1−a)/(1+a)·a^|z|.
func TestCountError(t *testing.T) {
	for _, epsilon := range []float64{1e-4, 0.0005, 0.01, 0.02, 0.1, 0.25, 0.5, 1, 2, 3, 3.5, 4, 10, 50} {
		a := math.Exp(-epsilon)
		within := (1 - a) / (1 + a)
		want := int64(0)
		for within < 0.95 {
			want++
			within += 2 * (1 - a) / (1 + a) * math.Pow(a, float64(want))
		}
		if got := (NoisyCount{Epsilon: epsilon}).Error95(); got != want {
			t.Errorf("ε %v: %d, want %d", epsilon, got, want)
		}
	}
}
