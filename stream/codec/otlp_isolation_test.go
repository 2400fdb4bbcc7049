package codec_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/louver/louver/stream/codec"
)

// servedBy is a span of a server in Protocol Buffers, by a user.
func servedBy(user string) string {
	pair := func(key, value string) string { return lengthed(9, lengthed(1, key)+lengthed(2, lengthed(1, value))) }
	fixed := func(n protowire.Number, v int64) string {
		return string(protowire.AppendFixed64(protowire.AppendTag(nil, n, protowire.Fixed64Type), uint64(v)))
	}
	return pair("x", "y") + varint(6, 2) + fixed(7, recordTime-12_500_000) + fixed(8, recordTime) + pair("user.id", user) +
		pair("http.route", "/cart") + lengthed(15, "")
}

// inText is the same span in JSON.
func inText(user string) string {
	return fmt.Sprintf(`{"kind":2,"startTimeUnixNano":"%d","endTimeUnixNano":"%d","attributes":[{"key":"user.id","value":`+
		`{"stringValue":%q}},{"key":"http.route","value":{"stringValue":"/cart"}}]}`, recordTime-12_500_000, recordTime, user)
}

// inProto and inJSON write a record of one scope with these spans.
func inProto(spans []string) []byte {
	scope := lengthed(1, lengthed(1, "lib"))
	for _, s := range spans {
		scope += lengthed(2, s)
	}
	return []byte(lengthed(1, lengthed(1, "")+lengthed(2, scope)))
}

func inJSON(spans []string) []byte {
	return []byte(`{"resourceSpans":[{"resource":{},"scopeSpans":[{"scope":{},"spans":[` + strings.Join(spans, ",") + `]}]}]}`)
}

// broken are spans that cannot be read, though each is framed like any other.
var brokenSpans = map[string]map[string]string{
	"protobuf": {
		"no field":                   "\x00\x00",
		"a length beyond the span":   servedBy("u") + "\x4a\x7f",
		"half a number":              servedBy("u") + "\x30\xff",
		"half a time":                "\x41\x00\x00" + servedBy("u"),
		"a group that does not end":  servedBy("u") + "\x1b",
		"an attribute without a key": lengthed(9, "\x12\x63") + servedBy("u"),
		"a wanted value": strings.Replace(servedBy("u"), lengthed(2, lengthed(1, "u")), lengthed(2, "\x0a\x09u"),
			1),
		"a status": servedBy("u") + lengthed(15, "\x18"),
	},
	"json": {
		"a number": `5`, "null": `null`, "a text": `"span"`, "a list": `[]`, "no value": `{"kind"}`, "no name": `{2}`,
		"two commas": `{"kind":2,,"name":"x"}`, "a wrong bracket": `{"kind":[2}]`, "no comma": `{"kind":2 "name":"x"}`,
		"a time that is none":         `{"endTimeUnixNano":"soon"}`,
		"a name twice":                `{"kind":2,"kind":3}`,
		"attributes twice":            `{"kind":2,"attributes":[],"attributes":[]}`,
		"a key twice":                 `{"kind":2,"attributes":[{"key":"user.id","key":"user.id","value":{"stringValue":"u"}}]}`,
		"attributes that are no list": `{"kind":2,"attributes":{"user.id":"u"}}`,
	},
}

// TestOTLPBrokenSpanHarmsNobody puts one user's broken span among a thousand good ones of others. It is rejected alone,
// and can be cut out.
func TestOTLPBrokenSpanHarmsNobody(t *testing.T) {
	for encoding, all := range brokenSpans {
		write, one := inProto, servedBy
		if encoding == "json" {
			write, one = inJSON, inText
		}
		var spansOf []string
		for i := range 1000 {
			spansOf = append(spansOf, one(fmt.Sprint("u", i)))
		}
		b := batch(t, spans())
		want, why := answers(b, write(spansOf))
		if want[999].User != "u999" || why != "" {
			t.Fatalf("%s: %v %s", encoding, want[999], why)
		}
		for name, broken := range all {
			const at = 417
			kept := spansOf[at]
			spansOf[at] = broken
			value := write(spansOf)
			spansOf[at] = kept
			got, why := answers(b, value)
			expected := append([]answer{}, want...)
			expected[at] = answer{Reason: codec.Malformed}
			if d := cmp.Diff(lines(expected), lines(got)); d != "" || why != "" {
				t.Errorf("%s, %s: %s%s", encoding, name, why, d)
			}
			if got, _ := answers(b, b.Cut(value, []int{at, 999})); len(got) != 2 || got[0].Reason != codec.Malformed ||
				got[1] != want[999] {
				t.Errorf("%s, %s: cut out: %v", encoding, name, got)
			}
		}
	}
}

