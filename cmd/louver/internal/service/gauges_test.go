package service

import (
	"net/http/httptest"
	"os"
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
	b, gauges := kafkatest.Fake(t), outputs.NewGauges()
	b.CreateTopic(t, "louver.ledger", topics.Partitions, nil)
	reader := &outputs.Reader{Conn: b.Conn, Fetch: b.Fetch(fetch.Options{})}
	if err := restore(kafkatest.Context(t), reader, "louver", twoStreamsFile(t), gauges); err != nil {
		t.Fatal(err)
	}
	const want = `louver_budget_epsilon_limit{budget="both"} 24
louver_budget_epsilon_spent{budget="both"} 0
louver_budget_windows_left{budget="both"} 24
louver_epsilon_spent{stream="shop"} 0
louver_epsilon_spent{stream="web"} 0
louver_release_info{mechanism="geometric",p="",release="users",statistic="count",stream="shop",unit="users"} 1
louver_release_info{mechanism="margin",p="0.9",release="p90",statistic="quantile",stream="web",unit=""} 1
louver_release_withheld{group="",reason="budget_exhausted",release="p90",stream="web"} 0
louver_release_withheld{group="",reason="budget_exhausted",release="users",stream="shop"} 0
louver_release_withheld{group="",reason="too_few_users",release="p90",stream="web"} 0
louver_release_withheld{group="",reason="too_few_users",release="users",stream="shop"} 0
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
	lasting := outputs.NewGauges()
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
				Limit: budget.Limit{Epsilon: s.Budget.Epsilon, Per: s.Budget.Per}, Price: s.Price(), Releases: s.Series(),
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
	started := outputs.NewGauges()
	reader := &outputs.Reader{Conn: b.Conn, Fetch: b.Fetch(fetch.Options{})}
	if err := restore(kafkatest.Context(t), reader, "louver", streams, started); err != nil {
		t.Fatal(err)
	}
	if got, want := scraped(t, started), scraped(t, lasting); got != want {
		t.Errorf("after a restart:\n%s\nbefore:\n%s", got, want)
	} else if !strings.Contains(got, `louver_release_value{group="",release="users",stream="shop"} 700`) {
		t.Errorf("the last value of the daily stream is missing:\n%s", got)
	}
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
		if got := scraped(t, newPublished(nil, file.Streams).gauges); !strings.Contains(got, want) {
			t.Errorf("want %s in\n%s", want, got)
		}
	}
	if got := scraped(t, newPublished(nil, nil).gauges); got != "" {
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
