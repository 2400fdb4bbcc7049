package stream_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/louver/louver/stream"
	"github.com/louver/louver/stream/audit"
	"github.com/louver/louver/stream/codec"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/parse"
	"github.com/louver/louver/stream/health"
	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/kafka/kafkatest"
	"github.com/louver/louver/stream/kafka/topics"
	"github.com/louver/louver/stream/kafka/txn"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/metrics"
	"github.com/louver/louver/stream/outputs"
	"github.com/louver/louver/stream/progress"
	"github.com/louver/louver/stream/record"
	"github.com/louver/louver/windows"
)

// world is a broker with the topics of one streams file, and what can be done to them.
type world struct {
	t       *testing.T
	broker  *kafkatest.Broker
	app     string
	input   string
	streams []*config.Stream
	// What the file says of other files.
	removed  []string
	revision int
	// schemas, if not nil, is the registry of outputs in Avro.
	schemas codec.Registry
}

// progress is how far the input's first partition has been read, as the first stage has recorded it.
func (w *world) progress() (in progress.Input) {
	log := &progress.Log{Client: w.broker.Conn.Client, Fetch: w.broker.Fetch(fetch.Options{}),
		Topic: topics.Names{App: w.app}.Progress()}
	if _, err := log.Read(kafkatest.Context(w.t), progress.InputKey(w.input, 0), &in); err != nil {
		w.t.Fatal(err)
	}
	return in
}

// reader reads the outputs and the app's own topics.
func (w *world) reader() *outputs.Reader {
	return &outputs.Reader{Conn: w.broker.Conn, Fetch: w.broker.Fetch(fetch.Options{}), Schemas: w.schemas}
}

// newWorld makes an input topic and reads a streams file in which INPUT and OUTPUT stand for this test's topics.
func newWorld(t *testing.T, b *kafkatest.Broker, partitions int, yaml string) *world {
	t.Helper()
	w := &world{t: t, broker: b, app: kafkatest.Name(t)}
	// Events and windows of the tests lie long ago: without this, the broker deletes them whenever it looks.
	forEver := map[string]string{"retention.ms": "-1"}
	w.input = b.Topic(t, partitions, forEver)
	output := b.Topic(t, 2, forEver)
	w.configure(strings.NewReplacer("INPUT", w.input, "OUTPUT", output).Replace(yaml))
	return w
}

// reconfigure reads another file for the same topics.
func (w *world) reconfigure(yaml string) {
	w.t.Helper()
	w.configure(strings.NewReplacer("INPUT", w.input, "OUTPUT", w.streams[0].Output).Replace(yaml))
}

func (w *world) configure(yaml string) {
	w.t.Helper()
	file, err := parse.File("streams.yaml", []byte(yaml), func(string) (string, bool) { return "", false })
	if err != nil {
		w.t.Fatal(err)
	}
	w.streams, w.removed, w.revision = file.Streams, file.Removed, file.Revision
}

// running is a service under test.
type running struct {
	*stream.Service
	metrics *prometheus.Registry
	stop    context.CancelFunc
	err     chan error
	ended   atomic.Bool
}

// start runs the service until stop or the end of the test.
func (w *world) start(change ...func(*stream.Service)) *running {
	w.t.Helper()
	registry := prometheus.NewRegistry()
	var described []metrics.Stream
	for _, s := range w.streams {
		described = append(described, metrics.Stream{Name: s.Name, Topic: s.Input.Topic, Output: s.Output})
	}
	var reasons []string
	for _, r := range codec.Reasons() {
		reasons = append(reasons, r.String())
	}
	r := &running{metrics: registry, err: make(chan error, 1), Service: &stream.Service{App: w.app, Streams: w.streams,
		Removed: w.removed, Revision: w.revision, Stages: stream.Stages,
		Conn: w.broker.Conn, CreateTopics: true, Replication: 1, Metrics: metrics.New(registry, described, reasons),
		Log: zap.NewNop()}}
	for _, f := range change {
		f(r.Service)
	}
	r.Health = health.New(r.Log, r.Stages...)
	ctx, cancel := context.WithCancel(context.Background())
	r.stop = cancel
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.err <- r.Run(ctx)
		r.ended.Store(true)
	}()
	w.t.Cleanup(func() { cancel(); <-done })
	return r
}

