package check

import (
	"math"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms"
)

// The probability is that of a binomial law, added up one by one, and the users needed are the least.
func TestReach(t *testing.T) {
	m, err := mechanisms.NewTruncatedGeometric(decimal.RequireFromString("0.5"), decimal.RequireFromString("0.01"), 2)
	if err != nil {
		t.Fatal(err)
	}
	for _, counts := range []float64{1, 0.9, 0.125, 0.01} {
		r := reach{m, counts}
		law := []float64{1} // of how many of n users count
		for n := range int64(300) {
			want := 0.
			for k, p := range law {
				want += p * m.Found(int64(k))
			}
			if got := r.found(n); math.Abs(got-want) > 1e-11 {
				t.Fatalf("%d users who count with %v: found with %v, want %v", n, counts, got, want)
			}
			next := make([]float64, len(law)+1)
			for k, p := range law {
				next[k] += p * (1 - counts)
				next[k+1] += p * counts
			}
			law = next
		}
		for _, wanted := range []float64{0.01, 0.5, 0.95, 0.999} {
			if n := r.users(wanted); r.found(n) < wanted || r.found(n-1) >= wanted {
				t.Errorf("%v: %d users for %v", counts, n, wanted)
			}
		}
	}
}
