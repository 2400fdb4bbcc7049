package service

import (
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/parse"
	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/kafka/kafkatest"
	"github.com/louver/louver/stream/kafka/topics"
	"github.com/louver/louver/stream/kafka/txn"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/outputs"
)

// twoStreams share a budget.
const twoStreams = `version: 1
budgets: [{name: both, epsilon: 24, per: 24h}]
streams:
  - name: web
    input: {topic: web.requests, user: client, value: bytes, time: time}
    bounds: {lower: 0, upper: 1000, step: 1}
    window: {size: 1h, grace: 30s}
    releases: [{name: p90, statistic: quantile, p: 0.9, epsilon: 0.5}]
    output: {topic: private}
    budget: both
  - name: shop
    input: {topic: shop.orders, user: client, value: amount, time: time}
    bounds: {lower: 0, upper: 1000, step: 1}
    window: {size: 1d, grace: 30s}
    releases: [{name: users, statistic: count, epsilon: 1}]
    output: {topic: private}
    budget: both
`

func twoStreamsFile(t *testing.T) []*config.Stream {
	t.Helper()
	file, err := parse.File("s.yaml", []byte(twoStreams), os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	return file.Streams
}

func TestGaugesExistFromTheStart(t *testing.T) {
	b, gauges := kafkatest.Fake(t), outputs.NewGauges(time.Now)
	b.CreateTopic(t, "louver.ledger", topics.Partitions, nil)
	reader := &outputs.Reader{Conn: b.Conn, Fetch: b.Fetch(fetch.Options{})}
	if err := restore(kafkatest.Context(t), reader, "louver", twoStreamsFile(t), gauges, time.Now); err != nil {
		t.Fatal(err)
	}
	const want = `louver_budget_epsilon_limit{budget="both"} 24
louver_budget_epsilon_lost{budget="both"} 0
louver_budget_epsilon_spent{budget="both"} 0
louver_budget_windows_left{budget="both"} 24
louver_epsilon_lost{stream="shop"} 0
louver_epsilon_lost{stream="web"} 0
louver_epsilon_spent{stream="shop"} 0
louver_epsilon_spent{stream="web"} 0
louver_release_info{mechanism="geometric",p="",release="users",statistic="count",stream="shop",unit="users"} 1
louver_release_info{mechanism="margin",p="0.9",release="p90",statistic="quantile",stream="web",unit=""} 1
louver_release_withheld{group="",reason="budget_exhausted",release="p90",stream="web"} 0
louver_release_withheld{group="",reason="budget_exhausted",release="users",stream="shop"} 0
louver_release_withheld{group="",reason="too_few_users",release="p90",stream="web"} 0
louver_release_withheld{group="",reason="too_few_users",release="users",stream="shop"} 0
louver_windows_used{stream="shop"} 0
louver_windows_used{stream="web"} 0
`
	var got strings.Builder
	for line := range strings.Lines(scraped(t, gauges)) {
		if !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "louver_release_quality") {
			got.WriteString(line)
		}
	}
	if got.String() != want {
		t.Errorf("%s\nwant\n%s", got.String(), want)
	}
}

// A process that starts shows what one shows that has run all along, even if the output topic has forgotten everything:
// here it does not exist. The stream with the long windows has its newest entry thousands of entries back.
func TestGaugesAreRestored(t *testing.T) {
	b, streams := kafkatest.Fake(t), twoStreamsFile(t)
	at := topics.Place("both", topics.Partitions)
	b.CreateTopic(t, "louver.ledger", topics.Partitions, nil)
	lasting := outputs.NewGauges(time.Now)
	begin := time.Now().UTC().Truncate(24 * time.Hour)
	spent := decimal.Zero
	write := func(s *config.Stream, end time.Time, value int64, more int) {
		var records []txn.Record
		for i := range more {
			spent = spent.Add(decimal.New(5, -1))
			figure := decimal.NewFromInt(value + int64(i))
			e := ledger.Entry{App: "louver", Stream: s.Name, Budget: "both", Input: s.Input.Topic, Output: s.Output,
				WindowStart: end.Add(-s.Window.Size), WindowEnd: end, DueAt: end.Add(s.Window.Grace),
				ReleasedAt: end.Add(s.Window.Grace), Every: s.Window.Every,
				Limit: budget.Limit{Epsilon: s.Budget.Epsilon, Per: s.Budget.Per}, Price: s.Price(),
				Releases: s.Series(),
				Groups:   []ledger.Group{{Values: []ledger.Value{{Value: &figure, Quality: "rough"}}}},
				Standing: ledger.Standing{StreamSpent: &spent, BudgetSpent: &spent, WindowsLeft: 3}}
			value, err := e.Encode()
			if err != nil {
				t.Fatal(err)
			}
			records = append(records, txn.Record{Key: e.Key(), Value: value})
			if err := showEntry(lasting, e); err != nil {
				t.Fatal(err)
			}
			end = end.Add(s.Window.Every)
		}
		b.Produce(t, "louver.ledger", at, records...)
	}
	write(streams[1], begin, 700, 1)
	write(streams[0], begin.Add(-3000*time.Hour), 100, 3000+time.Now().UTC().Hour())
	started := outputs.NewGauges(time.Now)
	reader := &outputs.Reader{Conn: b.Conn, Fetch: b.Fetch(fetch.Options{})}
	if err := restore(kafkatest.Context(t), reader, "louver", streams, started, time.Now); err != nil {
		t.Fatal(err)
	}
	if got, want := scraped(t, started), scraped(t, lasting); got != want {
		t.Errorf("after a restart:\n%s\nbefore:\n%s", got, want)
	} else if !strings.Contains(got, `louver_release_value{group="",release="users",stream="shop"} 700`) {
		t.Errorf("the last value of the daily stream is missing:\n%s", got)
	}
}

