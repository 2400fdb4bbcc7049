package web

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/ledger"
	"github.com/shopspring/decimal"
)

// readmeStream is a stream of the README.
const readmeStream = `version: 1
streams:
  - name: checkout-latency
    input: {topic: checkout.events, format: json, user: user_id, value: latency_ms, time: ts, group: region}
    groups: [eu, us, ap]
    bounds: {lower: 0, upper: 60000, step: 1}
    window: {size: 15m, grace: 30s, start: 2026-11-20T08:00:00Z}
    releases:
      - {name: p50, statistic: median, epsilon: 0.05}
      - {name: p99, statistic: quantile, p: 0.99, epsilon: 0.1}
      - {name: users, statistic: count, epsilon: 0.02}
    output: {topic: out}
    budget: BUDGET
`

// lossOf is what the report of a server without the ledger says of its only budget.
func lossOf(t *testing.T, w *world, streams []*config.Stream, at time.Time) (b struct {
	Lost       decimal.Decimal  `json:"epsilon_lost"`
	Spent      decimal.Decimal  `json:"epsilon_spent"`
	DeltaSpent decimal.Decimal  `json:"delta_spent"`
	Day        *decimal.Decimal `json:"epsilon_last_day"`
	DayLost    *decimal.Decimal `json:"epsilon_lost_last_day"`
	Used       int64            `json:"windows_used"`
	Left       int64            `json:"windows_left"`
	Partial    bool             `json:"partial"`
}) {
	t.Helper()
	var r struct{ Budgets []json.RawMessage }
	text := ask(t, served(w, streams, at), "/api/v1/budget")
	if err := json.Unmarshal([]byte(text), &r); err != nil || len(r.Budgets) != 1 {
		t.Fatal(err, r)
	}
	if err := json.Unmarshal(r.Budgets[0], &b); err != nil {
		t.Fatal(err)
	}
	return b
}

// One window over, everything says the same of it as check does of a window, however much room the budget has.
func TestOneLossEverywhere(t *testing.T) {
	for _, of := range []string{"{epsilon: 3.7, delta: 0.000000001, per: 24h}", "{epsilon: 400, delta: 0.0001, per: 24h}",
		"{epsilon: 1000, delta: 0.000000001, per: 24h}", "{epsilon: 50, per: 24h}"} {
		streams := parsed(t, strings.Replace(readmeStream, "BUDGET", of, 1))
		w, s := newWorld(t, 1<<20), streams[0]
		books, end := ledger.NewBooks(), epoch.Add(15*time.Minute)
		w.decide(books, s, epoch, end, true)
		file := &config.File{Streams: streams}
		pays := file.Payer(s.Budget, end)
		check := pays.Lost(s.Cost(end), 1).Epsilon
		newest, err := w.store.latest(selection{})[0].decode()
		if err != nil || newest.LossFields == nil {
			t.Fatal(err, newest)
		}
		report := ledger.NewReport(books, end)
		api := lossOf(t, w, streams, end)
		for name, got := range map[string]string{"record": newest.BudgetLost.String(), "stream": newest.StreamLost.String(),
			"ledger": report.Budgets[0].EpsilonLost.String(), "last day": report.Budgets[0].EpsilonDayLost.String(),
			"API": api.Lost.String(), "last day of the API": api.DayLost.String()} {
			if got != check.String() {
				t.Errorf("%s: %s says ε %s; check says %s", of, name, got, check)
			}
		}
		if newest.WindowsUsed != 1 || api.Used != 1 || report.Budgets[0].WindowsUsed != 1 || api.Left != newest.BudgetLeft {
			t.Errorf("%s: %d, %d and %d windows are used; want 1 of %d", of, newest.WindowsUsed, api.Used,
				report.Budgets[0].WindowsUsed, api.Left+1)
		}
		if got := newest.BudgetSpent.String(); got != api.Spent.String() {
			t.Errorf("%s: the books count %s, and the API says %s", of, got, api.Spent)
		}
		// After a day, the same again: all windows are used that are said to cost one person so much in any 24 h.
		for i := range 95 {
			start := end.Add(time.Duration(i) * 15 * time.Minute)
			w.decide(books, s, start, start.Add(15*time.Minute), true)
		}
		full := lossOf(t, w, streams, epoch.Add(24*time.Hour))
		if day := pays.InAnyDay().Epsilon; !full.Lost.Equal(day) || full.Used != 96 || full.Spent.LessThan(day) {
			t.Errorf("%s: after a day ε %s is lost by %d windows, and %s counts; check says %s", of, full.Lost, full.Used,
				full.Spent, day)
		}
	}
}

