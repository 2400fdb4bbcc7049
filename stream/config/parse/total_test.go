package parse

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/windows"
)

// today counts the users of a day, and revenue adds up a week.
const (
	today   = "{name: today, statistic: count, since: midnight, zone: Europe/Berlin, epsilon: 1}"
	revenue = "{name: revenue, statistic: sum, max_total: 500, since: monday, update: 1h, epsilon: 0.5}"
)

// withTotals is right with some totals in place of the median, and two groups of a user.
func withTotals(totals ...string) string {
	return strings.NewReplacer(p50, strings.Join(totals, "\n      - "), "max_groups: 1", "max_groups: 2",
		"epsilon: 24,", "epsilon: 60,").Replace(right)
}

func TestTotals(t *testing.T) {
	f := parse(t, withTotals(today, revenue))
	s := f.Streams[0]
	if len(config.All[*config.Release](s)) != 3 || len(config.All[*config.Total](s)) != 2 || len(s.Lasting()) != 2 {
		t.Fatalf("%d releases, %d totals and %d steps", len(config.All[*config.Release](s)),
			len(config.All[*config.Total](s)), len(s.Lasting()))
	}
	day, week := config.All[*config.Total](s)[0], config.All[*config.Total](s)[1]
	if day.Query.Leaves != 96 || day.Query.Longest != 100 || day.Update != 15*time.Minute || week.Query.Leaves != 168 ||
		week.Query.Longest != 169 || week.Mechanism.Most != 500 || day.Mechanism.Name() != "tree" {
		t.Errorf("%+v and %+v", day.Query.Period, week.Query.Period)
	}
	// A day around one of 23 hours touches three, and a user counts in two groups. A week is two at most.
	if a, b := day.Cost(), week.Cost(); a.AtMost != 3 || b.AtMost != 2 ||
		f.Budgets[0].Compose(a.Items).Epsilon.String() != "2" || f.Budgets[0].Compose(b.Items).Epsilon.String() != "1" {
		t.Errorf("at most %d and %d, for %v and %v each", a.AtMost, b.AtMost, a.Items, b.Items)
	}
	// 96 windows of 2 · 0.08, three days of 2 and two weeks of 1
	if lost := f.Payer(f.Budgets[0], time.Now()).InAnyDay(); lost.Epsilon.String() != "23.36" {
		t.Errorf("ε %s in any day, want 23.36", lost.Epsilon)
	}
	for text, want := range map[string][2]string{
		"2026-03-29T12:00:00Z": {"2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z"},
		"2026-03-28T23:00:00Z": {"2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z"},
		"2026-03-28T22:45:00Z": {"2026-03-27T23:00:00Z", "2026-03-28T23:00:00Z"},
	} {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		since, until := day.Period(windows.Window{Start: at.UnixNano(), End: at.Add(15 * time.Minute).UnixNano()})
		if got := [2]string{time.Unix(0, since).UTC().Format(time.RFC3339),
			time.Unix(0, until).UTC().Format(time.RFC3339)}; got != want {
			t.Errorf("%s is in %s, want %s", text, got, want)
		}
	}
	again, err := Definition(s.Definition)
	if err != nil || len(config.All[*config.Total](again)) != 2 ||
		config.All[*config.Total](again)[0].Definition != day.Definition {
		t.Errorf("%v, %v, want the same from the stream's definition", again, err)
	}
	budgeted := parse(t, strings.Replace(withTotals(today), "per: 24h", "per: 24h, delta: 0.000001", 1))
	if name := config.All[*config.Total](budgeted.Streams[0])[0].Mechanism.Name(); name != "square_root" {
		t.Errorf("with a δ it is drawn by %s", name)
	}
}

// A count of users who count several times has another unit than one of users.
func TestUnitsOfTotals(t *testing.T) {
	for text, want := range map[string]string{today: "users", revenue: "ms",
		strings.Replace(today, "zone", "max_total: 1, zone", 1): "users",
		strings.Replace(today, "zone", "max_total: 5, zone", 1): "visits"} {
		if got := config.All[*config.Total](parse(t, withTotals(text)).Streams[0])[0].Series()[0].Unit; got != want {
			t.Errorf("%s is in %s, want %s", text, got, want)
		}
	}
}

// In UTC a day has 24 hours, so that 24 hours touch two. A stream may have nothing but totals.
func TestOnlyTotals(t *testing.T) {
	text := strings.NewReplacer("      - {name: p90, statistic: quantile, p: 0.9, epsilon: 0.05}\n", "",
		"      - {name: users, statistic: count, epsilon: 0.02}\n", "",
		"      - {name: slow, statistic: count, above: 800, epsilon: 0.01}\n", "",
		"    min_users: {count: 50, release: users}\n", "", "epsilon: 60,", "epsilon: 4,",
		"zone: Europe/Berlin, ", "").Replace(withTotals(today))
	f := parse(t, text)
	if s := f.Streams[0]; len(s.Price()) != 0 || config.All[*config.Total](s)[0].AtMost != 2 ||
		!f.Payer(f.Budgets[0], time.Now()).Runway().Pays {
		t.Errorf("%+v", config.All[*config.Total](s))
	}
	_, err := File("s.yaml", []byte(strings.Replace(text, "epsilon: 4,", "epsilon: 3.99,", 1)), noVariables)
	if err == nil || !strings.Contains(err.Error(), "at least 4") {
		t.Errorf("%v, want an error that asks for 4", err)
	}
}

