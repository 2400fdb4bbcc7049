package ledger_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/ledger/ledgertest"
)

// Every kind of value has the band that its own fields give: an interval as it is, an error on both sides, but no
// further than the exact figure can be.
func TestNewBand(t *testing.T) {
	some := ledgertest.Some
	fromZero := ledger.Limits{Least: &decimal.Zero}
	interval := &ledger.Interval{Level: ledgertest.Dec("0.9"), Low: ledgertest.Dec("100"), High: ledgertest.Dec("140")}
	clip := &[2]decimal.Decimal{ledgertest.Dec("0"), ledgertest.Dec("1023")}
	for name, c := range map[string]struct {
		v        ledger.Value
		computed bool
		limits   ledger.Limits
		want     string
	}{
		"a paid interval": {ledger.Value{Value: some("120"), Interval: interval, RankError95: some("7")}, false,
			fromZero, "100 140 0.9 interval"},
		"an interval from a histogram": {ledger.Value{Value: some("120"), Interval: interval, Error95: some("20")},
			true, fromZero, "100 140 0.9 histogram"},
		"a count from a histogram": {ledger.Value{Value: some("12"), Error95: some("20")}, true, fromZero,
			"0 32 0.95 histogram"},
		"a count":        {ledger.Value{Value: some("120"), Error95: some("20")}, false, fromZero, "100 140 0.95 noise"},
		"hardly anybody": {ledger.Value{Value: some("0"), Error95: some("7")}, false, fromZero, "0 7 0.95 noise"},
		"an exact count": {ledger.Value{Value: some("12"), Error95: some("0")}, false, fromZero, "12 12 0.95 noise"},
		"a sum": {ledger.Value{Value: some("-5"), Error95: some("7.5")}, false, ledger.Limits{},
			"-12.5 2.5 0.95 noise"},
		"a mean that was cut": {ledger.Value{Value: some("12"), Error95: some("7"), Clip: clip}, false,
			ledger.Limits{Least: some("10"), Most: some("15")}, "10 15 0.95 clipped"},
		"a value beyond its limits": {ledger.Value{Value: some("-2"), Error95: some("1")}, false, fromZero,
			"-2 -1 0.95 noise"},
		"a median":         {ledger.Value{Value: some("120"), RankError95: some("7")}, false, fromZero, "ranks"},
		"percentiles":      {ledger.Value{Value: some("120"), PLow: some("0.4")}, false, fromZero, "ranks"},
		"a mode":           {ledger.Value{Value: some("120")}, false, fromZero, "none"},
		"a withheld value": {ledger.Value{}, false, fromZero, "none"},
	} {
		b, got := ledger.NewBand(c.v, c.computed, c.limits), "none"
		switch {
		case b != nil && b.Low != nil:
			got = fmt.Sprint(b.Low, " ", b.High, " ", b.Level, " ", b.Basis)
		case b != nil:
			got = string(b.Basis)
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// The band of a scatter is in the unit of the values. The usual difference is rounded up, to four digits.
func TestScatterBand(t *testing.T) {
	g, err := mechanisms.NewGrid(ledgertest.Dec("-1"), ledgertest.Dec("9"), ledgertest.Dec("0.01"))
	if err != nil {
		t.Fatal(err)
	}
	q := mechanisms.Query{Statistic: mechanisms.Median, Epsilon: ledgertest.Dec("0.1"), Prior: "adaptive", Grid: g}
	m, err := mechanisms.New(q)
	if err != nil {
		t.Fatal(err)
	}
	for want, b := range map[string]mechanisms.Band{
		`{"low":"0.05","high":"0.5","level":"0.95","basis":"scatter","usual_95":"0.1235"}`: {
			Basis: mechanisms.BasisScatter, Low: 105, High: 150, Usual: 12.34511},
		`{"low":"-1","high":"9","level":"0.95","basis":"shape"}`: {Basis: mechanisms.BasisShape, Low: 0, High: 1000,
			Usual: 3},
		`{"basis":"ranks"}`: {Basis: mechanisms.BasisRanks, Low: 5, High: 6},
	} {
		if got := marshalled(t, ledger.ScatterBand(b, q.Scale(m))); got != want {
			t.Errorf("\n got %s\nwant %s", got, want)
		}
	}
}

func marshalled(t *testing.T, x any) string {
	t.Helper()
	text, err := json.Marshal(x)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
