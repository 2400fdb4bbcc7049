package codec_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"pgregory.net/rapid"

	"github.com/louver/louver/stream/codec"
)

// answer is what a decoder says of an item.
type answer struct {
	Reason  codec.Reason
	Missing bool
	User    string
	Group   int
	Time    int64
	Value   int64
}

func (a answer) String() string {
	return fmt.Sprintf("%s %v %q %d %d %d", a.Reason, a.Missing, a.User, a.Group, a.Time, a.Value)
}

// batch makes the decoder of a format of OpenTelemetry.
func batch(t testing.TB, s codec.Spec) codec.Batch {
	t.Helper()
	return decoder(t, s).(codec.Batch)
}

// answers are those to all items of a record, and why it is broken.
func answers(b codec.Batch, value []byte) (all []answer, broken string) {
	b.Begin(codec.Record{Value: value, Key: []byte("k"), Time: recordTime})
	for {
		var e codec.Event
		reason, more := b.Next(&e)
		if !more {
			return all, b.Broken()
		}
		a := answer{Reason: reason}
		switch {
		case reason == codec.OK:
			a.User, a.Group, a.Time, a.Value = string(e.User), e.Group, e.Time, e.Value
		case !reason.Skips() && reason != codec.Malformed && reason != codec.Future:
			a.Missing = b.Missing()
		}
		all = append(all, a)
	}
}

func lines(all []answer) (text []string) {
	for _, a := range all {
		text = append(text, a.String())
	}
	return text
}

// spans is the Spec of most tests: what a streams file has for spans of servers by route.
func spans() codec.Spec {
	f, _ := codec.FormatOf("otlp_traces")
	return codec.Spec{Format: f.Name, User: "user.id", Value: f.Value, Time: f.Time, Where: f.Where, Group: "http.route",
		Groups: []string{"/cart", "/checkout"}, MaxFuture: time.Hour}
}

