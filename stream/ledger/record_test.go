package ledger_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/ledger/ledgertest"
	"github.com/louver/louver/stream/record"
	"github.com/louver/louver/stream/record/recordtest"
)

// The contract's example, byte for byte.
var exampleRecord = func() string {
	text, err := os.ReadFile("../record/testdata/example.json")
	if err != nil {
		panic(err)
	}
	return strings.TrimSpace(string(text))
}()

func TestRecordGolden(t *testing.T) {
	e := exampleEntry()
	r := ledgertest.Records(t, e)[0]
	if diff := cmp.Diff(exampleRecord, string(r.Value)); diff != "" {
		t.Error(diff)
	}
	if string(r.Key) != "checkout-latency/eu/tail.p99" || r.Topic != "checkout.private" || !r.Time.Equal(e.WindowEnd) {
		t.Errorf("key %s, topic %s, time %s", r.Key, r.Topic, r.Time)
	}
	want := []string{
		"content-type: application/json",
		"ce_specversion: 1.0",
		"ce_id: checkout-latency/eu/2026-11-20T08:00:00Z/tail.p99",
		"ce_source: /louver/checkout-latency",
		"ce_type: louver.release.v1",
		"ce_time: 2026-11-20T08:15:30Z",
	}
	var got []string
	for _, h := range r.Headers {
		got = append(got, fmt.Sprintf("%s: %s", h.Key, h.Value))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// fields reads a record's value, numbers as their text.
func fields(t *testing.T, r record.Record) map[string]string {
	t.Helper()
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(r.Value, &raw); err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for name, value := range raw {
		out[name] = string(value)
	}
	return out
}

func TestRecordsOfEveryKind(t *testing.T) {
	exhausted := exampleEntry()
	exhausted.Reason = record.BudgetExhausted
	exhausted.Releases[0].Delta = ledgertest.Dec("0.001")
	exhausted.Groups = []ledger.Group{{Name: ""}}
	full := exampleEntry()
	full.Groups[0].Values[0].Value = ledgertest.Some("12.30")
	full.Groups[0].Values[0].Interval = &ledger.Interval{ledgertest.Dec("0.95"), ledgertest.Dec("-700.5"),
		ledgertest.Dec("9000000000000000000000")}
	full.Groups[0].Values[0].Smoothed = &ledger.Smoothed{Value: ledgertest.Dec("0.001")}
	full.Standing.StreamSpent, full.Standing.BudgetSpent, full.Standing.Lost = nil, nil, ledger.Lost{}
	for _, c := range []struct {
		name  string
		entry ledger.Entry
		index int
		want  map[string]string
	}{
		{"a count", exampleEntry(), 1,
			map[string]string{"value": "10412", "p": "null", "unit": `"users"`, "statistic": `"count"`,
				"epsilon": "0.15",
				"p_low":   "null", "p_high": "null", "smoothed": "null", "rank_error_95": "20", "error_95": "20",
				"quality": `"useful"`, "reason": "null"}},
		{"too few users", exampleEntry(), 2,
			map[string]string{"value": "null", "status": `"withheld"`, "reason": `"too_few_users"`, "epsilon": "0.1",
				"users": "3", "rank_error_95": "null", "error_95": "null", "quality": "null",
				"group": `"a<b"`, "p": "0.99",
				"stream_epsilon_spent": "12.5"}},
		{"the count that was too low", exampleEntry(), 3,
			map[string]string{"value": "3", "status": `"ok"`, "reason": "null", "epsilon": "0.15",
				"charge": `[{"kind":"pure","epsilon":0.15,"rho":0.01125,"times":1},` +
					`{"kind":"bounded_range","epsilon":0.1,"rho":0.00125,"times":1}]`}},
		{"budget exhausted", exhausted, 0,
			map[string]string{"value": "null", "status": `"withheld"`, "reason": `"budget_exhausted"`, "epsilon": "0",
				"delta": "0", "users": "null", "error_95": "null", "quality": "null", "p": "0.99", "group": `""`,
				"charge": "[]", "budget_windows_used": "36",
				"id": `"checkout-latency//2026-11-20T08:00:00Z/tail.p99"`}},
		{"exact decimals", full, 0,
			map[string]string{"value": "12.3", "interval": `{"level":0.95,"low":-700.5,"high":9000000000000000000000}`,
				"smoothed": `{"value":0.001,"low":null,"high":null}`, "stream_epsilon_spent": "null",
				"budget_epsilon_spent": "null", "budget_epsilon_lost": "null"}},
	} {
		got := fields(t, ledgertest.Records(t, c.entry)[c.index])
		if len(got) != 40 {
			t.Errorf("%s: %d fields, want all 40", c.name, len(got))
		}
		for name, want := range c.want {
			if got[name] != want {
				t.Errorf("%s: %s is %s, want %s", c.name, name, got[name], want)
			}
		}
	}
}

func TestRecordsComeGroupByGroup(t *testing.T) {
	var keys []string
	for _, r := range ledgertest.Records(t, exampleEntry()) {
		keys = append(keys, string(r.Key))
	}
	want := []string{"checkout-latency/eu/tail.p99", "checkout-latency/eu/users", "checkout-latency/a<b/tail.p99",
		"checkout-latency/a<b/users"}
	if diff := cmp.Diff(want, keys); diff != "" {
		t.Error(diff)
	}
}

// What is published after a restart, from the stored entry, is what would have been published before.
func TestRecordsAreTheSameFromTheLedger(t *testing.T) {
	e := exampleEntry()
	back, err := ledger.Decode(ledgertest.Encode(t, e))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(ledgertest.Records(t, e), ledgertest.Records(t, back)); diff != "" {
		t.Error(diff)
	}
}

func TestRecordsRefuseWhatEncodeRefuses(t *testing.T) {
	e := exampleEntry()
	e.Groups[0].Values = nil
	if _, err := e.Records(); err == nil {
		t.Error("a group without values was expanded")
	}
	if _, err := e.Encode(); err == nil {
		t.Error("a group without values was encoded")
	}
}

func BenchmarkRecords(b *testing.B) {
	e := exampleEntry()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := e.Records(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	value := []byte(exampleStored)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ledger.Decode(value); err != nil {
			b.Fatal(err)
		}
	}
}

// A mean says what its values were cut to. Records of other values have no such field, so that none of what was
// published before changes.
func TestRecordsSayWhatWasCut(t *testing.T) {
	e := exampleEntry()
	e.Releases[0] = record.Series{Name: "typical", Statistic: "mean", Mechanism: "clipped", Unit: "ms",
		Epsilon: ledgertest.Dec("0.1")}
	e.Groups[0].Values[0] = ledger.Value{Value: ledgertest.Some("144.071"), Error95: ledgertest.Some("2.5"),
		Clip: &[2]decimal.Decimal{ledgertest.Dec("0"), ledgertest.Dec("1024.5")}, Quality: "useful"}
	back, err := ledger.Decode(ledgertest.Encode(t, e))
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range []ledger.Entry{e, back} {
		r := ledgertest.Records(t, entry)
		if got := fields(t, r[0]); got["clip"] != "[0,1024.5]" || got["value"] != "144.071" ||
			got["error_95"] != "2.5" {
			t.Errorf("a mean: %v", got)
		}
		for _, other := range r[1:] {
			if _, there := fields(t, other)["clip"]; there {
				t.Errorf("a count has been cut: %s", other.Value)
			}
		}
	}
}

// Records of every kind, as they are encoded, are what the schema says; and the schema explains each of their fields,
// and no other. A new field of a record must be described in record.schema.json.
func TestRecordsFollowTheSchema(t *testing.T) {
	s := recordtest.Compile(t)
	described := s.Fields
	exhausted, paid, cut := exampleEntry(), exampleEntry(), exampleEntry()
	exhausted.Reason = record.BudgetExhausted
	exhausted.Groups = []ledger.Group{{Name: ""}}
	paid.Groups[0].Values[0].Interval = &ledger.Interval{ledgertest.Dec("0.95"), ledgertest.Dec("-700.5"),
		ledgertest.Dec("9000")}
	paid.Groups[0].Values[0].Smoothed = &ledger.Smoothed{Value: ledgertest.Dec("0.001")}
	paid.Standing.StreamSpent, paid.Standing.BudgetSpent = nil, nil
	paid.Incomplete = true
	for i := range cut.Groups[0].Values {
		cutOff(&cut.Groups[0].Values[i])
	}
	cut.Groups = cut.Groups[:1]
	cut.Cap = budget.Cap{Count: 8, Per: 24 * time.Hour}
	plain := maps.Clone(described) // fields of a record whose values were not cut, and in which everybody counts
	for _, name := range []string{"clip", "outside", "outside_95", "cut_95", "raw", "max_windows"} {
		delete(plain, name)
	}
	// Of what lives longer, of histograms, of what is added up, and of groups that are found.
	for _, name := range []string{"since", "changed", "instance", "excess_95", "max_total", "final", "buckets",
		"from", "windows", "counts", "together", "over", "list", "other", "threshold", "listed_until", "joined", "left", "active"} {
		delete(described, name)
		delete(plain, name)
	}
	for name, e := range map[string]ledger.Entry{"example": exampleEntry(), "exhausted": exhausted, "paid": paid,
		"cut": cut} {
		for _, r := range ledgertest.Records(t, e) {
			fields := s.Follows(t, name, r.Value)
			all := plain
			if name == "cut" {
				all = described
			}
			if d := cmp.Diff(slices.Sorted(maps.Keys(all)), slices.Sorted(maps.Keys(fields))); d != "" {
				t.Fatalf("fields of the schema and of a record (-, +):\n%s", d)
			}
			for _, inner := range []string{"interval", "smoothed", "max_windows", "outside"} {
				if has, ok := fields[inner].(map[string]any); ok {
					want := described[inner].(map[string]any)["properties"].(map[string]any)
					if d := cmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(has))); d != "" {
						t.Errorf("fields of %s in the schema and in a record (-, +):\n%s", inner, d)
					}
				}
			}
		}
	}
}

