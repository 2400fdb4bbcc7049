package ledger_test

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/budget/privacy"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/ledger/ledgertest"
	"github.com/louver/louver/stream/record"
)

func at(s string) time.Time {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		panic(err)
	}
	return t
}

// wholeReport compares reports, including the unexported parts of their numbers.
var wholeReport = cmp.Exporter(func(reflect.Type) bool { return true })

var sameDecimals = cmp.Comparer(func(a, b decimal.Decimal) bool { return a.Equal(b) })

// exampleEntry is the entry behind the contract's example of an output record: checkout-latency, group eu, tail.p99.
func exampleEntry() ledger.Entry {
	return ledger.Entry{
		App: "louver", Stream: "checkout-latency", Budget: "shoppers", Input: "checkout.events",
		Output:      "checkout.private",
		WindowStart: at("2026-11-20T08:00:00Z"), WindowEnd: at("2026-11-20T08:15:00Z"),
		DueAt: at("2026-11-20T08:15:30Z"), ReleasedAt: at("2026-11-20T08:15:31Z"),
		Every: 15 * time.Minute, Until: at("2027-01-01T00:00:00Z"),
		Limit:     budget.Limit{Epsilon: ledgertest.Dec("24"), Per: 24 * time.Hour},
		Continues: []string{"visitors"},
		Price: []budget.Item{
			{Promise: privacy.NewPure(ledgertest.Dec("0.15")), Times: 1},
			{Promise: privacy.NewBoundedRange(ledgertest.Dec("0.1")), Times: 1},
		},
		Releases: []record.Series{
			{Name: "tail.p99", Statistic: "quantile", P: ledgertest.Some("0.99"), Mechanism: "joint", Unit: "ms",
				Epsilon: ledgertest.Dec("0.1")},
			{Name: "users", Statistic: "count", Mechanism: "geometric", Unit: "users", Epsilon: ledgertest.Dec("0.15")},
		},
		Groups: []ledger.Group{
			{Name: "eu", Users: new(int64(10412)), Values: []ledger.Value{
				{Value: ledgertest.Some("812"), RankError95: ledgertest.Some("554.2"), PLow: ledgertest.Some("0.931"),
					PHigh: ledgertest.Some("1"), Quality: "rough",
					Band: &ledger.Band{Low: ledgertest.Some("790"), High: ledgertest.Some("840"),
						Level: ledgertest.Some("0.95"), Basis: record.OfScatter, Usual95: ledgertest.Some("61")},
					Smoothed: &ledger.Smoothed{Value: ledgertest.Dec("815"), Low: ledgertest.Some("790"),
						High: ledgertest.Some("840")}},
				{Value: ledgertest.Some("10412"), RankError95: ledgertest.Some("20"), Error95: ledgertest.Some("20"),
					Quality: "useful"},
			}},
			{Name: "a<b", Users: new(int64(3)), Reason: record.TooFewUsers,
				Values: []ledger.Value{{}, {Value: ledgertest.Some("3")}}},
		},
		Standing: ledger.Standing{StreamSpent: ledgertest.Some("12.5"), BudgetSpent: ledgertest.Some("12.50"),
			WindowsLeft: 46, Lost: ledger.Lost{Stream: ledgertest.Some("11.75"), Budget: ledgertest.Some("9"), Used: 36}},
		Prior: &ledger.Prior{Upto: 17, Hash: "00ff"},
	}
}

