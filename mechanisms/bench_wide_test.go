package mechanisms

import (
	"crypto/rand"
	"fmt"
	"math"
	random "math/rand/v2"
	"testing"
)

// BenchmarkDrawOfManyValues draws with nearly all values different, so that passes over all of them dominate.
func BenchmarkDrawOfManyValues(b *testing.B) {
	g := grid(b, "0", "1000000000", "1")
	for _, n := range []int{1e3, 1e6} {
		rng := random.New(random.NewPCG(7, uint64(n)))
		points := make([]Point, n)
		for i := range points {
			points[i] = Point{int64(min(1e7*math.Exp(rng.NormFloat64()), 1e9)), 1}
		}
		s := NewSample(g, points)
		for _, q := range []Query{
			{Statistic: Median},
			{Statistic: Quantile, P: ps("0.99")},
			{Statistic: Mean},
			{Statistic: Mean, Clip: "none"},
			{Statistic: Mean, Mechanism: "smooth_power"},
			{Statistic: Sum},
			{Statistic: TrimmedMean, Trim: dec("0.05")},
			{Statistic: TrimmedMean, Trim: dec("0.05"), Mechanism: "smooth_power"},
		} {
			q.Grid, q.Epsilon = g, dec("1")
			m := build(b, q)
			for _, draw := range []string{"first", "later"} { // of a sample
				b.Run(fmt.Sprintf("%s%v/%s/n=%d/%s", q.Statistic, q.P, m.Name(), n, draw), func(b *testing.B) {
					b.ReportAllocs()
					for b.Loop() {
						if draw == "first" {
							s = &Sample{values: s.values, upTo: s.upTo, n: s.n, most: s.most,
								under: s.under, over: s.over}
						}
						if _, err := m.Draw(s, Public{}, rand.Reader); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		}
	}
}
