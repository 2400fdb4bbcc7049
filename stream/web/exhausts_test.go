package web

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/louver/louver/stream/ledger"
)

// TestExhausts: the metric is the time of the report, and is absent for budgets that pay as long as their streams last.
func TestExhausts(t *testing.T) {
	streams := parsed(t, streamsFile)
	w := newWorld(t, 1<<20)
	books := w.ledgerOf(streams, 5, 0)
	now := epoch.Add(5*time.Minute + 10*time.Second)
	x := NewExhausts(Config{Store: w.store, Streams: streams})
	x.reports.now = func() time.Time { return now }
	want := ""
	for _, b := range ledger.NewReport(books, now).Budgets {
		if b.ExhaustedAt != nil {
			want += fmt.Sprintf("louver_budget_exhausts_timestamp_seconds{budget=%q} %d\n", b.Budget,
				b.ExhaustedAt.Unix())
		}
	}
	if want == "" {
		t.Fatal("no budget is exhausted: the test says nothing")
	}
	help := "# HELP louver_budget_exhausts_timestamp_seconds End of the first window that the budget cannot pay if " +
		"all of its streams go on unchanged, in seconds since 1970. Absent if it pays them all, or as long as not all " +
		"windows of its period are known.\n# TYPE louver_budget_exhausts_timestamp_seconds gauge\n"
	if err := testutil.CollectAndCompare(x, strings.NewReader(help+want)); err != nil {
		t.Error(err)
	}
}

// Running totals of the hours to come are charged too. The forecast is that of the stage, which pays for windows first:
// a total that does not fit beside its first window is withheld.
func TestExhaustionByTotals(t *testing.T) {
	for limit, want := range map[string]string{
		// The total of the next hour fits at 09:01, beside 31 windows: 2 + 0.62. Then there is room for 14 more windows.
		"2.9, per: 1h": "2026-11-20T09:16:00Z",
		"3.2, per: 1h": "", // 60 windows and two totals
		"2.2, per: 1h": "", // that total never fits, and 60 windows do beside the first one
		// If nothing returns, the first 60 windows are all.
		"2.9, per: forever": "2026-11-20T09:16:00Z",
		"3.2, per: forever": "2026-11-20T09:31:00Z",
		"2.2, per: forever": "2026-11-20T09:31:00Z",
	} {
		streams := parsed(t, fmt.Sprintf(`version: 1
streams:
  - name: s
    input: {topic: in, user: user, value: ms}
    bounds: {lower: 0, upper: 100, step: 1}
    window: {size: 1m, grace: 10s, start: 2026-11-20T08:30:00Z}
    releases:
      - {name: users, statistic: count, epsilon: 0.02}
      - {name: so-far, statistic: count, since: hour, epsilon: 1}
    output: {topic: s.private}
    budget: {epsilon: %s}
    on_exhausted: withhold
`, limit))
		w, books, start := newWorld(t, 1<<20), ledger.NewBooks(), time.Date(2026, 11, 20, 8, 30, 0, 0, time.UTC)
		unpaid := ""
		for minute := range 120 {
			end := start.Add(time.Duration(minute+1) * time.Minute)
			w.watched(books, streams[0], end.Add(-time.Minute), end, func(*ledger.Entry) bool { return false })
			if e, _ := books.Latest("s"); e.Reason != "" && unpaid == "" {
				unpaid = end.Format(time.RFC3339)
			}
			if minute != 9 {
				continue
			}
			got := answered[ledger.Report](t, served(w, streams, end), "/api/v1/budget")
			said := ""
			if at := got.Budgets[0].ExhaustedAt; at != nil {
				said = at.Format(time.RFC3339)
			}
			if said != want {
				t.Errorf("ε %s: the first window that is not paid ends at %q, want %q", limit, said, want)
			}
		}
		if unpaid != want {
			t.Errorf("ε %s: the stage did not pay for %q, want %q", limit, unpaid, want)
		}
	}
}
