package dptest

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The two forms of permute-and-flip's law agree to the last digits, also where weights are tiny.
func TestFlipLaws(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for n := 1; n <= 60; n++ {
		mass, level, weights := make([]int, n), make([]float64, n), make([]float64, n)
		for i := range n {
			if mass[i] = 1; i > 0 && rng.IntN(3) > 0 {
				level[i] = 30 * rng.Float64()
			}
			weights[i] = math.Exp(-level[i])
		}
		flip, first := FlipLaw(mass, level), FirstLaw(weights)
		for x := range n {
			if math.Abs(first[x]/flip[x]-1) > 1e-13 {
				t.Errorf("%d candidates: one of weight %v wins with %v or %v", n, weights[x], flip[x], first[x])
			}
		}
	}
}
