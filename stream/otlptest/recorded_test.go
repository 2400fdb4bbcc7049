package otlptest

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/louver/louver/stream/kafka/kafkatest"
)

// recorded is where the program's own tests find what a Collector writes.
var recorded = filepath.Join("..", "codec", "testdata", "otlp")

var update = flag.Bool("update", false, "record anew what the Collector writes")

// at is the time of all that is recorded.
var at = time.Date(2026, 11, 20, 8, 3, 11, 250_000_000, time.UTC)

var (
	shop = resource.NewSchemaless(attribute.String("service.name", "shop"), attribute.String("service.version", "1.4"),
		attribute.Int("process.pid", 4711), attribute.String("deployment.environment.name", "test"))
	browser = resource.NewSchemaless(attribute.String("service.name", "browser"), attribute.String("user.id", "u-9"))

	instrumented = instrumentation.Scope{Name: "go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp",
		Version: "0.72.0"}
	own = instrumentation.Scope{Name: "shop/cart"}
)

// TestRecorded: what the Collector writes is still what is recorded. With -update it is recorded anew.
func TestRecorded(t *testing.T) {
	b := kafkatest.Fake(t)
	topics := map[string]string{} // by file
	for signal, name := range map[string]string{"traces": "otlp_spans", "logs": "otlp_logs", "metrics": "otlp_metrics"} {
		topics[signal+".binpb"], topics[signal+".json"] = name, name+"_json"
	}
	for _, name := range topics {
		b.CreateTopic(t, name, 1, nil)
	}
	endpoint := startCollector(t, b, `
exporters:
  kafka/json:
    brokers: ["`+b.Conn.Brokers[0]+`"]
    traces: {topic: otlp_spans_json, encoding: otlp_json}
    logs: {topic: otlp_logs_json, encoding: otlp_json}
    metrics: {topic: otlp_metrics_json, encoding: otlp_json}
    sending_queue: {sizer: items, batch: {flush_timeout: 1s, min_size: 500}}
service:
  pipelines:
    traces: {exporters: [kafka, kafka/json]}
    logs: {exporters: [kafka, kafka/json]}
    metrics: {exporters: [kafka, kafka/json]}`)
	sendSpans(t, endpoint)
	sendLogs(t, endpoint)
	sendMetrics(t, endpoint)
	for file, topic := range topics {
		compare(t, b, file, topic, 0)
	}
	sendRaw(t, endpoint, at, raw{user: "u-1", agent: "curl/8.5"}, raw{user: "u-2", agent: "caf\xe9/1.0"},
		raw{user: "u-3", agent: "curl/8.6"})
	compare(t, b, "traces_invalid_utf8.binpb", "otlp_spans", 1)
	compare(t, b, "traces_invalid_utf8.json", "otlp_spans_json", 1)
}

// compare waits for a record of a topic and compares it with a file.
func compare(t *testing.T, b *kafkatest.Broker, file, topic string, index int) {
	t.Helper()
	var values []string
	kafkatest.Await(t, "a record in "+topic, func() bool {
		values = b.ConsumeValues(t, topic, 0)
		return len(values) > index
	})
	path, got := filepath.Join(recorded, file), values[index]
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: the Collector writes %d other bytes in %s; look at them, and record them with -update", file,
			len(got), topic)
	}
}
