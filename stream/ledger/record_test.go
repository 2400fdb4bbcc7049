package ledger

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"
)

// The contract's example, byte for byte.
const exampleRecord = `{"schema":"louver.release.v1",` +
	`"id":"checkout-latency/eu/2026-11-20T08:00:00Z/tail.p99",` +
	`"stream":"checkout-latency","group":"eu","release":"tail.p99",` +
	`"window_start":"2026-11-20T08:00:00Z","window_end":"2026-11-20T08:15:00Z",` +
	`"due_at":"2026-11-20T08:15:30Z","incomplete":false,` +
	`"statistic":"quantile","p":0.99,"mechanism":"joint","unit":"ms",` +
	`"value":812,"status":"ok","reason":null,` +
	`"epsilon":0.1,"delta":0,` +
	`"rank_error_95":554.2,"error_95":null,"quality":"rough","users":10412,"p_low":0.931,"p_high":1,` +
	`"interval":null,"smoothed":{"value":815,"low":790,"high":840},` +
	`"stream_epsilon_spent":12.5,"budget":"shoppers","budget_epsilon_spent":12.5,"budget_epsilon_limit":24,` +
	`"budget_windows_left":46}`

func records(t *testing.T, e Entry) []Record {
	t.Helper()
	r, err := e.Records()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRecordGolden(t *testing.T) {
	e := exampleEntry()
	r := records(t, e)[0]
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
func fields(t *testing.T, r Record) map[string]string {
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
	exhausted.Reason = BudgetExhausted
	exhausted.Releases[0].Delta = dec("0.001")
	exhausted.Groups = []Group{{Name: ""}}
	full := exampleEntry()
	full.Groups[0].Values[0].Value = some("12.30")
	full.Groups[0].Values[0].Interval = &Interval{dec("0.95"), dec("-700.5"), dec("9000000000000000000000")}
	full.Groups[0].Values[0].Smoothed = &Smoothed{Value: dec("0.001")}
	full.Standing.StreamSpent, full.Standing.BudgetSpent = nil, nil
	for _, c := range []struct {
		name  string
		entry Entry
		index int
		want  map[string]string
	}{
		{"a count", exampleEntry(), 1, map[string]string{"value": "10412", "p": "null", "unit": `"users"`, "statistic": `"count"`, "epsilon": "0.15",
			"p_low": "null", "p_high": "null", "smoothed": "null", "rank_error_95": "20", "error_95": "20", "quality": `"useful"`, "reason": "null"}},
		{"too few users", exampleEntry(), 2, map[string]string{"value": "null", "status": `"withheld"`, "reason": `"too_few_users"`, "epsilon": "0.1",
			"users": "3", "rank_error_95": "null", "error_95": "null", "quality": "null", "group": `"a<b"`, "p": "0.99", "stream_epsilon_spent": "12.5"}},
		{"the count that was too low", exampleEntry(), 3, map[string]string{"value": "3", "status": `"ok"`, "reason": "null", "epsilon": "0.15"}},
		{"budget exhausted", exhausted, 0, map[string]string{"value": "null", "status": `"withheld"`, "reason": `"budget_exhausted"`, "epsilon": "0",
			"delta": "0", "users": "null", "error_95": "null", "quality": "null", "p": "0.99", "group": `""`, "id": `"checkout-latency//2026-11-20T08:00:00Z/tail.p99"`}},
		{"exact decimals", full, 0, map[string]string{"value": "12.3", "interval": `{"level":0.95,"low":-700.5,"high":9000000000000000000000}`,
			"smoothed": `{"value":0.001,"low":null,"high":null}`, "stream_epsilon_spent": "null", "budget_epsilon_spent": "null"}},
	} {
		got := fields(t, records(t, c.entry)[c.index])
		if len(got) != 31 {
			t.Errorf("%s: %d fields, want all 31", c.name, len(got))
		}
		for name, want := range c.want {
			if got[name] != want {
				t.Errorf("%s: %s is %s, want %s", c.name, name, got[name], want)
			}
		}
	}
}

// Entries that were written before records had error_95, quality and incomplete give the records that they always gave, so that what
// was published then still agrees with the ledger.
func TestOldEntriesGiveOldRecords(t *testing.T) {
	stored := strings.NewReplacer(`"format":1,`, "", `,"quality":"rough"`, "", `,"error_95":"20","quality":"useful"`, "").Replace(exampleStored)
	old, err := Decode([]byte(stored))
	if err != nil {
		t.Fatal(err)
	}
	want := strings.NewReplacer(`"error_95":null,"quality":"rough",`, "", `"incomplete":false`, `"released_at":"2026-11-20T08:15:31Z"`).Replace(exampleRecord)
	if diff := cmp.Diff(want, string(records(t, old)[0].Value)); diff != "" {
		t.Error(diff)
	}
	if again := string(encode(t, old)); again != stored {
		t.Errorf("encoded again it is\n%s, not\n%s", again, stored)
	}
}

func TestRecordsComeGroupByGroup(t *testing.T) {
	var keys []string
	for _, r := range records(t, exampleEntry()) {
		keys = append(keys, string(r.Key))
	}
	want := []string{"checkout-latency/eu/tail.p99", "checkout-latency/eu/users", "checkout-latency/a<b/tail.p99", "checkout-latency/a<b/users"}
	if diff := cmp.Diff(want, keys); diff != "" {
		t.Error(diff)
	}
}

// What is published after a restart, from the stored entry, is what would have been published before.
func TestRecordsAreTheSameFromTheLedger(t *testing.T) {
	e := exampleEntry()
	back, err := Decode(encode(t, e))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(records(t, e), records(t, back)); diff != "" {
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
		if _, err := Decode(value); err != nil {
			b.Fatal(err)
		}
	}
}

// A mean says what its values were cut to. Records of other values have no such field, so that none of what was published
// before changes.
func TestRecordsSayWhatWasCut(t *testing.T) {
	e := exampleEntry()
	e.Releases[0] = Release{Name: "typical", Statistic: "mean", Mechanism: "clipped", Unit: "ms", Epsilon: dec("0.1")}
	e.Groups[0].Values[0] = Value{Value: some("144.071"), Error95: some("2.5"), Clip: &[2]decimal.Decimal{dec("0"), dec("1024.5")}, Quality: "useful"}
	back, err := Decode(encode(t, e))
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range []Entry{e, back} {
		r := records(t, entry)
		if got := fields(t, r[0]); got["clip"] != "[0,1024.5]" || got["value"] != "144.071" || got["error_95"] != "2.5" {
			t.Errorf("a mean: %v", got)
		}
		for _, other := range r[1:] {
			if _, there := fields(t, other)["clip"]; there {
				t.Errorf("a count has been cut: %s", other.Value)
			}
		}
	}
}
