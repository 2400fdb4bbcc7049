package compare

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/outputs"
	"github.com/louver/louver/stream/record"
)

// tally counts comparisons of windows between which nothing changed.
type tally struct {
	pairs, changes, unknown int
	marked                  int
}

// add compares neighbouring windows of a series, and looks for marks.
func (n *tally) add(records []outputs.Record) {
	for i := range records[1:] {
		n.pairs++
		switch Figures(records[i], records[i+1]).Verdict {
		case "change":
			n.changes++
		case "unknown":
			n.unknown++
		}
	}
	n.marked += len(marks(records))
}

// few reports whether no more pairs change than a probability of 5 % allows, and no more figures are marked than one of
// 2 % a day.
//
// Neighbouring pairs share a figure, so every second one is independent. Of n = 1,000 or more independent ones, more
// than t = 9 % change with a probability of at most e^{−n·KL(t, 0.05)} = 3e-7. The windows of a test are four days or
// fewer, so at most 0.08 marks are expected, and five have a probability of 3e-8 (Poisson).
func (n *tally) few() bool {
	return n.pairs >= 2000 && n.pairs <= 5*perDay && float64(n.changes) <= 0.09*float64(n.pairs) && n.marked < 5
}

// shapes are laws of values whose middle is at 120.
var shapes = map[string]func(source *rand.Rand) float64{
	"narrow":      func(source *rand.Rand) float64 { return 120 * math.Exp(0.25*source.NormFloat64()) },
	"wide":        func(source *rand.Rand) float64 { return 120 * math.Exp(source.NormFloat64()) },
	"heavy tails": func(source *rand.Rand) float64 { return 120 * math.Exp(1.5*source.NormFloat64()) },
	"uniform":     func(source *rand.Rand) float64 { return 240 * source.Float64() },
	"few values":  func(source *rand.Rand) float64 { return 40 * math.Floor(1+5*source.Float64()) },
}

// people draws values of users.
func people(g *mechanisms.Grid, n int, value func(*rand.Rand) float64, source *rand.Rand) *mechanisms.Sample {
	values := make([]int64, n)
	for i := range values {
		values[i] = int64(min(float64(g.Last()), max(0, math.Round(value(source)))))
	}
	return sample(g, values...)
}

// quantiles releases a quantile of ε 0.1 in windows of a minute, from 2,000 users of each, as the service does.
func quantiles(t *testing.T, p string, windows int, users func(window int) *mechanisms.Sample,
	seed byte) []outputs.Record {
	t.Helper()
	q := mechanisms.Query{Statistic: mechanisms.Quantile, P: []decimal.Decimal{decimal.RequireFromString(p)},
		Epsilon: decimal.NewFromFloat(0.1), Grid: grid(t, 60000), Prior: "adaptive", ExpectedUsers: 2000}
	m := query(t, q)
	filter, err := mechanisms.NewFilter(q)
	if err != nil {
		t.Fatal(err)
	}
	noisy := seeded(seed)
	source := rand.New(seeded(seed + 1).ChaCha8)
	values := make([]float64, windows)
	bands, counts := make([]mechanisms.Band, windows), make([]int64, windows)
	for i := range windows {
		count := 2000 + int64(10*(source.ExpFloat64()-source.ExpFloat64()))
		d, err := m.Draw(users(i), mechanisms.Public{Measure: filter.Measure(),
			Users: &mechanisms.NoisyCount{Value: count, Epsilon: 0.1}}, noisy)
		if err != nil {
			t.Fatal(err)
		}
		x := d.Values[0].Number
		values[i], bands[i], counts[i] = float64(x), filter.Update(x, &count), count
		filter.Predict()
	}
	records := minutes(t, aMedian, values...)
	for i, b := range bands {
		records[i].Users = &counts[i]
		records[i].BandFields = &record.BandFields{Basis: record.Basis(b.Basis)}
		if b.Basis == mechanisms.BasisScatter {
			records[i].Usual95 = new(json.Number(fmt.Sprint(b.Usual)))
		}
	}
	return records
}

// claiming returns records that claim a part of the usual difference.
func claiming(part float64, records []outputs.Record) []outputs.Record {
	all := make([]outputs.Record, len(records))
	for i, r := range records {
		all[i] = r
		all[i].BandFields = &record.BandFields{Basis: r.Basis}
		if r.Usual95 != nil {
			all[i].Usual95 = new(json.Number(fmt.Sprint(part * float(*r.Usual95))))
		}
	}
	return all
}

