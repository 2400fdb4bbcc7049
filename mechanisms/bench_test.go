package mechanisms

import (
	"crypto/rand"
	"fmt"
	"math"
	random "math/rand/v2"
	"testing"
)

// latencies returns a window of n users on a grid of 60,001 points, in ms.
func latencies(g *Grid, n int) *Sample {
	rng := random.New(random.NewPCG(7, uint64(n)))
	counts := map[int64]int64{}
	for range n {
		counts[int64(min(120*math.Exp(0.8*rng.NormFloat64()), 60000))]++
	}
	var points []Point
	for x, c := range counts {
		points = append(points, Point{x, c})
	}
	return NewSample(g, points)
}

func BenchmarkDraw(b *testing.B) {
	g := grid(b, "0", "60000", "1")
	for _, n := range []int{1e3, 1e6} {
		s := latencies(g, n)
		for _, q := range []Query{
			{Statistic: Median},
			{Statistic: Quantile, P: ps("0.99")},
			{Statistic: Median, Epsilon: dec("0.1")},
			{Statistic: Quantile, P: ps("0.99"), ExpectedUsers: 1 << 20},
			{Statistic: Median, Mechanism: "margin", Prior: "cells"},
			{Statistic: Median, Mechanism: "margin", Prior: "cells", Epsilon: dec("0.1")},
			{Statistic: Quantile, P: ps("0.99"), Mechanism: "margin", Prior: "cells"},
			{Statistic: Median, Mechanism: "duff"},
			{Statistic: Mode},
			{Statistic: Quantiles, P: ps("0.5", "0.9", "0.95", "0.99")},
			{Statistic: Quantiles, P: ps("0.5", "0.9", "0.95", "0.99"), Mechanism: "split"},
			{Statistic: Median, Mechanism: "permute_and_flip"},
			{Statistic: Quantile, P: ps("0.999"), Mechanism: "permute_and_flip", Epsilon: dec("0.01")}, // a far tail
			{Statistic: Median, Interval: new(dec("0.95"))},
			{Statistic: Quantile, P: ps("0.99"), Mechanism: "piecewise_laplace"},
			{Statistic: Quantile, P: ps("0.99"), Mechanism: "above_threshold"},
			{Statistic: Mode, Mechanism: "permute_and_flip"},
			{Statistic: Mean},
			{Statistic: Mean, Mechanism: "clipped_gaussian"},
			{Statistic: Mean, Clip: "none"},
			{Statistic: Mean, Mechanism: "smooth_power"},
			{Statistic: Mean, Mechanism: "duff"},
			{Statistic: Sum},
			{Statistic: TrimmedMean, Trim: dec("0.05")},
			{Statistic: TrimmedMean, Trim: dec("0.05"), Mechanism: "smooth_power"},
			{Statistic: Count},
		} {
			q.Grid = g
			if q.Epsilon.IsZero() {
				q.Epsilon = dec("1")
			}
			m := build(b, q)
			name := m.Name()
			if q.Interval != nil {
				name += " with interval"
			}
			b.Run(fmt.Sprintf("%s%v/%s/ε=%s/n=%d", q.Statistic, q.P, name, q.Epsilon, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := m.Draw(s, Public{}, rand.Reader); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

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
