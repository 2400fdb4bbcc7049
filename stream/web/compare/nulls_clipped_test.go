package compare

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/outputs"
	"github.com/louver/louver/stream/record"
)

// clipped are records of a mean or sum of windows of a minute, as the service makes them.
func clipped(t *testing.T, statistic mechanisms.Statistic, mechanism string, epsilon float64, windows int,
	users func(window int) *mechanisms.Sample, seed byte) []outputs.Record {
	t.Helper()
	g := grid(t, 60000)
	q := mechanisms.Query{Statistic: statistic, Mechanism: mechanism, Epsilon: decimal.NewFromFloat(epsilon), Grid: g}
	m := query(t, q)
	scale, clips := q.Scale(m), q.ClipScale(m)
	source, noisy := rand.New(seeded(seed).ChaCha8), seeded(seed+1)
	records := minutes(t, aMean, make([]float64, windows)...)
	number := func(d decimal.Decimal) json.Number { return json.Number(d.String()) }
	for i := range records {
		s := users(i)
		count := s.Users() + int64((source.ExpFloat64()-source.ExpFloat64())/epsilon)
		d, err := m.Draw(s, mechanisms.Public{Users: &mechanisms.NoisyCount{Value: count, Epsilon: epsilon}}, noisy)
		if err != nil {
			t.Fatal(err)
		}
		r, x := &records[i], d.Values[0]
		r.Statistic, r.Mechanism, r.Epsilon = string(statistic), mechanism, json.Number(fmt.Sprint(epsilon))
		r.Value, r.Users = new(number(scale.Decimal(x.Number))), &count
		r.Error95 = new(json.Number(fmt.Sprint(x.Error95)))
		r.Clip = &[2]json.Number{number(clips.Decimal(d.Clip[0])), number(clips.Decimal(d.Clip[1]))}
		r.Outside = &record.Outside{Value: d.Outside.Users, Error95: d.Outside.Error95}
		r.Outside95 = &d.Outside.Users95
		if !math.IsNaN(d.Outside.Cut95) {
			r.Cut95 = new(json.Number(fmt.Sprint(d.Outside.Cut95)))
		}
	}
	return records
}

// clusters are so many values in one place, and so many in another.
func clusters(near int64, users int, distant int64, others int) []int64 {
	return append(slices.Repeat([]int64{near}, users), slices.Repeat([]int64{distant}, others)...)
}

// Means and sums of the same values in every window do not differ "by more than noise explains", although their values
// are cut to another interval in each window: in no more than 5 % of all comparisons. Their figures are not marked. By
// the law of the noise alone, many would differ: the test sees a comparison that knows nothing of the cuts. Where these
// may explain a difference, nothing is said, which is so in no more than half of the comparisons.
func TestClippedFiguresThatDoNotChange(t *testing.T) {
	const windows = 240
	lognormal := func(sigma float64) (values []int64) {
		source := rand.New(seeded(40).ChaCha8)
		for range 2000 {
			values = append(values, int64(min(60000, 120*math.Exp(sigma*source.NormFloat64()))))
		}
		return values
	}
	var all, alone tally
	g, seed := grid(t, 60000), byte(50)
	for _, c := range []struct {
		name    string
		epsilon float64
		values  []int64
	}{
		{"half 10, half 50,000", 0.5, clusters(10, 150, 50000, 150)},
		{"a third 30,000", 0.1, clusters(12, 1400, 30000, 600)},
		{"a fifth far", 0.1, clusters(12, 1600, 30000, 400)},
		{"few far", 0.1, clusters(12, 1900, 30000, 100)},
		{"a tenth spends", 0.1, clusters(0, 4500, 3000, 500)},
		{"lognormal, σ 1.5", 0.5, lognormal(1.5)},
		{"lognormal, σ 0.6", 0.5, lognormal(0.6)},
	} {
		values := sample(g, c.values...)
		same := func(int) *mechanisms.Sample { return values }
		for _, statistic := range []mechanisms.Statistic{mechanisms.Mean, mechanisms.Sum} {
			for _, mechanism := range []string{"clipped", clippedGaussian} {
				seed += 2
				records := clipped(t, statistic, mechanism, c.epsilon, windows, same, seed)
				before := all
				all.add(records)
				careless := make([]outputs.Record, windows)
				for i, r := range records {
					careless[i] = r
					careless[i].Clip = nil
				}
				alone.add(careless)
				t.Logf("%s, %s by %s: %d changes and %d unknown of %d, %d marks", c.name, statistic, mechanism,
					all.changes-before.changes, all.unknown-before.unknown, windows-1, all.marked-before.marked)
			}
		}
	}
	t.Logf("%+v, by noise alone %+v", all, alone)
	if !all.few() || all.unknown > all.pairs/2 {
		t.Errorf("%+v", all)
	}
	if alone.changes <= alone.pairs*9/100 || alone.marked < 5 {
		t.Errorf("by noise alone %+v; want the test to see that", alone)
	}
}

