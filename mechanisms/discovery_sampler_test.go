package mechanisms

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"io"
	randv2 "math/rand/v2"
	"strconv"
	"testing"

	"github.com/louver/louver/mechanisms/internal/dptest"
)

// Draws follow the law of the stated ε, and not that of others; both edges come as often as P(Z = K) at a large δ.
func TestFinderSampler(t *testing.T) {
	random := randv2.NewChaCha8([32]byte{25})
	for _, c := range []struct {
		epsilon, delta string
		atLeast, n     int64
	}{{"1", "0.05", 1, 2}, {"1", "0.05", 1, 4}, {"1", "0.05", 1, 20}, {"0.5", "0.02", 3, 9}, {"0.5", "0.02", 3, 30},
		{"0.3", "0.00001", 5, 40}} {
		m := finderCase{dec(c.epsilon), dec(c.delta), c.atLeast}.new(t)
		first := max(m.Threshold(), c.n-m.Bound()) // the least count that can be published; cell 0 is nothing
		cells := int(c.n+m.Bound()-first) + 2
		cell := func(outcome string) int {
			if y, err := strconv.ParseInt(outcome, 10, 64); err == nil {
				return int(y-first) + 1
			}
			return 0
		}
		law := func(factor float64) []float64 {
			l := lawOfFinder(m)
			l.rate *= factor
			probabilities := make([]float64, cells)
			for outcome, p := range l.of(c.n) {
				probabilities[cell(outcome)] += p
			}
			return probabilities
		}
		counts := dptest.Counts(60_000, cells, func() int {
			value, published, err := m.Draw(c.n, random)
			if err != nil {
				t.Fatal(err)
			}
			if !published {
				return 0
			}
			return int(value-first) + 1
		})
		dptest.CheckSampler(t, fmt.Sprintf("%+v", c), counts, law)
		if c.n < m.Certain() || c.delta == "0.00001" {
			continue // both edges are seen only if all counts are published, and δ is large
		}
		// Noise of K+1 or K−1 at most is noticed.
		for _, bound := range []int64{m.Bound() - 1, m.Bound() + 1} {
			wrong := lawOfFinder(m)
			wrong.bound = bound
			other := make([]float64, cells)
			for outcome, p := range wrong.of(c.n) {
				if at := cell(outcome); at < cells {
					other[max(at, 0)] += p
				}
			}
			if statistic, threshold := dptest.ChiSquare(counts, other); statistic <= threshold {
				t.Errorf("%+v: another K goes unnoticed: χ² = %.1f ≤ %.1f", c, statistic, threshold)
			}
		}
	}
}

// Whatever is drawn, a name with fewer than at_least users is never published, so a name that nobody sent never is. One
// with T + K users or more always is. A published count is T at least and never further off than K.
func TestFinderIsCertain(t *testing.T) {
	random := randv2.NewChaCha8([32]byte{7})
	// Without its limit K the noise would be beyond it in a quarter of the draws, so that 20,000 of each number of
	// users see a wrong limit at once.
	const draws = 400_000
	for _, atLeast := range []int64{1, 3} {
		m := finderCase{dec("0.3"), dec("0.09"), atLeast}.new(t)
		most := m.Certain() + 2
		found := make([]bool, most+1)
		for i := range draws / 2 {
			n := int64(i) % (most + 1)
			value, published, err := m.Draw(n, random)
			switch {
			case err != nil:
				t.Fatal(err)
			case published && n < atLeast, !published && n >= m.Certain():
				t.Fatalf("at_least %d: %d users, published: %t", atLeast, n, published)
			case published && (value < m.Threshold() || value > n+m.Bound() || value < n-m.Bound()):
				t.Fatalf("at_least %d: %d users, count %d", atLeast, n, value)
			}
			found[n] = found[n] || published
		}
		for n := atLeast; n <= most; n++ {
			if !found[n] {
				t.Errorf("at_least %d: %d users were never found", atLeast, n)
			}
		}
	}
}

// A source that fails ends the draw with its error, and one that reads little at a time does no harm.
func TestFinderNeedsRandomBits(t *testing.T) {
	m := finderCase{dec("0.5"), dec("0.01"), 1}.new(t)
	if _, published, err := m.Draw(1000, bytes.NewReader(nil)); err == nil || published {
		t.Errorf("without random bits: published %t, %v", published, err)
	}
	if value, published, err := m.Draw(1000, io.LimitReader(rand.Reader, 1<<20)); err != nil || !published ||
		value < 1000-m.Bound() {
		t.Errorf("%d, %t, %v", value, published, err)
	}
}

func BenchmarkFinder(b *testing.B) {
	m := finderCase{dec("0.5"), dec("0.00000001"), 1}.new(b)
	for b.Loop() {
		if _, _, err := m.Draw(1, rand.Reader); err != nil {
			b.Fatal(err)
		}
	}
}
