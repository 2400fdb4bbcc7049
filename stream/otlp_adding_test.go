package stream_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	logspb "go.opentelemetry.io/proto/otlp/logs/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/louver/louver/stream"
	"github.com/louver/louver/stream/config/configtest"
	"github.com/louver/louver/stream/kafka/kafkatest"
	"github.com/louver/louver/stream/kafka/txn"
)

// logged writes events as log records, whose bodies have the value.
func logged(events []event) *logspb.LogsData {
	scope := &logspb.ScopeLogs{}
	for _, e := range events {
		ms := &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: int64(e.Value.(int))}}
		l := &logspb.LogRecord{TimeUnixNano: uint64(e.Time.UnixNano()), Body: &commonpb.AnyValue{
			Value: &commonpb.AnyValue_KvlistValue{KvlistValue: &commonpb.KeyValueList{
				Values: []*commonpb.KeyValue{{Key: "ms", Value: ms}}}}}}
		if e.User != "" {
			l.Attributes = []*commonpb.KeyValue{attribute("user.id", e.User)}
		}
		scope.LogRecords = append(scope.LogRecords, l)
	}
	return &logspb.LogsData{ResourceLogs: []*logspb.ResourceLogs{{ScopeLogs: []*logspb.ScopeLogs{scope}}}}
}

// traced writes events as spans of servers, and with each a span of a client, which no stream here wants.
func traced(events []event) *tracepb.TracesData {
	var spans []*tracepb.Span
	for _, e := range events {
		client := span(e)
		client.Kind = tracepb.Span_SPAN_KIND_CLIENT
		spans = append(spans, span(e), client)
	}
	return exported(spans)
}

// TestTelemetryAddsUp counts a user's spans and log records, and adds up what they took, while processes die. A record
// holds items of many users, which other processes read again: each item counts once.
func TestTelemetryAddsUp(t *testing.T) {
	t.Parallel()
	for format, c := range map[string]struct {
		value  string
		record func([]event) proto.Message
	}{
		"otlp_traces": {"span.duration_ms", func(e []event) proto.Message { return traced(e) }},
		"otlp_logs":   {`'log.body["ms"]'`, func(e []event) proto.Message { return logged(e) }},
	} {
		t.Run(format, func(t *testing.T) {
			kafkatest.Bubble(t, func(t *testing.T, b *kafkatest.Broker) {
				const size, windows, partitions = 20 * time.Second, 4, 2
				random := rand.New(rand.NewPCG(43, 1))
				start := time.Now().UTC().Truncate(size).Add(2 * size)
				end := start.Add(windows * size)
				of := func(contribution, value string) []configtest.Option {
					input := "{topic: INPUT, format: " + format + ", user: user.id" + value + "}"
					return []configtest.Option{configtest.Window(size, 90*time.Second), configtest.Start(start),
						configtest.End(end), configtest.Set("input", input), configtest.Set("contribution", contribution),
						configtest.Set("bounds", "{lower: 0, upper: 100000, step: 1}"), configtest.Set("budget", "all"),
						configtest.Releases("{name: total, statistic: sum, epsilon: 1000000000, clip: none}")}
				}
				w := newWorld(t, b, partitions, configtest.File(
					configtest.Stream("took", of("sum", ", value: "+c.value)...),
					configtest.Stream("items", of("count", "")...))+
					"budgets: [{name: all, epsilon: 1000000000000000, per: 24h}]\n")
				begin := func() (*running, *wire) {
					way := &wire{}
					conn := way.dial(t, b)
					return w.start(func(s *stream.Service) { s.Conn, s.BagBytes = conn, 20_000 }), way
				}
				process, way := begin()
				kafkatest.Await(t, "the process is ready", process.Ready)
				took, items := 0, 0
				for step := 0; time.Now().Before(end); step++ {
					var events []event
					for i := range 1 + random.IntN(60) {
						e := event{User: fmt.Sprint("u", random.IntN(40)), Value: random.IntN(500), Time: time.Now().UTC()}
						if i%7 == 6 {
							e.User = "" // as most spans are
						} else if !e.Time.Before(start) && e.Time.Before(end) {
							took, items = took+e.Value.(int), items+1
						}
						events = append(events, e)
					}
					value, err := proto.Marshal(c.record(events))
					if err != nil {
						t.Fatal(err)
					}
					b.Produce(t, w.input, random.IntN(partitions), txn.Record{Value: value})
					if step%20 == 19 {
						way.sever()
						process, way = begin()
					}
					<-time.After(time.Duration(200+random.IntN(800)) * time.Millisecond)
				}
				total := map[string]decimal.Decimal{}
				for _, r := range w.await(2 * windows) {
					if r.Value == nil {
						t.Fatalf("%s has no value", r.ID)
					}
					total[r.Stream] = total[r.Stream].Add(decimal.RequireFromString(r.Value.String()))
				}
				t.Logf("%d items, %d ms", items, took)
				// Noise has the scale 100000/ε = 0.0001, on a grid of whole numbers.
				for name, want := range map[string]int{"took": took, "items": items} {
					if !total[name].Equal(decimal.NewFromInt(int64(want))) {
						t.Errorf("stream %s adds up to %s, want %d", name, total[name], want)
					}
				}
				process.end(t)
				w.audit()
			})
		})
	}
}