// Sums of an objective reach three days back. After a restart they are the same, from the newest entry alone: the
// output topic does not exist. Before that, nothing is shown. A window that is withheld does not count, and neither do
// those before the newest definition.
func TestSumsOfObjectivesAreRestored(t *testing.T) {
	const text = `version: 1
streams:
  - name: web
    input: {topic: web.requests, user: client, value: ms, time: time, group: region}
    groups: [eu, us]
    bounds: {lower: 0, upper: 1000, step: 1}
    window: {size: 15m, grace: 30s}
    releases:
      - {name: latency, statistic: histogram, buckets: [100, 800], levels: 2, epsilon: 0.1}
      - {name: slow, statistic: share, above: 800, from: latency, objective: 0.99}
    output: {topic: private}
    budget: {epsilon: 24, per: 24h}
`
	read := func(text string) []*config.Stream {
		file, err := parse.File("s.yaml", []byte(text), os.LookupEnv)
		if err != nil {
			t.Fatal(err)
		}
		return file.Streams
	}
	b, s := kafkatest.Fake(t), read(text)[0]
	before := read(strings.Replace(text, "levels: 2, epsilon: 0.1", "levels: 2, epsilon: 0.2", 1))[0]
	at := topics.Place("web", topics.Partitions)
	b.CreateTopic(t, "louver.ledger", topics.Partitions, nil)
	published := func() *outputs.Gauges {
		return newPublished(nil, []*config.Stream{s}, time.Now).gauges
	}
	lasting := published()
	const windows = 600 // more than six days
	fold := ledger.NewHistory()
	end := time.Now().UTC().Truncate(15 * time.Minute).Add(-windows * 15 * time.Minute)
	var records []txn.Record
	for i := range int64(windows) {
		end = end.Add(15 * time.Minute)
		of := s
		if i > windows-100 && i < windows-90 {
			of = before
		}
		e := ledger.Entry{App: "louver", Stream: "web", Budget: "web", Input: of.Input.Topic, Output: of.Output,
			WindowStart: end.Add(-15 * time.Minute), WindowEnd: end, DueAt: end.Add(30 * time.Second),
			ReleasedAt: end.Add(30 * time.Second), Every: 15 * time.Minute,
			Limit: budget.Limit{Epsilon: of.Budget.Epsilon, Per: of.Budget.Per}, Price: of.Price(),
			Releases: of.Series(),
			Groups:   []ledger.Group{{Name: "eu"}, {Name: "us"}},
			Standing: ledger.Standing{StreamSpent: new(decimal.Zero), BudgetSpent: new(decimal.Zero), WindowsLeft: 3}}
		if i == windows-5 {
			e.Reason = "budget_exhausted"
		} else {
			for g := range e.Groups {
				n := ledger.Numbers{Raw: []int64{i, 100, 7 - i%5, int64(g)}, Coarse: []int64{i + 90, 9}}
				users := decimal.NewFromInt(n.Coarse[0])
				e.Groups[g].Values = []ledger.Value{{Value: &users, Numbers: &n}, {}}
			}
		}
		if err := fold.Finish(&e); err != nil {
			t.Fatal(err)
		}
		if err := fold.Add(e); err != nil {
			t.Fatal(err)
		}
		value, err := e.Encode()
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, txn.Record{Key: e.Key(), Value: value})
		if err := showEntry(lasting, e); err != nil {
			t.Fatal(err)
		}
	}
	b.Produce(t, "louver.ledger", at, records...)
	started := published()
	if got := sumsShown(scraped(t, started)); len(got) != 0 {
		t.Errorf("before the ledger is read: %v", got)
	}
	reader := &outputs.Reader{Conn: b.Conn, Fetch: b.Fetch(fetch.Options{})}
	if err := restore(kafkatest.Context(t), reader, "louver", []*config.Stream{s}, started, time.Now); err != nil {
		t.Fatal(err)
	}
	got, want := sumsShown(scraped(t, started)), sumsShown(scraped(t, lasting))
	if !slices.Equal(got, want) {
		t.Errorf("after a restart:\n%s\nbefore:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	// Two groups with seven stretches and three gauges each. 90 windows have come since the edition with another ε, and
	// one of them is withheld.
	if all := strings.Join(got, "\n"); len(got) != 2*7*3 || !strings.Contains(all,
		`louver_slo_windows{group="eu",over="3d",release="slow",stream="web"} 89`) {
		t.Errorf("%d sums:\n%s", len(got), all)
	}
}

// sumsShown are the lines of sums that are not 0.
func sumsShown(page string) (all []string) {
	for line := range strings.Lines(page) {
		of := strings.HasPrefix(line, "louver_slo_windows") || strings.HasPrefix(line, "louver_slo_bad_users") ||
			strings.HasPrefix(line, "louver_slo_users")
		if of && !strings.HasSuffix(line, " 0\n") {
			all = append(all, strings.TrimSpace(line))
		}
	}
	return all
}

// A budget pays or it does not, whatever has been spent: the first period makes no difference.
func TestBudgetsThatPay(t *testing.T) {
	for text, want := range map[string]string{
		twoStreams: `louver_budget_pays{budget="both"} 1`,
		strings.NewReplacer("epsilon: 24, per", "epsilon: 12, per", "budget: both\n",
			"budget: both\n    on_exhausted: withhold\n").Replace(twoStreams): `louver_budget_pays{budget="both"} 0`,
	} {
		file, err := parse.File("s.yaml", []byte(text), os.LookupEnv)
		if err != nil {
			t.Fatal(err)
		}
		if got := scraped(t, newPublished(nil, file.Streams, time.Now).gauges); !strings.Contains(got, want) {
			t.Errorf("want %s in\n%s", want, got)
		}
	}
	if got := scraped(t, newPublished(nil, nil, time.Now).gauges); got != "" {
		t.Errorf("without streams: %s", got)
	}
}

// scraped returns the metrics of a collector.
func scraped(t *testing.T, c prometheus.Collector) string {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(c)
	page := httptest.NewRecorder()
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(page, httptest.NewRequest("GET", "/metrics", nil))
	return page.Body.String()
}

// A watch and a running total show from the start that they have said nothing yet. Without its gauge, nobody would hear
// that a watch never looks.
func TestGaugesOfInstancesExistFromTheStart(t *testing.T) {
	file, err := parse.File("s.yaml", []byte(`version: 1
streams:
  - name: web
    input: {topic: web.requests, user: client, value: bytes, time: time, group: region}
    groups: [eu, us]
    bounds: {lower: 0, upper: 1000, step: 1}
    window: {size: 1h, grace: 30s}
    releases: [{name: today, statistic: count, since: midnight, epsilon: 1}]
    watches: [{name: slow, above: 900, more_than: 0.01, epsilon: 1, false_alarms: {at_most: 0.05, per: 30d}, hold: 1h,
      at_most: 2}]
    output: {topic: private}
    budget: {epsilon: 24, per: 24h}
`), os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	gauges := outputs.NewGauges(time.Now)
	gauges.Expect(expected(file.Streams, time.Now()))
	text := scraped(t, gauges)
	for _, want := range []string{
		`louver_watch_armed{stream="web",watch="slow"} 0`,
		`louver_release_withheld{group="eu",reason="budget_exhausted",release="today",stream="web"} 0`,
		`louver_release_info{mechanism="tree",p="",release="today",statistic="count",stream="web",unit="users"} 1`,
		`louver_epsilon_lost{stream="web"} 0`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("%s is missing in\n%s", want, text)
		}
	}
}
