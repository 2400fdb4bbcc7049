package otlptest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage/remote"
	"github.com/prometheus/prometheus/tsdb"

	"github.com/louver/louver/stream/kafka/kafkatest"
	"github.com/louver/louver/stream/kafka/txn"
	"github.com/louver/louver/stream/outputs"
)

// prom is Prometheus's receiver of OTLP with its database, at an address that can be shut.
type prom struct {
	t       *testing.T
	db      *tsdb.DB
	engine  *promql.Engine
	handler http.Handler
	address string
	server  *http.Server

	mu sync.Mutex
	// statuses are what requests were answered with. answered, if not nil, is called before the answer is sent.
	statuses []int
	answered func(status int)
}

// newProm starts a Prometheus that takes points which come so much too late.
func newProm(t *testing.T, outOfOrder time.Duration) *prom {
	t.Helper()
	options := tsdb.DefaultOptions()
	options.OutOfOrderTimeWindow = outOfOrder.Milliseconds()
	options.OutOfOrderCapMax = tsdb.DefaultOutOfOrderCapMax
	options.RetentionDuration = (10 * 365 * 24 * time.Hour).Milliseconds()
	db, err := tsdb.Open(t.TempDir(), nil, nil, options, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := &prom{t: t, db: db, address: kafkatest.Address(t),
		engine: promql.NewEngine(promql.EngineOpts{MaxSamples: 1e6, Timeout: time.Minute,
			Parser: parser.NewParser(parser.Options{})}),
		handler: remote.NewOTLPWriteHandler(slog.New(slog.DiscardHandler), prometheus.NewRegistry(), db,
			func() config.Config { return config.DefaultConfig }, remote.OTLPOptions{})}
	p.open()
	t.Cleanup(func() {
		p.shut()
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// endpoint is the address of all signals.
func (p *prom) endpoint() string { return "http://" + p.address + "/api/v1/otlp" }

// open makes it listen.
func (p *prom) open() {
	p.t.Helper()
	l, err := net.Listen("tcp", p.address)
	if err != nil {
		p.t.Fatal(err)
	}
	p.server = &http.Server{Handler: p}
	go func(s *http.Server) {
		if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			p.t.Error(err)
		}
	}(p.server)
}

// shut makes it refuse connections.
func (p *prom) shut() { _ = p.server.Close() }

// ServeHTTP implements [http.Handler].
func (p *prom) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/api/v1/otlp/v1/metrics" {
		http.NotFound(w, r)
		return
	}
	noted := &noting{ResponseWriter: w, status: http.StatusOK}
	p.handler.ServeHTTP(noted, r)
	p.mu.Lock()
	p.statuses = append(p.statuses, noted.status)
	answered := p.answered
	p.mu.Unlock()
	if answered != nil {
		answered(noted.status)
	}
}

// noting notes the status of an answer.
type noting struct {
	http.ResponseWriter
	status int
}

func (n *noting) WriteHeader(status int) {
	n.status = status
	n.ResponseWriter.WriteHeader(status)
}

// count is how many requests were answered with a status.
func (p *prom) count(status int) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.statuses {
		if s == status {
			n++
		}
	}
	return n
}

// samples are all points of a metric, as `release time value`, in the order of their series and times.
func (p *prom) samples(name string) (all []string) {
	p.t.Helper()
	querier, err := p.db.Querier(math.MinInt64, math.MaxInt64)
	if err != nil {
		p.t.Fatal(err)
	}
	defer querier.Close() //nolint:errcheck // it was only read
	found := querier.Select(context.Background(), true, nil,
		labels.MustNewMatcher(labels.MatchEqual, "__name__", name))
	for found.Next() {
		series := found.At()
		for points := series.Iterator(nil); points.Next() != 0; {
			at, value := points.At()
			all = append(all, fmt.Sprintf("%s %s %v", series.Labels().Get("release"),
				time.UnixMilli(at).UTC().Format("15:04"), value))
		}
	}
	if err := found.Err(); err != nil {
		p.t.Fatal(err)
	}
	return all
}

// query is the result of an instant query, as text.
func (p *prom) query(text string, at time.Time) string {
	p.t.Helper()
	q, err := p.engine.NewInstantQuery(context.Background(), p.db, nil, text, at)
	if err != nil {
		p.t.Fatal(err)
	}
	defer q.Close()
	result := q.Exec(context.Background())
	if result.Err != nil {
		p.t.Fatal(result.Err)
	}
	return result.String()
}