func recorded(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "otlp", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestOTLPRecorded reads what a Collector wrote, in both encodings.
func TestOTLPRecorded(t *testing.T) {
	const at = "1795161791"
	logs := codec.Spec{Format: "otlp_logs", User: "user.id", Value: "log.severity_number", Time: "log.time_unix_nano",
		MaxFuture: time.Hour}
	bodies := logs
	bodies.Value = `log.body["ms"]`
	points := codec.Spec{Format: "otlp_metrics", User: "user.id", Value: "datapoint.value",
		Time: "datapoint.time_unix_nano", MaxFuture: time.Hour, Where: []codec.Condition{{Field: "metric.name", Is: words("battery.level")}}}
	sums := points
	sums.Where = []codec.Condition{{Field: "metric.name", Not: words("battery.level")},
		{Field: "metric.unit", Exists: true}}
	totals := sums
	totals.Where = append(slices.Clone(sums.Where),
		codec.Condition{Field: "metric.aggregation_temporality", Is: words("cumulative")})
	all := spans()
	all.Where, all.Group, all.Groups = nil, "service.name", []string{"shop", "browser"}
	failed := spans()
	failed.Where = []codec.Condition{{Field: "span.status.code", Is: words("error")},
		{Field: "span.root", Is: words("true")}, {Field: "scope.name", Exists: true}, {Field: `resource.attributes["service.name"]`, Is: words("shop")},
		{Field: "http.request.header.x-tenant", Is: words("acme")}, {Field: "server.port", Is: figures("443")},
		{Field: "cache.hit", Is: words("false")}, {Field: "cart.total", Above: figures("12.7")[0]}}
	for _, c := range []struct {
		file string
		spec codec.Spec
		want []string
	}{
		{"traces", spans(), []string{`0 "u-1" 300`, `1 "u-2" 8125`, `no_user`, `where`, `where`, `where`}},
		{"traces", failed, []string{`where`, `1 "u-2" 8125`, `where`, `where`, `where`, `where`}},
		{"traces_invalid_utf8", func() codec.Spec { s := spans(); s.Group, s.Groups = "", nil; return s }(),
			[]string{`0 "u-1" 200`, `0 "u-2" 200`, `0 "u-3" 200`}},
		{"traces_invalid_utf8", func() codec.Spec {
			s := spans()
			s.Group, s.Groups = "user_agent.original", []string{"curl/8.5", "curl/8.6"}
			return s
		}(), []string{`0 "u-1" 200`, `bad_group`, `1 "u-3" 200`}},
		{"logs", logs, []string{`0 "u-1" 90`, `0 "u-2" 170`, `0 "u-3" 100`, `0 "u-1" 130`, `no_user`}},
		{"logs", bodies, []string{`bad_value`, `bad_value`, `bad_value`, `0 "u-1" 570`, `no_user`}},
		{"metrics", points, []string{`0 "u-1" 6`, `0 "u-2" 5`, `where`, `where`, `no_value`}},
		{"metrics", sums, []string{`where`, `where`, `0 "u-1" 1120`, `no_delta`, `no_value`}},
		{"metrics", totals, []string{`where`, `where`, `where`, `0 "u-1" 805`, `no_value`}},
	} {
		for _, encoding := range []string{"binpb", "json"} {
			got, broken := answers(batch(t, c.spec), recorded(t, c.file+"."+encoding))
			var short []string
			for _, a := range got {
				if a.Reason == codec.OK {
					short = append(short, fmt.Sprintf("%d %q %d", a.Group, a.User, a.Value))
					if !strings.HasPrefix(strconv.FormatInt(a.Time, 10), at[:9]) {
						t.Errorf("%s.%s: time %d", c.file, encoding, a.Time)
					}
				} else {
					short = append(short, a.Reason.String())
				}
			}
			if d := cmp.Diff(c.want, short); d != "" || broken != "" {
				t.Errorf("%s.%s: %s%s", c.file, encoding, broken, d)
			}
		}
	}
}

// specs are Specs for drawn spans.
func specs() (all []codec.Spec) {
	all = append(all, spans())
	own := spans()
	own.Where = []codec.Condition{{Field: "span.root", Is: words("true")}, {Field: "n", Above: figures("0")[0]},
		{Field: "scope.name", Missing: true}, {Field: "span.kind", Not: words("client")}}
	all = append(all, own)
	paths := spans()
	paths.User, paths.Group = `resource.attributes["user.id"]`, `scope.attributes["http.route"]`
	paths.Value, paths.Where = `span.attributes["n"]`, []codec.Condition{{Field: "x", Exists: true}}
	all = append(all, paths)
	timed := spans()
	timed.Time, timed.Group, timed.Groups = "n", "span.status.code", []string{"unset", "ok", "error"}
	timed.Where = nil
	return append(all, timed)
}

// plainly is what a decoder of JSON says of an item, of which it gets the fields of a plain reading.
func plainly(t testing.TB, s codec.Spec, fields func(field string) string) answer {
	flat := s
	flat.Format, flat.User, flat.Value, flat.Time = "json", "user", "value", "time"
	flat.Where = nil
	of := map[string]string{"user": s.User, "value": s.Value, "time": s.Time}
	if s.Group != "" {
		flat.Group = "group"
		of["group"] = s.Group
	}
	for i, c := range s.Where {
		name := "where" + strconv.Itoa(i)
		of[name], c.Field = c.Field, name
		flat.Where = append(flat.Where, c)
	}
	var members []string
	for name, field := range of {
		if value := fields(field); value != "" {
			members = append(members, strconv.Quote(name)+":"+value)
		}
	}
	slices.Sort(members)
	d := decoder(t, flat)
	var e codec.Event
	record := codec.Record{Value: []byte("{" + strings.Join(members, ",") + "}"), Time: recordTime}
	a := answer{Reason: d.Decode(record, &e)}
	user := fields(s.User)
	switch {
	case a.Reason == codec.Unwanted:
	case user == "" || user == `""`:
		a.Reason = codec.NoUser
	case a.Reason == codec.OK:
		a.User, a.Group, a.Time, a.Value = string(e.User), e.Group, e.Time, e.Value
	case a.Reason != codec.Future:
		a.Missing = d.Missing()
	}
	return a
}

// TestOTLPReadsAsPlainly compares the walks with a plain reading, in each encoding. What they say of an item is the
// same if it is alone in a record: so it depends on nothing but itself, its resource and its scope.
func TestOTLPReadsAsPlainly(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		data := requestOf(rt)
		s := rapid.SampledFrom(specs()).Draw(rt, "spec")
		var want []answer
		for _, r := range data.ResourceSpans {
			for _, scope := range r.ScopeSpans {
				for _, span := range scope.Spans {
					want = append(want, plainly(t, s, func(field string) string { return plain(field, r, scope, span) }))
				}
			}
		}
		b := batch(t, s)
		for name, value := range encodings(t, data) {
			got, broken := answers(b, value)
			if d := cmp.Diff(lines(want), lines(got)); d != "" || broken != "" {
				rt.Fatalf("%s: %s%s\n%s", name, broken, d, value)
			}
			some := rapid.SliceOfNDistinct(rapid.IntRange(0, max(0, len(got)-1)), 0, len(got), rapid.ID).Draw(rt, "some")
			slices.Sort(some)
			alone(rt, b, value, got, some)
		}
	})
}

