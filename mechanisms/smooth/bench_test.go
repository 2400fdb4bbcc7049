package smooth

import (
	"crypto/rand"
	"fmt"
	"math"
	mrand "math/rand/v2"
	"slices"
	"testing"

	"github.com/shopspring/decimal"
)

func dec(s string) decimal.Decimal { return decimal.RequireFromString(s) }

// gather turns values into distinct values with counts.
func gather(x []int64) (values, counts []int64) {
	slices.Sort(x)
	for _, v := range x {
		if n := len(values); n > 0 && values[n-1] == v {
			counts[n-1]++
			continue
		}
		values, counts = append(values, v), append(counts, 1)
	}
	return values, counts
}

// upTo returns the running sums of counts.
func upTo(counts []int64) []int64 {
	sums, n := make([]int64, len(counts)), int64(0)
	for j, c := range counts {
		n += c
		sums[j] = n
	}
	return sums
}

// latencies returns n log-normal values on 0..last, with a median of a hundredth of the range.
func latencies(n int, last int64) (values, counts []int64) {
	rng := mrand.New(mrand.NewPCG(1, uint64(n)))
	x := make([]int64, n)
	for i := range x {
		x[i] = min(last, int64(float64(last)/100*math.Exp(rng.NormFloat64())))
	}
	return gather(x)
}

func BenchmarkDraw(b *testing.B) {
	for _, s := range []Spec{
		{Statistic: "trimmed_mean", Trim: dec("0.05")},
		{Statistic: "trimmed_mean", Trim: dec("0.45")},
		{Statistic: "mean"},
		{Statistic: "median"},
		{Statistic: "quantile", P: dec("0.9")},
	} {
		for _, epsilon := range []string{"1", "0.05", "0.001"} {
			for _, n := range []int{1000, 1000000} {
				s.Noise, s.Epsilon, s.Last = "power", dec(epsilon), 1e9
				m, err := New(s)
				if err != nil {
					b.Fatal(err)
				}
				values, counts := latencies(n, s.Last)
				sums := upTo(counts)
				b.Run(fmt.Sprintf("%s/trim=%v/ε=%s/n=%d", s.Statistic, s.Trim, epsilon, n), func(b *testing.B) {
					b.ReportAllocs()
					for b.Loop() {
						if _, err := m.Draw(NewValues(values, sums), rand.Reader); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		}
	}
}

// Heaps are hard for the search: many edits have the same local sensitivity.
func BenchmarkDrawHeaped(b *testing.B) {
	const n, last = 1000000, 1000
	for name, sample := range map[string][2][]int64{
		"one value":  {{300}, {n}},
		"two values": {{300, 800}, {n / 2, n / 2}},
		"decades":    {{0, 100, 200, 300, 400, 500, 1000}, {n / 10, n / 5, n / 5, n / 5, n / 5, n / 20, n / 20}},
	} {
		for _, s := range []Spec{
			{Statistic: "trimmed_mean", Trim: dec("0.05")},
			{Statistic: "trimmed_mean", Trim: dec("0.45")},
			{Statistic: "median"},
			{Statistic: "quantile", P: dec("0.9")},
		} {
			for _, epsilon := range []string{"1", "0.001"} {
				s.Noise, s.Epsilon, s.Last = "power", dec(epsilon), last
				m, err := New(s)
				if err != nil {
					b.Fatal(err)
				}
				values := NewValues(sample[0], upTo(sample[1]))
				b.Run(fmt.Sprintf("%s/%s/trim=%v/ε=%s", name, s.Statistic, s.Trim, epsilon), func(b *testing.B) {
					b.ReportAllocs()
					for b.Loop() {
						if _, err := m.Draw(values, rand.Reader); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		}
	}
}
