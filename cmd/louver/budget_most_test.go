package main

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/budget/privacy"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/control"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/windows"
)

const manyPrices = `version: 1
budgets:
  - {name: both, epsilon: 100, per: 12h}
streams:
  - name: visits
    input: {topic: visits, user: user, value: ms}
    max_windows: {count: 8, per: 24h}
    bounds: {lower: 0, upper: 60000, step: 1}
    expected_users: 10000
    window: {size: 1m, grace: 10s}
    releases:
      - {name: users, statistic: count, epsilon: 0.25}
      - {name: calm, statistic: median, epsilon: 0.05, publish: on_change, tolerance: 0.03, watch_epsilon: 0.1, at_most: 3}
    watches:
      - {name: slow, above: 2000, more_than: 0.01, epsilon: 1, false_alarms: {at_most: 0.05, per: 30d}, hold: 15m, at_most: 2}
    output: {topic: visits.private}
    budget: both
  - name: moods
    input: {topic: moods, user: user, value: ms}
    bounds: {lower: 0, upper: 60000, step: 1}
    expected_users: 10000
    window: {size: 1h, grace: 10s}
    releases:
      - {name: calm, statistic: median, epsilon: 0.5, publish: on_change, tolerance: 0.03, watch_epsilon: 0.1, at_most: 1}
    output: {topic: moods.private}
    budget: both
`

// What one person loses at most is that of check, by the newest definitions. Each definition has a budget of its own, and
// the two streams share one.
func TestBudgetSaysTheMost(t *testing.T) {
	now := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	parsed, err := config.Parse("s.yaml", []byte(manyPrices), os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	edition := func(definition config.Definition, number uint32, end int64) control.Edition {
		s, err := definition.Stream()
		if err != nil {
			t.Fatal(err)
		}
		return control.Edition{Stream: s, Number: number, Schedule: windows.Schedule{Start: now.Add(-24 * time.Hour).UnixNano(), Size: s.Window.Size, Every: s.Window.Every, End: end}}
	}
	visits, moods := parsed.Streams[0].Definition, parsed.Streams[1].Definition
	dearer := config.Definition(strings.Replace(string(visits), "epsilon: 0.25", "epsilon: 25", 1))
	if dearer == visits {
		t.Fatal("the definition has no such price")
	}
	books := ledger.NewBooks()
	for _, s := range append(slices.Clone(parsed.Streams), &config.Stream{Name: "old", Budget: &config.Budget{Name: "old", Limit: budget.Limit{Epsilon: decimal.NewFromInt(3)}}, Window: parsed.Streams[0].Window}) {
		end := now.Truncate(s.Window.Size)
		if err := books.Add(ledger.Entry{Stream: s.Name, Budget: s.Budget.Name, Limit: s.Budget.Limit, Every: s.Window.Every, Price: s.Price(), WindowStart: end.Add(-s.Window.Size), WindowEnd: end}); err != nil {
			t.Fatal(err)
		}
	}
	r := ledger.NewReport(books, now)

	// Two periods of 12 hours cover 24: 2·8·0.25 of windows, 2·(3·0.15 + 0.05 + 2·1) of visits' watches, 2·(0.6 + 0.5) of moods'.
	// The cap holds for 24 hours, so the windows cost 8·0.25.
	const want = "budget both: one person loses at most ε 9.2 in any 24 h, counting the windows that end in it"
	if of := "budget both: " + inAnyDay(figure{parsed.InAnyDay(parsed.Budgets[0], now).Epsilon}, figure{}); of != want {
		t.Fatalf("check says %s", of)
	}
	both := withMost(r, newest([]control.Edition{edition(moods, 0, 0), edition(dearer, 0, now.Add(time.Hour).UnixNano()), edition(visits, 1, 0)}, now), now)
	if got := both.lines(); !slices.Equal(got, []string{"stream visits: one person loses at most ε 0.25 in a window, beside its watches and releases on change", want}) {
		t.Errorf("%q", got)
	}
	var out strings.Builder
	if err := printBudgets(&out, 80, both); err != nil || !strings.HasSuffix(out.String(), "\n"+strings.Join(both.lines(), "\n")+"\n") {
		t.Errorf("%v, %s", err, out.String())
	}
	text, err := json.Marshal(both)
	if err != nil {
		t.Fatal(err)
	}
	for want, times := range map[string]int{`"epsilon_per_day":9.2,"delta_per_day":0`: 1, `"epsilon_per_day"`: 1, `"epsilon_per_window":0.25,"delta_per_window":0`: 1, `"epsilon_per_window"`: 1} {
		if n := strings.Count(string(text), want); n != times {
			t.Errorf("%s is in it %d times:\n%s", want, n, text)
		}
	}

	// A stream that is over costs nothing more, and of one whose definition is not known nothing is said.
	ended := withMost(r, newest([]control.Edition{edition(visits, 0, now.UnixNano())}, now), now)
	if got := ended.lines(); len(got) > 0 {
		t.Errorf("after the last window: %q", got)
	}
	known, err := json.Marshal(ended)
	if err != nil {
		t.Fatal(err)
	}
	if plain, err := json.Marshal(r); err != nil || string(plain) != string(known) {
		t.Errorf("%v: without definitions\n%s; want\n%s", err, known, plain)
	}
}

// TestBudgetSaysWhatTheBooksHold: a former definition cost more than the newest does, and two budgets pay for the people of one
// topic. Neither is hidden behind a lower number.
func TestBudgetSaysWhatTheBooksHold(t *testing.T) {
	now := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	parsed, err := config.Parse("s.yaml", []byte(`version: 1
budgets:
  - {name: a, epsilon: 100, per: 24h}
  - {name: b, epsilon: 100, per: 24h}
streams:
  - name: cheap
    input: {topic: visits, user: user, value: ms}
    bounds: {lower: 0, upper: 60000, step: 1}
    window: {size: 1h, grace: 10s}
    releases: [{name: users, statistic: count, epsilon: 0.1}]
    output: {topic: cheap.private}
    budget: a
  - name: dear
    input: {topic: visits, user: user, value: ms}
    bounds: {lower: 0, upper: 60000, step: 1}
    window: {size: 1h, grace: 10s}
    releases: [{name: users, statistic: count, epsilon: 0.2}]
    output: {topic: dear.private}
    budget: b
    fresh: true
`), os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	books := ledger.NewBooks()
	s := parsed.Streams[0]
	for hour := range 14 {
		end := now.Add(-time.Duration(13-hour) * time.Hour)
		price := []budget.Item{{Promise: privacy.NewPure(decimal.RequireFromString("0.5")), Times: 1}}
		if err := books.Add(ledger.Entry{Stream: s.Name, Budget: s.Budget.Name, Limit: s.Budget.Limit, Every: s.Window.Every, Price: price, WindowStart: end.Add(-time.Hour), WindowEnd: end}); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{
		"stream cheap: one person loses at most ε 0.1 in a window",
		"budget a: one person loses at most ε 2.4 in any 24 h, counting the windows that end in it",
		"budget a: the windows that ended in the last 24 h cost ε 7: former definitions, or users who were counted anew, cost more",
		"topic visits: budgets a, b pay for the same people: one person loses at most ε 7.2 in any 24 h through all of them",
	}
	if diff := cmp.Diff(want, withMost(ledger.NewReport(books, now), parsed, now).lines()); diff != "" {
		t.Error(diff)
	}
}
