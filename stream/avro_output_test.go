package stream_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/avro"
	"github.com/twmb/franz-go/pkg/sr"
	"github.com/twmb/franz-go/pkg/sr/srfake"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/louver/louver/stream"
	"github.com/louver/louver/stream/audit"
	"github.com/louver/louver/stream/codec"
	"github.com/louver/louver/stream/kafka/kafkatest"
	"github.com/louver/louver/stream/outputs"
	"github.com/louver/louver/stream/record"
	"github.com/louver/louver/stream/registry"
)

// avroExactly is exactly with figures in Avro.
var avroExactly = strings.Replace(exactly, "{topic: OUTPUT}", "{topic: OUTPUT, format: avro}", 1)

// serving is a registry by HTTP that answers nothing sensible until it is told to.
func serving(t *testing.T) (client *registry.Client, fake *srfake.Registry, away *atomic.Bool) {
	t.Helper()
	fake, away = srfake.New(), &atomic.Bool{}
	t.Cleanup(fake.Close)
	fake.Intercept(func(w http.ResponseWriter, _ *http.Request) bool {
		if away.Load() {
			http.Error(w, "down for maintenance", http.StatusServiceUnavailable)
		}
		return away.Load()
	})
	client, err := registry.New(registry.Config{URLs: []string{fake.URL()}})
	if err != nil {
		t.Fatal(err)
	}
	return client, fake, away
}

// TestOutputInAvro publishes in Avro. While the registry is away, nothing is published and one line says why;
// afterwards every figure comes once, readers see what they would see of JSON, and the audit finds it all.
func TestOutputInAvro(t *testing.T) {
	t.Parallel() // it waits most of the time: a line is written after 20 seconds
	w := newWorld(t, kafkatest.Fake(t), 1, avroExactly)
	client, fake, away := serving(t)
	w.schemas = client
	away.Store(true)
	events := history(rand.New(rand.NewPCG(15, 16)), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), 300)
	w.broker.Produce(t, w.input, 0, records(events...)...)
	core, logs := observer.New(zapcore.WarnLevel)
	s := w.start(func(s *stream.Service) { s.Registrar, s.Log = client, zap.New(core) })
	blocked := func() []observer.LoggedEntry {
		return logs.FilterMessageSnippet("cannot write to topic " + w.streams[0].Output).All()
	}
	kafkatest.Await(t, "the log says that the registry is away", func() bool { return len(blocked()) > 0 })
	if line := blocked()[0]; !strings.Contains(line.ContextMap()["error"].(string),
		"the schema registry does not take its schema: the registry answers 503") {
		t.Errorf("the log says %v %v", line.Message, line.ContextMap())
	}
	blockedFor := func() float64 { return s.count(t, "louver_output_blocked_seconds", w.streams[0].Output) }
	kafkatest.Await(t, "the gauge says for how long", func() bool { return blockedFor() > 15 })
	if facts := s.Health.Report().String(); !strings.Contains(facts, "output "+w.streams[0].Output+": blocked for ") {
		t.Errorf("/readyz says\n%s", facts)
	}
	if n := len(w.published()); n != 0 {
		t.Errorf("%d records are published without a schema", n)
	}
	away.Store(false)
	for _, r := range w.await(7 * 14) {
		if err := right(r, naive(events, r.WindowStart, r.WindowEnd, r.Group), 1000); err != nil {
			t.Error(err)
		}
	}
	w.audit()
	kafkatest.Await(t, "the gauge says that it is over", func() bool { return blockedFor() == 0 })
	if facts := s.Health.Report().String(); strings.Contains(facts, "blocked") {
		t.Errorf("/readyz says\n%s", facts)
	}
	if n := len(blocked()); n != 1 {
		t.Errorf("%d lines of the registry, want 1", n)
	}

	// Confluent's deserializers can read what is in the topic, by the one schema of the subject.
	subject := w.streams[0].Output + "-value"
	if got := subjects(t, fake.URL()); !slices.Equal(got, []string{subject}) {
		t.Errorf("subjects %q, want %q", got, subject)
	}
	for partition := range 2 {
		for _, m := range w.broker.Consume(t, w.streams[0].Output, partition) {
			registered, err := client.Schema(t.Context(),
				codec.Numbered(binary.BigEndian.Uint32([]byte(m.Value)[1:])))
			if err != nil || m.Value[0] != 0 || m.Headers["content-type"] != "application/avro" {
				t.Fatalf("%q with %v: %v", m.Value, m.Headers, err)
			}
			var figure map[string]any
			if rest, err := avro.MustParse(registered.Text).Decode([]byte(m.Value)[5:], &figure); err != nil ||
				len(rest) > 0 {
				t.Fatal(err)
			}
			if end, _ := figure["window_end"].(time.Time); figure["id"] != m.Headers["ce_id"] ||
				end.UnixMilli() != m.Time ||
				figure["value"] == nil {
				t.Errorf("%v with %v at %d", figure, m.Headers, m.Time)
			}
		}
	}

	// With the schema known, the service goes on without the registry: a reader that knows nothing yet waits for it.
	away.Store(true)
	s.end(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	fresh, err := registry.New(registry.Config{URLs: []string{fake.URL()}})
	if err != nil {
		t.Fatal(err)
	}
	reader := w.reader()
	reader.Schemas = fresh
	waiting := make(chan error, 1000)
	reader.Retrying = func(problem, _ string) func(error) {
		return func(err error) {
			if err != nil && problem == "the schema registry cannot be read" {
				waiting <- err
			}
		}
	}
	seen := make(chan int, 1)
	go func() {
		n := 0
		_ = reader.Follow(ctx, w.outputs(), time.Unix(0, 0), func(outputs.Message, outputs.Record) error {
			if n++; n == 7*14 {
				seen <- n
			}
			return nil
		})
	}()
	_ = kafkatest.Receive(t, "the reader finds that the registry is away", waiting)
	away.Store(false)
	kafkatest.Receive(t, "the reader has all figures", seen)

	reader = w.reader()
	reader.Schemas = nil
	if err := reader.All(t.Context(), w.outputs(), func(outputs.Message) error { return nil }); !errors.Is(err,
		outputs.ErrNoRegistry) {
		t.Errorf("%v without a registry, want ErrNoRegistry", err)
	}
	reader.Lenient = true
	if err := reader.All(t.Context(), w.outputs(), func(m outputs.Message) error {
		if m.Avro {
			t.Errorf("%s was read without a registry", m.Key)
		}
		return nil
	}); err != nil {
		t.Errorf("%v although the reader is lenient", err)
	}
}

