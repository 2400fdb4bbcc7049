package rules

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/stream/config/parse"
)

// TestAlertsOfTotals: an alert waits for values of a total, which come less often than windows, and none is below.
func TestAlertsOfTotals(t *testing.T) {
	f, err := parse.File("streams.yaml",
		[]byte(strings.Replace(streams, "      - {name: users,",
			"      - {name: today, statistic: count, since: midnight, update: 30m, epsilon: 1}\n"+
				"      - {name: spread, statistic: histogram, since: midnight, buckets: {scale: 2}, epsilon: 1}\n"+
				"      - {name: p9, statistic: quantile, p: 0.9, from: spread}\n      - {name: users,",
			1)), os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	write := func(at Threshold) (string, error) {
		var w strings.Builder
		_, err := Write(&w, f.Streams, Wanted{Thresholds: []Threshold{at}})
		return w.String(), err
	}
	at := Threshold{Stream: "web", Release: "today", Value: decimal.NewFromInt(10_000), Windows: 3}
	text, err := write(at)
	holds := promDuration(75 * time.Minute)
	for _, want := range []string{`louver:release_low:newest{stream="web", release="today"} > 10000`, "for: " + holds,
		"today of web", "is above 10000 users", "the published error of the total with ε 1 in each day"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing (%v) in\n%s", want, err, text)
		}
	}
	at.Below = true
	if _, err := write(at); err == nil || !strings.Contains(err.Error(), "begins at 0 in each day") {
		t.Errorf("%v, want that no total is below a threshold", err)
	}
	// A quantile so far may be below a threshold, and its band says whether noise explains it. Nothing says how often
	// noise makes a difference of two days.
	spread := Threshold{Stream: "web", Release: "p9", Value: decimal.NewFromInt(800), Below: true, Windows: 2}
	text, err = write(spread)
	if want := `louver:release_high:newest{stream="web", release="p9"} < 800`; err != nil || !strings.Contains(text, want) {
		t.Errorf("%q is missing (%v) in\n%s", want, err, text)
	}
	for value, wrong := range map[int64]string{-5: "values lie within the bounds", 800: "belongs to a distribution so far"} {
		if spread.Value = decimal.NewFromInt(value); value == 800 {
			spread.Ago = 24 * time.Hour
		}
		if _, err := write(spread); err == nil || !strings.Contains(err.Error(), wrong) {
			t.Errorf("%d: %v; want %q", value, err, wrong)
		}
		spread.Ago = 0
	}
	at.Below, at.Value = false, decimal.NewFromInt(-1)
	if _, err := write(at); err == nil || !strings.Contains(err.Error(), "never below 0") {
		t.Errorf("%v", err)
	}
	at.Release = "tomorrow"
	if _, err := write(at); err == nil || !strings.Contains(err.Error(), "today") {
		t.Errorf("%v, want the names of all releases", err)
	}
}
