package running

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestCumulants: near 0 the cumulant of noise is half its variance times λ², here of each level's estimates.
func TestCumulants(t *testing.T) {
	for _, leaves := range []int64{24, 96, 1440, 10_000} {
		p := newTree(t, leaves, "0.5", 2)
		for l, level := range p.levels {
			lambda := 1e-3 / math.Sqrt(level.variance)
			if got := 2 * p.cumulant(l, lambda) / (lambda * lambda); math.Abs(got/level.variance-1) > 1e-3 {
				t.Errorf("%d leaves, level %d: the cumulant is that of a variance of %v, want %v", leaves,
					l, got, level.variance)
			}
		}
	}
}

// TestApart compares the bound with how often the totals of two periods are so far apart, in 60,000 pairs with noise of
// the exact law. With n pairs and a probability of at most b, more than n·b + 6·√(n·b) + 12 are seen with a probability
// below 10^−6 (Bernstein). The bound is not idle: it is less than a hundred times what is seen. A bound for half the
// noise is exceeded.
func TestApart(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a second")
	}
	const pairs = 60_000
	r := rand.New(rand.NewPCG(24, 11))
	for _, leaf := range []int64{1, 55} {
		p := newTree(t, 96, "0.5", 2)
		noise := make([]func() int64, len(p.levels))
		for l, v := range p.levels {
			rate, _ := v.rate.Float64()
			noise[l] = laplace(r, rate/2)
		}
		var estimate func(level int) float64
		estimate = func(level int) float64 {
			a, _ := p.levels[level].weight.Float64()
			sum := a * float64(noise[level]())
			for range p.branching {
				if level > 0 {
					sum += (1 - a) * estimate(level-1)
				}
			}
			return sum
		}
		total := func() (sum float64) {
			left := leaf
			for l := len(p.levels) - 1; l >= 0; l-- {
				for range left / p.levels[l].size {
					sum += estimate(l)
				}
				left %= p.levels[l].size
			}
			return math.Floor(sum + 0.5)
		}
		var beyond [5]int
		distances := [5]int64{}
		for i := range distances {
			distances[i] = p.Error95(leaf) * int64(i+2) / 2
		}
		for range pairs {
			d := total() - total()
			for i, distance := range distances {
				if d > float64(distance) {
					beyond[i]++
				}
			}
		}
		for i, distance := range distances {
			bound := p.Apart(leaf, distance)
			expected := pairs * bound
			if seen := float64(beyond[i]); seen > expected+6*math.Sqrt(expected)+12 {
				t.Errorf("leaf %d: %v of %d pairs are more than %d apart; the bound is %.3g", leaf, seen,
					pairs, distance, bound)
			} else if half := pairs * p.Apart(leaf,
				2*distance); i == 0 && leaf > 1 && seen <= half+6*math.Sqrt(half)+12 {
				t.Errorf("leaf %d: %v of %d pairs are no more than a bound for half the noise", leaf, seen, pairs)
			} else if seen > 50 && seen/pairs < bound/100 {
				t.Errorf("leaf %d: %v of %d pairs are more than %d apart; the bound of %.3g says nothing", leaf, seen,
					pairs, distance, bound)
			}
		}
	}
	// Gaussian noise: P(D > x) is that of N(0, 2σ²), which is less than e^{−x²/(4σ²)} and not a hundredth of it.
	s := newSquareRoot(t, 96, "0.1", 3)
	for _, leaf := range []int64{1, 50, 96} {
		sigma := s.errors[leaf-1]
		for _, z := range []float64{2, 3, 4} {
			distance := int64(z * math.Sqrt2 * sigma)
			exact := math.Erfc(float64(distance)/(2*sigma)) / 2
			if bound := s.Apart(leaf, distance); bound < exact || bound > 100*exact {
				t.Errorf("leaf %d: more than %d apart with a probability of %.3g; the bound is %.3g", leaf,
					distance, exact, bound)
			}
		}
	}
}