// Ready reports whether the service works.
func (r *running) Ready() bool { return r.Health.Report().Ready }

// works lets the service work for a while. It must not end by itself.
func (r *running) works(t *testing.T, while time.Duration) {
	t.Helper()
	select {
	case err := <-r.err:
		t.Fatalf("the service ended by itself: %v", err)
	case <-time.After(while):
	}
}

// end stops the service and waits for it.
func (r *running) end(t *testing.T) {
	t.Helper()
	r.stop()
	if err := kafkatest.Receive(t, "the service ends", r.err); err != nil {
		t.Fatalf("the service ended with %v", err)
	}
}

// event is one record of the input.
type event struct {
	User  string    `json:"user"`
	Value any       `json:"value"`
	Time  time.Time `json:"time"`
	Group string    `json:"group,omitempty"`
}

func (e event) record() txn.Record {
	value, err := json.Marshal(e)
	if err != nil {
		panic(err)
	}
	return txn.Record{Value: value, Time: e.Time.UnixMilli()}
}

func records(events ...event) []txn.Record {
	out := make([]txn.Record, len(events))
	for i, e := range events {
		out[i] = e.record()
	}
	return out
}

// recent makes records that are written now, whenever their events were: what looks old is deleted by retention.
func recent(events []event) []txn.Record {
	out := records(events...)
	for i := range out {
		out[i].Time = 0
	}
	return out
}

// sendInTime sends events for a window of the first stream that has not begun; from is the start of the stream's first
// window. On a busy machine that may take until the window is due: then it sends them again for a later one. It returns
// the start of the window whose events were all there in time.
func (w *world) sendInTime(from time.Time, send func(start time.Time)) time.Time {
	w.t.Helper()
	window := w.streams[0].Window
	for ctx := kafkatest.Context(w.t); ctx.Err() == nil; {
		start := from
		for soon := time.Now().Add(2 * window.Every); start.Before(soon); {
			start = start.Add(window.Every)
		}
		send(start)
		if time.Now().Before(start.Add(window.Size + window.Grace)) {
			return start
		}
	}
	w.t.Fatal("no window was ahead for long enough to send it some events")
	panic("unreachable")
}

