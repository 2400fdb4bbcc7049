package codec_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
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
	points := codec.Spec{Format: "otlp_metrics", User: "user.id", Value: "datapoint.value", Time: "datapoint.time_unix_nano",
		MaxFuture: time.Hour, Where: []codec.Condition{{Field: "metric.name", Is: words("battery.level")}}}
	sums := points
	sums.Where = []codec.Condition{{Field: "metric.name", Not: words("battery.level")}, {Field: "metric.unit", Exists: true}}
	all := spans()
	all.Where, all.Group, all.Groups = nil, "service.name", []string{"shop", "browser"}
	failed := spans()
	failed.Where = []codec.Condition{{Field: "span.status.code", Is: words("error")}, {Field: "span.root", Is: words("true")},
		{Field: "scope.name", Exists: true}, {Field: `resource.attributes["service.name"]`, Is: words("shop")},
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
		{"metrics", sums, []string{`where`, `where`, `0 "u-1" 1120`, `0 "u-1" 805`, `no_value`}},
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

// descending writes a message as the Collector does: from the last field to the first, and what is repeated in order.
func descending(b []byte, m protoreflect.MessageDescriptor) []byte {
	fields := map[protowire.Number][][]byte{}
	var numbers []protowire.Number
	for len(b) > 0 {
		number, wire, n := protowire.ConsumeTag(b)
		size := protowire.ConsumeFieldValue(number, wire, b[n:])
		raw := b[:n+size]
		if fd := m.Fields().ByNumber(number); fd != nil && fd.Message() != nil {
			content, _ := protowire.ConsumeBytes(b[n:])
			raw = protowire.AppendBytes(protowire.AppendTag(nil, number, wire), descending(content, fd.Message()))
		}
		if fields[number] == nil {
			numbers = append(numbers, number)
		}
		fields[number] = append(fields[number], raw)
		b = b[n+size:]
	}
	slices.Sort(numbers)
	slices.Reverse(numbers)
	out := []byte{}
	for _, number := range numbers {
		out = append(out, slices.Concat(fields[number]...)...)
	}
	return out
}

var parentID = regexp.MustCompile(`"parentSpanId":\s*"([^"]*)"`)

// encodings are the ways to write a request: fields in both orders, and JSON, where ids are in hex.
func encodings(t testing.TB, request proto.Message) map[string][]byte {
	t.Helper()
	ascending, err := proto.MarshalOptions{Deterministic: true}.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	text, err := protojson.MarshalOptions{UseEnumNumbers: true}.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	text = parentID.ReplaceAllFunc(text, func(b []byte) []byte {
		id, err := base64.StdEncoding.DecodeString(string(parentID.FindSubmatch(b)[1]))
		if err != nil {
			t.Fatal(err)
		}
		return []byte(`"parentSpanId":"` + hex.EncodeToString(id) + `"`)
	})
	return map[string][]byte{"ascending": ascending,
		"descending": descending(ascending, request.ProtoReflect().Descriptor()), "json": text}
}

// anyValueOf draws the value of an attribute.
func anyValueOf(t *rapid.T) *commonpb.AnyValue {
	text := rapid.SampledFrom([]string{"u1", "u2", "/cart", "/checkout", "", "é \"\\\n", "12.5", "a\u2028b", "😀"})
	one := func() *commonpb.AnyValue {
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: text.Draw(t, "text")}}
	}
	switch rapid.IntRange(0, 9).Draw(t, "kind") {
	case 0, 1, 2, 3:
		return one()
	case 4:
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: rapid.SampledFrom([]int64{0, -1, 7, 200, 1795161600,
			math.MaxInt64, math.MinInt64}).Draw(t, "int")}}
	case 5:
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_DoubleValue{DoubleValue: rapid.SampledFrom([]float64{0, 12.5, -3, 1e300,
			0.1, math.NaN(), math.Inf(1)}).Draw(t, "double")}}
	case 6:
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_BoolValue{BoolValue: rapid.Bool().Draw(t, "bool")}}
	case 7:
		list := &commonpb.ArrayValue{}
		for range rapid.IntRange(0, 2).Draw(t, "items") {
			list.Values = append(list.Values, one())
		}
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_ArrayValue{ArrayValue: list}}
	case 8:
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_KvlistValue{KvlistValue: &commonpb.KeyValueList{
			Values: []*commonpb.KeyValue{{Key: "user.id", Value: one()}}}}}
	}
	return &commonpb.AnyValue{}
}

func attributesOf(t *rapid.T) (all []*commonpb.KeyValue) {
	for range rapid.IntRange(0, 6).Draw(t, "attributes") {
		all = append(all, &commonpb.KeyValue{Key: rapid.SampledFrom([]string{"user.id", "http.route", "n", "x"}).Draw(t, "key"),
			Value: anyValueOf(t)})
	}
	return all
}

