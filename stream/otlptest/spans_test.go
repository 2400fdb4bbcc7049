package otlptest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/louver/louver/stream/kafka/kafkatest"
)

// streamOfSpans reads what a Collector writes. Its ε is so large that there is hardly any noise: with geometric noise
// of ε 20, a count is wrong once in 10⁸ draws, and a median is off by a few users at most.
const streamOfSpans = `
version: 1
streams:
  - name: requests
    input: {topic: otlp_spans, format: otlp_traces, user: user.id, group: http.route}
    unit: ms
    groups: [/cart, /checkout]
    bounds: {lower: 0, upper: 10000, step: 1}
    window: {size: 1m, every: 1m, grace: 1s, start: START}
    contribution: last
    releases:
      - {name: p50, statistic: median, epsilon: 20}
      - {name: users, statistic: count, epsilon: 20}
    output: {topic: requests.private}
    budget: {epsilon: 100000, per: 24h}
`

// Spans of a real SDK go through a real Collector into a topic. The medians by route are in Prometheus, and one user's
// broken span costs nobody else's.
func TestFromSDKToPrometheus(t *testing.T) {
	for encoding, reader := range map[string]ptrace.Unmarshaler{"otlp_proto": &ptrace.ProtoUnmarshaler{},
		"otlp_json": &ptrace.JSONUnmarshaler{}} {
		t.Run(encoding, func(t *testing.T) { fromSDKToPrometheus(t, encoding, reader) })
	}
}

func fromSDKToPrometheus(t *testing.T, encoding string, reader ptrace.Unmarshaler) {
	t.Helper()
	b, to := kafkatest.Fake(t), newProm(t, time.Hour)
	b.CreateTopic(t, "otlp_spans", 3, nil)
	endpoint := startCollector(t, b, "exporters: {kafka: {traces: {encoding: "+encoding+"}}}")
	start := time.Now().UTC().Truncate(time.Minute).Add(-2 * time.Minute)
	provider := tracer(t, endpoint)
	spans := provider.Tracer("shop")
	for i := range 300 {
		handle(spans, trace.SpanKindServer, "/cart", fmt.Sprintf("u-%d", i), start, time.Duration(i+1)*time.Millisecond)
	}
	for i := range 100 {
		handle(spans, trace.SpanKindServer, "/checkout", fmt.Sprintf("w-%d", i), start,
			time.Duration(501+i)*time.Millisecond)
		handle(spans, trace.SpanKindServer, "/cart", "", start, time.Second)                         // nobody's
		handle(spans, trace.SpanKindInternal, "/cart", fmt.Sprintf("u-%d", i), start, 2*time.Second) // no request
	}
	if err := provider.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	sendRaw(t, endpoint, start, raw{user: "v-1", route: "/cart"}, raw{user: "v-\xff", route: "/cart"},
		raw{user: "v-3", route: "/cart"})
	kafkatest.Await(t, "all spans are in the topic", func() bool {
		n := 0
		for partition := range 3 {
			for _, value := range b.ConsumeValues(t, "otlp_spans", partition) {
				traces, err := reader.UnmarshalTraces([]byte(value))
				if err != nil {
					t.Fatal(err)
				}
				n += traces.SpanCount()
			}
		}
		return n == 603
	})
	file := filepath.Join(t.TempDir(), "streams.yaml")
	text := strings.Replace(streamOfSpans, "START", start.Format(time.RFC3339), 1)
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	metrics := kafkatest.Address(t)
	startService(t, b, file, metrics)
	startExport(t, b, to, "requests.private", "--from", start.Format(time.RFC3339))
	at := func(release, route string) (value float64, ok bool) {
		text := to.query(fmt.Sprintf(`louver_release_value{release=%q, group=%q}`, release, route),
			start.Add(time.Minute)) // the end of the window
		_, value, ok = result(text)
		return value, ok
	}
	for _, c := range []struct {
		release, route string
		want, off      float64
	}{{"users", "/cart", 302, 0}, {"users", "/checkout", 100, 0}, {"p50", "/cart", 149, 5}, {"p50", "/checkout", 550, 5}} {
		var value float64
		kafkatest.Await(t, c.release+" of "+c.route+" is in Prometheus", func() (ok bool) {
			value, ok = at(c.release, c.route)
			return ok
		})
		if value < c.want-c.off || value > c.want+c.off {
			t.Errorf("%s of %s is %v, want %v ± %v", c.release, c.route, value, c.want, c.off)
		}
	}
	counts := page(t, "http://"+metrics+"/metrics")
	for _, want := range []string{`louver_events_total{stream="requests"} 403`,
		`louver_events_rejected_total{reason="bad_user",stream="requests"} 1`,
		`louver_events_skipped_total{reason="no_user",stream="requests"} 100`,
		`louver_events_skipped_total{reason="where",stream="requests"} 100`} {
		if !strings.Contains(counts, want+"\n") {
			t.Errorf("the metrics have no %s:\n%s", want, counts)
		}
	}
}

// Two megabytes of spans that come at once are several records, each as small as Kafka wants. As one record they would be
// dropped, and nobody would know whose requests are missing.
func TestManySpansAtOnce(t *testing.T) {
	b := kafkatest.Fake(t)
	b.CreateTopic(t, "otlp_spans", 1, nil)
	endpoint, start := startCollector(t, b), time.Now().UTC()
	spans := make([]raw, 1000)
	for i := range spans {
		spans[i] = raw{user: fmt.Sprintf("u-%d-%s", i, strings.Repeat("x", 2000)), route: "/cart"}
	}
	sendRaw(t, endpoint, start, spans...)
	var reader ptrace.ProtoUnmarshaler
	kafkatest.Await(t, "all spans are in the topic", func() bool {
		n := 0
		for _, value := range b.ConsumeValues(t, "otlp_spans", 0) {
			traces, err := reader.UnmarshalTraces([]byte(value))
			if err != nil || len(value) > 1_000_000 {
				t.Fatalf("a record of %d bytes: %v", len(value), err)
			}
			n += traces.SpanCount()
		}
		return n == len(spans)
	})
}

// tracer makes spans that it sends to a Collector.
func tracer(t *testing.T, endpoint string) *sdktrace.TracerProvider {
	t.Helper()
	exporter, err := otlptracehttp.New(t.Context(), otlptracehttp.WithEndpoint(endpoint), otlptracehttp.WithInsecure())
	if err != nil {
		t.Fatal(err)
	}
	return sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(shop))
}

// handle makes a span that takes so long from a moment on; user "" is none.
func handle(spans trace.Tracer, kind trace.SpanKind, route, user string, at time.Time, took time.Duration) {
	attributes := []attribute.KeyValue{attribute.String("http.request.method", "GET"),
		attribute.String("http.route", route)}
	if user != "" {
		attributes = append(attributes, attribute.String("user.id", user))
	}
	_, span := spans.Start(context.Background(), "GET "+route, trace.WithSpanKind(kind), trace.WithTimestamp(at),
		trace.WithAttributes(attributes...))
	span.End(trace.WithTimestamp(at.Add(took)))
}

// startService runs the service until the end of the test.
func startService(t *testing.T, b *kafkatest.Broker, file, metrics string) {
	t.Helper()
	binary, err := louver()
	if err != nil {
		t.Fatal(err)
	}
	s := &process{Cmd: exec.Command(binary, "run", file, "--kafka-brokers", strings.Join(b.Conn.Brokers, ","),
		"--http-addr", "127.0.0.1:0", "--metrics-addr", metrics)}
	s.start(t)
}
