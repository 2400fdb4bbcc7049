package compare

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/record"
)

// Counts of the same users in every window differ "by more than noise explains" in no more than 5 % of all comparisons,
// and are not marked. Small counts that are cut at 0 differ less often. If records claimed an ε that is three times as
// large, the test would see it.
func TestCountsThatDoNotChange(t *testing.T) {
	const windows = 2400
	for seed, c := range []struct {
		mechanism string
		users     int
	}{{"geometric", 3000}, {"gaussian", 3000}, {"geometric", 5}} {
		m := query(t, mechanisms.Query{Statistic: mechanisms.Count, Mechanism: c.mechanism,
			Epsilon: decimal.RequireFromString("0.1"), Grid: grid(t, 10)})
		s, noisy := sample(grid(t, 10), make([]int64, c.users)...), seeded(byte(seed))
		values := make([]float64, windows)
		for i := range values {
			d, err := m.Draw(s, mechanisms.Public{}, noisy)
			if err != nil {
				t.Fatal(err)
			}
			values[i] = float64(d.Values[0].Number)
		}
		records := minutes(t, aCount, values...)
		var honest, bold tally
		for i := range records {
			records[i].Mechanism = c.mechanism
		}
		honest.add(records)
		for i := range records {
			records[i].Epsilon = "0.3"
		}
		bold.add(records)
		t.Logf("%d users by %s: %+v, with three times the ε %+v", c.users, c.mechanism, honest, bold)
		if !honest.few() || honest.unknown > 0 {
			t.Errorf("%d users by %s: %+v", c.users, c.mechanism, honest)
		}
		if bold.changes <= bold.pairs*9/100 && c.users > 100 {
			t.Errorf("%d users by %s, with three times the ε: %+v; want the test to see that", c.users, c.mechanism,
				bold)
		}
	}
}

// Figures from histograms of the same values in every window: quantiles, also where half of the values are far from the
// others, and shares. Intervals of quantiles that do not meet are the only thing that is said of these. The level of 95
// % does not make that a change.
func TestFiguresOfHistogramsThatDoNotChange(t *testing.T) {
	const windows, epsilon = 2400, 0.1
	g := grid(t, 60000)
	q := mechanisms.Query{Statistic: mechanisms.Histogram, Epsilon: decimal.NewFromFloat(epsilon), Grid: g,
		Buckets: &mechanisms.Bucketing{Native: true, Scale: 1}, Cuts: []int64{200}}
	m := query(t, q)
	buckets := mechanisms.Buckets(m)
	noise := mechanisms.HistogramNoise("histogram", epsilon, buckets.Levels())
	source := rand.New(seeded(41).ChaCha8)
	smooth := make([]int64, 2000)
	for i := range smooth {
		smooth[i] = int64(shapes["wide"](source))
	}
	for name, c := range map[string]struct {
		statistic mechanisms.Statistic
		values    []int64
	}{
		"a share":                    {mechanisms.Share, smooth},
		"a median":                   {mechanisms.Median, smooth},
		"a median in a gap":          {mechanisms.Median, clusters(10, 1000, 50000, 1000)},
		"a median just beside a gap": {mechanisms.Median, clusters(10, 1030, 50000, 970)},
	} {
		of := mechanisms.Query{Statistic: c.statistic, Grid: g}
		if c.statistic == mechanisms.Share {
			of.Above = new(decimal.NewFromInt(200))
		}
		free, err := mechanisms.NewComputed(of, buckets)
		if err != nil {
			t.Fatal(err)
		}
		s, noisy := sample(g, c.values...), seeded(42)
		records := minutes(t, anInterval, make([]float64, windows)...)
		for i := range records {
			d, err := m.Draw(s, mechanisms.Public{}, noisy)
			if err != nil {
				t.Fatal(err)
			}
			v, ok := free.Of(buckets.Estimate(d.Raw, d.Coarse, noise, 1))
			if !ok {
				t.Fatal("the histogram shows nobody")
			}
			r := &records[i]
			r.Statistic, r.Value = string(c.statistic), new(json.Number(v.Value.String()))
			r.Error95 = new(json.Number(v.Error95.String()))
			number := func(d decimal.Decimal) json.Number { return json.Number(d.String()) }
			r.Interval = &record.Interval{Level: "0.95", Low: number(*v.Low), High: number(*v.High)}
		}
		var n, ranges tally
		n.add(records)
		for at := 0; at+20 <= windows; at += 20 {
			ranges.pairs++
			if Ranges(AverageOf(records[at:at+10]), AverageOf(records[at+10:at+20])).Verdict == "change" {
				ranges.changes++
			}
		}
		t.Logf("%s: %+v, ranges %+v", name, n, ranges)
		// Of 120 pairs of ranges, 23 or more change with a probability below 1e-6 if it is 5 % for each (Chernoff).
		if !n.few() || n.changes > 0 && c.statistic == mechanisms.Median || ranges.changes > 22 {
			t.Errorf("%s: %+v, ranges %+v", name, n, ranges)
		}
	}
}
