package export_test

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/segmentio/kafka-go"
	metricsv1 "go.opentelemetry.io/proto/otlp/metrics/v1"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"google.golang.org/protobuf/proto"

	"github.com/louver/louver/stream/export"
	"github.com/louver/louver/stream/health"
	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/kafka/group"
	"github.com/louver/louver/stream/kafka/kafkatest"
	"github.com/louver/louver/stream/kafka/topics"
	"github.com/louver/louver/stream/kafka/txn"
	"github.com/louver/louver/stream/metrics"
	"github.com/louver/louver/stream/outputs"
	"github.com/louver/louver/stream/stage"
)

// taken is what a backend took: the value of a figure, and when.
type taken struct {
	release string
	end     int64 // of the window, in minutes since 1970
	value   float64
}

// backend takes requests in memory. It is safe for concurrent use.
type backend struct {
	mu    sync.Mutex
	taken []taken
	// asked are the requests, and when they came.
	asked []time.Time
	// answer, if not nil, refuses a request with what is in it. With status 0 it is taken.
	answer func(values []taken) (status int, headers map[string]string)
}

func (b *backend) answers(f func([]taken) (int, map[string]string)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.answer = f
}

func (b *backend) all() ([]taken, []time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.taken), slices.Clone(b.asked)
}

// RoundTrip implements [http.RoundTripper].
func (b *backend) RoundTrip(r *http.Request) (*http.Response, error) {
	values, err := valuesOf(r.Body)
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked = append(b.asked, time.Now())
	response := &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: http.NoBody}
	if b.answer != nil {
		status, headers := b.answer(values)
		if status != 0 {
			response.StatusCode = status
			response.Body = io.NopCloser(strings.NewReader("not\nthis"))
		}
		for name, value := range headers {
			response.Header.Set(name, value)
		}
		if status != 0 {
			return response, nil
		}
	}
	b.taken = append(b.taken, values...)
	return response, nil
}

// valuesOf are the values in a request.
func valuesOf(body io.Reader) (values []taken, err error) {
	unzipped, err := gzip.NewReader(body)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(unzipped)
	if err != nil {
		return nil, err
	}
	var request metricsv1.MetricsData
	if err := proto.Unmarshal(text, &request); err != nil {
		return nil, err
	}
	for _, resource := range request.ResourceMetrics {
		for _, scope := range resource.ScopeMetrics {
			for _, m := range scope.Metrics {
				if m.Name != "louver.release.value" {
					continue
				}
				for _, p := range m.GetGauge().DataPoints {
					v := taken{end: int64(p.TimeUnixNano / uint64(time.Minute)), value: p.GetAsDouble()}
					for _, a := range p.Attributes {
						if a.Key == "release" {
							v.release = a.Value.GetStringValue()
						}
					}
					values = append(values, v)
				}
			}
		}
	}
	return values, nil
}

// figure is a record of a window of a minute.
func figure(release string, start time.Time, value int) txn.Record {
	text := fmt.Sprintf(`{"schema":"louver.release.v1","id":"s/eu/%[2]s/%[1]s","stream":"s","group":"eu",`+
		`"release":%[1]q,"window_start":%[2]q,"window_end":%[3]q,"due_at":%[3]q,"incomplete":false,`+
		`"statistic":"count","p":null,"mechanism":"geometric","unit":"users","value":%[4]d,"status":"ok","reason":null,`+
		`"epsilon":0.1,"delta":0,"rank_error_95":null,"quality":"useful","users":null,"p_low":null,"p_high":null,`+
		`"interval":null,"smoothed":null,"stream_epsilon_spent":0.1,"budget":"b","budget_epsilon_spent":0.1,`+
		`"budget_epsilon_limit":4,"budget_windows_left":39}`, release, start.Format(time.RFC3339),
		start.Add(time.Minute).Format(time.RFC3339), value)
	return txn.Record{Value: []byte(text), Time: start.Add(time.Minute).UnixMilli()}
}

// figures are those of so many windows of a release, and what a backend takes of them.
func figures(release string, first time.Time, n int) (records []txn.Record, want []taken) {
	for i := range n {
		start := first.Add(time.Duration(i) * time.Minute)
		records = append(records, figure(release, start, 100+i))
		want = append(want, taken{release, start.Add(time.Minute).Unix() / 60, float64(100 + i)})
	}
	return records, want
}

// process is an export that runs.
type process struct {
	*health.Monitor
	counts *metrics.Export
	log    *observer.ObservedLogs
	end    func()
}