// A resource or a scope that cannot be read concerns its own spans alone.
func TestOTLPBrokenResource(t *testing.T) {
	good := inProto([]string{servedBy("a")})
	for _, broken := range []string{
		lengthed(1, lengthed(1, "\x0a\x7f")+lengthed(2, lengthed(2, servedBy("b")))),
		lengthed(1, lengthed(2, lengthed(2, servedBy("b"))+lengthed(1, "\x00"))),
	} {
		got, why := answers(batch(t, spans()), []byte(broken+string(good)+broken))
		if len(got) != 3 || got[0].Reason != codec.Malformed || got[1].User != "a" || got[2].Reason != codec.Malformed ||
			why != "" {
			t.Errorf("%q: %v %s", broken, got, why)
		}
	}
	text := bytes.Replace(inJSON([]string{inText("b")}), []byte(`"resource":{}`), []byte(`"resource":{"attributes":5}`), 1)
	s := spans()
	s.Where = append(s.Where, codec.Condition{Field: `resource.attributes["x"]`, Missing: true})
	if got, why := answers(batch(t, s), text); len(got) != 1 || got[0].Reason != codec.Malformed || why != "" {
		t.Errorf("%s: %v %s", text, got, why)
	}
}

// A record that ends too early, or whose frames do not fit, is broken, and the spans before the break count.
func TestOTLPBrokenFrames(t *testing.T) {
	b := batch(t, spans())
	whole := string(inProto([]string{servedBy("a")})) + string(inProto([]string{servedBy("b"), servedBy("c")}))
	text := string(inJSON([]string{inText("a"), inText("b"), inText("c")}))
	for _, value := range []string{whole, text} {
		want, _ := answers(b, []byte(value))
		for end := range len(value) {
			got, why := answers(b, []byte(value[:end]))
			if len(got) > len(want) || cmp.Diff(lines(want[:len(got)]), lines(got)) != "" {
				t.Fatalf("cut at %d: %v", end, got)
			}
			fits := end == 0 || end == len(inProto([]string{servedBy("a")})) && value == whole
			if (why == "") != fits {
				t.Fatalf("cut at %d of %q: %q", end, value, why)
			}
		}
	}
	for _, c := range []struct {
		value string
		items int
	}{
		{"hello", 0}, {"[]", 0}, {`{"resourceSpans":5}`, 0}, {`{"resourceSpans":[5]}`, 0}, {`{"resourceSpans":[]}x`, 0},
		{`{"resourceSpans":[],"resourceSpans":[]}`, 0}, {text + text, 3}, {whole + "\x00", 3},
		{strings.Replace(text, `"scope":{}`, `"scope":{},"scope":{}`, 1), 0}, {"\n\t" + text, 0},
		{strings.Replace(text, `"spans":[`, `"spans":[],"spans":[`, 1), 0},
	} {
		if got, why := answers(b, []byte(c.value)); len(got) != c.items || why == "" {
			t.Errorf("%q: %d items, %q", c.value, len(got), why)
		}
	}
	for _, fine := range []string{"", "{}", `{"resourceSpans":null}`,
		`{"resourceSpans":[{"scopeSpans":[{"spans":null}]}],"x":1}`, "\x0a\x00", lengthed(7, "new")} {
		if got, why := answers(b, []byte(fine)); len(got) != 0 || why != "" {
			t.Errorf("%q: %v %q", fine, got, why)
		}
	}
	// The resource and the scope may stand behind what lies in them.
	late := `{"resourceSpans":[{"scopeSpans":[{"spans":[{"kind":2}],"scope":{"name":"lib"}}],"resource":{"attributes":[` +
		`{"key":"user.id","value":{"stringValue":"r"}}]}}]}`
	s := spans()
	s.Where, s.Value = []codec.Condition{{Field: "scope.name", Is: words("lib")}}, "span.duration_ms"
	if got, why := answers(batch(t, s), []byte(late)); len(got) != 1 || got[0].Reason != codec.BadValue || why != "" {
		t.Errorf("%v %q", got, why)
	}
}

