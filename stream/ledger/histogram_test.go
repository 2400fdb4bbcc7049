package ledger_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/budget/privacy"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/ledger/ledgertest"
	"github.com/louver/louver/stream/record"
	"github.com/louver/louver/stream/record/recordtest"
)

// histogramEntry is an entry with a histogram of five buckets in two groups, and all figures that come from one. In the
// second group it shows nobody.
func histogramEntry(t *testing.T) ledger.Entry {
	t.Helper()
	dec, some := ledgertest.Dec, ledgertest.Some
	e := exampleEntry()
	e.Prior = nil
	e.Price = []budget.Item{{Promise: privacy.NewPieces(dec("0.5"), 0.0625), Times: 1}}
	ends := []decimal.Decimal{dec("99.5"), dec("250"), dec("800"), dec("1000")}
	of := record.Series{Statistic: "quantile", Mechanism: "histogram", Unit: "ms", From: "latency"}
	add := func(name, statistic, unit string, p, above, below *decimal.Decimal) {
		f := of
		f.Name, f.Statistic, f.Unit, f.P, f.Above, f.Below = name, statistic, unit, p, above, below
		e.Releases = append(e.Releases, f)
	}
	e.Releases = []record.Series{{Name: "latency", Statistic: "histogram", Mechanism: "histogram", Unit: "users",
		Epsilon: dec("0.5"), Buckets: &record.Buckets{Lower: dec("0"), Upper: dec("1000"), Step: dec("0.5"), Ends: ends,
			Levels: 2}}}
	add("p50", "median", "ms", some("0.5"), nil, nil)
	add("p99", "quantile", "ms", some("0.99"), nil, nil)
	add("slow", "share", "", nil, some("800"), nil)
	add("quick", "count", "users", nil, nil, some("100"))
	add("out", "outside", "users", nil, nil, nil)
	add("peak", "mode", "ms", nil, nil, nil)
	e.Groups = []ledger.Group{{Name: "eu"}, {Name: "a<b"}}
	for g, numbers := range []ledger.Numbers{{[]int64{400, 620, 180, 9, 3}, []int64{1190, 14}},
		{[]int64{-4, 2, -9, 1, 0}, []int64{-6, -2}}} {
		e.Groups[g].Values = make([]ledger.Value, len(e.Releases))
		e.Groups[g].Values[0] = ledger.Value{Value: some([]string{"1206", "0"}[g]), Error95: some("15"),
			Quality: "useful", Numbers: &numbers}
	}
	if err := e.Compute(); err != nil {
		t.Fatal(err)
	}
	return e
}

func TestComputedFigures(t *testing.T) {
	e := histogramEntry(t)
	back, err := ledger.Decode(ledgertest.Encode(t, e))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(e, back, sameDecimals); d != "" {
		t.Errorf("what was encoded and decoded (-, +):\n%s", d)
	}
	if e.Groups[0].Reason != "" || e.Groups[1].Reason != record.TooFewUsers {
		t.Errorf("the reasons are %q and %q", e.Groups[0].Reason, e.Groups[1].Reason)
	}
	var got []string
	for _, r := range ledgertest.Records(t, back) {
		f := fields(t, r)
		got = append(got,
			strings.Join([]string{f["group"], f["release"], f["value"], f["error_95"], f["interval"], f["epsilon"],
				f["quality"], f["reason"], f["from"]}, " "))
	}
	// By hand: the sums of the groups are 1192.5 and 13⅓, and the estimates 397.5, 617.5, 177.5, 9⅔ and 3⅔.
	want := []string{
		`eu latency 1206 15 null 0.5 useful null `,
		`eu p50 150 100 {"level":0.95,"low":100,"high":250} 0 rough null latency`,
		`eu p99 826.5 `,
		`eu slow 0.011057 `,
		`eu quick 398 `,
		`eu out 4 `,
		`eu peak 250 null null 0 null null latency`,
		`a<b latency 0 15 null 0.5 useful null `,
		`a<b p50 null null null 0 null too_few_users latency`,
		`a<b p99 null null null 0 null too_few_users latency`,
		`a<b slow 0 1 {"level":0.95,"low":0,"high":1} 0 noise null latency`,
		`a<b quick 0 11 null 0 noise null latency`,
		`a<b out 0 11 null 0 noise null latency`,
		`a<b peak null null null 0 null too_few_users latency`,
	}
	for i, line := range want {
		if plain := strings.ReplaceAll(got[i], `"`, ""); !strings.HasPrefix(plain, strings.ReplaceAll(line, `"`, "")) {
			t.Errorf("\n got %s\nwant %s", plain, line)
		}
	}
}

