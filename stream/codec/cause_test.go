package codec_test

import (
	"strings"
	"testing"

	"github.com/louver/louver/stream/codec"
)

// Every malformed record is told why it is malformed: in words that go on from "the record", without anything of it.
func TestCauses(t *testing.T) {
	points := grid(t)
	jsonSpec := codec.Spec{Format: "json", User: "user.id", Value: "ms", Grid: points}
	csvSpec := codec.Spec{Format: "csv", User: "u", Value: "v", Columns: []string{"u", "v"}, Grid: points}
	bare := codec.Spec{Format: "json", User: "$key", Value: "$value", Grid: points}
	const good = `{"user":{"id":"SECRET"},"ms":1}`
	for _, c := range []struct {
		spec        codec.Spec
		value, want string
	}{
		{jsonSpec, "", "is empty"},
		{jsonSpec, " \n", "is empty"},
		{jsonSpec, "\ufeff" + good, "begins with a byte order mark"},
		{jsonSpec, "\x1f\x8bSECRET", "is compressed with gzip"},
		{jsonSpec, numbered(7, "\x04SECRET"),
			"begins with the header of a schema registry (a zero byte and the number 7), and no JSON follows"},
		{jsonSpec, glued("SECRET"), "begins with the header of AWS Glue's schema registry, and no JSON follows"},
		{jsonSpec, numbered(7, "["+good+"]"), "is a JSON array and not an object"},
		{jsonSpec, "{\"user\":\"\xff\"}", "is not in UTF-8"},
		{jsonSpec, `{"user":{"id":"SECRET"},"ms":NaN}`, "has NaN or Infinity, which JSON does not have"},
		{jsonSpec, `{"ms": -Infinity , "x":1}`, "has NaN or Infinity, which JSON does not have"},
		{jsonSpec, `{"name":"NaN, Infinity",}`, "is not JSON"},
		{jsonSpec, "[" + good + "]", "is a JSON array and not an object"},
		{jsonSpec, `"{\"user\":{\"id\":\"SECRET\"}}"`, "is JSON within a JSON string"},
		{jsonSpec, `"SECRET"`, "is a JSON string and not an object"},
		{jsonSpec, `12`, "is a number and not an object"},
		{jsonSpec, `null`, "is null and not an object"},
		{jsonSpec, `true`, "is true or false and not an object"},
		{jsonSpec, good + good, "is more than one JSON text"},
		{jsonSpec, good[:12], "ends in the middle of JSON"},
		{jsonSpec, "SECRET", "is not JSON"},
		{jsonSpec, "{'user':'SECRET'}", "is not JSON"},
		{jsonSpec, `{"ms":1,"user":{"id":1,"x":[{}],"id":2}}`, "has the field user.id twice"},
		{jsonSpec, `{"ms":1,"other":{"ms":1},"ms":2}`, "has the field ms twice"},
		{jsonSpec, `{"ms":"\ud83d"}`, "has half a surrogate pair, which is no character"},
		{jsonSpec, `{"x":` + strings.Repeat("[", 400) + strings.Repeat("]", 400) + "}", "is nested too deeply"},
		{bare, "NaN", "is not JSON"}, {bare, "1 2", "is more than one JSON text"}, {bare, "\ufeff1", "begins with a byte order mark"},
		{csvSpec, "", "is empty"}, {csvSpec, "\n", "is empty"},
		{csvSpec, "\ufeffa,1", "begins with a byte order mark"},
		{csvSpec, "a,1,SECRET", "has 3 columns and not 2"},
		{csvSpec, "u,v", "repeats the names of the columns"},
		{csvSpec, "a,1\nb,2", "has more than one line"},
		{csvSpec, `"SECRET`, "is not a line of CSV: its quotes are wrong"},
		{csvSpec, "\x00\x00\x00\x00\x09a", "begins with the header of a schema registry (a zero byte and the number 9)"},
	} {
		d, err := codec.New(c.spec)
		if err != nil {
			t.Fatal(err)
		}
		r := codec.Record{Key: []byte("k"), Value: []byte(c.value), Time: recordTime}
		var e codec.Event
		if reason := d.Decode(r, &e); reason != codec.Malformed {
			t.Errorf("%s %q: %v; want malformed", c.spec.Format, c.value, reason)
			continue
		}
		got := d.Cause(r)
		if got != c.want || strings.Contains(got, "SECRET") {
			t.Errorf("%s %q: the record %s; want %s", c.spec.Format, c.value, got, c.want)
		}
	}
	d, err := codec.New(jsonSpec)
	if err != nil {
		t.Fatal(err)
	}
	if got := d.Cause(codec.Record{}); got != "has no value" {
		t.Errorf("no value: the record %s", got)
	}
}

