package codec_test

import (
	"testing"

	"github.com/louver/louver/stream/codec"
)

// guid is a GUID, and as serializers write it into a header of Kafka's record.
var guid = [16]byte{0x5e, 0x7c, 2: 0x01, 15: 0xff}

func guidHeader(place string) string { return "\x01" + string(guid[:]) + place }

func TestSchemaID(t *testing.T) {
	for id, want := range map[codec.SchemaID]string{{}: "0", codec.Numbered(258): "258",
		{GUID: guid}: "5e7c0100-0000-0000-0000-0000000000ff"} {
		if got := id.String(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// A header of Kafka's record may name the schema of the value. The value is then as it is without a registry.
func TestSchemaInHeader(t *testing.T) {
	r := &shelf{schemas: map[uint32]codec.Registered{1: {Format: "avro", Text: avroSchema}},
		guids: map[[16]byte]codec.Registered{guid: {Format: "avro", Text: avroSchema}}}
	s := avroSpec()
	s.Schema, s.Registry = codec.Schema{Registry: true}, r
	d := decoder(t, s)
	datum := encoded(t, request(nil))
	usual := event{"u1", 0, at, 123}
	other := [16]byte{1}
	for _, c := range []struct {
		value string
		head  headers
		cause string // "" if the record is good
	}{
		{datum, headers{"__value_schema_id": guidHeader("")}, ""},
		{datum, headers{"__value_schema_id": numbered(1, "")}, ""},
		{datum, headers{"__value_schema_id": guidHeader(""), "__key_schema_id": "nonsense", "other": "x"}, ""},
		{numbered(1, datum), headers{"other": "x"}, ""},
		{numbered(1, datum), headers{"__value_schema_id": guidHeader("")},
			"is not of schema 5e7c0100-0000-0000-0000-0000000000ff, which it names"},
		{datum, headers{"__value_schema_id": "\x01" + string(other[:])}, "names schema " +
			"01000000-0000-0000-0000-000000000000, which the registry does not have, or it has no ids of this kind"},
		{datum, headers{"__value_schema_id": "\x01" + string(guid[:15])},
			"has a header __value_schema_id that names no schema"},
		{datum, headers{"__value_schema_id": "\x02" + string(guid[:])},
			"has a header __value_schema_id that names no schema"},
		{datum, nil, "does not begin with the header of a schema registry: a zero byte and the number of its schema"},
	} {
		record := codec.Record{Value: []byte(c.value), Headers: c.head, Time: recordTime}
		d.(codec.Preparer).Prepare(record)
		var e codec.Event
		reason := d.Decode(record, &e)
		switch got := (event{string(e.User), e.Group, e.Time, e.Value}); {
		case c.cause == "" && (reason != codec.OK || got != usual):
			t.Errorf("%q: %v, %+v", c.head, reason, got)
		case c.cause != "" && reason != codec.Malformed:
			t.Errorf("%q: %v", c.head, reason)
		case c.cause != "" && d.Cause(record) != c.cause:
			t.Errorf("%q: the record %s; want %s", c.head, d.Cause(record), c.cause)
		}
	}
	empty := codec.Record{Headers: headers{"__value_schema_id": guidHeader("")}}
	if _, ok := d.(codec.Preparer).Prepare(empty); !ok || d.Cause(empty) != "has no value" {
		t.Errorf("a record without a value %s", d.Cause(empty))
	}
}

// For Protocol Buffers the place of the message in its file is in the header too.
func TestPlaceInHeader(t *testing.T) {
	schema := "syntax = \"proto3\"; message Other {} " +
		"message M { string user_id = 1; string region = 2; double latency_ms = 3; }"
	r := &shelf{guids: map[[16]byte]codec.Registered{guid: {Format: "protobuf", Text: schema}}}
	d := decoder(t, codec.Spec{Format: "protobuf", Schema: codec.Schema{Registry: true}, Registry: r, User: "user_id",
		Value: "latency_ms"})
	const message = "\x0a\x02u1\x19\x00\x00\x00\x00\x00\x00\x24\x40" // u1, 10
	for place, good := range map[string]bool{"\x02\x02": true, "\x00": false, "": false} {
		record := codec.Record{Value: []byte(message), Headers: headers{"__value_schema_id": guidHeader(place)},
			Time: recordTime}
		d.(codec.Preparer).Prepare(record)
		var e codec.Event
		if reason := d.Decode(record, &e); good && (reason != codec.OK || e.Value != 100) || !good && reason == codec.OK {
			t.Errorf("place %q: %v, %+v", place, reason, e)
		}
	}
}

// One person counts once while producers change from one serializer to the other.
func TestKeySchemaInHeader(t *testing.T) {
	r := &shelf{schemas: map[uint32]codec.Registered{1: {Format: "avro", Text: avroSchema},
		11: {Format: "avro", Text: `"string"`}, 17: {Format: "json", Text: "{}"}},
		guids: map[[16]byte]codec.Registered{guid: {Format: "avro", Text: `"string"`}}}
	d, value, text := decoderOfKeys(t, r)
	for _, c := range []struct{ key, head, want string }{
		{numbered(11, string(text)), "", "u1"},
		{string(text), guidHeader(""), "u1"},
		{string(text), numbered(11, ""), "u1"},
		{`{"id":42}`, numbered(17, ""), `{"id":42}`},
		{"u1", "no id", "u1"},
		{numbered(11, string(text)), "no id", "u1"},
	} {
		record := codec.Record{Key: []byte(c.key), Value: value, Time: recordTime}
		if c.head != "" {
			record.Headers = headers{"__key_schema_id": c.head}
		}
		if w, ok := d.(codec.Preparer).Prepare(record); !ok {
			t.Fatalf("%q: schema %+v is not known", c.key, w)
		}
		var e codec.Event
		if reason := d.Decode(record, &e); reason != codec.OK || string(e.User) != c.want {
			t.Errorf("%q, %q: %v, user %q; want %q", c.key, c.head, reason, e.User, c.want)
		}
	}
}
