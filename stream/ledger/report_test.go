package ledger_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/budget/privacy"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/ledger/ledgertest"
	"github.com/louver/louver/stream/record"
)

func TestReportGolden(t *testing.T) {
	b := ledger.NewBooks()
	shared := ledgertest.Limit("1", 5*time.Minute)
	s := ledgertest.Plan{Stream: "s", Budget: "shared", Epsilon: "0.2", Limit: shared}
	u := ledgertest.Plan{Stream: "u", Budget: "shared", Epsilon: "0.3", Limit: shared}
	v := ledgertest.Plan{Stream: "v", Budget: "v", Epsilon: "0.25", Limit: ledgertest.Limit("2", 0)}
	for _, e := range []ledger.Entry{s.Entry(0), v.Entry(0), s.Entry(1), u.Entry(1), v.Entry(1)} {
		ledgertest.Settle(t, b, e)
	}
	got, err := json.MarshalIndent(ledger.NewReport(b, ledgertest.Epoch.Add(6*time.Minute)), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	// At 08:06 the window that ended at 08:01 is out of the period (08:01, 08:06]. Of the windows that end at 08:03,
	// that of s makes 0.2 + 0.2 + 0.3 + 0.2, and that of u would pass 1.
	want := `{
 "streams": [
  {"stream": "s", "budget": "shared", "epsilon_lost": 0.2, "windows_used": 1, "epsilon_spent": 0.2, "epsilon_limit": 1, "epsilon_left": 0.5, "delta_spent": 0, "delta_limit": 0,
   "per": "5m", "epsilon_total": 0.4, "epsilon_total_lost": 0.4, "windows_left": 2, "exhausted_at": "2026-11-20T08:03:00Z", "exhausted_since": null,
   "returns": [{"at": "2026-11-20T08:07:00Z", "epsilon": 0.2}]},
  {"stream": "u", "budget": "shared", "epsilon_lost": 0.3, "windows_used": 1, "epsilon_spent": 0.3, "epsilon_limit": 1, "epsilon_left": 0.5, "delta_spent": 0, "delta_limit": 0,
   "per": "5m", "epsilon_total": 0.3, "epsilon_total_lost": 0.3, "windows_left": 1, "exhausted_at": "2026-11-20T08:03:00Z", "exhausted_since": null,
   "returns": [{"at": "2026-11-20T08:07:00Z", "epsilon": 0.3}]},
  {"stream": "v", "budget": "v", "epsilon_lost": 0.5, "windows_used": 2, "epsilon_spent": 0.5, "epsilon_limit": 2, "epsilon_left": 1.5, "delta_spent": 0, "delta_limit": 0,
   "per": "forever", "epsilon_total": 0.5, "epsilon_total_lost": 0.5, "windows_left": 6, "exhausted_at": "2026-11-20T08:09:00Z", "exhausted_since": null, "returns": []}
 ],
 "budgets": [
  {"budget": "shared", "epsilon_lost": 0.5, "windows_used": 1, "epsilon_spent": 0.5, "epsilon_limit": 1, "epsilon_left": 0.5, "delta_spent": 0, "delta_limit": 0,
   "per": "5m", "epsilon_total": 0.7, "epsilon_total_lost": 0.7, "epsilon_last_day": 0.7, "epsilon_lost_last_day": 0.7, "windows_left": 1, "exhausted_at": "2026-11-20T08:03:00Z", "exhausted_since": null,
   "returns": [{"at": "2026-11-20T08:07:00Z", "epsilon": 0.5}]},
  {"budget": "v", "epsilon_lost": 0.5, "windows_used": 2, "epsilon_spent": 0.5, "epsilon_limit": 2, "epsilon_left": 1.5, "delta_spent": 0, "delta_limit": 0,
   "per": "forever", "epsilon_total": 0.5, "epsilon_total_lost": 0.5, "epsilon_last_day": 0.5, "epsilon_lost_last_day": 0.5, "windows_left": 6, "exhausted_at": "2026-11-20T08:09:00Z", "exhausted_since": null, "returns": []}
 ]
}`
	if diff := cmp.Diff(compact(t, want), compact(t, string(got))); diff != "" {
		t.Error(diff)
	}
}

// A budget is exhausted since the end of the first window that it has not paid, until it pays again.
func TestReportSaysSinceWhen(t *testing.T) {
	b := ledger.NewBooks()
	shared := ledgertest.Limit("1", 5*time.Minute)
	s := ledgertest.Plan{Stream: "s", Budget: "b", Epsilon: "0.3", Limit: shared}
	cheap := ledgertest.Plan{Stream: "cheap", Budget: "b", Epsilon: "0.01", Limit: shared}
	since := func(at time.Time) string {
		r := ledger.NewReport(b, at)
		if r.Streams[len(r.Streams)-1].Stream != "s" || r.Streams[0].ExhaustedSince != nil {
			t.Fatalf("%+v", r.Streams)
		}
		own, all := r.Streams[1].ExhaustedSince, r.Budgets[0].ExhaustedSince
		switch {
		case own == nil && all == nil:
			return ""
		case own == nil || all == nil || *own != *all:
			t.Fatalf("the stream's %v, the budget's %v", own, all)
		}
		return own.String()
	}
	ledgertest.Settle(t, b, cheap.Entry(0))
	for n, want := range []string{"", "", "", "2026-11-20T08:04:00Z", "2026-11-20T08:04:00Z", "", "", "",
		"2026-11-20T08:09:00Z"} {
		e := ledgertest.Settle(t, b, s.Entry(n))
		if got := since(e.WindowEnd); got != want {
			t.Errorf("after window %d, %q: since %q, want %q", n, e.Reason, got, want)
		}
	}
	if got := since(ledgertest.Epoch.Add(time.Hour)); got != "" {
		t.Errorf("an hour after the last window, all has returned: since %q", got)
	}
}

// compact sets JSON in one way, keeping the order of its fields.
func compact(t *testing.T, text string) string {
	t.Helper()
	raw, err := json.MarshalIndent(json.RawMessage(text), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestReportOfABudgetThatAlwaysPays(t *testing.T) {
	b := ledger.NewBooks()
	p := ledgertest.Plan{Stream: "s", Budget: "b", Epsilon: "0.2", Limit: ledgertest.Limit("1", 5*time.Minute)}
	for n := range 7 {
		ledgertest.Settle(t, b, p.Entry(n))
	}
	r := ledger.NewReport(b, ledgertest.Epoch.Add(7*time.Minute))
	if f := r.Budgets[0]; f.ExhaustedAt != nil || !f.EpsilonSpent.Equal(ledgertest.Dec("1")) || f.WindowsLeft != 0 ||
		len(f.Returns) != 5 || !f.EpsilonTotal.Equal(ledgertest.Dec("1.4")) {
		t.Errorf("%+v", f)
	}
	if r = ledger.NewReport(b, ledgertest.Epoch.Add(time.Hour)); !r.Budgets[0].EpsilonSpent.IsZero() ||
		r.Budgets[0].WindowsLeft != 5 {
		t.Errorf("an hour later: %+v", r.Budgets[0])
	}
}

func TestReportOfAScheduleThatEnds(t *testing.T) {
	b := ledger.NewBooks()
	p := ledgertest.Plan{Stream: "s", Budget: "b", Epsilon: "0.5", Limit: ledgertest.Limit("1", 0)}
	e := p.Entry(0)
	e.Until = p.Entry(1).WindowEnd
	ledgertest.Settle(t, b, e)
	if f := ledger.NewReport(b, e.WindowEnd).Streams[0]; f.ExhaustedAt != nil || f.WindowsLeft != 1 {
		t.Errorf("%+v, want it paid to the end", f)
	}
}

func TestReportWithoutABound(t *testing.T) {
	b := ledger.NewBooks()
	e := ledgertest.Plan{Stream: "s", Budget: "b", Epsilon: "0.5",
		Limit: budget.Limit{Epsilon: ledgertest.Dec("10"), Delta: ledgertest.Dec("0.000001")}}.Entry(0)
	e.Price[0] = budget.Item{Promise: privacy.NewZCDP(ledgertest.Dec("0.5")), Times: 1}
	ledgertest.Settle(t, b, e)
	r := ledger.NewReport(b, e.WindowEnd)
	if f := r.Budgets[0]; f.EpsilonSpent == nil || !f.DeltaSpent.Equal(ledgertest.Dec("0.000001")) {
		t.Errorf("%+v, want a converted ε at the budget's δ", f)
	}
	e.Limit = ledgertest.Limit("10", 0) // the δ is taken away
	if err := b.Settle(&e); err != nil {
		t.Fatal(err)
	}
	r = ledger.NewReport(b, e.WindowEnd)
	if f := r.Budgets[0]; f.EpsilonSpent != nil || !f.EpsilonLeft.IsZero() || f.WindowsLeft != 0 {
		t.Errorf("%+v, want no bound and nothing left", f)
	}
}

func TestReportOfNothing(t *testing.T) {
	if empty, err := json.Marshal(ledger.NewReport(ledger.NewBooks(), ledgertest.Epoch)); err != nil ||
		string(empty) != `{"streams":[],"budgets":[]}` {
		t.Errorf("%s, %v", empty, err)
	}
}

// A stream of figures on change has no price of a window, so there is no end of its windows. Of a budget that it
// shares, the other stream says how many are left, also where only published records are known.
func TestWindowsLeftBesideFreeOnes(t *testing.T) {
	b := ledger.NewBooks()
	priced := ledgertest.Plan{Stream: "s", Budget: "b", Epsilon: "0.3", Limit: ledgertest.Limit("2", time.Hour)}
	ledgertest.Settle(t, b, priced.Entry(0))
	free := ledgertest.Plan{Stream: "u", Budget: "b", Epsilon: "1", Limit: ledgertest.Limit("2", time.Hour)}.Entry(1)
	free.Price, free.Releases, free.Groups = nil, nil, []ledger.Group{{Name: "eu"}}
	free.Continual = []ledger.Continual{ledgertest.Change("d", "0.3", "0.2", 2)}
	if err := b.Settle(&free); err != nil {
		t.Fatal(err)
	}
	ledgertest.Look(t, &free, func(ledger.Continual) bool { return false })
	if free.Standing.WindowsLeft != budget.MostWindows {
		t.Errorf("its record says %d, want no end", free.Standing.WindowsLeft)
	}
	if err := b.Add(free); err != nil {
		t.Fatal(err)
	}
	r := ledger.NewReport(b, ledgertest.Epoch.Add(3*time.Minute))
	figures := []record.Value{{Stream: "s", Budget: "b", BudgetLeft: 5, WindowEnd: ledgertest.Epoch.Add(time.Minute)},
		{Stream: "u", Budget: "b", BudgetLeft: budget.MostWindows, WindowEnd: ledgertest.Epoch.Add(2 * time.Minute)}}
	spent, total := json.Number("1.8"), json.Number("1.8")
	for i := range figures {
		figures[i].BudgetSpent, figures[i].StreamSpent, figures[i].BudgetLimit = &spent, &total, "2"
	}
	partial := ledger.Published(ledger.NewBooks(), figures, ledgertest.Epoch.Add(3*time.Minute))
	for name, c := range map[string]struct {
		report ledger.Report
		want   int64
	}{"the ledger": {r, 2}, "records": {partial, 5}} { // 2 − 0.3 − (0.3 + 0.2 + 2 · 0.2) = 0.8 is twice 0.3, and some
		if n := c.report.Budgets[0].WindowsLeft; len(c.report.Budgets) != 1 || n != c.want {
			t.Errorf("%s: %d windows left of the budget, want %d", name, n, c.want)
		}
		if s, u := c.report.Streams[0].WindowsLeft, c.report.Streams[1].WindowsLeft; s != c.want ||
			u != budget.MostWindows {
			t.Errorf("%s: %d and %d windows left of the streams, want %d and no end", name, s, u, c.want)
		}
	}
}

// Readers of output topics forget old windows. Where they still know those of the period, they know what counts in it,
// but not what was ever charged: that is unknown then, and not what the known windows cost.
func TestPublishedTotalsAreNeverTooLow(t *testing.T) {
	p := ledgertest.Plan{Stream: "s", Budget: "b", Epsilon: "0.2", Limit: ledgertest.Limit("1", 3*time.Minute)}
	whole, known := ledger.NewBooks(), ledger.NewBooks()
	var newest []record.Value
	for i := range 10 {
		e := ledgertest.Settle(t, whole, p.Entry(i))
		if i >= 5 {
			if err := known.Add(e); err != nil {
				t.Fatal(err)
			}
		}
		spent, total := json.Number(e.Standing.BudgetSpent.String()), json.Number(e.Standing.StreamSpent.String())
		newest = []record.Value{{Stream: "s", Budget: "b", BudgetLimit: "1", BudgetSpent: &spent, StreamSpent: &total,
			WindowEnd: e.WindowEnd}}
	}
	at := ledgertest.Epoch.Add(10 * time.Minute)
	for name, c := range map[string]struct {
		books *ledger.Books
		total string
	}{"all windows": {whole, "2"}, "those of the period": {known, "unknown"}} {
		b := ledger.Published(c.books, newest, at).Budgets[0]
		total := "unknown"
		if b.EpsilonTotal != nil {
			total = b.EpsilonTotal.String()
		}
		if b.Partial || b.EpsilonSpent.String() != "0.6" || total != c.total {
			t.Errorf("with %s: partial %v, ε %s in the period and %s in all; want 0.6 and %s", name, b.Partial,
				b.EpsilonSpent, total, c.total)
		}
	}
}