// What is wanted of a span is found behind any number of attributes, also if their keys are as long or their values are
// long. The first of equal keys counts.
func TestOTLPFindsAttributesBehindMany(t *testing.T) {
	pair := func(key, value string) string {
		return lengthed(9, lengthed(2, lengthed(1, value))+lengthed(1, key))
	}
	text := func(key, value string) string {
		return fmt.Sprintf(`{"key":%q,"value":{"stringValue":%q}},`, key, value)
	}
	s := spans()
	s.Where, s.Value = nil, "n"
	b := batch(t, s)
	for _, n := range []int{0, 1, 63, 64, 65, 200} {
		for _, value := range []string{"v", strings.Repeat("v", 200)} {
			var proto, json string
			for i := range n {
				key := fmt.Sprintf("user%03d", i) // as long as user.id
				proto, json = proto+pair(key, value), json+text(key, value)
			}
			for _, kv := range [][2]string{{"user.id", "u"}, {"http.route", "/cart"}, {"n", "5"}, {"user.id", "other"}} {
				proto, json = proto+pair(kv[0], kv[1]), json+text(kv[0], kv[1])
			}
			at := fmt.Sprintf(`{"endTimeUnixNano":"%d","attributes":[%s]}`, recordTime, strings.TrimSuffix(json, ","))
			end := string(protowire.AppendFixed64(protowire.AppendTag(nil, 8, protowire.Fixed64Type), uint64(recordTime)))
			for _, record := range [][]byte{inProto([]string{proto + end}), inProto([]string{end + proto}), inJSON([]string{at})} {
				got, broken := answers(b, record)
				if len(got) != 1 || got[0].Reason != codec.OK || got[0].User != "u" || got[0].Value != 50 || broken != "" {
					t.Errorf("behind %d attributes of %d bytes: %v %s", n, len(value), got, broken)
				}
			}
		}
	}
}

// FuzzOTLP reads any record. How many items it has, and where it breaks, is the same whatever is wanted of them. Each
// item that is cut out reads as it did in the record.
func FuzzOTLP(f *testing.F) {
	for _, name := range []string{"traces", "traces_invalid_utf8", "logs", "metrics"} {
		for _, encoding := range []string{"binpb", "json"} {
			f.Add(recorded(f, name+"."+encoding))
		}
	}
	for _, all := range brokenSpans {
		for _, s := range all {
			f.Add(inProto([]string{servedBy("a"), s, servedBy("b")}))
			f.Add(inJSON([]string{inText("a"), s, inText("b")}))
		}
	}
	f.Add([]byte(`{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"sum":{"dataPoints":[{"asInt":1}]},"name":"n"}]}]}]}`))
	f.Add([]byte(`{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"sum":{"dataPoints":[0{}]}}]}]}`))
	type pair struct{ much, little codec.Batch }
	var all []pair
	for _, c := range []struct{ format, value, time, own string }{
		{"otlp_traces", "span.duration_ms", "span.end_time_unix_nano", "span.name"},
		{"otlp_logs", `log.body["ms"]`, "log.time_unix_nano", "log.body"},
		{"otlp_metrics", "datapoint.value", "datapoint.time_unix_nano", "metric.unit"},
	} {
		little := codec.Spec{Format: c.format, User: codec.KeyField, Value: c.value, Time: c.time}
		named := codec.Condition{Field: "metric.name", Not: words("")}
		much := codec.Spec{Format: c.format, User: "user.id", Value: c.value, Time: c.time, Group: "http.route",
			Groups: []string{"/cart"}, Where: []codec.Condition{{Field: c.own, Not: words("x")},
				{Field: `resource.attributes["service.name"]`, Not: words("x")}, {Field: `scope.attributes["x"]`, Missing: true},
				{Field: "scope.name", Not: figures("1")}}}
		if c.format == "otlp_metrics" {
			little.Where, much.Where = append(little.Where, named), append(much.Where, named)
		}
		all = append(all, pair{batch(f, much), batch(f, little)})
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		before := bytes.Clone(value)
		for _, p := range all {
			got, broken := answers(p.much, value)
			other, why := answers(p.little, value)
			if len(got) != len(other) || broken != why {
				t.Fatalf("%d items, %q; with another Spec %d, %q", len(got), broken, len(other), why)
			}
			for i := range min(len(got), 20) {
				cut := p.much.Cut(value, []int{i})
				if again, why := answers(p.much, cut); len(again) != 1 || again[0] != got[i] || broken == "" && why != "" {
					t.Fatalf("item %d, cut out as %q: %v %q; want %v", i, cut, again, why, got[i])
				}
			}
		}
		if !bytes.Equal(before, value) {
			t.Fatal("the record was changed")
		}
	})
}

// BenchmarkOTLP reads spans of 550 bytes with 15 attributes, a hundred in a record. In one row one of eight is wanted.
func BenchmarkOTLP(b *testing.B) {
	const perRecord = 100
	for _, wanted := range []int{1, 8} {
		for _, encoding := range []string{"ascending", "descending", "json"} {
			b.Run(fmt.Sprintf("1in%d/%s", wanted, encoding), func(b *testing.B) {
				value := encodings(b, spanRequest(perRecord, wanted))[encoding]
				d := batch(b, spans())
				var e codec.Event
				b.SetBytes(int64(len(value) / perRecord))
				b.ReportAllocs()
				for n := 0; n < b.N; {
					d.Begin(codec.Record{Value: value, Time: recordTime})
					for more := true; more && n < b.N; n++ {
						var r codec.Reason
						if r, more = d.Next(&e); r != codec.OK && r != codec.Unwanted {
							b.Fatal(r)
						}
					}
				}
			})
		}
	}
}
