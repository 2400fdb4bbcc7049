package main

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/mechanisms/histogram"
)

// dayOfRequests returns the bytes of each client's last request in each stretch of a day of web_requests.csv, in order
// of time.
func dayOfRequests(t *testing.T, in input, stretch time.Duration) (parts [][]int64) {
	t.Helper()
	bytes := column{"web_requests.csv", "bytes", 0, 1_000_000, 1}
	begin := time.Date(2015, 5, 18, 0, 0, 0, 0, time.UTC)
	times, clients := cells(t, "web_requests.csv", "time"), cells(t, "web_requests.csv", "client")
	last := make([]map[string]int64, 24*time.Hour/stretch)
	for i, v := range bytes.values(t) {
		at, err := time.Parse(time.RFC3339, times[i])
		if err != nil {
			t.Fatal(err)
		}
		if n := at.Sub(begin) / stretch; at.Before(begin) || int(n) >= len(last) {
			continue
		} else if last[n] == nil {
			last[n] = map[string]int64{clients[i]: in.index(v)}
		} else {
			last[n][clients[i]] = in.index(v)
		}
	}
	for _, users := range last {
		part := []int64{}
		for _, v := range users {
			part = append(part, v)
		}
		slices.Sort(part)
		parts = append(parts, part)
	}
	return parts
}

func sampleOf(g *mechanisms.Grid, values []int64) *mechanisms.Sample {
	var points []mechanisms.Point
	for _, v := range values {
		points = append(points, mechanisms.Point{Index: v, Count: 1})
	}
	return mechanisms.NewSample(g, points)
}

// pointsOff is how many percentile points a grid point is away from the quantile p of sorted values.
func pointsOff(values []int64, index int64, p float64) float64 {
	below, _ := slices.BinarySearch(values, index)
	upTo, _ := slices.BinarySearch(values, index+1)
	n := float64(len(values))
	return 100 * max(0, float64(below)/n-p, p-float64(upTo)/n)
}

var threeQuantiles = []decimal.Decimal{decimal.New(50, -2), decimal.New(90, -2), decimal.New(99, -2)}

// histogramErrors returns the mean distance of p50, p90 and p99, in percentile points, over draws of a histogram of all
// parts, each drawn for ε, and added up.
func histogramErrors(t *testing.T, g *mechanisms.Grid, parts [][]int64, scale int, epsilon decimal.Decimal,
	draws int) (mean [3]float64) {
	t.Helper()
	m, err := mechanisms.New(mechanisms.Query{Statistic: mechanisms.Histogram, Grid: g, Epsilon: epsilon,
		Buckets: &mechanisms.Bucketing{Native: true, Scale: scale}})
	if err != nil {
		t.Fatal(err)
	}
	b := mechanisms.Buckets(m)
	noise := mechanisms.HistogramNoise(m.Name(), epsilon.InexactFloat64(), b.Levels())
	var samples []*mechanisms.Sample
	var all []int64
	for _, part := range parts {
		samples, all = append(samples, sampleOf(g, part)), append(all, part...)
	}
	slices.Sort(all)
	random := rand.NewChaCha8([32]byte{byte(scale), 3})
	for range draws {
		raw, coarse := make([]int64, b.Len()), make([]int64, b.Groups())
		for _, s := range samples {
			d, err := m.Draw(s, mechanisms.Public{}, random)
			if err != nil {
				t.Fatal(err)
			}
			for i, n := range d.Raw {
				raw[i] += n
			}
			for i, n := range d.Coarse {
				coarse[i] += n
			}
		}
		e := b.Estimate(raw, coarse, noise, int64(len(samples)))
		for i, p := range threeQuantiles {
			q, ok := e.Quantile(p)
			if !ok {
				q = histogram.Quantile{} // withheld: as far off as can be
			}
			mean[i] += pointsOff(all, q.Index, p.InexactFloat64()) / float64(draws)
		}
	}
	return mean
}

// marginErrors is the same of margins for a third of the ε each.
func marginErrors(t *testing.T, g *mechanisms.Grid, values []int64, epsilon decimal.Decimal,
	draws int) (mean [3]float64) {
	t.Helper()
	s, random := sampleOf(g, values), rand.NewChaCha8([32]byte{4})
	for i, p := range threeQuantiles {
		m, err := mechanisms.New(mechanisms.Query{Statistic: mechanisms.Quantile, P: []decimal.Decimal{p}, Grid: g,
			Mechanism: "margin", Epsilon: epsilon.DivRound(decimal.NewFromInt(3), 6)})
		if err != nil {
			t.Fatal(err)
		}
		for range draws {
			d, err := m.Draw(s, mechanisms.Public{}, random)
			if err != nil {
				t.Fatal(err)
			}
			mean[i] += pointsOff(values, d.Values[0].Number, p.InexactFloat64()) / float64(draws)
		}
	}
	return mean
}

// TestHistogramOfRequests compares p50, p90 and p99 of a day's clients from a histogram with margins for a third of the
// ε each, and the sum of a day's hours with the exact one: README has the figures. The draws come from fixed keys.
func TestHistogramOfRequests(t *testing.T) {
	unseen(t)
	in := column{"web_requests.csv", "bytes", 0, 1_000_000, 1}.input()
	g, err := mechanisms.NewGrid(decimal.Zero, decimal.NewFromInt(1_000_000), decimal.NewFromInt(1))
	if err != nil {
		t.Fatal(err)
	}
	day, hours := dayOfRequests(t, in, 24*time.Hour), dayOfRequests(t, in, time.Hour)
	const draws = 400
	closer := [3]bool{false, true, true} // the better of two histograms is closer than the margins, as README says
	for _, text := range []string{"0.1", "0.3", "1"} {
		epsilon := decimal.RequireFromString(text)
		two, three := histogramErrors(t, g, day, 2, epsilon, draws), histogramErrors(t, g, day, 3, epsilon, draws)
		margins := marginErrors(t, g, day[0], epsilon, draws)
		t.Logf("%d clients, ε %s: scale 2 %.2f, scale 3 %.2f, margins %.2f", len(day[0]), text, two, three, margins)
		for i := range margins {
			if best := min(two[i], three[i]); best < margins[i] != closer[i] {
				t.Errorf("ε %s, p %s: %.2f points from a histogram, %.2f by margin", text,
					threeQuantiles[i], best, margins[i])
			}
		}
		added := histogramErrors(t, g, hours, 3, epsilon, draws/4)
		t.Logf("the sum of 24 hours, ε %s each: %.2f", text, added)
	}
}