// TestComputeAgain: the same numbers give the same figures, and other ones give others.
func TestComputeAgain(t *testing.T) {
	differs := func(e ledger.Entry) bool {
		again := ledger.Facts(e)
		if err := again.Compute(); err != nil {
			t.Fatal(err)
		}
		return ledgertest.JSON(t, e.Groups) != ledgertest.JSON(t, again.Groups)
	}
	if differs(histogramEntry(t)) {
		t.Error("the same numbers give other figures")
	}
	for name, change := range map[string]func(e *ledger.Entry){
		"the count":  func(e *ledger.Entry) { e.Groups[0].Values[0].Value = ledgertest.Some("1202") },
		"an error":   func(e *ledger.Entry) { e.Groups[0].Values[2].Error95 = ledgertest.Some("1") },
		"no bounds":  func(e *ledger.Entry) { e.Groups[0].Values[3].Interval = nil },
		"a quantile": func(e *ledger.Entry) { e.Groups[1].Values[4].Value = ledgertest.Some("7") },
		"other numbers": func(e *ledger.Entry) {
			e.Groups[1].Values[0].Numbers = &ledger.Numbers{
				Raw: []int64{900, 2, -9, 1, 0}, Coarse: []int64{-6, -2}}
		},
	} {
		e := histogramEntry(t)
		if change(&e); !differs(e) {
			t.Errorf("%s: the numbers of the histogram give the same", name)
		}
	}
}

func TestHistogramsThatNobodyWrites(t *testing.T) {
	for want, change := range map[string]func(e *ledger.Entry){
		`4 numbers and 2 of groups; want 5 and 2`: func(e *ledger.Entry) {
			e.Groups[0].Values[0].Numbers = &ledger.Numbers{Raw: []int64{1, 2, 3, 4}, Coarse: []int64{1, 2}}
		},
		`it has no numbers`:          func(e *ledger.Entry) { e.Groups[0].Values[0].Numbers = nil },
		`which is no histogram`:      func(e *ledger.Entry) { e.Releases[1].From = "p99" },
		`has epsilon 1; want`:        func(e *ledger.Entry) { e.Releases[1].Epsilon = ledgertest.Dec("1") },
		`no point of the grid`:       func(e *ledger.Entry) { e.Releases[0].Buckets.Ends[0] = ledgertest.Dec("99.7") },
		`ends of buckets; want`:      func(e *ledger.Entry) { e.Releases[0].Buckets.Ends[3] = ledgertest.Dec("900") },
		`want the end of a bucket`:   func(e *ledger.Entry) { e.Releases[3].Above = ledgertest.Some("700") },
		`only whole windows are`:     func(e *ledger.Entry) { e.Groups[1].Values[0] = ledger.Value{} },
		`3 levels; want 1 or 2`:      func(e *ledger.Entry) { e.Releases[0].Buckets.Levels = 3 },
		`step 0; want a number grea`: func(e *ledger.Entry) { e.Releases[0].Buckets.Step = decimal.Zero },
	} {
		e := histogramEntry(t)
		change(&e)
		if _, err := e.Encode(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v; want %s", err, want)
		}
	}
}

// Too few users withhold no histogram, because roll-ups add up what was drawn.
func TestFewUsersWithholdNoHistogram(t *testing.T) {
	e := histogramEntry(t)
	e.Releases = append(e.Releases, record.Series{Name: "users", Statistic: "count", Mechanism: "geometric",
		Unit: "users", Epsilon: ledgertest.Dec("0.5")}, record.Series{Name: "typical", Statistic: "mean",
		Mechanism: "clipped", Epsilon: ledgertest.Dec("0.5")})
	for g := range e.Groups {
		e.Groups[g].Values = append(e.Groups[g].Values, ledger.Value{Value: ledgertest.Some("9")},
			ledger.Value{Value: ledgertest.Some("70")})
	}
	e.WithholdBelow("users", 50)
	v := e.Groups[0].Values
	if v[0].Numbers == nil || v[1].Value == nil || v[7].Value == nil || v[8].Value != nil ||
		e.Groups[0].Reason != record.TooFewUsers {
		t.Errorf("%+v", e.Groups[0])
	}
}

// Records of histograms, and of figures from them, follow the schema, and say in Avro what they say in JSON.
func TestHistogramRecordsFollowTheSchema(t *testing.T) {
	s := recordtest.Compile(t)
	schema, err := record.AvroSchema()
	if err != nil {
		t.Fatal(err)
	}
	reader, err := record.NewAvroReader(string(schema))
	if err != nil {
		t.Fatal(err)
	}
	one := histogramEntry(t)
	b := one.Releases[0].Buckets
	b.Levels = 1
	for g := range one.Groups {
		one.Groups[g].Values[0].Numbers.Coarse = nil
	}
	for name, e := range map[string]ledger.Entry{"two levels": histogramEntry(t), "one level": one} {
		for i, r := range ledgertest.Records(t, e) {
			fields := s.Follows(t, name, r.Value)
			if buckets, has := fields["buckets"].(map[string]any); has {
				want := s.Fields["buckets"].(map[string]any)["properties"].(map[string]any)
				if d := cmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(buckets))); d != "" {
					t.Errorf("fields of buckets in the schema and in a record (-, +):\n%s", d)
				}
			} else if i%7 == 0 || fields["from"] != "latency" {
				t.Errorf("no buckets, and from %v: %s", fields["from"], r.Value)
			}
			datum, err := record.EncodeAvro(r.Value)
			if err != nil {
				t.Fatal(err)
			}
			back, err := reader.JSON(datum)
			if err != nil {
				t.Fatal(err)
			}
			var a, b any
			if json.Unmarshal(r.Value, &a) != nil || json.Unmarshal(back, &b) != nil || !cmp.Equal(a, b) {
				t.Errorf("in Avro (-, +):\n%s", cmp.Diff(a, b))
			}
		}
	}
}