// A mean that triples is marked once within three windows, and so is its return, although its values are cut to another
// interval then.
func TestAMeanThatTriples(t *testing.T) {
	source := rand.New(seeded(44).ChaCha8)
	draw := func(middle float64) *mechanisms.Sample {
		return people(grid(t, 60000), 5000, func(source *rand.Rand) float64 {
			return middle * math.Exp(0.6*source.NormFloat64())
		}, source)
	}
	calm, slow := draw(120), draw(360)
	for i, epsilon := range []float64{0.1, 0.5} {
		records := clipped(t, mechanisms.Mean, "clipped", epsilon, 400, func(window int) *mechanisms.Sample {
			if window >= 150 && window < 250 {
				return slow
			}
			return calm
		}, byte(45+2*i))
		got := marks(records)
		if len(got) != 2 || got[0] < 150 || got[0] > 152 || got[1] < 250 || got[1] > 252 {
			t.Errorf("ε %g: marks in %v; want one from 150 on and one from 250 on", epsilon, got)
		}
	}
}

// What is said of means whose values were cut to different intervals. With 10,000 users and ε 1, at least 9,963 are
// likely, and at most 50 + 4 · ln(100) = 68 and 18 are outside. Against the wider interval, those of the narrow one may
// have moved a mean by 68 · (1,000 + 250)/9,963 = 8.6, and its count those of the wide one by 18 · 500/9,963 = 0.9.
func TestCuts(t *testing.T) {
	mean := func(value int, more string) outputs.Record {
		r, _, err := outputs.Decode(fmt.Appendf(nil, `{"schema":"louver.release.v1","statistic":"mean",`+
			`"mechanism":"clipped","unit":"ms","epsilon":1,"error_95":3,"users":10000,"value":%d%s}`, value, more))
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	const narrow = `,"clip":[0,1000],"outside":{"value":50,"error_95":12},"outside_95":60,"cut_95":300`
	const wide = `,"clip":[0,2000],"outside":{"value":0,"error_95":12},"outside_95":10,"cut_95":30`
	const cut = ": noise alone does not explain this. But values were cut to different intervals, which may."
	for _, c := range []struct {
		a, b     outputs.Record
		verdict  string
		sentence string
	}{
		{mean(100, narrow), mean(102, wide), "noise", "100 → 102 ms: noise alone does this in 27 of 100 cases."},
		{mean(100, narrow), mean(110, wide), "unknown", "100 → 110 ms" + cut},
		{mean(100, narrow), mean(112, wide), "unknown", "100 → 112 ms" + cut}, // beyond the cuts, not beyond both
		{mean(100, narrow), mean(130, wide), "change", "100 → 130 ms: noise alone does this in 1 of 100 cases."},
		{mean(100, narrow), mean(112, narrow), "change",
			"100 → 112 ms: noise alone does this in fewer than 1 of 1,000 cases."},
		{mean(100, narrow), mean(130, `,"clip":[0,2000]`), "unknown", "100 → 130 ms" + cut},
		{mean(100, `,"clip":[0,1000]`), mean(112, `,"clip":[0,1000]`), "change",
			"100 → 112 ms: noise alone does this in fewer than 1 of 1,000 cases."},
	} {
		if got := Figures(c.a, c.b); got.Verdict != c.verdict || got.Sentence != c.sentence ||
			(got.Probability == nil) != (c.verdict == "unknown") {
			t.Errorf("%s, %s; want %s, %s", got.Verdict, got.Sentence, c.verdict, c.sentence)
		}
	}
	if moved, ok := movedByCuts([]outputs.Record{mean(100, narrow), mean(130, wide)}, 1, 0.01); !ok ||
		math.Abs(moved-9.5) > 0.1 {
		t.Errorf("cuts may move the difference by %g, %t; want 9.5", moved, ok)
	}
}