// published reads all committed output records, in the order of partitions and offsets.
func (w *world) published() []outputs.Record {
	w.t.Helper()
	var all []outputs.Record
	reader := w.reader()
	err := reader.All(kafkatest.Context(w.t), w.outputs(), func(m outputs.Message) error {
		if m.Ended != "" { // it ends a series
			return nil
		}
		r, ok, err := outputs.Decode(m.Value)
		if err != nil || !ok {
			return fmt.Errorf("a foreign record in the output: %w", err)
		}
		if key := string(m.Key); key != r.Key() && key != record.FoundKey(r.Stream, r.Group, r.Release) {
			return fmt.Errorf("key %s of record %s", m.Key, r.ID)
		}
		all = append(all, r)
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return all
}

// records is how many committed records a topic holds; 0 if it does not exist yet.
func (w *world) records(topic string) int {
	w.t.Helper()
	if _, err := topics.Counts(kafkatest.Context(w.t), w.broker.Conn.Client,
		[]topics.Topic{{Name: topic}}); err != nil {
		return 0
	}
	n := 0
	reader := w.reader()
	if err := reader.All(kafkatest.Context(w.t), []string{topic},
		func(outputs.Message) error { n++; return nil }); err != nil {
		w.t.Fatal(err)
	}
	return n
}

// cut says whether everything that the windows of the first stream's first definition are made of is in the log of
// parts.
func (w *world) cut() bool {
	w.t.Helper()
	first := w.streams[0]
	schedule := first.Window.Schedule(first.Window.Start)
	gather := windows.NewGathering(math.MaxInt64)
	gather.Follow(first.Name, 0, schedule, first.Input.MaxFuture, math.MinInt64)
	reader := w.reader()
	err := reader.All(kafkatest.Context(w.t), []string{topics.Names{App: w.app}.Partials()},
		func(m outputs.Message) error {
			return gather.Add(m.Value, m.Offset, time.Now())
		})
	if err != nil {
		w.t.Fatal(err)
	}
	for window, ok := schedule.First(), true; ok; window, ok = schedule.Next(window) {
		if !gather.State(first.Name, 0, window).Ready {
			return false
		}
	}
	return true
}

func (w *world) outputs() []string {
	seen := map[string]bool{}
	var names []string
	for _, s := range w.streams {
		if !seen[s.Output] {
			seen[s.Output] = true
			names = append(names, s.Output)
		}
	}
	return names
}

// await waits until this many records are published, and gives them by id. A repeated record is a failure.
func (w *world) await(n int) map[string]outputs.Record {
	w.t.Helper()
	kafkatest.Await(w.t, fmt.Sprint(n, " records are published"), func() bool { return len(w.published()) >= n })
	byID := map[string]outputs.Record{}
	for _, r := range w.published() {
		if _, twice := byID[r.ID]; twice {
			w.t.Errorf("%s is published twice", r.ID)
		}
		byID[r.ID] = r
	}
	if len(byID) != n {
		w.t.Fatalf("%d figures are published, want %d", len(byID), n)
	}
	return byID
}

// audit compares the ledger with the outputs, as `louver audit` does, and returns the ledger's entries.
func (w *world) audit() []ledger.Entry {
	w.t.Helper()
	entries, found := w.findings()
	if !found.OK {
		w.t.Errorf("audit: %v", found.Faults)
	}
	return entries
}

// findings are those of an audit, and the entries of the ledger.
func (w *world) findings() (entries []ledger.Entry, found audit.Findings) {
	w.t.Helper()
	a := audit.New()
	reader := w.reader()
	ctx := kafkatest.Context(w.t)
	checkpoints, err := stream.Checkpoints(ctx, w.broker.Conn.Client, reader.Fetch, w.app)
	if err != nil {
		w.t.Fatal(err)
	}
	for partition, text := range checkpoints {
		a.Checkpoint(audit.Position{Topic: topics.Names{App: w.app}.Progress(), Partition: text.Partition,
			Offset: text.Offset}, w.app, partition, text.Text)
	}
	err = reader.All(ctx, w.outputs(), func(m outputs.Message) error {
		at := audit.Position{Topic: m.Topic, Partition: m.Partition, Offset: m.Offset}
		if m.Ended != "" {
			a.Ended(at, m.Key, m.Ended)
			return nil
		}
		value := m.Value
		if m.Avro {
			var err error
			if value, err = record.AvroContent(value); err != nil {
				return err
			}
		}
		a.Output(at, m.Key, value)
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	err = reader.All(ctx, []string{topics.Names{App: w.app}.Ledger()}, func(m outputs.Message) error {
		a.Entry(audit.Position{Topic: m.Topic, Partition: m.Partition, Offset: m.Offset}, m.Key, m.Value)
		e, err := ledger.Decode(m.Value)
		entries = append(entries, e)
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return entries, a.Findings()
}

// has says that a lag is known for this consumer group and partition.
func (r *running) has(t *testing.T, group, partition string) bool {
	t.Helper()
	families, err := r.metrics.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != "louver_consumer_lag_records" {
			continue
		}
		for _, m := range f.GetMetric() {
			known := 0
			for _, l := range m.GetLabel() {
				if l.GetName() == "consumer_group" && l.GetValue() == group || l.GetName() == "partition" &&
					l.GetValue() == partition {
					known++
				}
			}
			if known == 2 {
				return true
			}
		}
	}
	return false
}

// expect waits until an operators' counter has the value. A page's events are counted after its parts were sent, so
// figures may come first.
func (r *running) expect(t *testing.T, want int, name string, labels ...string) {
	t.Helper()
	count := func() int { return int(r.count(t, name, labels...)) }
	kafkatest.Await(t, fmt.Sprint(name, labels), func() bool { return count() >= want })
	if n := count(); n != want {
		t.Errorf("%s%q is %d, want %d", name, labels, n, want)
	}
}

// count is the value of an operators' counter, summed over its labels that contain all of those given.
func (r *running) count(t *testing.T, name string, labels ...string) float64 {
	t.Helper()
	families, err := r.metrics.Gather()
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
	next:
		for _, m := range f.GetMetric() {
			for _, want := range labels {
				found := false
				for _, l := range m.GetLabel() {
					found = found || l.GetValue() == want
				}
				if !found {
					continue next
				}
			}
			sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return sum
}
