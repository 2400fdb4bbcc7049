package codec_test

import (
	"maps"
	"testing"

	"github.com/louver/louver/stream/codec"
)

// headers are the headers of a record.
type headers map[string]string

func (h headers) Header(name string) ([]byte, bool) {
	v, ok := h[name]
	return []byte(v), ok
}

func cloudSpec() codec.Spec {
	s := jsonSpec()
	s.Format, s.User, s.Value, s.Time, s.Group = "cloudevents", "data.user.id", "data.latency_ms", "time", "region"
	return s
}

// The examples follow the Kafka protocol binding of CloudEvents 1.0, sections 3.2 and 3.3.
const (
	structuredEvent = `{"specversion":"1.0","id":"1","source":"/web","type":"request","time":"2026-11-20T08:00:00Z","region":"eu",` +
		`"datacontenttype":"application/json","data":{"user":{"id":"u1"},"latency_ms":12.3}}`
	eventData = `{"user":{"id":"u1"},"latency_ms":12.3}`
)

// binaryHeaders are those of a binary event, with some replaced; "" takes one away.
func binaryHeaders(change headers) headers {
	h := headers{"ce_specversion": "1.0", "ce_id": "1", "ce_source": "/web", "ce_type": "request",
		"ce_time":   "2026-11-20T08:00:00Z",
		"ce_region": "eu", "content-type": "application/json; charset=utf-8"}
	maps.Copy(h, change)
	maps.DeleteFunc(h, func(_, v string) bool { return v == "" })
	return h
}