// result reads the only line of a result: the series and its value. ok is false if there is none.
func result(text string) (series string, value float64, ok bool) {
	series, rest, ok := strings.Cut(text, " => ")
	if !ok {
		return "", 0, false
	}
	number, _, _ := strings.Cut(rest, " ")
	value, err := strconv.ParseFloat(number, 64)
	return series, value, err == nil
}

// awaits waits until Prometheus has as many points of a metric, and compares them.
func (p *prom) awaits(want []string) {
	p.t.Helper()
	var got []string
	kafkatest.Await(p.t, fmt.Sprintf("Prometheus has %d values", len(want)), func() bool {
		got = p.samples("louver_release_value")
		return len(got) >= len(want)
	})
	slices.Sort(got)
	want = slices.Sorted(slices.Values(want))
	if diff := cmp.Diff(want, got); diff != "" {
		p.t.Errorf("(-want +got):\n%s", diff)
	}
}

// louver builds the program once.
var louver = sync.OnceValues(func() (string, error) {
	folder, err := os.MkdirTemp("", "louver-otlptest")
	if err != nil {
		return "", err
	}
	binary := filepath.Join(folder, "louver")
	build := exec.Command("go", "build", "-trimpath", "-pgo=off", "-o", binary, "./cmd/louver")
	build.Dir = filepath.Join("..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return binary, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if binary, err := louver(); err == nil {
		_ = os.RemoveAll(filepath.Dir(binary))
	}
	os.Exit(code)
}

// process is a louver that runs.
type process struct {
	*exec.Cmd
	mu  sync.Mutex
	log strings.Builder
}

// Write implements [io.Writer].
func (p *process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.Write(b)
}

func (p *process) says() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

func (p *process) kill() {
	_ = p.Process.Kill()
	_ = p.Wait()
}

// start starts it until the end of the test.
func (p *process) start(t *testing.T) {
	t.Helper()
	p.Stdout, p.Stderr = p, p
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Log(p.says())
		}
	})
}

func startExport(t *testing.T, b *kafkatest.Broker, to *prom, topic string, args ...string) *process {
	t.Helper()
	binary, err := louver()
	if err != nil {
		t.Fatal(err)
	}
	e := &process{Cmd: exec.Command(binary, append([]string{"export", "--topic", topic, "--endpoint", to.endpoint(),
		"--from", "2026-11-20T00:00:00Z", "--kafka-brokers", strings.Join(b.Conn.Brokers, ",")}, args...)...)}
	e.start(t)
	return e
}

// figure is a record of the window of a minute that ends at a moment of 20 November 2026.
func figure(release string, end time.Time, value int) txn.Record {
	text := fmt.Sprintf(`{"schema":"louver.release.v1","id":"s/eu/%[2]s/%[1]s","stream":"s","group":"eu",`+
		`"release":%[1]q,"window_start":%[2]q,"window_end":%[3]q,"due_at":%[3]q,"incomplete":false,`+
		`"statistic":"median","p":0.5,"mechanism":"margin","unit":"ms","value":%[4]d,"low":%[5]d,"high":%[6]d,`+
		`"level":0.95,"status":"ok","reason":null,"epsilon":0.1,"delta":0,"rank_error_95":null,"quality":"useful",`+
		`"users":null,"p_low":null,"p_high":null,"interval":null,"smoothed":{"value":%[4]d.5,"low":null,"high":null},`+
		`"since":"2026-11-20T00:00:00Z","final":false,"stream_epsilon_spent":0.1,"budget":"b",`+
		`"budget_epsilon_spent":0.1,"budget_epsilon_limit":4,"budget_windows_left":39}`,
		release, end.Add(-time.Minute).Format(time.RFC3339), end.Format(time.RFC3339), value, value-10, value+10)
	return txn.Record{Value: []byte(text), Time: end.UnixMilli()}
}

// figures are those of so many windows of a release from a moment on, and the points that they become.
func figures(release string, first time.Time, n int) (records []txn.Record, want []string) {
	for i := range n {
		end := first.Add(time.Duration(i) * time.Minute)
		records = append(records, figure(release, end, 100+i))
		want = append(want, fmt.Sprintf("%s %s %d", release, end.Format("15:04"), 100+i))
	}
	return records, want
}

// eight is when the first windows of these tests end.
var eight = time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)

// forEver keeps records whose time is long ago.
var forEver = map[string]string{"retention.ms": "-1"}

