package codec_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"pgregory.net/rapid"
)

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
		n := rapid.SampledFrom([]int64{0, -1, 7, 200, 1795161600, math.MaxInt64, math.MinInt64}).Draw(t, "int")
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: n}}
	case 5:
		v := rapid.SampledFrom([]float64{0, 12.5, -3, 1e300, 0.1, math.NaN(), math.Inf(1)}).Draw(t, "double")
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_DoubleValue{DoubleValue: v}}
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
		key := rapid.SampledFrom([]string{"user.id", "http.route", "n", "x"}).Draw(t, "key")
		all = append(all, &commonpb.KeyValue{Key: key, Value: anyValueOf(t)})
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
				took := rapid.SampledFrom([]uint64{0, 1, 12_500_000, 1e9, uint64(recordTime)}).Draw(t, "took")
				start := uint64(recordTime) - took
				span := &tracepb.Span{Name: rapid.SampledFrom([]string{"", "GET"}).Draw(t, "name"),
					Attributes: attributesOf(t), TraceId: []byte("0123456789abcdef"),
					Kind: tracepb.Span_SpanKind(rapid.IntRange(0, 6).Draw(t, "kind")), StartTimeUnixNano: start,
					EndTimeUnixNano: uint64(recordTime) - rapid.SampledFrom([]uint64{0, 5, uint64(recordTime)}).Draw(t, "end"),
					ParentSpanId:    rapid.SampledFrom([][]byte{nil, make([]byte, 8), {1, 2, 3, 4, 5, 6, 7, 8}}).Draw(t, "parent"),
					Events:          []*tracepb.Span_Event{{Name: "e", Attributes: attributesOf(t)}}}
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