// asTheLedger compares the report of a server without the ledger with one from the ledger.
func asTheLedger(t *testing.T, name string, w *world, streams []*config.Stream, books *ledger.Books, now time.Time) {
	t.Helper()
	want(t, name, ask(t, served(w, streams, now), "/api/v1/budget"), reported(t, books, now))
}

// reported is the text of a report from the ledger.
func reported(t *testing.T, books *ledger.Books, now time.Time) string {
	t.Helper()
	text, err := json.Marshal(ledger.NewReport(books, now))
	if err != nil {
		t.Fatal(err)
	}
	return string(text) + "\n"
}

// Records say what kind of promise was charged, how often, and with which ρ and δ: totals by square_root, a release for
// two groups, and discoveries. An ε alone would say far less, or nothing of a δ.
func TestChargesOfRecords(t *testing.T) {
	of := strings.NewReplacer("BUDGET", "{epsilon: 90, delta: 0.000001, per: 24h}", "    bounds", "    max_groups: 2\n    bounds",
		"epsilon: 0.02}\n", "epsilon: 0.02}\n      - {name: today, statistic: count, since: hour, epsilon: 1}\n").
		Replace(readmeStream)
	before, _, _ := strings.Cut(of, "      - {name: p50")
	_, today, _ := strings.Cut(of, "      - {name: today")
	for name, text := range map[string]string{"beside windows": of, "alone": before + "      - {name: today" + today} {
		streams := parsed(t, text)
		s := streams[0]
		if got := config.All[*config.Total](s)[0].Mechanism.Name(); got != "square_root" {
			t.Fatalf("the total is drawn by %s", got)
		}
		w, books := newWorld(t, 1<<20), ledger.NewBooks()
		for i := range 9 {
			start := epoch.Add(time.Duration(i) * 15 * time.Minute)
			w.watched(books, s, start, start.Add(15*time.Minute), nil)
			if now := start.Add(16 * time.Minute); i == 0 || i == 8 {
				asTheLedger(t, name, w, streams, books, now)
				if b := lossOf(t, w, streams, now); b.Partial || !b.DeltaSpent.IsPositive() ||
					b.Lost.LessThan(decimal.NewFromInt(6)) ||
					b.Lost.GreaterThan(b.Spent) {
					t.Errorf("%s, after %d windows: %+v", name, i+1, b)
				}
			}
		}
	}
}

// After an edit the windows before it cost what they cost, and so do the periods of a total that the file no longer
// has, whatever the period of the budget is.
func TestChargesAfterAnEdit(t *testing.T) {
	for budget, day := range map[string]string{
		"{epsilon: 90, per: 12h}":                      "13.24", // eight windows of ε 1.07 and two hours of 2, and four windows of 0.17
		"{epsilon: 900, delta: 0.000000001, per: 12h}": "",      // totals by square_root
	} {
		before := strings.NewReplacer("BUDGET", budget, "p99, statistic: quantile, p: 0.99, epsilon: 0.1}",
			"p99, statistic: quantile, p: 0.99, epsilon: 1}\n      - {name: today, statistic: count, since: hour, epsilon: 2}").
			Replace(readmeStream)
		w, books := newWorld(t, 1<<20), ledger.NewBooks()
		old, streams := parsed(t, before)[0], parsed(t, strings.Replace(readmeStream, "BUDGET", budget, 1))
		for i := range 12 {
			s, start := old, epoch.Add(time.Duration(i)*15*time.Minute)
			if i >= 8 {
				s = streams[0]
			}
			w.watched(books, s, start, start.Add(15*time.Minute), nil)
		}
		now := epoch.Add(3*time.Hour + time.Minute)
		if b := lossOf(t, w, streams, now); day != "" && (b.Day == nil || b.Day.String() != day || b.DayLost == nil ||
			!b.DayLost.Equal(*b.Day)) {
			t.Errorf("%s: %+v, want ε %s in the last day", budget, b, day)
		}
		asTheLedger(t, budget, w, streams, books, now)
	}
}