// So are CloudEvents, and records with a schema.
func TestCausesOfOtherFormats(t *testing.T) {
	registry := cloudSpec()
	registry.Format, registry.User, registry.Value, registry.Time, registry.Group = "avro", "user.id", "latency_ms", "", ""
	registry.Groups, registry.Schema = nil, codec.Schema{Registry: true}
	registry.Registry = &shelf{schemas: map[uint32]codec.Registered{1: {Format: "avro", Text: avroSchema},
		2: {Format: "protobuf", Text: protobufSchema}, 3: {Format: "avro", Text: "{"}}}
	for _, c := range []struct {
		spec    codec.Spec
		value   string
		headers codec.Headers
		want    string
	}{
		{cloudSpec(), strings.Replace(structuredEvent, `"1.0"`, `"0.3"`, 1), nil,
			"is no CloudEvent of version 1.0: it has neither that specversion nor the header ce_specversion"},
		{cloudSpec(), "[" + structuredEvent + "]", nil, "is a JSON array and not an object"},
		{cloudSpec(), eventData, binaryHeaders(headers{"ce_specversion": "0.3"}), "is no CloudEvent of version 1.0"},
		{cloudSpec(), eventData, binaryHeaders(headers{"content-type": "text/csv"}),
			"has data that is not JSON, as its content-type says"},
		{cloudSpec(), "\ufeff" + eventData, binaryHeaders(nil), "has data that begins with a byte order mark"},
		{cloudSpec(), eventData, binaryHeaders(headers{"ce_region": "\xff"}), "has a header that is not in UTF-8"},
		{avroSpec(), value("1"), nil, "is not of the schema"},
		{avroSpec(), glued("SECRET"), nil,
			"begins with the header of AWS Glue's schema registry, and what follows is not of the schema"},
		{registry, glued("SECRET"), nil, "begins with the header of AWS Glue's schema registry, which Louver does not ask: " +
			"schema: {file: …} with that schema reads such records"},
		{avroSpec(), numbered(7, "SECRET"), nil, "is not of the schema. It begins with the header of a schema registry " +
			"(a zero byte and the number 7): schema: registry reads such records"},
		{registry, value("1"), nil,
			"does not begin with the header of a schema registry: a zero byte and the number of its schema"},
		{registry, numbered(1, "SECRET"), nil, "is not of schema 1, which it names"},
		{registry, numbered(2, "SECRET"), nil, "names schema 2, which is not of format avro"},
		{registry, numbered(3, "SECRET"), nil, "names schema 3, which Louver cannot use: not an Avro schema: " +
			"invalid schema json: unexpected end of object at offset 1: unexpected EOF"},
		{registry, numbered(4, "SECRET"), nil, "names schema 4, which the registry does not have"},
	} {
		d := decoder(t, c.spec)
		if p, ok := d.(codec.Preparer); ok {
			p.Prepare(codec.Record{Value: []byte(c.value)})
		}
		r := codec.Record{Value: []byte(c.value), Headers: c.headers, Time: recordTime}
		var e codec.Event
		if reason := d.Decode(r, &e); reason != codec.Malformed {
			t.Errorf("%s %q: %v; want malformed", c.spec.Format, c.value, reason)
		} else if got := d.Cause(r); got != c.want {
			t.Errorf("%s %q: the record %s; want %s", c.spec.Format, c.value, got, c.want)
		}
	}
}