// lines are the messages of the log.
func (p *process) lines() (all []string) {
	for _, e := range p.log.All() {
		all = append(all, e.Message)
	}
	return all
}

func start(t *testing.T, b *kafkatest.Broker, to *backend, topic, groupID string, from time.Time) *process {
	t.Helper()
	core, logs := observer.New(zap.InfoLevel)
	log := zap.New(core)
	monitor := health.New(log, stage.Export)
	operator := metrics.New(prometheus.NewRegistry(), nil, nil)
	backend, err := export.NewBackend("http://backend/otlp", nil, to, "v1")
	if err != nil {
		t.Fatal(err)
	}
	monitor.Stage(stage.Export).Only()
	monitor.Started(nil)
	env := stage.Env{Conn: b.Conn, Fetch: b.Fetch(fetch.Options{}), Metrics: operator, Monitor: monitor,
		Health: monitor.Stage(stage.Export), Log: log}
	counts := metrics.NewExport(prometheus.NewRegistry(), []string{topic}, nil, func() float64 { return 0 })
	e := &export.Export{Env: env, Backend: backend, From: from, Histograms: export.Gauges, Counts: counts,
		Group:  group.Config{Conn: b.Conn, GroupID: groupID, Topics: []string{topic}, SessionTimeout: 6 * time.Second},
		Reader: &outputs.Reader{Conn: b.Conn, Fetch: env.Fetch}}
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() {
		if err := e.Run(ctx); err != nil {
			t.Errorf("the export ended: %v", err)
		}
	})
	end := func() { cancel(); done.Wait() }
	t.Cleanup(end)
	return &process{monitor, counts, logs, end}
}