const exampleStored = `{"v":5,"kinds":["release"],` +
	`"window_start":"2026-11-20T08:00:00Z","window_end":"2026-11-20T08:15:00Z","due_at":"2026-11-20T08:15:30Z",` +
	`"released_at":"2026-11-20T08:15:31Z","every":"15m","until":"2027-01-01T00:00:00Z","status":"ok",` +
	`"charge":{"epsilon":"0.25","delta":"0","items":[{"kind":"pure","epsilon":"0.15","rho":"0.01125","times":1},` +
	`{"kind":"bounded_range","epsilon":"0.1","rho":"0.00125","times":1}]},` +
	`"app":"louver","stream":"checkout-latency","budget":"shoppers","input":"checkout.events",` +
	`"output":"checkout.private","limit":{"epsilon":"24","delta":"0","per":"24h"},"continues":["visitors"],` +
	`"releases":[{"name":"tail.p99","statistic":"quantile","p":"0.99","mechanism":"joint","unit":"ms","epsilon":"0.1"},` +
	`{"name":"users","statistic":"count","mechanism":"geometric","unit":"users","epsilon":"0.15"}],` +
	`"groups":[{"name":"eu","users":10412,"values":[{"value":"812","rank_error_95":"554.2","p_low":"0.931",` +
	`"p_high":"1","band":{"low":"790","high":"840","level":"0.95","basis":"scatter","usual_95":"61"},` +
	`"quality":"rough","smoothed":{"value":"815","low":"790","high":"840"}},` +
	`{"value":"10412","rank_error_95":"20","error_95":"20","quality":"useful"}]},` +
	`{"name":"a\u003cb","users":3,"reason":"too_few_users","values":[{},{"value":"3"}]}],` +
	`"books":{"stream_epsilon_spent":"12.5","budget_epsilon_spent":"12.5","budget_windows_left":46,` +
	`"lost":{"stream":"11.75","budget":"9","windows_used":36}},` +
	`"prior":{"upto":17,"hash":"00ff"}}`

func TestEncodeGolden(t *testing.T) {
	if diff := cmp.Diff(exampleStored, string(ledgertest.Encode(t, exampleEntry()))); diff != "" {
		t.Error(diff)
	}
}

func TestDecodeGivesBackTheEntry(t *testing.T) {
	withheld := exampleEntry()
	withheld.Reason = record.BudgetExhausted
	withheld.Groups = []ledger.Group{{Name: "eu"}, {Name: "us"}}
	withheld.Until, withheld.Prior, withheld.Limit.Per = time.Time{}, nil, 0
	withheld.Standing.StreamSpent = nil
	paid := exampleEntry()
	paid.Groups[0].Values[0].Interval = &ledger.Interval{ledgertest.Dec("0.95"), ledgertest.Dec("700.5"),
		ledgertest.Dec("900")}
	paid.Groups[0].Values[0].Smoothed.Low = nil
	paid.Limit.Delta = ledgertest.Dec("0.000001")
	paid.Price = append(paid.Price,
		budget.Item{Promise: privacy.NewZCDP(ledgertest.Dec("1")), Times: 2},
		budget.Item{Promise: privacy.NewApproximate(ledgertest.Dec("1"), ledgertest.Dec("1e-9")), Times: 2})
	capped := exampleEntry()
	capped.Cap = budget.Cap{Count: 8, Per: 24 * time.Hour, Era: capped.WindowStart.Unix()}
	withheld.Cap = budget.Cap{Count: 1, Per: time.Minute}
	for name, e := range map[string]ledger.Entry{"example": exampleEntry(), "withheld": withheld, "capped": capped,
		"with everything": paid} {
		value := ledgertest.Encode(t, e)
		got, err := ledger.Decode(value)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(e, got, sameDecimals); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if again := ledgertest.Encode(t, got); string(again) != string(value) {
			t.Errorf("%s: encoded again it is\n%s, not\n%s", name, again, value)
		}
	}
}

func TestEncodeDropsFractionsOfSeconds(t *testing.T) {
	e := exampleEntry()
	e.ReleasedAt = e.ReleasedAt.Add(987654321)
	e.DueAt = e.DueAt.Add(500 * time.Millisecond).In(time.FixedZone("", 3600))
	if diff := cmp.Diff(exampleStored, string(ledgertest.Encode(t, e))); diff != "" {
		t.Error(diff)
	}
}

func TestCharge(t *testing.T) {
	e := exampleEntry()
	if c, err := e.Charge(); err != nil || !c.Epsilon.Equal(ledgertest.Dec("0.25")) || c.End != e.WindowEnd.UnixNano() {
		t.Errorf("%+v, %v", c, err)
	}
	e.Reason = record.BudgetExhausted
	if c, err := e.Charge(); err != nil || !c.Epsilon.IsZero() || len(c.Items) != 0 {
		t.Errorf("a withheld window charges %+v, %v", c, err)
	}
}