// cutOff gives a value all that is said where something is cut off.
func cutOff(v *ledger.Value) {
	v.Clip = &[2]decimal.Decimal{ledgertest.Dec("0"), ledgertest.Dec("1024.00000001")}
	v.Outside = &ledger.Outside{Value: -3, Error95: 12, Most: 9, Cut95: ledgertest.Some("104.25")}
	v.Raw = ledgertest.Some("-2.5")
}

// The band of an entry's values is in its records. The fields are null where nothing is known.
func TestRecordsSayTheirBand(t *testing.T) {
	e := exampleEntry()
	cutOff(&e.Groups[0].Values[0])
	back, err := ledger.Decode(ledgertest.Encode(t, e))
	if err != nil {
		t.Fatal(err)
	}
	all := ledgertest.Records(t, back)
	got := fields(t, all[0])
	for name, want := range map[string]string{"low": "790", "high": "840", "level": "0.95", "basis": `"scatter"`,
		"usual_95": "61", "outside": `{"value":-3,"error_95":12}`, "outside_95": "9", "cut_95": "104.25",
		"raw": "-2.5"} {
		if got[name] != want {
			t.Errorf("%s is %s, want %s", name, got[name], want)
		}
	}
	for _, r := range all[1:] { // a count that says nothing, and withheld figures
		got := fields(t, r)
		for _, name := range []string{"low", "high", "level", "basis", "usual_95"} {
			if got[name] != "null" {
				t.Errorf("%s: %s is %q, want null", r.Key, name, got[name])
			}
		}
	}
}