// Values and times are those of the windows, under the names that METRICS.md has, and nothing else is there.
func TestPrometheusHasTheFigures(t *testing.T) {
	b, to := kafkatest.Fake(t), newProm(t, 0)
	topic := b.Topic(t, 2, forEver)
	one, ones := figures("p50", eight, 700)
	two, twos := figures("p99", eight, 3)
	b.Produce(t, topic, 0, one...)
	b.Produce(t, topic, 1, two...)
	b.Produce(t, topic, 1, txn.Record{Time: eight.UnixMilli(), Value: []byte(strings.NewReplacer(`"median"`, `"watch"`,
		`"release":"p9"`, `"release":"slow"`, `"value":7`, `"value":1`).Replace(string(figure("p9", eight, 7).Value)))})
	b.Produce(t, topic, 1, txn.Record{Time: eight.UnixMilli(), Value: []byte(strings.Replace(
		string(figure("shape", eight, 7).Value), `"budget":`,
		`"buckets":{"le":[100,250.5,null],"raw":[1,2,3],"coarse":[],"groups":0,"count":[1,2,4]},"budget":`, 1))})
	startExport(t, b, to, topic)
	to.awaits(slices.Concat(ones, twos, []string{"shape 08:00 7"}))
	for _, m := range outputs.Metrics() {
		if len(to.samples(m.Prometheus())) == 0 {
			t.Errorf("Prometheus has no %s", m.Prometheus())
		}
	}
	if none := to.samples("target_info"); len(none) > 0 {
		t.Errorf("Prometheus made %q of the resource", none)
	}
	for query, want := range map[string]string{
		`louver_release_value{release="p99"}`: `{__name__="louver_release_value", group="eu", instance="louver.export", ` +
			`job="louver", p="0.5", release="p99", statistic="median", stream="s", unit="ms"} => 102 @[1795161780000]`,
		`louver_watch_firing{}`: `{__name__="louver_watch_firing", group="eu", instance="louver.export", job="louver", ` +
			`p="0.5", statistic="watch", stream="s", unit="ms", watch="slow"} => 1 @[1795161780000]`,
		`sum by (le) (louver_distribution_bucket)`: `{le="+Inf"} => 7 @[1795161780000]` + "\n" +
			`{le="100.0"} => 1 @[1795161780000]` + "\n" + `{le="250.5"} => 3 @[1795161780000]`,
		`sum by (quality) (louver_release_quality{release="p99"})`: `{quality="noise"} => 0 @[1795161780000]` + "\n" +
			`{quality="rough"} => 0 @[1795161780000]` + "\n" + `{quality="useful"} => 1 @[1795161780000]`,
	} {
		lines := strings.Split(to.query(query, eight.Add(3*time.Minute)), "\n")
		slices.Sort(lines)
		if diff := cmp.Diff(want, strings.Join(lines, "\n")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", query, diff)
		}
	}
	// Prometheus forgets a value after five minutes, unless it is asked for longer.
	after := eight.Add(20 * time.Minute)
	if got := to.query(`louver_release_value{release="p99"}`, after); got != "" {
		t.Errorf("after 20 minutes: %s", got)
	}
	if got := to.query(`max(last_over_time(louver_release_value{release="p99"}[30m]))`, after); !strings.Contains(got,
		"=> 102 ") {
		t.Errorf("in the last 30 minutes: %s", got)
	}
}

// While Prometheus is away, figures wait. Then all of them come, also those of a series that goes on.
func TestPrometheusIsAway(t *testing.T) {
	b, to := kafkatest.Fake(t), newProm(t, 0)
	topic := b.Topic(t, 1, forEver)
	records, want := figures("p50", eight, 30)
	b.Produce(t, topic, 0, records[:10]...)
	first := startExport(t, b, to, topic)
	to.awaits(want[:10])
	to.shut()
	b.Produce(t, topic, 0, records[10:20]...)
	kafkatest.Await(t, "the log says so", func() bool {
		return strings.Contains(first.says(), "no figures can be sent: Kafka keeps them") &&
			strings.Contains(first.says(), "connection refused")
	})
	first.kill() // and another process takes over meanwhile
	startExport(t, b, to, topic)
	b.Produce(t, topic, 0, records[20:]...)
	to.open()
	to.awaits(want)
}

