package mechanisms

import (
	"math/rand/v2"
	"testing"

	"github.com/louver/louver/mechanisms/exact"
	"github.com/louver/louver/mechanisms/internal/dptest"
)

func TestSpread(t *testing.T) {
	g := smallGrid(t, 4)
	s := sampleOf(g, []int64{3, 0, 40, 5})
	for _, digits := range []int{0, 1, 4, 16} {
		sp := &spread{}
		sp.begin(s, digits, exact.NewSource(rand.NewChaCha8([32]byte{13})))
		last := int64(0)
		for i := int64(1); i <= s.n; i++ {
			y := sp.place(i)
			if y < last || y>>digits != s.values[s.at(i)] {
				t.Fatalf("user %d at place %d of 2^%d after %d", i, y, digits, last)
			}
			if below := sp.below(y); below >= i || sp.below(y+1) < i {
				t.Fatalf("%d users below place %d of user %d", below, y, i)
			}
			last = y
		}
	}
	// Uniform places: 20,000 users on 8 of them.
	many := sampleOf(g, []int64{20000, 0, 0, 0})
	sp := &spread{}
	sp.begin(many, 3, exact.NewSource(rand.NewChaCha8([32]byte{14})))
	counts := make([]int64, 8)
	for i := range many.n {
		counts[sp.place(i+1)]++
	}
	if statistic, threshold := dptest.ChiSquare(counts,
		dptest.Normalise([]float64{1, 1, 1, 1, 1, 1, 1, 1})); statistic > threshold {
		t.Errorf("places %v: χ² = %.1f", counts, statistic)
	}
}
