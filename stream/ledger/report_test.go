package ledger

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/budget/privacy"
	"github.com/louver/louver/stream/record"
)

func TestReportGolden(t *testing.T) {
	b := NewBooks()
	shared := limit("1", 5*time.Minute)
	s := plan{stream: "s", budget: "shared", epsilon: "0.2", limit: shared}
	u := plan{stream: "u", budget: "shared", epsilon: "0.3", limit: shared}
	v := plan{stream: "v", budget: "v", epsilon: "0.25", limit: limit("2", 0)}
	for _, e := range []Entry{s.entry(0), v.entry(0), s.entry(1), u.entry(1), v.entry(1)} {
		settle(t, b, e)
	}
	got, err := json.MarshalIndent(NewReport(b, epoch.Add(6*time.Minute)), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	// At 08:06 the window that ended at 08:01 is out of the period (08:01, 08:06]. Of the windows that end at 08:03, that
	// of s makes 0.2 + 0.2 + 0.3 + 0.2, and that of u would pass 1.
	want := `{
 "streams": [
  {"stream": "s", "budget": "shared", "epsilon_spent": 0.2, "epsilon_limit": 1, "epsilon_left": 0.5, "delta_spent": 0, "delta_limit": 0,
   "per": "5m", "epsilon_total": 0.4, "windows_left": 2, "exhausted_at": "2026-11-20T08:03:00Z", "exhausted_since": null,
   "returns": [{"at": "2026-11-20T08:07:00Z", "epsilon": 0.2}]},
  {"stream": "u", "budget": "shared", "epsilon_spent": 0.3, "epsilon_limit": 1, "epsilon_left": 0.5, "delta_spent": 0, "delta_limit": 0,
   "per": "5m", "epsilon_total": 0.3, "windows_left": 1, "exhausted_at": "2026-11-20T08:03:00Z", "exhausted_since": null,
   "returns": [{"at": "2026-11-20T08:07:00Z", "epsilon": 0.3}]},
  {"stream": "v", "budget": "v", "epsilon_spent": 0.5, "epsilon_limit": 2, "epsilon_left": 1.5, "delta_spent": 0, "delta_limit": 0,
   "per": "forever", "epsilon_total": 0.5, "windows_left": 6, "exhausted_at": "2026-11-20T08:09:00Z", "exhausted_since": null, "returns": []}
 ],
 "budgets": [
  {"budget": "shared", "epsilon_spent": 0.5, "epsilon_limit": 1, "epsilon_left": 0.5, "delta_spent": 0, "delta_limit": 0,
   "per": "5m", "epsilon_total": 0.7, "epsilon_last_day": 0.7, "windows_left": 1, "exhausted_at": "2026-11-20T08:03:00Z", "exhausted_since": null,
   "returns": [{"at": "2026-11-20T08:07:00Z", "epsilon": 0.5}]},
  {"budget": "v", "epsilon_spent": 0.5, "epsilon_limit": 2, "epsilon_left": 1.5, "delta_spent": 0, "delta_limit": 0,
   "per": "forever", "epsilon_total": 0.5, "epsilon_last_day": 0.5, "windows_left": 6, "exhausted_at": "2026-11-20T08:09:00Z", "exhausted_since": null, "returns": []}
 ]
}`
	if diff := cmp.Diff(compact(t, want), compact(t, string(got))); diff != "" {
		t.Error(diff)
	}
}

// A budget is exhausted since the end of the first window that it has not paid, until it pays again.
func TestReportSaysSinceWhen(t *testing.T) {
	b := NewBooks()
	shared := limit("1", 5*time.Minute)
	s := plan{stream: "s", budget: "b", epsilon: "0.3", limit: shared}
	cheap := plan{stream: "cheap", budget: "b", epsilon: "0.01", limit: shared}
	since := func(at time.Time) string {
		r := NewReport(b, at)
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
	settle(t, b, cheap.entry(0))
	for n, want := range []string{"", "", "", "2026-11-20T08:04:00Z", "2026-11-20T08:04:00Z", "", "", "", "2026-11-20T08:09:00Z"} {
		e := settle(t, b, s.entry(n))
		if got := since(e.WindowEnd); got != want {
			t.Errorf("after window %d, %q: since %q, want %q", n, e.Reason, got, want)
		}
	}
	if got := since(epoch.Add(time.Hour)); got != "" {
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
	b := NewBooks()
	p := plan{stream: "s", budget: "b", epsilon: "0.2", limit: limit("1", 5*time.Minute)}
	for n := range 7 {
		settle(t, b, p.entry(n))
	}
	r := NewReport(b, epoch.Add(7*time.Minute))
	if f := r.Budgets[0]; f.ExhaustedAt != nil || !f.EpsilonSpent.Equal(dec("1")) || f.WindowsLeft != 0 || len(f.Returns) != 5 || !f.EpsilonTotal.Equal(dec("1.4")) {
		t.Errorf("%+v", f)
	}
	if r = NewReport(b, epoch.Add(time.Hour)); !r.Budgets[0].EpsilonSpent.IsZero() || r.Budgets[0].WindowsLeft != 5 {
		t.Errorf("an hour later: %+v", r.Budgets[0])
	}
}

func TestReportOfAScheduleThatEnds(t *testing.T) {
	b := NewBooks()
	p := plan{stream: "s", budget: "b", epsilon: "0.5", limit: limit("1", 0)}
	e := p.entry(0)
	e.Until = p.entry(1).WindowEnd
	settle(t, b, e)
	if f := NewReport(b, e.WindowEnd).Streams[0]; f.ExhaustedAt != nil || f.WindowsLeft != 1 {
		t.Errorf("%+v, want it paid to the end", f)
	}
}

func TestReportWithoutABound(t *testing.T) {
	b := NewBooks()
	e := plan{stream: "s", budget: "b", epsilon: "0.5", limit: budget.Limit{Epsilon: dec("10"), Delta: dec("0.000001")}}.entry(0)
	e.Price[0] = budget.Item{Promise: privacy.NewZCDP(dec("0.5")), Times: 1}
	settle(t, b, e)
	r := NewReport(b, e.WindowEnd)
	if f := r.Budgets[0]; f.EpsilonSpent == nil || !f.DeltaSpent.Equal(dec("0.000001")) {
		t.Errorf("%+v, want a converted ε at the budget's δ", f)
	}
	b.accounts["b"].SetLimit(limit("10", 0)) // the δ was taken away
	r = NewReport(b, e.WindowEnd)
	if f := r.Budgets[0]; f.EpsilonSpent != nil || !f.EpsilonLeft.IsZero() || f.WindowsLeft != 0 {
		t.Errorf("%+v, want no bound and nothing left", f)
	}
}

func TestReportOfNothing(t *testing.T) {
	if empty, err := json.Marshal(NewReport(NewBooks(), epoch)); err != nil || string(empty) != `{"streams":[],"budgets":[]}` {
		t.Errorf("%s, %v", empty, err)
	}
}

// A stream of figures on change has no price of a window, so there is no end of its windows. Of a budget that it shares, the
// other stream says how many are left, also where only published records are known.
func TestWindowsLeftBesideFreeOnes(t *testing.T) {
	b := NewBooks()
	priced := plan{stream: "s", budget: "b", epsilon: "0.3", limit: limit("2", time.Hour)}
	settle(t, b, priced.entry(0))
	free := plan{stream: "u", budget: "b", epsilon: "1", limit: limit("2", time.Hour)}.entry(1)
	free.Price, free.Releases, free.Groups = nil, nil, []Group{{Name: "eu"}}
	free.Watches = []Watch{onChange("d", "0.3", "0.2", 2)}
	if err := b.Settle(&free); err != nil {
		t.Fatal(err)
	}
	look(&free, func(Watch) bool { return false })
	if free.Standing.WindowsLeft != budget.MostWindows {
		t.Errorf("its record says %d, want no end", free.Standing.WindowsLeft)
	}
	if err := b.Add(free); err != nil {
		t.Fatal(err)
	}
	r := NewReport(b, epoch.Add(3*time.Minute))
	figures := []record.Figure{{Stream: "s", Budget: "b", BudgetLeft: 5, WindowEnd: epoch.Add(time.Minute)}, {Stream: "u", Budget: "b", BudgetLeft: budget.MostWindows, WindowEnd: epoch.Add(2 * time.Minute)}}
	spent, total := json.Number("1.8"), json.Number("1.8")
	for i := range figures {
		figures[i].BudgetSpent, figures[i].StreamSpent, figures[i].BudgetLimit = &spent, &total, "2"
	}
	partial := Published(NewBooks(), figures, epoch.Add(3*time.Minute))
	for name, c := range map[string]struct {
		report Report
		want   int64
	}{"the ledger": {r, 2}, "records": {partial, 5}} { // 2 − 0.3 − (0.3 + 0.2 + 2 · 0.2) = 0.8 is twice 0.3, and some
		if n := c.report.Budgets[0].WindowsLeft; len(c.report.Budgets) != 1 || n != c.want {
			t.Errorf("%s: %d windows left of the budget, want %d", name, n, c.want)
		}
		if s, u := c.report.Streams[0].WindowsLeft, c.report.Streams[1].WindowsLeft; s != c.want || u != budget.MostWindows {
			t.Errorf("%s: %d and %d windows left of the streams, want %d and no end", name, s, u, c.want)
		}
	}
}

// Readers of output topics forget old windows. Where they still know those of the period, they know what counts in it, but not
// what was ever charged: that is unknown then, and not what the known windows cost.
func TestPublishedTotalsAreNeverTooLow(t *testing.T) {
	p := plan{stream: "s", budget: "b", epsilon: "0.2", limit: limit("1", 3*time.Minute)}
	whole, known := NewBooks(), NewBooks()
	var newest []record.Figure
	for i := range 10 {
		e := settle(t, whole, p.entry(i))
		if i >= 5 {
			if err := known.Add(e); err != nil {
				t.Fatal(err)
			}
		}
		spent, total := json.Number(e.Standing.BudgetSpent.String()), json.Number(e.Standing.StreamSpent.String())
		newest = []record.Figure{{Stream: "s", Budget: "b", BudgetLimit: "1", BudgetSpent: &spent, StreamSpent: &total, WindowEnd: e.WindowEnd}}
	}
	at := epoch.Add(10 * time.Minute)
	for name, c := range map[string]struct {
		books *Books
		total string
	}{"all windows": {whole, "2"}, "those of the period": {known, "unknown"}} {
		b := Published(c.books, newest, at).Budgets[0]
		total := "unknown"
		if b.EpsilonTotal != nil {
			total = b.EpsilonTotal.String()
		}
		if b.Partial || b.EpsilonSpent.String() != "0.6" || total != c.total {
			t.Errorf("with %s: partial %v, ε %s in the period and %s in all; want 0.6 and %s", name, b.Partial, b.EpsilonSpent, total, c.total)
		}
	}
}