// A process that is killed between the answer and the commit sends again what Prometheus has. With a window for points
// that are late Prometheus takes them again. Without one it refuses all but the newest, and has them all the same.
func TestKilledBetweenAnswerAndCommit(t *testing.T) {
	for _, window := range []time.Duration{0, 24 * time.Hour} {
		t.Run(window.String(), func(t *testing.T) {
			b, to := kafkatest.Fake(t), newProm(t, window)
			topic := b.Topic(t, 1, forEver)
			records, want := figures("p50", eight, 30)
			b.Produce(t, topic, 0, records[:20]...)
			first := make(chan *process, 1)
			times := 0
			to.mu.Lock()
			to.answered = func(int) {
				if times++; times == 2 { // the first request has no figures
					(<-first).kill()
				}
			}
			to.mu.Unlock()
			first <- startExport(t, b, to, topic)
			to.awaits(want[:20])
			b.Produce(t, topic, 0, records[20:]...)
			startExport(t, b, to, topic)
			to.awaits(want)
			if refused := to.count(http.StatusBadRequest) > 0; refused != (window == 0) {
				t.Errorf("requests were refused: %v", refused)
			}
			if n := to.count(http.StatusOK); n < 4 {
				t.Errorf("%d requests were taken; the figures did not come twice", n)
			}
		})
	}
}

// One figure that Prometheus refuses, because it is far too old, takes no other with it. With a window for such points
// it is taken.
func TestRefusalInTheMiddle(t *testing.T) {
	for _, window := range []time.Duration{0, 12 * time.Hour} {
		t.Run(window.String(), func(t *testing.T) {
			b, to := kafkatest.Fake(t), newProm(t, window)
			topic := b.Topic(t, 1, forEver)
			records, want := figures("p50", eight, 200)
			old, wantOld := figures("p50", eight.Add(-6*time.Hour), 1)
			b.Produce(t, topic, 0, slices.Concat(records[:100], old, records[100:])...)
			metrics := kafkatest.Address(t)
			e := startExport(t, b, to, topic, "--metrics-addr", metrics)
			refused := "1"
			if window > 0 {
				want, refused = append(want, wantOld...), "0"
			}
			to.awaits(want)
			kafkatest.Await(t, "refused figures: "+refused, func() bool {
				return strings.Contains(page(t, "http://"+metrics+"/metrics"),
					`louver_export_refused_total{topic="`+topic+`"} `+refused+"\n")
			})
			if told := strings.Contains(e.says(), "the backend refuses figures: they are left out"); told != (window == 0) {
				t.Errorf("the log: %s", e.says())
			}
		})
	}
}

// Two processes share the partitions. When one is killed, the other goes on with all of them.
func TestTwoProcesses(t *testing.T) {
	b, to := kafkatest.Fake(t), newProm(t, 24*time.Hour)
	topic := b.Topic(t, 4, forEver)
	first := startExport(t, b, to, topic)
	startExport(t, b, to, topic)
	var all []string
	produce := func(from, n int) {
		for partition := range 4 {
			records, want := figures(fmt.Sprintf("r%d", partition), eight, from+n)
			b.Produce(t, topic, partition, records[from:]...)
			all = append(all, want[from:]...)
		}
	}
	produce(0, 20)
	to.awaits(all)
	first.kill()
	produce(20, 20)
	to.awaits(all)
	if n := to.count(http.StatusBadRequest); n > 0 {
		t.Errorf("%d requests were refused", n)
	}
}

// Prometheus takes no histograms of differences. It takes the other figures all the same, and the log says what is
// wrong.
func TestDeltaHistogramsAreRefused(t *testing.T) {
	b, to := kafkatest.Fake(t), newProm(t, 0)
	topic := b.Topic(t, 1, forEver)
	b.Produce(t, topic, 0, txn.Record{Time: eight.UnixMilli(), Value: []byte(strings.Replace(
		string(figure("shape", eight, 7).Value), `"budget":`,
		`"buckets":{"le":[100,null],"raw":[1,2],"coarse":[],"groups":0,"count":[1,2]},"budget":`, 1))})
	e := startExport(t, b, to, topic, "--histograms", "delta")
	to.awaits([]string{"shape 08:00 7"})
	kafkatest.Await(t, "the log says so", func() bool { return strings.Contains(e.says(), "invalid temporality") })
}

// page is what an address answers.
func page(t *testing.T, url string) string {
	t.Helper()
	response, err := http.Get(url)
	if err != nil {
		return ""
	}
	defer response.Body.Close() //nolint:errcheck // it is read
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}
