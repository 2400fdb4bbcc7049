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
			"      - {name: today, statistic: count, since: midnight, update: 30m, epsilon: 1}\n      - {name: users,",
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
	at.Below, at.Value = false, decimal.NewFromInt(-1)
	if _, err := write(at); err == nil || !strings.Contains(err.Error(), "never below 0") {
		t.Errorf("%v", err)
	}
	at.Release = "tomorrow"
	if _, err := write(at); err == nil || !strings.Contains(err.Error(), "today") {
		t.Errorf("%v, want the names of all releases", err)
	}
}
