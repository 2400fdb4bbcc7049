package mechanisms

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/louver/louver/mechanisms/internal/dptest"
)

func meanLaw(g *Grid, h []int64, epsilon float64) []float64 {
	return lawOf(g.last+1, newMeanWalk(g, sampleOf(g, h)), epsilon/2, Uniform(g))
}

func TestMeanDuffPrivacy(t *testing.T) {
	for _, epsilon := range []float64{0.1, 1, 4} {
		for _, c := range []struct{ points, users int }{{3, 8}, {5, 5}, {9, 3}} {
			g := smallGrid(t, c.points)
			dptest.CheckPrivacy(t, "mean", c.points, c.users, epsilon, 0.5, func(epsilon float64) dptest.Law {
				return func(h []int64) []float64 { return meanLaw(g, h, epsilon) }
			})
		}
	}
}

// The distance agrees with a search over all samples. Edits that add no user count one addition and its removal as
// extra.
func TestMeanDuffIsTheDistance(t *testing.T) {
	for _, c := range []struct{ points, users, room int }{{3, 5, 14}, {5, 3, 9}} {
		g := smallGrid(t, c.points)
		dptest.Samples(c.points, c.users, func(h []int64) {
			want := make([]int64, c.points)
			for i := range want {
				want[i] = never
			}
			dptest.Samples(c.points, c.room, func(other []int64) {
				n, sum, added, edits := int64(0), int64(0), int64(0), int64(0)
				for i, k := range other {
					n += k
					sum += int64(i) * k
					added += max(0, k-h[i])
					edits += max(k-h[i], h[i]-k)
				}
				if added == 0 {
					edits += 2
				}
				if n > 0 && sum%n == 0 {
					want[sum/n] = min(want[sum/n], edits)
				}
			})
			w := newMeanWalk(g, sampleOf(g, h))
			for x := range want {
				if got := w.level(int64(x)); got != want[x] {
					t.Fatalf("%v: the distance to %d is %d, not %d", h, x, want[x], got)
				}
			}
			checkWalk(t, fmt.Sprint("mean ", h), g, newMeanWalk(g, sampleOf(g, h)))
		})
	}
}

func TestMeanDuffSampler(t *testing.T) {
	const points = 200
	g := smallGrid(t, points)
	h := make([]int64, points)
	rng := rand.New(rand.NewPCG(3, 3))
	for range 60 {
		h[int(min(math.Abs(rng.NormFloat64())*50, points-1))]++
	}
	s := sampleOf(g, h)
	random := rand.NewChaCha8([32]byte{10})
	for _, epsilon := range []string{"0.1", "1"} {
		m := build(t, Query{Statistic: Mean, Mechanism: "duff", Epsilon: dec(epsilon), Grid: g})
		counts := dptest.Counts(30000, points, number(t, m, s, random))
		dptest.CheckSampler(t, "mean ε="+epsilon, counts, func(f float64) []float64 {
			return meanLaw(g, h, f*dec(epsilon).InexactFloat64())
		})
	}
}