// request draws spans in scopes in resources.
func requestOf(t *rapid.T) *tracepb.TracesData {
	data := &tracepb.TracesData{}
	for range rapid.IntRange(0, 3).Draw(t, "resources") {
		r := &tracepb.ResourceSpans{SchemaUrl: "https://x"}
		if rapid.Bool().Draw(t, "resource") {
			r.Resource = &resourcepb.Resource{Attributes: attributesOf(t)}
		}
		for range rapid.IntRange(0, 2).Draw(t, "scopes") {
			s := &tracepb.ScopeSpans{}
			if rapid.Bool().Draw(t, "scope") {
				s.Scope = &commonpb.InstrumentationScope{Name: rapid.SampledFrom([]string{"", "lib"}).Draw(t, "name"),
					Attributes: attributesOf(t)}
			}
			for range rapid.IntRange(0, 3).Draw(t, "spans") {
				start := uint64(recordTime) - rapid.SampledFrom([]uint64{0, 1, 12_500_000, 1e9, uint64(recordTime)}).Draw(t, "took")
				span := &tracepb.Span{Name: rapid.SampledFrom([]string{"", "GET"}).Draw(t, "name"), Attributes: attributesOf(t),
					Kind: tracepb.Span_SpanKind(rapid.IntRange(0, 6).Draw(t, "kind")), StartTimeUnixNano: start,
					EndTimeUnixNano: uint64(recordTime) - rapid.SampledFrom([]uint64{0, 5, uint64(recordTime)}).Draw(t, "end"),
					ParentSpanId:    rapid.SampledFrom([][]byte{nil, make([]byte, 8), {1, 2, 3, 4, 5, 6, 7, 8}}).Draw(t, "parent"),
					Events:          []*tracepb.Span_Event{{Name: "e", Attributes: attributesOf(t)}}, TraceId: []byte("0123456789abcdef")}
				if rapid.Bool().Draw(t, "status") {
					span.Status = &tracepb.Status{Code: tracepb.Status_StatusCode(rapid.IntRange(0, 3).Draw(t, "code"))}
				}
				s.Spans = append(s.Spans, span)
			}
			r.ScopeSpans = append(r.ScopeSpans, s)
		}
		data.ResourceSpans = append(data.ResourceSpans, r)
	}
	return data
}

// plain is a plain reading of a field: what it is in JSON, or "" if it is missing.
func plain(field string, r *tracepb.ResourceSpans, s *tracepb.ScopeSpans, span *tracepb.Span) string {
	first := func(all []*commonpb.KeyValue, key string) string {
		for _, kv := range all {
			if kv.Key == key {
				return asJSON(kv.Value)
			}
		}
		return ""
	}
	word := func(n int32, words ...string) string {
		if int(n) < len(words) {
			return strconv.Quote(words[n])
		}
		return strconv.Itoa(int(n))
	}
	text := func(s string) string {
		if s == "" {
			return ""
		}
		return strconv.Quote(s)
	}
	if key, ok := strings.CutPrefix(field, `resource.attributes["`); ok {
		return first(r.GetResource().GetAttributes(), strings.TrimSuffix(key, `"]`))
	}
	if key, ok := strings.CutPrefix(field, `scope.attributes["`); ok {
		return first(s.GetScope().GetAttributes(), strings.TrimSuffix(key, `"]`))
	}
	if key, ok := strings.CutPrefix(field, `span.attributes["`); ok {
		return first(span.Attributes, strings.TrimSuffix(key, `"]`))
	}
	switch field {
	case "span.name":
		return text(span.Name)
	case "span.kind":
		return word(int32(span.Kind), "unspecified", "internal", "server", "client", "producer", "consumer")
	case "span.status.code":
		return word(int32(span.GetStatus().GetCode()), "unset", "ok", "error")
	case "span.root":
		return strconv.FormatBool(!slices.ContainsFunc(span.ParentSpanId, func(c byte) bool { return c != 0 }))
	case "scope.name":
		return text(s.GetScope().GetName())
	case "span.end_time_unix_nano":
		if span.EndTimeUnixNano == 0 {
			return ""
		}
		return strconv.FormatUint(span.EndTimeUnixNano, 10)
	case "span.duration_ms":
		switch {
		case span.StartTimeUnixNano == 0 || span.EndTimeUnixNano == 0:
			return ""
		case span.EndTimeUnixNano < span.StartTimeUnixNano:
			return "[]"
		}
		return fmt.Sprintf("%de-6", span.EndTimeUnixNano-span.StartTimeUnixNano)
	}
	if own := first(span.Attributes, field); own != "" {
		return own
	}
	return first(r.GetResource().GetAttributes(), field)
}

func asJSON(v *commonpb.AnyValue) string {
	switch v := v.GetValue().(type) {
	case *commonpb.AnyValue_StringValue:
		b, _ := json.Marshal(v.StringValue)
		return string(b)
	case *commonpb.AnyValue_IntValue:
		return strconv.FormatInt(v.IntValue, 10)
	case *commonpb.AnyValue_DoubleValue:
		if !math.IsNaN(v.DoubleValue) && !math.IsInf(v.DoubleValue, 0) {
			text := strconv.FormatFloat(v.DoubleValue, 'g', -1, 64)
			if !strings.ContainsAny(text, ".e") { // a double is no id, even if it is whole
				text += ".0"
			}
			return text
		}
	case *commonpb.AnyValue_BoolValue:
		return strconv.FormatBool(v.BoolValue)
	case *commonpb.AnyValue_ArrayValue:
		if all := v.ArrayValue.Values; len(all) == 1 {
			if only, ok := all[0].Value.(*commonpb.AnyValue_StringValue); ok {
				b, _ := json.Marshal(only.StringValue)
				return string(b)
			}
		}
	}
	return "[]"
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
	a := answer{Reason: d.Decode(codec.Record{Value: []byte("{" + strings.Join(members, ",") + "}"), Time: recordTime}, &e)}
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

// TestOTLPReadsAsPlainly compares the walks with a plain reading, in each encoding. What they say of an item is the same
// if it is alone in a record: so it depends on nothing but itself, its resource and its scope.
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
		return &commonpb.KeyValue{Key: key, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: value}}}
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