// TestAuditSeesAnotherValueInAvro: the audit is as strict with Avro as with JSON.
func TestAuditSeesAnotherValueInAvro(t *testing.T) {
	w := newWorld(t, kafkatest.Fake(t), 1, avroExactly)
	client, _, _ := serving(t)
	w.schemas = client
	s := w.start(func(s *stream.Service) { s.Registrar = client })
	w.await(7 * 14)
	s.end(t)
	entries := w.audit()
	faults := func(change func(record map[string]any)) []audit.Fault {
		a := audit.New()
		for _, e := range entries {
			value, err := e.Encode()
			if err != nil {
				t.Fatal(err)
			}
			a.Entry(audit.Position{}, e.Key(), value)
		}
		err := w.reader().All(t.Context(), w.outputs(), func(m outputs.Message) error {
			a.Output(audit.Position{Topic: m.Topic}, m.Key, changed(t, m.Value, change))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return a.Findings().Faults
	}
	if found := faults(func(map[string]any) {}); len(found) != 0 {
		t.Errorf("unchanged: %v", found)
	}
	for name, change := range map[string]func(map[string]any){
		"value":   func(r map[string]any) { r["epsilon"] = 2 },
		"missing": func(r map[string]any) { delete(r, "unit") },
		"added":   func(r map[string]any) { r["users_exactly"] = 7 },
	} {
		if found := faults(change); len(found) == 0 || found[0].Kind != audit.OutputDiffers {
			t.Errorf("%s: %v", name, found)
		}
	}
}

// changed is the content of a record after a change.
func changed(t *testing.T, value []byte, change func(map[string]any)) []byte {
	t.Helper()
	fields := map[string]any{}
	if err := json.Unmarshal(value, &fields); err != nil {
		t.Fatal(err)
	}
	change(fields)
	kept, err := record.AvroContent(mustJSON(t, fields))
	if err != nil {
		t.Fatal(err)
	}
	return kept
}

// subjects are those of a registry.
func subjects(t *testing.T, url string) []string {
	t.Helper()
	client, err := sr.NewClient(sr.URLs(url))
	if err != nil {
		t.Fatal(err)
	}
	names, err := client.Subjects(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return names
}