func TestCloudEvents(t *testing.T) {
	usual := event{"u1", 0, at, 123}
	bySubject := cloudSpec()
	bySubject.User = "subject"
	attributes := codec.Spec{Format: "cloudevents", User: codec.KeyField, Value: "size", Time: "time"}
	for _, c := range []struct {
		name    string
		spec    codec.Spec
		value   string
		headers codec.Headers
		want    event
	}{
		{"structured", cloudSpec(), structuredEvent,
			headers{"content-type": "application/cloudevents+json; charset=UTF-8"}, usual},
		{"its media type in capitals", cloudSpec(), structuredEvent,
			headers{"content-type": "Application/CloudEvents+JSON"},
			usual},
		{"structured without a content type", cloudSpec(), structuredEvent, headers{}, usual},
		{"structured without headers", cloudSpec(), structuredEvent, nil, usual},
		{"structured, and attributes as headers too", cloudSpec(), structuredEvent,
			binaryHeaders(headers{"content-type": "application/cloudevents+json", "ce_region": "us"}), usual},
		{"binary", cloudSpec(), eventData, binaryHeaders(nil), usual},
		{"binary without a content type", cloudSpec(), eventData, binaryHeaders(headers{"content-type": ""}), usual},
		{"binary with a vendor's JSON", cloudSpec(), eventData,
			binaryHeaders(headers{"content-type": "application/vnd.example+json"}), usual},
		{"binary with headers in quotes", cloudSpec(), eventData,
			binaryHeaders(headers{"ce_specversion": `"1.0"`, "ce_time": `"2026-11-20T08:00:00Z"`,
				"ce_region": `"\u0065u"`, "content-type": `"application/json"`}), usual},
		{"quotes that are part of an id", bySubject, eventData, binaryHeaders(headers{"ce_subject": `"42"`}),
			event{`"42"`, 0, at, 123}},
		{"an id in quotes", bySubject, eventData,
			binaryHeaders(headers{"ce_specversion": `"1.0"`, "ce_time": `"2026-11-20T08:00:00Z"`,
				"ce_region": `"eu"`, "ce_subject": `"4\"2"`}), event{`4"2`, 0, at, 123}},
		{"structured with a media type in quotes", cloudSpec(), structuredEvent,
			headers{"ce_specversion": `"1.0"`, "content-type": `"application/cloudevents+json"`}, usual},
		{"another group", cloudSpec(), eventData, binaryHeaders(headers{"ce_region": "us"}), event{"u1", 1, at, 123}},
		{"user is an attribute, binary", bySubject, eventData, binaryHeaders(headers{"ce_subject": "42"}),
			event{"42", 0, at, 123}},
		{"user is an attribute, structured", bySubject, `{"subject":"42",` + structuredEvent[1:], nil,
			event{"42", 0, at, 123}},
		{"attributes alone, of any data", attributes, "\x00\x01",
			binaryHeaders(headers{"ce_size": "12.3", "content-type": "image/png"}), event{"k", 0, at, 123}},
		{"attributes alone, without data", attributes, "", binaryHeaders(headers{"ce_size": "12.3"}),
			event{"k", 0, at, 123}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var e codec.Event
			d := decoder(t, c.spec)
			if r := d.Decode(codec.Record{Key: []byte("k"), Value: []byte(c.value), Time: recordTime,
				Headers: c.headers},
				&e); r != codec.OK {
				t.Fatalf("rejected as %v", r)
			}
			if got := (event{string(e.User), e.Group, e.Time, e.Value}); got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestCloudEventsBad(t *testing.T) {
	d := decoder(t, cloudSpec())
	for _, c := range []struct {
		name    string
		value   string
		headers codec.Headers
		want    codec.Reason
		missing bool
	}{
		{"no CloudEvent", eventData, headers{"content-type": "application/json"}, codec.Malformed, false},
		{"no value", "", binaryHeaders(nil), codec.Malformed, false},
		{"an older version, structured", `{"specversion":"0.3",` + structuredEvent[len(`{"specversion":"1.0",`):], nil,
			codec.Malformed, false},
		{"a version that is a number", `{"specversion":1.0,` + structuredEvent[len(`{"specversion":"1.0",`):], nil,
			codec.Malformed, false},
		{"two versions", `{"specversion":"1.0",` + structuredEvent[1:], nil, codec.Malformed, false},
		{"an older version, binary", eventData, binaryHeaders(headers{"ce_specversion": "0.3"}),
			codec.Malformed, false},
		{"a batch", "[" + structuredEvent + "]", headers{"content-type": "application/cloudevents-batch+json"},
			codec.Malformed, false},
		{"a structured event that is not JSON", "\x0a\x01", headers{"content-type": "application/cloudevents+protobuf"},
			codec.Malformed, false},
		{"data that is not JSON", eventData, binaryHeaders(headers{"content-type": "application/avro"}),
			codec.Malformed, false},
		{"data without end", eventData[:10], binaryHeaders(nil), codec.Malformed, false},
		{"data that is a number", "12.3", binaryHeaders(nil), codec.Malformed, false},
		{"a header that is not UTF-8", eventData, binaryHeaders(headers{"ce_region": "\xff"}), codec.Malformed, false},
		{"a header without the quotes of the others", eventData, binaryHeaders(headers{"ce_specversion": `"1.0"`}),
			codec.Malformed, false},
		{"a wanted field twice", `{"user":{"id":"u1"},"latency_ms":1,"latency_ms":2}`, binaryHeaders(nil),
			codec.Malformed,
			false},
		{"data in base64",
			`{"specversion":"1.0","id":"1","source":"/web","type":"request","region":"eu","data_base64":"eyJ1c2VyIjp7ImlkIjoidTEifX0="}`, nil, codec.BadValue, true},
		{"a field is missing, structured", `{"specversion":"1.0","region":"eu","data":{"latency_ms":1}}`, nil,
			codec.BadUser,
			true},
		{"a field is missing, binary", `{"user":{"id":"u1"}}`, binaryHeaders(nil), codec.BadValue, true},
		{"an attribute is missing", eventData, binaryHeaders(headers{"ce_time": ""}), codec.BadTime, true},
		{"no time", eventData, binaryHeaders(headers{"ce_time": "yesterday"}), codec.BadTime, false},
		{"an unknown group", eventData, binaryHeaders(headers{"ce_region": "mars"}), codec.BadGroup, false},
		{"ahead of its time", eventData, binaryHeaders(headers{"ce_time": "2026-11-20T09:00:00Z"}),
			codec.Future, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var e codec.Event
			r := d.Decode(codec.Record{Value: []byte(c.value), Time: recordTime, Headers: c.headers}, &e)
			if r != c.want || c.missing != (r != codec.Malformed && r != codec.Future && d.Missing()) {
				t.Errorf("got %q, missing %v; want %q, %v", r, d.Missing(), c.want, c.missing)
			}
			good := codec.Record{Value: []byte(eventData), Time: recordTime, Headers: binaryHeaders(nil)}
			// nothing is left behind
			if r := d.Decode(good, &e); r != codec.OK || string(e.User) != "u1" || e.Value != 123 {
				t.Errorf("the next record: %v, %+v", r, e)
			}
		})
	}
}

// FuzzCloudEvents: no panic, and both modes read the same event.
func FuzzCloudEvents(f *testing.F) {
	for _, s := range []string{eventData, `{"user":{"id":1},"latency_ms":-1}`, `{"user":[]}`, "", "null",
		`{"user":{"id":"u1"},"user":{}}`, `{"latency_ms":1}}`} {
		f.Add([]byte(s))
	}
	spec := cloudSpec()
	spec.Time, spec.Group, spec.Groups = "", "", nil
	binary, structured := decoder(f, spec), decoder(f, spec)
	f.Fuzz(func(t *testing.T, data []byte) {
		var a, b codec.Event
		r := binary.Decode(codec.Record{Value: data, Time: recordTime, Headers: binaryHeaders(nil)}, &a)
		if r == codec.Malformed { // text that ends the data and goes on would be no JSON object by itself
			return
		}
		whole := `{"specversion":"1.0","data":` + string(data) + `}`
		if other := structured.Decode(codec.Record{Value: []byte(whole), Time: recordTime}, &b); other != r ||
			r == codec.OK && (string(a.User) != string(b.User) || a.Value != b.Value) {
			t.Fatalf("%q: binary %v %+v, structured %v %+v", data, r, a, other, b)
		}
	})
}