func TestDecodeRefuses(t *testing.T) {
	for _, c := range []struct{ name, old, new, want string }{
		{"no JSON", `{"v"`, `"v"`, "invalid character"},
		{"a later version", `"v":5`, `"v":6`, "format version 6, want 5: run the release of louver that wrote it"},
		{"a development ledger", `"v":5`, `"v":4`, "format version 4, want 5: a development build of louver wrote it"},
		{"a later version whose fields have other types", `"v":5,"kinds":["release"]`, `"v":6,"kinds":{}`, "6, want 5"},
		{"no version", `"v":5`, `"w":5`, "format version missing, want 5"},
		{"a kind of a later release", `"kinds":["release"]`, `"kinds":["release","weather"]`, `kind "weather"`},
		{"such a kind with fields of other types", `"kinds":["release"],`, `"kinds":["weather"],"releases":7,`,
			`kind "weather"`},
		{"a kind that it does not have", `"kinds":["release"]`, `"kinds":["release","watch"]`, `["release" "watch"], and has`},
		{"a kind that it does not name", `"kinds":["release"]`, `"kinds":[]`, `names the kinds [], and has ["release"]`},
		{"no stream", `"stream":"checkout-latency"`, `"stream":""`, "want a stream"},
		{"no budget", `"budget":"shoppers"`, `"budget":""`, "want a stream, a budget and a topic"},
		{"a charge that is not its items'", `"charge":{"epsilon":"0.25"`, `"charge":{"epsilon":"0.2"`,
			"charges epsilon 0.2 and delta 0, its items 0.25"},
		{"an item of no kind", `"kind":"pure"`, `"kind":"free"`, `kind of charge "free"; want`},
		{"an item of no epsilon", `"epsilon":"0.15","rho"`, `"epsilon":"0","rho"`, "epsilon 0; want more"},
		{"a negative charge", `"times":1},`, `"times":-1},`, "charged -1 times"},
		{"an item of no rho", `"rho":"0.01125",`, ``, "rho"},
		{"no charge", `"items":[`, `"objects":[`, "0 items in the price"},
		{"a limit of nothing", `"limit":{"epsilon":"24"`, `"limit":{"epsilon":"0"`, "budget epsilon 0; want"},
		{"a period in words", `"per":"24h"`, `"per":"a day"`, `period "a day"`},
		{"a step of nothing", `"every":"15m"`, `"every":"0s"`, "every 0s"},
		{"a window without length", `"window_end":"2026-11-20T08:15:00Z"`, `"window_end":"2026-11-20T08:00:00Z"`,
			"want one after the start"},
		{"a window in fractions", `"window_end":"2026-11-20T08:15:00Z"`, `"window_end":"2026-11-20T08:15:00.5Z"`,
			"fractions of a second"},
		{"a window beyond the clock", `"window_end":"2026`, `"window_end":"3026`, "between 1900 and 2200"},
		{"withheld, but charged", `"status":"ok"`, `"status":"withheld","reason":"budget_exhausted"`,
			"does not go with its charge"},
		{"withheld for no reason", `"status":"ok"`, `"status":"withheld"`, "does not go with its charge"},
		{"a value too few", `,{"value":"10412","rank_error_95":"20","error_95":"20","quality":"useful"}`, ``,
			"1 values of 2 releases"},
		{"a value missing", `{"value":"10412","rank_error_95":"20","error_95":"20","quality":"useful"}`, `{}`,
			`no value of "users"`},
		{"a group's unknown reason", `"reason":"too_few_users"`, `"reason":"shy"`, `the reason "shy"`},
		{"a release that is free", `"mechanism":"joint","unit":"ms","epsilon":"0.1"`, `"mechanism":"joint"`,
			`release "tail.p99" has epsilon 0`},
		{"no groups", `"groups":[`, `"people":[`, "0 groups"},
		{"a band without a basis", `"basis":"scatter"`, `"basis":""`, "a band without a basis"},
		{"half a band", `"high":"840","level"`, `"level"`, "part of a band"},
		{"a band upside down", `"low":"790"`, `"low":"841"`, "a band from 841 to 840"},
		{"a band that is certain", `"level":"0.95"`, `"level":"1"`, "a band of level 1"},
		{"a negative difference", `"usual_95":"61"`, `"usual_95":"-1"`, "a usual difference of -1"},
		{"a withheld value that was drawn", `"values":[{},{"value":"3"}]`, `"values":[{"raw":"-1"},{"value":"3"}]`,
			"it rates a value that is withheld"},
		{"users outside nothing", `{"value":"3"}`, `{"value":"3","outside":{"value":1,"error_95":1,"outside_95":2}}`,
			"has no interval"},
		{"users outside below their number", `{"value":"3"}`,
			`{"value":"3","clip":["0","1"],"outside":{"value":3,"error_95":1,"outside_95":2}}`, "3 ± 1 users outside"},
		{"a number that fills the memory", `"limit":{"epsilon":"24"`, `"limit":{"epsilon":"1e9999"`,
			"decimal exponent"},
	} {
		value := strings.Replace(exampleStored, c.old, c.new, 1)
		if value == exampleStored {
			t.Fatalf("%s: nothing was replaced", c.name)
		}
		_, err := ledger.Decode([]byte(value))
		if !errors.Is(err, ledger.ErrUnreadable) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want ErrUnreadable with %q", c.name, err, c.want)
		}
	}
	// An older reader need not know this later field.
	if _, err := ledger.Decode([]byte(strings.Replace(exampleStored, `"v":5`, `"v":5,"weather":"fair"`,
		1))); err != nil {
		t.Errorf("an optional field more: %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(exampleStored))
	f.Fuzz(func(t *testing.T, value []byte) {
		e, err := ledger.Decode(value)
		if err != nil {
			if !errors.Is(err, ledger.ErrUnreadable) {
				t.Fatalf("error %v is no ErrUnreadable", err)
			}
			return
		}
		again := ledgertest.Encode(t, e)
		back, err := ledger.Decode(again)
		if err != nil || string(ledgertest.Encode(t, back)) != string(again) {
			t.Fatalf("%s does not come back (%v)", again, err)
		}
		records, err := e.Records()
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range records {
			if !json.Valid(r.Value) {
				t.Fatalf("record %s is no JSON", r.Value)
			}
		}
	})
}

func TestWithholdBelow(t *testing.T) {
	e := exampleEntry()
	for i := range e.Groups {
		e.Groups[i].Reason = ""
		for r := range e.Groups[i].Values {
			e.Groups[i].Values[r].Value = ledgertest.Some("50")
		}
	}
	e.Groups[1].Values[1].Value = ledgertest.Some("49")
	e.Groups[1].Values[0].Smoothed = &ledger.Smoothed{Value: ledgertest.Dec("1")}
	e.WithholdBelow("users", 50)
	if e.Groups[0].Reason != "" || e.Groups[0].Values[0].Value == nil {
		t.Errorf("a count equal to the threshold is withheld: %+v", e.Groups[0])
	}
	if g := e.Groups[1]; g.Reason != record.TooFewUsers || g.Values[0] != (ledger.Value{}) ||
		!g.Values[1].Value.Equal(ledgertest.Dec("49")) {
		t.Errorf("a count below: %+v, want all but the count withheld", g)
	}
	e.Reason = record.BudgetExhausted
	e.Groups = []ledger.Group{{Name: "eu"}}
	e.WithholdBelow("users", 50) // nothing was drawn: nothing to withhold
	if e.Groups[0].Reason != "" {
		t.Errorf("%+v", e.Groups[0])
	}
}

func TestFiguresAreRoundedOutward(t *testing.T) {
	for _, c := range []struct {
		got  *decimal.Decimal
		want string
	}{
		{ledger.RankError(554.12), "554.2"}, {ledger.RankError(554.2), "554.2"}, {ledger.RankError(0.01), "0.1"},
		{ledger.Error(150), "150"}, {ledger.Error(29957), "29957"}, {ledger.Error(12.3411), "12.35"},
		{ledger.Error(0.00123401), "0.001235"}, {ledger.Error(0), "0"}, {ledger.Error(29957.2), "29958"},
		{ledger.PercentileLow(0.9310009), "0.931"}, {ledger.PercentileHigh(0.9310001), "0.931001"},
		{ledger.PercentileHigh(1), "1"}, {ledger.PercentileLow(0), "0"},
	} {
		if c.got == nil || !c.got.Equal(ledgertest.Dec(c.want)) {
			t.Errorf("%v, want %s", c.got, c.want)
		}
	}
	for _, f := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if ledger.Error(f) != nil || ledger.RankError(f) != nil || ledger.PercentileLow(f) != nil ||
			ledger.PercentileHigh(f) != nil {
			t.Errorf("%v became a figure", f)
		}
	}
}