// awaitTaken waits until a backend has taken as many values, and compares them in the order of releases and windows.
func awaitTaken(t *testing.T, to *backend, want []taken) {
	t.Helper()
	var got []taken
	kafkatest.Await(t, fmt.Sprintf("the backend has %d values", len(want)), func() bool {
		got, _ = to.all()
		return len(got) >= len(want)
	})
	order := func(a, b taken) int {
		if c := strings.Compare(a.release, b.release); c != 0 {
			return c
		}
		return int(a.end - b.end)
	}
	slices.SortStableFunc(got, order)
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(taken{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// early is when the windows of these tests begin: long ago.
var early = time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)

// forEver keeps records whose time is long ago.
var forEver = map[string]string{"retention.ms": "-1"}

// What is published is sent once, also by processes that share the work and begin again.
func TestSentOnce(t *testing.T) {
	kafkatest.Bubble(t, func(t *testing.T, b *kafkatest.Broker) {
		topic, to := b.Topic(t, 2, forEver), &backend{}
		one, ones := figures("a", early, 700) // more than a request may have
		two, twos := figures("b", early, 3)
		b.Produce(t, topic, 0, one...)
		b.Produce(t, topic, 1, two[:2]...)
		b.Produce(t, topic, 1, kafkatest.Values("a record of somebody else", `{"schema":"another"}`)...)
		first := start(t, b, to, topic, "g", early)
		awaitTaken(t, to, slices.Concat(ones, twos[:2]))
		if _, asked := to.all(); len(asked) != 3 {
			t.Errorf("%d requests, want 3", len(asked))
		}
		first.end()
		start(t, b, to, topic, "g", early)
		start(t, b, to, topic, "g", early)
		b.Produce(t, topic, 1, two[2])
		awaitTaken(t, to, slices.Concat(ones, twos))
		time.Sleep(time.Minute) // in the bubble nobody waits
		awaitTaken(t, to, slices.Concat(ones, twos))
		start(t, b, to, topic, "another", early)
		kafkatest.Await(t, "another group begins at its own start", func() bool {
			all, _ := to.all()
			return len(all) == 2*703
		})
	})
}

// A new group begins with windows that end from a moment on.
func TestFrom(t *testing.T) {
	kafkatest.Bubble(t, func(t *testing.T, b *kafkatest.Broker) {
		topic, to := b.Topic(t, 1, forEver), &backend{}
		records, want := figures("a", early, 10)
		b.Produce(t, topic, 0, records...)
		first := start(t, b, to, topic, "g", early.Add(8*time.Minute))
		awaitTaken(t, to, want[7:])
		first.end()
		late := start(t, b, to, topic, "late", early.Add(24*time.Hour))
		kafkatest.Await(t, "it has its place", func() bool { return late.Report().Ready })
		late.end() // before its first figure
		more, wantMore := figures("b", early, 1)
		b.Produce(t, topic, 0, more...)
		start(t, b, to, topic, "late", early.Add(48*time.Hour))
		awaitTaken(t, to, append(want[7:], wantMore...))
	})
}

// While the backend takes nothing, figures wait, the log says so once, and the process is not ready. Then they come in
// order.
func TestOutage(t *testing.T) {
	kafkatest.Bubble(t, func(t *testing.T, b *kafkatest.Broker) {
		topic, to := b.Topic(t, 1, forEver), &backend{}
		records, want := figures("a", early, 40)
		p := start(t, b, to, topic, "g", early)
		b.Produce(t, topic, 0, records[:10]...)
		awaitTaken(t, to, want[:10])
		began := time.Now()
		to.answers(func([]taken) (int, map[string]string) { return http.StatusServiceUnavailable, nil })
		b.Produce(t, topic, 0, records[10:]...)
		time.Sleep(2 * time.Minute)
		ready := p.Report()
		if text := ready.String(); ready.Ready || !strings.Contains(text,
			"output http://backend/otlp/v1/metrics: blocked for 2m0s: 503 Service Unavailable: not this") {
			t.Errorf("ready: %s", text)
		}
		_, asked := to.all()
		for i, at := range asked[2:] {
			wait := at.Sub(asked[i+1]).Seconds()
			longest := min(float64(int(1)<<i), 50) * 1.2
			if wait < longest/1.5-0.1 || wait > longest+0.1 {
				t.Errorf("waited %v s before try %d, want 80 to 120 %% of %v", wait, i+2, longest/1.2)
			}
		}
		to.answers(nil)
		awaitTaken(t, to, want)
		if took := time.Since(began); took > 4*time.Minute {
			t.Errorf("all have come after %v", took)
		}
		kafkatest.Await(t, "it is ready", func() bool { return p.Report().Ready })
		told := slices.DeleteFunc(p.lines(), func(line string) bool {
			return !strings.Contains(line, "can be sent")
		})
		lines := []string{"no figures can be sent: Kafka keeps them until the backend takes them", "figures can be sent now"}
		if told = slices.Compact(told); !slices.Equal(told, lines) {
			t.Errorf("the log says %q, want %q", told, lines)
		}
	})
}

// What the backend asks for wins.
func TestRetryAfter(t *testing.T) {
	kafkatest.Bubble(t, func(t *testing.T, b *kafkatest.Broker) {
		topic, to := b.Topic(t, 1, forEver), &backend{}
		times := 0
		to.answers(func([]taken) (int, map[string]string) {
			if times++; times <= 3 {
				return http.StatusTooManyRequests, map[string]string{"Retry-After": strconv.Itoa(10 * times)}
			}
			return 0, nil
		})
		records, want := figures("a", early, 1)
		b.Produce(t, topic, 0, records...)
		start(t, b, to, topic, "g", early)
		awaitTaken(t, to, want)
		_, asked := to.all()
		for i := range 3 {
			if wait := asked[i+1].Sub(asked[i]); wait != time.Duration(10*(i+1))*time.Second {
				t.Errorf("waited %v, want %d s", wait, 10*(i+1))
			}
		}
	})
}

// A figure that the backend refuses for good takes no other with it, in whatever request it is.
func TestRefusedFigure(t *testing.T) {
	kafkatest.Bubble(t, func(t *testing.T, b *kafkatest.Broker) {
		topic, to := b.Topic(t, 1, forEver), &backend{}
		records, want := figures("a", early, 512)
		bad := func(v taken) bool { return v.value == 100+300 || v.value == 100+17 }
		to.answers(func(values []taken) (int, map[string]string) {
			if slices.ContainsFunc(values, bad) {
				return http.StatusBadRequest, nil
			}
			return 0, nil
		})
		b.Produce(t, topic, 0, records...)
		p := start(t, b, to, topic, "g", early)
		awaitTaken(t, to, slices.DeleteFunc(want, bad))
		if _, asked := to.all(); len(asked) > 2*2*9+1 {
			t.Errorf("%d requests for two refused figures among 512", len(asked))
		}
		kafkatest.Await(t, "both are counted", func() bool {
			return testutil.ToFloat64(p.counts.Refused.WithLabelValues(topic)) == 2
		})
		if n := testutil.ToFloat64(p.counts.Sent.WithLabelValues(topic)); n != 510 {
			t.Errorf("%v are sent, want 510", n)
		}
		lines := slices.DeleteFunc(p.log.All(), func(e observer.LoggedEntry) bool { return e.Level < zap.WarnLevel })
		if len(lines) != 1 || lines[0].Message != "the backend refuses figures: they are left out" ||
			lines[0].ContextMap()["figure"] != "s/eu/2026-11-20T08:17:00Z/a" ||
			lines[0].ContextMap()["error"] != "400 Bad Request: not this" {
			t.Errorf("the log says %v", lines)
		}
	})
}

// A process that is killed after the backend has taken figures, and before it has noted that, sends them again: the
// same points. What it has noted before is not sent again.
func TestKilledBetweenAnswerAndCommit(t *testing.T) {
	const full = 512 // so many figures fill a request
	// What a process still does depends on whether it is being ended when the answer comes. A fault is seen in seven of
	// eight runs, so there are eight.
	const runs = 8
	for _, c := range []struct{ figures, noted int }{{5, 0}, {full + 3, full}} {
		for range runs {
			t.Run(fmt.Sprintf("%d of %d", c.noted, c.figures), func(t *testing.T) {
				kafkatest.Bubble(t, func(t *testing.T, b *kafkatest.Broker) {
					killedAfter(t, b, c.figures, c.noted)
				})
			})
		}
	}
}

// killedAfter kills a process after the backend has taken figures of which so many were noted before.
func killedAfter(t *testing.T, b *kafkatest.Broker, n, noted int) {
	topic, to := b.Topic(t, 1, forEver), &backend{}
	records, want := figures("a", early, n)
	ready, killed := make(chan func()), make(chan struct{})
	to.answers(func(values []taken) (int, map[string]string) {
		if len(to.taken)+len(values) <= noted {
			return 0, nil
		}
		to.taken = append(to.taken, values...)
		kill := <-ready
		go func() { defer close(killed); kill() }()
		return http.StatusBadGateway, nil // nobody hears it any more
	})
	b.Produce(t, topic, 0, records...)
	first := start(t, b, to, topic, "g", early)
	ready <- first.end
	<-killed
	to.answers(nil)
	start(t, b, to, topic, "g", early)
	twice := slices.Concat(want, want[noted:])
	kafkatest.Await(t, "what was not noted has come twice", func() bool {
		all, _ := to.all()
		return len(all) == len(twice)
	})
	all, _ := to.all()
	if diff := cmp.Diff(twice, all, cmp.AllowUnexported(taken{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A topic that was deleted and created again has other figures: all of them are sent, whatever the offset was, and
// whether an export ran meanwhile or not. What is deleted before it is sent is counted, and the log says so.
func TestDeleted(t *testing.T) {
	kafkatest.BubbleAndReal(t, func(t *testing.T, b *kafkatest.Broker) {
		topic, to, groupID := b.Topic(t, 1, forEver), &backend{}, kafkatest.Name(t)
		records, want := figures("a", early, 4)
		b.Produce(t, topic, 0, records...)
		p := start(t, b, to, topic, groupID, early)
		awaitTaken(t, to, want)
		p.end()
		more, wantMore := figures("b", early, 9)
		b.Produce(t, topic, 0, more...)
		b.DeleteRecords(t, topic, 0, 10)
		p = start(t, b, to, topic, groupID, early)
		awaitTaken(t, to, append(want, wantMore[6:]...))
		kafkatest.Await(t, "six are lost", func() bool { return testutil.ToFloat64(p.counts.Lost.WithLabelValues(topic)) == 6 })
		b.DeleteTopic(t, topic)
		b.CreateTopic(t, topic, 1, forEver)
		anew, wantAnew := figures("c", early, 20) // more than there were before
		b.Produce(t, topic, 0, anew...)
		want = slices.Concat(want, wantMore[6:], wantAnew)
		awaitTaken(t, to, want)
		p.end()
		former, err := topics.ID(t.Context(), b.Conn.Client, topic)
		if err != nil {
			t.Fatal(err)
		}
		b.DeleteTopic(t, topic)
		b.CreateTopic(t, topic, 1, forEver)
		// Kafka forgets offsets with their topic. Others may keep them.
		kept := kafka.OffsetCommit{Offset: 20, Metadata: former}
		res, err := b.Conn.Client.OffsetCommit(t.Context(), &kafka.OffsetCommitRequest{GroupID: groupID, GenerationID: -1,
			Topics: map[string][]kafka.OffsetCommit{topic: {kept}}})
		if err != nil || len(res.Topics[topic]) != 1 || res.Topics[topic][0].Error != nil {
			t.Fatalf("%+v, %v", res, err)
		}
		last, wantLast := figures("d", early, 30)
		b.Produce(t, topic, 0, last...)
		start(t, b, to, topic, groupID, early)
		awaitTaken(t, to, slices.Concat(want, wantLast))
	})
}
