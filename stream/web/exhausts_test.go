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