// kindsOfRecords are entries whose records differ in what they leave out.
func kindsOfRecords(t *testing.T) map[string]ledger.Entry {
	watched := ledgertest.Watched(t, 3)[2]
	exhausted, paid, cut, capped := exampleEntry(), exampleEntry(), exampleEntry(), exampleEntry()
	capped.Cap = budget.Cap{Count: 8, Per: 24 * time.Hour}
	exhausted.Reason = record.BudgetExhausted
	exhausted.Groups = []ledger.Group{{Name: ""}}
	paid.Groups[0].Values[0].Interval = &ledger.Interval{ledgertest.Dec("0.95"), ledgertest.Dec("-700.5"),
		ledgertest.Dec("9000")}
	paid.Groups[0].Values[0].Smoothed = &ledger.Smoothed{Value: ledgertest.Dec("0.001")}
	paid.Standing.StreamSpent, paid.Incomplete = nil, true
	for i := range cut.Groups[0].Values {
		cutOff(&cut.Groups[0].Values[i])
	}
	return map[string]ledger.Entry{"example": exampleEntry(), "exhausted": exhausted, "paid": paid, "cut": cut,
		"watched": watched, "capped": capped, "totalled": ledgertest.Totalled(t, 2, "tree")[1]}
}

// A record that went through Avro is the same JSON, to the byte, and follows the JSON Schema.
func TestAvroKeepsRecords(t *testing.T) {
	s := recordtest.Compile(t)
	text, err := record.AvroSchema()
	if err != nil {
		t.Fatal(err)
	}
	reader, err := record.NewAvroReader(string(text))
	if err != nil {
		t.Fatal(err)
	}
	order := func(record []byte) string { // clip is written where the schema has it
		var v map[string]json.RawMessage
		if err := json.Unmarshal(record, &v); err != nil {
			t.Fatal(err)
		}
		sorted, _ := json.Marshal(v)
		return string(sorted)
	}
	for name, e := range kindsOfRecords(t) {
		for _, r := range ledgertest.Records(t, e) {
			datum, err := record.EncodeAvro(r.Value)
			if err != nil {
				t.Fatalf("%s: %s: %v", name, r.Value, err)
			}
			back, err := reader.JSON(datum)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(order(r.Value), order(back)); d != "" {
				t.Errorf("%s: before and after (-, +):\n%s", name, d)
			}
			s.Follows(t, name, back)
		}
	}
}