// A period goes on while what the total depends on is the same.
func TestDefinitionsOfTotals(t *testing.T) {
	checkDefinitions[*config.Total](t, withTotals(today), []edit{
		{"since: midnight", "since: monday", false},
		{"zone: Europe/Berlin", "zone: Europe/Paris", false},
		{"zone: Europe/Berlin", "zone: Europe/Berlin, update: 30m", false},
		{"zone: Europe/Berlin", "zone: Europe/Berlin, update: 15m", true},
		{"zone: Europe/Berlin", "zone: Europe/Berlin, max_total: 2", false},
		{"zone: Europe/Berlin", "zone: Europe/Berlin, above: 800", false},
		{"zone: Europe/Berlin, epsilon: 1}", "zone: Europe/Berlin, epsilon: 0.9}", false},
		{"max_groups: 2", "max_groups: 1", false},
		{"groups: [eu, us, ap]", "groups: [eu, ap, us]", false},
		{"upper: 60000", "upper: 70000", false},
		{"contribution: last", "contribution: max", false},
		{"grace: 30s", "grace: 40s", false},
		{"per: 24h", "per: 24h, delta: 0.000001", false},
		{"size: 15m, every: 15m", "size: 5m, every: 5m", false},
		{"user: user_id", "user: account_id", false}, // who has counted under one name may count again under the other
		{"topic: checkout.events", "topic: orders.events", false},
		{"value: latency_ms", "value: total_ms", false},
		{"group: region", "group: country", false},
		{"group: region", "group: region\n      where: {tenant: shop}", false},
		{"epsilon: 0.02", "epsilon: 0.03", true},
		{"description: time", "description: the time", true},
	})
}

// Forecasts expect the periods of totals to come, as many as a period of the budget touches, and those of discoveries.
// The present period is charged already, unless the next window begins one.
func TestAhead(t *testing.T) {
	f, err := File("s.yaml", []byte(`version: 1
budgets: [{name: both, epsilon: 50, delta: 0.000000001, per: 2d}]
streams:
  - name: s
    input: {topic: in, user: user, time: ts}
    contribution: count
    bounds: {lower: 0, upper: 10, step: 1}
    window: {size: 1h, grace: 10s, start: 2026-11-20T00:00:00Z, end: 2026-11-30T00:00:00Z}
    releases:
      - {name: users, statistic: count, epsilon: 0.1}
      - {name: today, statistic: count, since: midnight, zone: Europe/Berlin, epsilon: 0.5}
    output: {topic: out}
    budget: both
  - name: found
    input: {topic: in, user: user, time: ts, group: page}
    contribution: count
    bounds: {lower: 0, upper: 10, step: 1}
    groups: {discover: [{name: daily, every: 6h, epsilon: 1, delta: 0.00000000001}]}
    window: {size: 1h, grace: 10s, start: 2026-11-20T00:00:00Z}
    releases: [{name: users, statistic: count, epsilon: 0.1}]
    output: {topic: out}
    budget: both
`), os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	last := time.Date(2026, 11, 27, 6, 0, 0, 0, time.UTC)
	for next, want := range map[string][]string{ // in Berlin a day begins at 23:00 in UTC
		"2026-11-27T08:00:00Z": {"2026-11-28T00:00:00Z", "2026-11-29T00:00:00Z", "2026-11-30T00:00:00Z"},
		"2026-11-27T23:00:00Z": {"2026-11-28T00:00:00Z", "2026-11-29T00:00:00Z", "2026-11-30T00:00:00Z"},
		"2026-11-29T08:00:00Z": {"2026-11-30T00:00:00Z"}, // the stream ends
	} {
		at, err := time.Parse(time.RFC3339, next)
		if err != nil {
			t.Fatal(err)
		}
		held, none := f.Streams[0].Ahead(at.UnixNano(), nil)
		more, schedules := f.Streams[1].Ahead(at.UnixNano(), map[string]time.Time{"daily": last})
		var got []string
		for _, h := range held {
			got = append(got, time.Unix(0, h.From).UTC().Format(time.RFC3339))
		}
		if !slices.Equal(got, want) {
			t.Errorf("from %s on: first windows of days end at %q, want %q", next, got, want)
		}
		if len(more)+len(none) > 0 || len(schedules) != 1 || schedules[0].Start != last.UnixNano() ||
			schedules[0].Every != 6*time.Hour {
			t.Errorf("discoveries: %+v", schedules)
		}
	}
}