// Medians and quantiles of windows in which nothing changes, not even the users, differ "by more than noise and the
// usual variation explain" in no more than 5 % of all comparisons, and are not marked. So do those of users of the same
// kind who are new in every window. If records claimed a sixth of the usual difference, the test would see it.
//
// Of 480 pairs of ranges of five windows, more than t = 10 % change with a probability of at most e^{−480·KL(t, 0.05)}
// = 1e-4 if each has one of 5 %; the law of usual differences leaves 1 %, and then 10 % have less than 1e-24.
func TestQuantilesThatDoNotChange(t *testing.T) {
	const windows = 240
	g, source := grid(t, 60000), rand.New(seeded(5).ChaCha8)
	var all, narrow tally
	ranges, seed := tally{}, byte(10)
	for _, name := range slices.Sorted(maps.Keys(shapes)) {
		shape := shapes[name]
		for _, p := range []string{"0.5", "0.9"} {
			for _, fresh := range []bool{false, true} {
				same := people(g, 2000, shape, source)
				seed += 2
				records := quantiles(t, p, windows, func(int) *mechanisms.Sample {
					if fresh {
						return people(g, 2000, shape, source)
					}
					return same
				}, seed)
				before := all
				all.add(records)
				narrow.add(claiming(1./6, records))
				t.Logf("%s, p %s, new users %t: %d changes and %d unknown of %d, %d marks", name, p, fresh,
					all.changes-before.changes, all.unknown-before.unknown, windows-1, all.marked-before.marked)
				for at := 0; at+10 <= windows; at += 10 {
					ranges.pairs++
					if Ranges(AverageOf(records[at:at+5]), AverageOf(records[at+5:at+10])).Verdict == "change" {
						ranges.changes++
					}
				}
			}
		}
	}
	t.Logf("%+v, ranges %+v, with a sixth of the usual difference %+v", all, ranges, narrow)
	if !all.few() || all.unknown > all.pairs/2 || ranges.pairs != 480 || ranges.changes > 48 {
		t.Errorf("%+v, and of ranges %+v", all, ranges)
	}
	if narrow.changes <= all.pairs*9/100 {
		t.Errorf("with a sixth of the usual difference %+v; want the test to see that", narrow)
	}
}

// What is usual for a median that leaps grows with its value, and not with how far it leapt.
func TestUsualAfterALeap(t *testing.T) {
	users := func(n float64, value, usual float64) *Point { return &Point{value: value, usual: usual, users: n} }
	calm := users(1000, 120, 9)
	for name, c := range map[string]struct {
		p    *Point
		want float64
	}{
		"the same":      {users(1000, 120, 9), 9},
		"three times":   {users(1000, 360, 48), 27},
		"fewer users":   {users(500, 120, 30), 18},
		"a third":       {users(1000, 40, 9), 9},
		"its own bound": {users(1000, 360, 20), 20},
		"nobody counts": {users(0, 360, 48), 48},
	} {
		if got := c.p.usualAfter(calm); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: %g; want %g", name, got, c.want)
		}
	}
}

// The same where half of the values are far from the others, so that a median is anywhere in the gap between them: it
// follows the prior there, and nothing public tells it from a median of people. For most pairs, nothing is said.
func TestMediansInAGapThatDoNotChange(t *testing.T) {
	var all tally
	for i, gap := range [][2]int64{{0, 300}, {10, 50000}} {
		s := sample(grid(t, 60000), clusters(gap[0], 1000, gap[1], 1000)...)
		all.add(quantiles(t, "0.5", 1100, func(int) *mechanisms.Sample { return s }, byte(150+2*i)))
	}
	t.Logf("%+v", all)
	if !all.few() || all.unknown < all.pairs/2 {
		t.Errorf("%+v", all)
	}
}

// Values that repeat, such as ratings, leap from one heap to the next where the median lies near the edge between them.
// The first leaps may be marked, because nothing public tells where the next heap is. After three leaps they are usual.
//
// Without that, the same seeds have 136 marks, and more than 5 % of the pairs change in six of the ten series.
func TestRatingsThatDoNotChange(t *testing.T) {
	g, source := grid(t, 60000), rand.New(seeded(9).ChaCha8)
	var all tally
	for i, edge := range []float64{0.475, 0.485, 0.495, 0.505, 0.515} {
		for j, stars := range [][]float64{{1, 2, 3, 4, 5}, {5, 10, 20, 50, 100}} {
			rated := func(source *rand.Rand) float64 {
				u, k := source.Float64(), 0
				for _, upTo := range []float64{0.1, 0.25, edge, 0.8} {
					if u >= upTo {
						k++
					}
				}
				return stars[k]
			}
			var one tally
			one.add(quantiles(t, "0.5", perDay, func(int) *mechanisms.Sample { return people(g, 2000, rated, source) },
				byte(170+4*i+2*j)))
			t.Logf("%v up to %g: %+v", stars, edge, one)
			if float64(one.changes) > 0.05*float64(one.pairs) {
				t.Errorf("%v up to %g: %d of %d pairs change, want 5 %% at most", stars, edge, one.changes, one.pairs)
			}
			all.marked += one.marked
		}
	}
	if t.Logf("%d marks in ten days", all.marked); all.marked > 20 {
		t.Errorf("%d marks in ten days, want the first two leaps of each series at most", all.marked)
	}
}

// A median that triples is marked once, within three windows, and its return once. What happens in 100 windows is one
// stretch, although each of the first differs from those before the stretch.
func TestAMedianThatTriples(t *testing.T) {
	g, source := grid(t, 60000), rand.New(seeded(7).ChaCha8)
	records := quantiles(t, "0.5", 400, func(window int) *mechanisms.Sample {
		return people(g, 2000, func(source *rand.Rand) float64 {
			x := shapes["narrow"](source)
			if window >= 150 && window < 250 {
				x *= 3
			}
			return x
		}, source)
	}, 90)
	got := marks(records)
	if len(got) != 2 || got[0] < 150 || got[0] > 152 || got[1] < 250 || got[1] > 252 {
		t.Errorf("marks in %v; want one from 150 on and one from 250 on", got)
	}
	if c := Figures(records[140], records[160]); c.Verdict != "change" || *c.Basis != byUsual {
		t.Errorf("%+v", c)
	}
	if c := Ranges(AverageOf(records[100:140]), AverageOf(records[160:200])); c.Verdict != "change" ||
		!strings.Contains(c.Sentence, ", medians of 40 and 40 windows: noise and the usual variation do this in") {
		t.Errorf("%+v", c)
	}
}
