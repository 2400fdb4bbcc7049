package ledger_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/ledger/ledgertest"
	"github.com/louver/louver/stream/record"
	"github.com/louver/louver/stream/record/recordtest"
)

// TestWatchRecords follows a watch that is silent, fires in the second of three groups, holds, and then has had at_most
// instances.
func TestWatchRecords(t *testing.T) {
	s := recordtest.Compile(t)
	var got []string
	for _, e := range ledgertest.Watched(t, 6) {
		line := ""
		for _, r := range ledgertest.Records(t, e) {
			if f := s.Follows(t, e.Name(), r.Value); f["statistic"] == record.StatisticWatch {
				line += fmt.Sprintf("%v %v %v %v %v %v; ", f["group"], f["value"], f["reason"], f["since"],
					f["instance"], f["epsilon"])
			}
		}
		got = append(got, line)
	}
	want := []string{
		"eu 0 <nil> <nil> 1 1; us 0 <nil> <nil> 1 1; ap 0 <nil> <nil> 1 1; ",
		"eu 0 <nil> <nil> 1 1; us 0 <nil> <nil> 1 1; ap 0 <nil> <nil> 1 1; ",
		"eu 0 <nil> <nil> 1 1; us 1 <nil> 2026-11-20T08:03:00Z 1 1; ap <nil> not_armed <nil> 1 1; ",
		"eu <nil> not_armed <nil> 1 1; us 1 <nil> 2026-11-20T08:03:00Z 1 1; ap <nil> not_armed <nil> 1 1; ",
		"eu <nil> not_armed <nil> 1 1; us 1 <nil> 2026-11-20T08:03:00Z 1 1; ap <nil> not_armed <nil> 1 1; ",
		"eu <nil> budget_exhausted <nil> 1 0; us <nil> budget_exhausted <nil> 1 0; ap <nil> " +
			"budget_exhausted <nil> 1 0; ",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestReportOfWatches: each instance is counted, and what it holds counts in the budget. It fires in the third window.
// In the sixth its hold is over, and at_most allows no other.
func TestReportOfWatches(t *testing.T) {
	for windows, want := range map[int]struct{ state, spent string }{5: {"fired", "1.25"}, 6: {"withheld", "1.3"}} {
		b := ledger.NewBooks()
		for _, e := range ledgertest.Watched(t, windows) {
			if err := b.Add(e); err != nil {
				t.Fatal(err)
			}
		}
		r := ledger.NewReport(b, ledgertest.Epoch.Add(6*time.Minute))
		if len(r.Watches) != 1 {
			t.Fatalf("%+v, want one watch", r.Watches)
		}
		if w := r.Watches[0]; w.Instances != 1 || w.State != want.state ||
			!w.From.Equal(ledgertest.Epoch.Add(time.Minute)) ||
			!w.To.Equal(ledgertest.Epoch.Add(3*time.Minute)) || w.EpsilonTotal.String() != "1" {
			t.Errorf("after %d windows: %+v, want %s", windows, w, want.state)
		}
		if spent := r.Budgets[0].EpsilonSpent.String(); spent != want.spent { // the windows and an instance
			t.Errorf("the budget has spent %s, want %s", spent, want.spent)
		}
	}
}
