package mechanisms

import (
	"bytes"
	"crypto/rand"
	"io"
	randv2 "math/rand/v2"
	"testing"
)

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