// alone checks that items that are cut out of a record read as they did in it.
func alone(t rapid.TB, b codec.Batch, value []byte, all []answer, some []int) {
	t.Helper()
	check := func(some []int) {
		var want []answer
		for _, i := range some {
			want = append(want, all[i])
		}
		cut := b.Cut(value, some)
		got, broken := answers(b, cut)
		if d := cmp.Diff(lines(want), lines(got)); d != "" || broken != "" {
			t.Fatalf("items %v of %q cut out as %q: %s%s", some, value, cut, broken, d)
		}
	}
	check(some)
	for i := range all {
		check([]int{i})
	}
}

// spanRequest is a request with spans of about 550 bytes, one of so many of which is of a server.
func spanRequest(n, wanted int) *tracepb.TracesData {
	text := func(key, value string) *commonpb.KeyValue {
		return &commonpb.KeyValue{Key: key,
			Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: value}}}
	}
	number := func(key string, value int64) *commonpb.KeyValue {
		return &commonpb.KeyValue{Key: key, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: value}}}
	}
	scope := &tracepb.ScopeSpans{Scope: &commonpb.InstrumentationScope{Name: "otelhttp", Version: "0.72.0"}}
	for i := range n {
		kind := tracepb.Span_SPAN_KIND_SERVER
		if i%wanted > 0 {
			kind = tracepb.Span_SPAN_KIND_CLIENT
		}
		scope.Spans = append(scope.Spans, &tracepb.Span{TraceId: []byte("0123456789abcdef"), SpanId: []byte("01234567"),
			ParentSpanId: []byte("76543210"), Name: "GET /cart", Kind: kind,
			StartTimeUnixNano: uint64(recordTime - 12_500_000), EndTimeUnixNano: uint64(recordTime),
			Attributes: []*commonpb.KeyValue{text("http.request.method", "GET"), text("url.scheme", "https"),
				text("server.address", "shop.example.com"), number("server.port", 443), text("url.path", "/cart/12345"),
				text("network.peer.address", "10.1.2.3"), number("network.peer.port", 51234),
				text("user_agent.original", "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101"),
				text("network.protocol.version", "1.1"), text("http.route", "/cart"), number("http.response.status_code", 200),
				number("http.response.body.size", 5120), text("deployment.environment.name", "production"),
				text("user.id", fmt.Sprintf("u-%06d", i)), number("thread.id", 17)},
			Status: &tracepb.Status{}, Flags: 257})
	}
	return &tracepb.TracesData{ResourceSpans: []*tracepb.ResourceSpans{{Resource: &resourcepb.Resource{
		Attributes: []*commonpb.KeyValue{text("service.name", "shop"), text("service.version", "1.4")}},
		ScopeSpans: []*tracepb.ScopeSpans{scope}}}}
}

// No item costs an allocation, in either encoding.
func TestOTLPDoesNotAllocate(t *testing.T) {
	d := batch(t, spans())
	for name, value := range encodings(t, spanRequest(100, 2)) {
		var e codec.Event
		n := testing.AllocsPerRun(20, func() {
			d.Begin(codec.Record{Value: value, Time: recordTime})
			for more := true; more; {
				_, more = d.Next(&e)
			}
		})
		if n != 0 {
			t.Errorf("%s: %v allocations for 100 spans", name, n)
		}
	}
}
