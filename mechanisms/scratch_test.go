package mechanisms

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// Sharing memory between draws has no effect: after any draws from other samples, the same random bits give the same
// draw as a new mechanism.
func TestDrawsForget(t *testing.T) {
	g := smallGrid(t, 1000)
	samples := []*Sample{
		latencies(g, 300),
		NewSample[Point](g, nil),
		latencies(g, 5000),
		NewSample(g, []Point{{7, 3000}}),
		NewSample(g, []Point{{-1, 1}, {1001, 1}}),
		latencies(g, 30),
	}
	queries := append(everyQuery(g), Query{Statistic: Median, Interval: new(dec("0.9")), Epsilon: dec("0.5"), Grid: g})
	for _, q := range queries {
		used := build(t, q)
		for i := range 24 {
			s := samples[i*5%len(samples)]
			public := Public{}
			if i%2 == 1 {
				public.Users = &NoisyCount{Value: s.n + int64(i%5) - 2, Epsilon: 1}
			}
			if i%3 == 2 {
				public.Measure = Uniform(g)
			}
			seed := [32]byte{byte(i)}
			got, err := used.Draw(s, public, rand.NewChaCha8(seed))
			want, err2 := build(t, q).Draw(s, public, rand.NewChaCha8(seed))
			if err != nil || err2 != nil {
				t.Fatal(err, err2)
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateNaNs(), cmp.AllowUnexported(Bound{}, Outsiders{})); diff != "" {
				t.Fatalf("%s by %s, draw %d is not that of a new mechanism: %s", q.Statistic, q.Mechanism, i, diff)
			}
		}
	}
}
