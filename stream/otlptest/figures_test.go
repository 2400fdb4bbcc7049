package otlptest

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/louver/louver/stream/codec"
	"github.com/louver/louver/stream/config/parse"
	"github.com/louver/louver/stream/kafka/kafkatest"
	"github.com/louver/louver/stream/kafka/topics"
)

// TestFiguresOfSpans: the SDK exports spans of servers, and among them spans of clients and spans without a user. A
// Collector batches them and writes them to Kafka, and Louver publishes the medians of the routes.
func TestFiguresOfSpans(t *testing.T) {
	b := kafkatest.Fake(t)
	b.CreateTopic(t, "otlp_spans", 2, nil)
	endpoint := startCollector(t, b)
	exporter, err := otlptracehttp.New(t.Context(), otlptracehttp.WithEndpoint(endpoint), otlptracehttp.WithInsecure())
	if err != nil {
		t.Fatal(err)
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(shop))
	tracer := provider.Tracer("otelhttp")
	start := time.Now().Add(-2 * time.Hour)
	span := func(kind trace.SpanKind, took time.Duration, attributes ...attribute.KeyValue) {
		_, s := tracer.Start(t.Context(), "request", trace.WithTimestamp(start), trace.WithSpanKind(kind),
			trace.WithAttributes(attributes...))
		s.End(trace.WithTimestamp(start.Add(took)))
	}
	const users = 601
	for i := range users { // medians of 300 ms and 600 ms
		user := attribute.String("user.id", fmt.Sprint("u-", i))
		for n, route := range []string{"/cart", "/checkout"} {
			took := time.Duration((n+1)*i) * time.Millisecond
			span(trace.SpanKindServer, took, user, attribute.String("http.route", route))
			span(trace.SpanKindClient, 5*time.Second, user, attribute.String("http.route", route))
			span(trace.SpanKindServer, 5*time.Second, attribute.String("http.route", route))
		}
		if i%200 == 0 {
			if err := provider.ForceFlush(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := provider.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	began := start.UTC().Truncate(time.Hour)
	text := fmt.Sprintf(`version: 1
streams:
  - name: routes
    input: {topic: otlp_spans, format: otlp_traces, user: user.id, group: http.route}
    groups: [/cart, /checkout]
    max_groups: 2
    contribution: random
    bounds: {lower: 0, upper: 5000, step: 1}
    window: {size: 1h, grace: 1s, start: %s, end: %s}
    releases: [{name: p50, statistic: median, epsilon: 1000}, {name: users, statistic: count, epsilon: 1000}]
    output: {topic: routes.private}
    budget: {epsilon: 10000, per: 24h}
`, began.Format(time.RFC3339), began.Add(time.Hour).Format(time.RFC3339))
	file, err := parse.File("streams.yaml", []byte(text), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	reader, err := codec.New(file.Streams[0].Codec())
	if err != nil {
		t.Fatal(err)
	}
	kafkatest.Await(t, "all spans are in the topic", func() bool {
		items := 0
		for partition := range 2 {
			for _, m := range b.Consume(t, "otlp_spans", partition) {
				of := reader.(codec.Batch)
				of.Begin(codec.Record{Value: []byte(m.Value), Time: time.Now().UnixNano()})
				for more := true; more; items++ {
					var e codec.Event
					_, more = of.Next(&e)
				}
				items--
			}
		}
		return items == 6*users
	})
	streams := filepath.Join(t.TempDir(), "streams.yaml")
	if err := os.WriteFile(streams, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	binary, err := louver()
	if err != nil {
		t.Fatal(err)
	}
	run := exec.Command(binary, "run", streams, "--app-id", "otlp", "--topics-create", "--topics-replication", "1",
		"--kafka-brokers", strings.Join(b.Conn.Brokers, ","), "--http-addr", kafkatest.Address(t), "--metrics-addr",
		kafkatest.Address(t))
	var log strings.Builder
	run.Stdout, run.Stderr = &log, &log
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	t.Cleanup(func() {
		_ = run.Process.Kill()
		_ = run.Wait()
		if t.Failed() {
			t.Logf("%v\n%s", got, log.String())
		}
	})
	kafkatest.Await(t, "the figures are out", func() bool {
		partitions, err := topics.PartitionsOf(t.Context(), b.Conn.Client, "routes.private", 0, nil)
		if err != nil {
			return false
		}
		for partition := range partitions {
			for _, m := range b.Consume(t, "routes.private", partition) {
				var r struct {
					Group, Release string
					Value          float64
				}
				if err := json.Unmarshal([]byte(m.Value), &r); err != nil {
					t.Fatal(err)
				}
				got[r.Group+" "+r.Release] = r.Value
			}
		}
		return len(got) == 4
	})
	// ε is so large that the median is off by a user or two at most: e⁻¹⁰⁰⁰ for each.
	for _, c := range []struct {
		series    string
		low, high float64
	}{{"/cart p50", 298, 302}, {"/checkout p50", 596, 604}, {"/cart users", users, users}, {"/checkout users", users, users}} {
		if v, there := got[c.series]; !there || v < c.low || v > c.high {
			t.Errorf("%s is %v, want %v to %v", c.series, v, c.low, c.high)
		}
	}
}
