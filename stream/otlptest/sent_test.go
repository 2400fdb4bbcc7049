package otlptest

import (
	"bytes"
	"net/http"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploghttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/log"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/log/logtest"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
)

// sendSpans sends spans of two services by the SDK's exporter: those of a server with and without a user, one that
// failed, one of a client, one that lies within the server's, and one of a browser whose user is on the resource.
func sendSpans(t *testing.T, endpoint string) {
	t.Helper()
	exporter, err := otlptracehttp.New(t.Context(), otlptracehttp.WithEndpoint(endpoint), otlptracehttp.WithInsecure())
	if err != nil {
		t.Fatal(err)
	}
	inner := stub(2, 1, "load cart", trace.SpanKindInternal, 4*time.Millisecond, attribute.String("user.id", "u-1"),
		attribute.Int("cart.items", 3))
	inner.InstrumentationScope = own
	failed := stub(3, 0, "POST /checkout", trace.SpanKindServer, 812_500*time.Microsecond,
		request("/checkout", "u-2")...)
	failed.Status.Code, failed.Status.Description = codes.Error, "the payment service does not answer"
	health := stub(4, 0, "GET /health", trace.SpanKindServer, 100*time.Nanosecond, request("/health", "")...)
	health.Status.Code = codes.Ok
	click := stub(6, 0, "click", trace.SpanKindInternal, 1_500*time.Millisecond, attribute.Int64("click.number", 42))
	click.Resource, click.InstrumentationScope = browser, instrumentation.Scope{}
	shops := tracetest.SpanStubs{
		stub(1, 0, "GET /cart", trace.SpanKindServer, 30*time.Millisecond, request("/cart", "u-1")...),
		inner, failed, health,
		stub(5, 3, "POST", trace.SpanKindClient, 800*time.Millisecond, attribute.String("user.id", "u-2"),
			attribute.String("server.address", "payment"))}
	// The exporter puts several services of one call into any order. The Collector puts both calls into one record.
	for _, spans := range []tracetest.SpanStubs{shops, {click}} {
		if err := exporter.ExportSpans(t.Context(), spans.Snapshots()); err != nil {
			t.Fatal(err)
		}
	}
}

// stub is a span with a number, under the span with another number; 0: under none.
func stub(n, parent byte, name string, kind trace.SpanKind, took time.Duration,
	attributes ...attribute.KeyValue) tracetest.SpanStub {
	context := func(n byte) trace.SpanContext {
		return trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2, n},
			TraceFlags: trace.FlagsSampled})
	}
	s := tracetest.SpanStub{Name: name, SpanKind: kind, StartTime: at, EndTime: at.Add(took), Attributes: attributes,
		Resource: shop, InstrumentationScope: instrumented, SpanContext: context(n)}
	if parent != 0 {
		s.Parent = context(parent)
	}
	return s
}

// request has the attributes of a request to a server; user "" is none.
func request(route, user string) []attribute.KeyValue {
	out := []attribute.KeyValue{attribute.String("http.request.method", "GET"), attribute.String("url.scheme", "https"),
		attribute.String("server.address", "shop.example"), attribute.Int("server.port", 443),
		attribute.String("client.address", "192.0.2.7"),
		attribute.String("user_agent.original", "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36"),
		attribute.StringSlice("http.request.header.x-tenant", []string{"acme"}),
		attribute.String("http.route", route), attribute.Int("http.response.status_code", 200),
		attribute.Int64("http.response.body.size", 5_120), attribute.Bool("cache.hit", user == "u-1"),
		attribute.Float64("cart.total", 12.75)}
	if user != "" {
		out = append(out, attribute.String("user.id", user))
	}
	return out
}

