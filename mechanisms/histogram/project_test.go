package histogram

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestProjectionAgainstBruteForce tries all vectors of whole numbers that have the same sum, and no negative one. Apart
// from rounding, none is nearer than the projection.
func TestProjectionAgainstBruteForce(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 400 {
		x := make([]int64, 2+rng.IntN(3))
		for i := range x {
			x[i] = rng.Int64N(15) - 7
		}
		sum := rng.Int64N(9) - 1
		got := project(scaled(x), sum<<fraction)
		best := math.Inf(1)
		vectorsOf(len(x), sum, func(y []int64) { best = min(best, distance(scaled(x), scaled(y))) })
		if sum <= 0 {
			if !slices.Equal(got, make([]int64, len(x))) {
				t.Errorf("project(%v, %d) = %v; want zeros", x, sum, got)
			}
			continue
		}
		total := int64(0)
		for _, v := range got {
			if v < 0 {
				t.Errorf("project(%v, %d) = %v, with a negative number", x, sum, got)
			}
			total += v
		}
		if off := total - sum<<fraction; max(off, -off) > int64(len(x)) {
			t.Errorf("project(%v, %d) = %v adds up to %d/65536", x, sum, got, total)
		}
		if d := distance(scaled(x), got); d > best+1e-3 {
			t.Errorf("project(%v, %d) = %v is at a distance of %v; there is one of whole numbers at %v", x, sum, got, d,
				best)
		}
	}
}

func scaled(x []int64) []int64 {
	y := slices.Clone(x)
	for i := range y {
		y[i] <<= fraction
	}
	return y
}

// distance is in whole numbers.
func distance(x, y []int64) (d float64) {
	for i := range x {
		off := float64(x[i]-y[i]) / (1 << fraction)
		d += off * off
	}
	return math.Sqrt(d)
}

// vectorsOf calls f with every vector of whole numbers of at least 0 that has a sum.
func vectorsOf(n int, sum int64, f func(y []int64)) {
	y := make([]int64, n)
	var fill func(i int, left int64)
	fill = func(i int, left int64) {
		if i == n-1 {
			if y[i] = left; left >= 0 {
				f(y)
			}
			return
		}
		for y[i] = 0; y[i] <= left; y[i]++ {
			fill(i+1, left-y[i])
		}
	}
	fill(0, sum)
}

// Shown counts never fall below 0 and have the sum of the estimate, even if numbers are absurd. The intervals hold the
// value too.
func TestCountsAddUp(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		ends := make([]int64, 1+rng.IntN(90))
		for i := range ends {
			ends[i] = rng.Int64N(1000)
		}
		b, err := New(ends, 1000, rng.IntN(2) == 0, rng.IntN(3))
		if err != nil {
			t.Fatal(err)
		}
		raw, coarse := make([]int64, b.Len()), make([]int64, b.Groups())
		size := int64(1) << rng.IntN(62)
		for _, numbers := range [][]int64{raw, coarse} {
			for i := range numbers {
				numbers[i] = rng.Int64N(size) - size/2
			}
		}
		e := b.Estimate(raw, coarse, Laplace(0.1), 1)
		n, _ := e.Users()
		sum := int64(0)
		for _, c := range e.Counts() {
			if c < 0 {
				t.Fatalf("a count of %d", c)
			}
			sum += c
		}
		if sum != n {
			t.Errorf("the counts of %v, %v add up to %d; want %d", raw, coarse, sum, n)
		}
	}
}
