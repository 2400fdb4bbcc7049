package ledger_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/budget/privacy"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/ledger/ledgertest"
	"github.com/louver/louver/stream/record"
	"github.com/louver/louver/stream/record/recordtest"
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
  {"budget": "shared", "epsilon_lost": 0.5, "windows_used": 1, "windows_of": "u", "epsilon_spent": 0.5, "epsilon_limit": 1, "epsilon_left": 0.5, "delta_spent": 0, "delta_limit": 0,
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

// The books of several partitions report together as those of one ledger do: a budget is in one partition, also if
// others continue it, and a stream moves with its budget.
func TestJoinedBooksReportAsOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := ledgertest.History(t, rapid.IntRange(1, 40).Draw(t, "entries"))
		moved := rapid.IntRange(0, 40).Draw(t, "moved from")
		whole, parts := ledger.NewBooks(), map[string]*ledger.Books{}
		for i, e := range p.Entries {
			if i >= moved && e.Stream == "u" {
				e.Budget, e.Limit, e.Epoch = "c", ledgertest.Limit("2", 0), e.Epoch+1<<20
			}
			if parts[e.Budget] == nil {
				parts[e.Budget] = ledger.NewBooks()
			}
			for _, b := range []*ledger.Books{whole, parts[e.Budget]} {
				if err := b.Add(e); err != nil {
					t.Fatal(err)
				}
			}
		}
		var all []*ledger.Books
		for _, b := range parts {
			all = append(all, b)
		}
		now := p.Entries[len(p.Entries)-1].WindowEnd
		if diff := cmp.Diff(ledger.NewReport(whole, now), ledger.NewReport(ledger.Join(all), now), wholeReport,
			sameDecimals); diff != "" {
			t.Fatal(diff)
		}
	})
}

// A stream that moves while its budget pays nothing has been withheld since the first of these windows, under whichever
// budget.
func TestJoinedBooksSaySinceWhen(t *testing.T) {
	for _, reversed := range []bool{false, true} {
		parts := []*ledger.Books{ledger.NewBooks(), ledger.NewBooks()}
		for n := range 4 {
			p := ledgertest.Plan{Stream: "s", Budget: "b", Epsilon: "0.6", Limit: ledgertest.Limit("1", 0)}
			if n > 1 {
				p.Budget, p.Limit = "c", ledgertest.Limit("0.5", 0)
			}
			ledgertest.Settle(t, parts[n/2], p.Entry(n))
		}
		if reversed {
			parts[0], parts[1] = parts[1], parts[0]
		}
		since := ledger.NewReport(ledger.Join(parts), ledgertest.Epoch.Add(time.Hour)).Streams[0].ExhaustedSince
		if want := ledgertest.Epoch.Add(2 * time.Minute); since == nil || !since.Equal(want) {
			t.Errorf("reversed %v: since %v, want %s", reversed, since, want)
		}
	}
}

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