// sendLogs sends log records whose bodies are texts and maps. One has no time, one has a name, one has no user.
func sendLogs(t *testing.T, endpoint string) {
	t.Helper()
	exporter, err := otlploghttp.New(t.Context(), otlploghttp.WithEndpoint(endpoint), otlploghttp.WithInsecure())
	if err != nil {
		t.Fatal(err)
	}
	entry := func(severity log.Severity, text string, body attribute.Value, user string) sdklog.Record {
		f := logtest.RecordFactory{Timestamp: at, ObservedTimestamp: at.Add(time.Second), Severity: severity,
			SeverityText: text, Body: body, Resource: shop, InstrumentationScope: &own,
			Attributes: []attribute.KeyValue{attribute.String("http.route", "/cart")}}
		if user != "" {
			f.Attributes = append(f.Attributes, attribute.String("user.id", user), attribute.Int64("duration_ms", 31))
		}
		return f.NewRecord()
	}
	unset := entry(log.SeverityError, "ERROR", attribute.StringValue("no stock"), "u-2")
	unset.SetTimestamp(time.Time{})
	named := entry(log.SeverityInfo2, "", attribute.Value{}, "u-3")
	named.SetEventName("cart.emptied")
	records := []sdklog.Record{entry(log.SeverityInfo, "INFO", attribute.StringValue("cart shown"), "u-1"), unset, named,
		entry(log.SeverityWarn, "WARN", attribute.MapValue(attribute.Int64("ms", 57), attribute.Float64("share", 0.25),
			attribute.String("step", "address")), "u-1"),
		entry(log.SeverityDebug, "DEBUG", attribute.StringValue("nobody"), "")}
	if err := exporter.Export(t.Context(), records); err != nil {
		t.Fatal(err)
	}
}

// sendMetrics sends a gauge, a sum of differences, a sum so far, and a histogram.
func sendMetrics(t *testing.T, endpoint string) {
	t.Helper()
	exporter, err := otlpmetrichttp.New(t.Context(), otlpmetrichttp.WithEndpoint(endpoint), otlpmetrichttp.WithInsecure())
	if err != nil {
		t.Fatal(err)
	}
	of := func(user string) attribute.Set {
		return attribute.NewSet(attribute.String("user.id", user), attribute.String("region", "eu"))
	}
	begun := at.Add(-time.Minute)
	metrics := []metricdata.Metrics{
		{Name: "battery.level", Unit: "1", Description: "Charge of a device.", Data: metricdata.Gauge[float64]{
			DataPoints: []metricdata.DataPoint[float64]{{Attributes: of("u-1"), Time: at, Value: 0.625},
				{Attributes: of("u-2"), Time: at, Value: 0.5}}}},
		{Name: "steps", Unit: "{step}", Data: metricdata.Sum[int64]{Temporality: metricdata.DeltaTemporality,
			IsMonotonic: true, DataPoints: []metricdata.DataPoint[int64]{
				{Attributes: of("u-1"), StartTime: begun, Time: at, Value: 112}}}},
		{Name: "distance", Unit: "m", Data: metricdata.Sum[float64]{Temporality: metricdata.CumulativeTemporality,
			IsMonotonic: true, DataPoints: []metricdata.DataPoint[float64]{
				{Attributes: of("u-1"), StartTime: begun, Time: at, Value: 80.5}}}},
		{Name: "http.server.request.duration", Unit: "s", Data: metricdata.Histogram[float64]{
			Temporality: metricdata.CumulativeTemporality, DataPoints: []metricdata.HistogramDataPoint[float64]{
				{Attributes: of("u-1"), StartTime: begun, Time: at, Count: 3, Sum: 0.5, Bounds: []float64{0.1, 1},
					BucketCounts: []uint64{1, 2, 0}}}}},
	}
	if err := exporter.Export(t.Context(), &metricdata.ResourceMetrics{Resource: shop,
		ScopeMetrics: []metricdata.ScopeMetrics{{Scope: own, Metrics: metrics}}}); err != nil {
		t.Fatal(err)
	}
}

// raw is a span of a server that no SDK sends, because a text of it is not UTF-8. Other programs send such spans, and
// the Collector passes them on.
type raw struct{ user, agent, route string }

// sendRaw sends spans of 20 ms from a moment on.
func sendRaw(t *testing.T, endpoint string, at time.Time, all ...raw) {
	t.Helper()
	traces := ptrace.NewTraces()
	spans := traces.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans()
	for i, r := range all {
		s := spans.AppendEmpty()
		s.SetTraceID([16]byte{3, byte(i)})
		s.SetSpanID([8]byte{4, byte(i)})
		s.SetName("GET /cart")
		s.SetKind(ptrace.SpanKindServer)
		s.SetStartTimestamp(pcommon.NewTimestampFromTime(at))
		s.SetEndTimestamp(pcommon.NewTimestampFromTime(at.Add(20 * time.Millisecond)))
		s.Attributes().PutStr("user.id", r.user)
		if r.agent != "" {
			s.Attributes().PutStr("user_agent.original", r.agent)
		}
		if r.route != "" {
			s.Attributes().PutStr("http.route", r.route)
		}
	}
	body, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(traces)
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+endpoint+"/v1/traces",
		bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/x-protobuf")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	if err := response.Body.Close(); err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("the Collector answers %s, %v", response.Status, err)
	}
}
