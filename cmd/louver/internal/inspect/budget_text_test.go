package inspect

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/louver/louver/stream/audit"
)

func TestBudgetTable(t *testing.T) {
	var r budgetReport
	err := json.Unmarshal([]byte(`{
 "streams": [{"stream":"checkout-latency","budget":"shoppers","epsilon_lost":0.2,"windows_used":1,"epsilon_spent":0.9,"epsilon_total":2.4,"epsilon_total_lost":1.4,"epsilon_limit":1,"epsilon_left":0.8,"per":"24h","windows_left":4,"exhausted_at":null,"returns":[{"at":"2026-11-20T08:06:00Z","epsilon":0.2}]}],
 "budgets": [{"budget":"shoppers","delta_limit":0.001,"epsilon_lost":0.2,"windows_used":1,"epsilon_spent":0.9,"epsilon_total":2.4,"epsilon_total_lost":1.4,"epsilon_limit":1,"epsilon_left":0.8,"per":"24h","windows_left":4,"exhausted_at":"2026-11-21T08:15:00Z","returns":[{"at":"2026-11-20T08:06:00Z","epsilon":0.2}]},
  {"budget":"spare","epsilon_lost":null,"windows_used":0,"epsilon_spent":null,"epsilon_total":null,"epsilon_total_lost":null,"epsilon_limit":10,"epsilon_left":0,"per":"forever","windows_left":0,"exhausted_at":null,"returns":[]},
  {"budget":"gone","epsilon_lost":5,"windows_used":50,"epsilon_spent":5,"epsilon_total":5,"epsilon_total_lost":5,"epsilon_limit":5,"epsilon_left":0,"per":"forever","windows_left":0,"exhausted_at":"2026-11-20T10:00:00Z","exhausted_since":"2026-11-20T09:00:00Z","returns":[]}],
 "watches": [{"stream":"checkout-latency","watch":"today","budget":"shoppers","instances":2,"state":"armed","from":"2026-11-20T00:15:00Z","to":"2026-11-20T08:00:00Z","epsilon":1,"epsilon_total":2}]}`), &r)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 20, 8, 5, 0, 0, time.UTC)
	var wide, narrow strings.Builder
	if err := printBudgets(&wide, 200, r, now); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"│ stream           │ watch or total │ budget   │ instances │ state │",
		"│ checkout-latency │ shoppers │ 0.2    │ 1.4     │ 1 of 5       │ 0.2 at 08:06:00Z │",
		"│ shoppers │ 0.2 of 1 per 24h        │ 1.4      │ 1 of 5       │ at 21 Nov 08:15Z │ at 08:06:00Z │",
		"│ spare    │ no bound of 10 in total │ no bound │ 0 of 0       │ never            │ never        │",
		"│ gone     │ 5 of 5 in total         │ 5        │ 50 of 50     │ since 09:00:00Z  │ never        │",
	} {
		if !strings.Contains(wide.String(), want) {
			t.Errorf("%s is not in\n%s", want, wide.String())
		}
	}
	r.Watches = nil // their table has more columns than these names leave room for
	if err := printBudgets(&narrow, 80, r, now); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(narrow.String(), " 21 Nov 08:15Z ") {
		t.Errorf("a date is folded:\n%s", narrow.String())
	}
	for line := range strings.Lines(narrow.String()) {
		if n := len([]rune(strings.TrimSpace(line))); n > 80 {
			t.Errorf("%d characters: %s", n, line)
		}
	}
	var before strings.Builder
	if err := printBudgets(&before, 80, budgetReport{}, now); err != nil {
		t.Fatal(err)
	}
	if got, want := before.String(), "nothing is spent yet: no window has closed\n"; got != want {
		t.Errorf("before the first window: %q, want %q", got, want)
	}
}

// Instances are those of everything that lives longer than a window, so they are not called watches.
func TestInstancesOfTheAudit(t *testing.T) {
	var w strings.Builder
	printFindings(&w, audit.Findings{OK: true, Instances: 3})
	if want := "releases on change: 3 instances armed, each charged once; 0 of them fired\n"; !strings.HasSuffix(w.String(), want) {
		t.Errorf("%q, want %q at the end", w.String(), want)
	}
}
