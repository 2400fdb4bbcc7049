package inspect

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/budget/privacy"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/parse"
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

// visits is a stream of one topic with windows of an hour.
func visits(name, epsilon, budget string, more ...string) string {
	return fmt.Sprintf(`  - name: %s
    input: {topic: visits, user: user, value: ms}
    bounds: {lower: 0, upper: 60000, step: 1}
    window: {size: 1h, grace: 10s}
    releases: [{name: users, statistic: count, epsilon: %s}]
    output: {topic: %[1]s.private}
    budget: %[3]s
`, name, epsilon, budget) + strings.Join(more, "")
}

// fresh says that a stream's budget knows of another one that pays for the same topic.
const fresh = "    fresh: true\n"

// paid is a streams file in which these budgets pay for these streams.
func paid(t fataler, budgets []string, streams ...string) *config.File {
	text := "version: 1\nbudgets:\n"
	for _, b := range budgets {
		text += fmt.Sprintf("  - {name: %s, epsilon: 100, per: 24h}\n", b)
	}
	parsed, err := parse.File("s.yaml", []byte(text+"streams:\n"+strings.Join(streams, "")), os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// fataler is a test, or one case of a random test.
type fataler interface{ Fatal(args ...any) }

// charge adds the window of a stream that ends at a moment to the books, by its price or another one.
func charge(t fataler, books *ledger.Books, s *config.Stream, end time.Time, limit budget.Cap,
	price ...budget.Item) {
	if price == nil {
		price = s.Price()
	}
	if err := books.Add(ledger.Entry{Stream: s.Name, Budget: s.Budget.Name, Limit: s.Budget.Limit,
		Every: s.Window.Every, Price: price, Cap: limit, WindowStart: end.Add(-s.Window.Size), WindowEnd: end}); err != nil {
		t.Fatal(err)
	}
}

// since are the editions of streams whose windows begin at a moment.
func since(start time.Time, streams []*config.Stream) (all []config.Edition) {
	for _, s := range streams {
		all = append(all, config.Edition{Stream: s, Schedule: windows.Schedule{Start: start.UnixNano(),
			Size: s.Window.Size, Every: s.Window.Every}})
	}
	return all
}

// What one person loses at most is that of check, by the newest definitions. Each definition has a budget of its own,
// and the two streams share one.
func TestBudgetSaysTheMost(t *testing.T) {
	now := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	parsed, err := parse.File("s.yaml", []byte(manyPrices), os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	edition := func(definition config.Definition, number uint32, end int64) config.Edition {
		s, err := parse.Definition(definition)
		if err != nil {
			t.Fatal(err)
		}
		return config.Edition{Stream: s, Number: number,
			Schedule: windows.Schedule{Start: now.Add(-24 * time.Hour).UnixNano(), Size: s.Window.Size,
				Every: s.Window.Every, End: end}}
	}
	visits, moods := parsed.Streams[0].Definition, parsed.Streams[1].Definition
	dearer := config.Definition(strings.Replace(string(visits), "epsilon: 0.25", "epsilon: 25", 1))
	if dearer == visits {
		t.Fatal("the definition has no such price")
	}
	books := ledger.NewBooks()
	for _, s := range append(slices.Clone(parsed.Streams), &config.Stream{Name: "old",
		Budget: &config.Budget{Name: "old", Limit: budget.Limit{Epsilon: decimal.NewFromInt(3)}},
		Window: parsed.Streams[0].Window}) {
		charge(t, books, s, now.Truncate(s.Window.Size), budget.Cap{})
	}
	r := ledger.NewReport(books, now)

	// Two periods of 12 hours cover 24: 2·8·0.25 of windows, 2·(3·0.15 + 0.05 + 2·1) of visits' watches, 2·(0.6 + 0.5)
	// of moods'. The cap holds for 24 hours, so the windows cost 8·0.25.
	const want = "budget both: one person loses at most ε 9.2 in any 24 h, counting the windows that end in it"
	if of := fmt.Sprintf("budget both: "+InAnyDay, parsed.Payer(parsed.Budgets[0], now).InAnyDay()); of != want {
		t.Fatalf("check says %s", of)
	}
	both := withMost(r, []config.Edition{edition(moods, 0, 0), edition(dearer, 0, now.Add(time.Hour).UnixNano()),
		edition(visits, 1, 0)}, now)
	if got := both.lines(); !slices.Equal(got, []string{"stream visits: one person loses at most ε 0.25 in a window, " +
		"besides its watches and releases on change", want}) {
		t.Errorf("%q", got)
	}
	var out strings.Builder
	if err := printBudgets(&out, 80, both, now); err != nil ||
		!strings.HasSuffix(out.String(), "\n"+strings.Join(both.lines(), "\n")+"\n") {
		t.Errorf("%v, %s", err, out.String())
	}
	text, err := json.Marshal(both)
	if err != nil {
		t.Fatal(err)
	}
	for want, times := range map[string]int{`"epsilon_per_day":9.2,"delta_per_day":0`: 1, `"epsilon_per_day"`: 1,
		`"epsilon_per_window":0.25,"delta_per_window":0`: 1, `"epsilon_per_window"`: 1} {
		if n := strings.Count(string(text), want); n != times {
			t.Errorf("%s is in it %d times:\n%s", want, n, text)
		}
	}

	// A stream that is over costs nothing more, and of one whose definition is not known nothing is said.
	ended := withMost(r, []config.Edition{edition(visits, 0, now.UnixNano())}, now)
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

// TestBudgetSaysWhatTheBooksHold: a former definition cost more than the newest does, and two budgets pay for the
// people of one topic. Neither is hidden behind a lower number.
func TestBudgetSaysWhatTheBooksHold(t *testing.T) {
	now := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	parsed := paid(t, []string{"a", "b"}, visits("cheap", "0.1", "a"), visits("dear", "0.2", "b", fresh))
	books := ledger.NewBooks()
	for hour := range 14 {
		charge(t, books, parsed.Streams[0], now.Add(-time.Duration(13-hour)*time.Hour), budget.Cap{},
			budget.Item{Promise: privacy.NewPure(decimal.RequireFromString("0.5")), Times: 1})
	}
	editions := since(now.Add(-48*time.Hour), parsed.Streams)
	want := []string{
		"stream cheap: one person loses at most ε 0.1 in a window",
		"budget a: one person loses at most ε 2.4 in any 24 h, counting the windows that end in it",
		"budget a: the windows that ended in the last 24 h cost ε 7: former definitions, or users who were counted " +
			"anew, cost more",
		// 7 and, until all of these are a day old, up to 2.4 beside them; and 4.8.
		"topic visits: budgets a, b pay for the same people: one person loses at most ε 14.2 in any 24 h through all " +
			"of them",
	}
	if diff := cmp.Diff(want, withMost(ledger.NewReport(books, now), editions, now).lines()); diff != "" {
		t.Error(diff)
	}
}

// TestBudgetSaysHowBooksAddUp: while they hold a watch, books with a δ keep to the order of the limit, and so count more
// than the definitions let anybody lose. Nothing was edited, so nobody loses both.
func TestBudgetSaysHowBooksAddUp(t *testing.T) {
	now := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	const watch = "    watches: [{name: many, above: 50, users: 10, epsilon: 0.1, at_most: 2, hold: 1h, " +
		"false_alarms: {at_most: 0.05, per: 30d}}]\n"
	parsed, err := parse.File("s.yaml", []byte("version: 1\nbudgets:\n"+
		"  - {name: a, epsilon: 100, delta: 0.000000001, per: 24h}\n  - {name: b, epsilon: 100, per: 24h}\nstreams:\n"+
		visits("watched", "0.1", "a", watch)+visits("beside", "0.02", "b", fresh)), os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	books := ledger.NewBooks()
	for hour := range 24 {
		charge(t, books, parsed.Streams[0], now.Add(-time.Duration(hour)*time.Hour), budget.Cap{})
	}
	cost := []budget.Item{{Promise: privacy.NewPure(decimal.RequireFromString("0.1")), Times: 1}}
	said := func(instances ...ledger.PublishedInstance) (lines []string) {
		if err := books.AddPublished("a", "watched", "many", instances); err != nil {
			t.Fatal(err)
		}
		editions := since(now.Add(-48*time.Hour), parsed.Streams)
		lines = withMost(ledger.NewReport(books, now), editions, now).lines()
		return slices.DeleteFunc(lines, func(line string) bool { return strings.HasPrefix(line, "stream ") })
	}
	armed := func(number int64) ledger.PublishedInstance {
		return ledger.PublishedInstance{Number: number, Cost: cost, From: now.Add(-24*time.Hour + 1).UnixNano(),
			To: now.UnixNano()}
	}
	// 24 counts by gaussian with ρ 0.005 each and two instances of ε 0.1 cost at most ε 0.13 + 2√(0.13 · ln 10⁹) = 3.41.
	// The order of the limit adds more than that to any charge at all. The other stream costs 0.48 in a day.
	want := []string{"budget a: one person loses at most ε 3.107626, δ 0.000000001 in any 24 h, counting the windows " +
		"that end in it",
		"budget a: the books count ε 28.618585 for the last 24 h. That is more, because with watches or releases on " +
			"change they add up charges in a way that was fixed before anything was drawn",
		"topic visits: budgets a, b pay for the same people: one person loses at most ε 3.587626, δ 0.000000001 in any " +
			"24 h through all of them"}
	if diff := cmp.Diff(want, said(armed(1))); diff != "" {
		t.Error(diff)
	}
	// A third one is more than the definitions allow: a former definition may have cost more as well.
	if got := said(armed(2), armed(3)); !strings.Contains(strings.Join(got, "\n"), "former definitions") {
		t.Errorf("after three instances: %q", got)
	}
}

// TestBudgetSaysWhatIsCountedAnew: a stream under a cap of eight windows a day began seven hours ago, and three windows
// later its users were counted anew. Nothing was edited, and what the day has cost is below the cap. Whoever comes all
// the time loses the three, and eight more, within a day.
func TestBudgetSaysWhatIsCountedAnew(t *testing.T) {
	now := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	parsed := paid(t, []string{"a", "b"}, visits("capped", "1", "a", "    max_windows: {count: 8, per: 24h}\n"),
		visits("beside", "0.02", "b", fresh))
	books, s := ledger.NewBooks(), parsed.Streams[0]
	for hour := range int64(7) {
		charge(t, books, s, now.Add(-time.Duration(6-hour)*time.Hour), s.Cap(1+min(hour/3, 1)))
	}
	editions := since(now.Add(-7*time.Hour), parsed.Streams)
	report := withMost(ledger.NewReport(books, now), editions, now)
	if held := report.Budgets[0].EpsilonDay; held == nil || held.String() != "7" {
		t.Fatalf("the windows of the day cost ε %s; want 7, which is below the cap", held)
	}
	// Beside these, the other stream costs 0.48 in a day.
	if said := report.Inputs[0].DayEpsilon.Decimal; said.LessThan(decimal.RequireFromString("11.48")) {
		t.Errorf("somebody loses ε 11.48 within a day; said is %s", said)
	}
}

// A stream is edited at random, with and without another budget, and with users who are counted anew. Whoever is in
// every window of any day, past or to come, loses no more than is said of the topic, and in the last day no more than
// is said of the budgets.
func TestWhatIsSaidAfterEdits(t *testing.T) {
	const hours = 60
	begin := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		books, passed := ledger.NewBooks(), rapid.IntRange(1, hours).Draw(t, "now")
		now := begin.Add(time.Duration(passed) * time.Hour)
		var editions []config.Edition
		var current config.File
		edits := map[int]bool{0: true}
		for range rapid.IntRange(0, 4).Draw(t, "edits") {
			edits[max(0, passed-rapid.OneOf(rapid.Just(0), rapid.IntRange(0, 30)).Draw(t, "edited before"))] = true
		}
		type counted struct {
			end time.Time
			in  string // budget and era
			ε   decimal.Decimal
			cap int64
		}
		var all []counted
		era := int64(0)
		for h := range hours + 24 {
			start := begin.Add(time.Duration(h) * time.Hour)
			end := start.Add(time.Hour)
			decided := !end.After(now)
			if edits[h] && !start.After(now) { // perhaps none of its windows is over
				limits := rapid.SampledFrom([]string{"", "    max_windows: {count: 8, per: 24h}\n",
					"    max_windows: {count: 4, per: 24h}\n"}).Draw(t, "cap")
				f := paid(t, []string{"a", "b", "c"}, visits("s", rapid.SampledFrom([]string{"0.1", "0.5",
					"1"}).Draw(t, "ε"), rapid.SampledFrom([]string{"a", "b"}).Draw(t, "budget"), limits, fresh),
					visits("beside", "0.02", "c", fresh))
				current, era = *f, era+1
				for i, s := range f.Streams {
					if i == 1 && h > 0 {
						continue // it does not change
					}
					editions = append(editions, config.Edition{Stream: s, Number: uint32(len(editions)),
						Schedule: windows.Schedule{Start: start.UnixNano(), Size: time.Hour, Every: time.Hour}})
				}
			}
			if rapid.IntRange(0, 39).Draw(t, "recount") == 0 && decided {
				era++
			}
			for _, s := range current.Streams {
				c := counted{end: end, in: fmt.Sprint(s.Name, s.Budget.Name, era),
					ε:   config.All[*config.Release](s)[0].Query.Epsilon,
					cap: math.MaxInt64}
				if s.MaxWindows != nil {
					c.cap = s.MaxWindows.By.AtMost()
				}
				all = append(all, c)
				if decided {
					charge(t, books, s, end, s.Cap(era))
				}
			}
		}
		slices.SortStableFunc(editions,
			func(x, y config.Edition) int { return strings.Compare(x.Stream.Name, y.Stream.Name) })
		for i, number := 0, uint32(0); i < len(editions); i++ {
			if i > 0 && editions[i].Stream.Name != editions[i-1].Stream.Name {
				number = 0
			}
			editions[i].Number, number = number, number+1
		}
		// A person who comes all the time counts in as many windows of an era as the cap lets, in those that cost the
		// most.
		lost := func(to time.Time) decimal.Decimal {
			sum, used := decimal.Zero, map[string]int64{}
			for _, c := range all {
				if c.end.After(to.Add(-24*time.Hour)) && !c.end.After(to) && used[c.in] < c.cap {
					used[c.in]++
					sum = sum.Add(c.ε)
				}
			}
			return sum
		}
		report := withMost(ledger.NewReport(books, now), editions, now)
		if len(report.Inputs) != 1 {
			t.Fatalf("%d inputs are shared; want 1", len(report.Inputs))
		}
		for h := range 24 {
			if at := now.Add(time.Duration(h) * time.Hour); lost(at).GreaterThan(report.Inputs[0].DayEpsilon.Decimal) {
				t.Fatalf("in the day to %s somebody loses %s; said is %s\n%s", at, lost(at),
					report.Inputs[0].DayEpsilon, strings.Join(report.lines(), "\n"))
			}
		}
		said := decimal.Zero
		for _, b := range report.Budgets {
			most := decimal.Zero
			if b.DayEpsilon != nil {
				most = b.DayEpsilon.Decimal
			}
			if b.EpsilonDay != nil {
				most = decimal.Max(most, b.EpsilonDay.Decimal)
			}
			said = said.Add(most)
		}
		if lost(now).GreaterThan(said) {
			t.Fatalf("in the last day somebody lost %s; the budgets say %s\n%s", lost(now), said,
				strings.Join(report.lines(), "\n"))
		}
	})
}
