package codec_test

import (
	"encoding/binary"
	"testing"

	"github.com/twmb/avro"

	"github.com/louver/louver/stream/codec"
)

// One person counts once, whatever the number of the schema that the key names.
func TestKeysThatNameTheirSchemas(t *testing.T) {
	const id = `{"type": "record", "name": "Key", "fields": [{"name": "id", "type": "long"}]}`
	r := &shelf{schemas: map[uint32]codec.Registered{
		1:  {Format: "avro", Text: avroSchema},
		11: {Format: "avro", Text: `"string"`},
		12: {Format: "avro", Text: `{"type": "string", "avro.java.string": "String"}`},
		13: {Format: "avro", Text: `"long"`},
		14: {Format: "avro", Text: `{"type": "record", "name": "Key", "fields": [{"name": "id", "type": "long", "doc": "who"}]}`},
		15: {Format: "avro", Text: id},
		16: {Format: "protobuf", Text: `syntax = "proto3"; message Key { int64 id = 1; }`},
		17: {Format: "json", Text: "{}"},
	}}
	d, value, text := decoderOfKeys(t, r)
	number := string(binary.AppendVarint(nil, 42))
	long := string(binary.BigEndian.AppendUint64(nil, 11<<24|5)) // as a LongSerializer writes it: no header
	for _, c := range []struct{ key, want string }{
		{"u1", "u1"},
		{numbered(11, string(text)), "u1"},
		{numbered(12, string(text)), "u1"},
		{numbered(13, number), "42"},
		{numbered(14, number), number},
		{numbered(15, number), number},
		{numbered(16, "\x00\x08\x2a"), "\x08\x2a"},
		{numbered(16, "\x02\x00\x08\x2a"), "\x08\x2a"},
		{numbered(17, `{"id":42}`), `{"id":42}`},
		{long, long},
		{numbered(0, "abc"), numbered(0, "abc")},
		{numbered(11, string(text)+"x"), numbered(11, string(text)+"x")},
	} {
		record := codec.Record{Key: []byte(c.key), Value: value, Time: recordTime}
		if w, ok := d.(codec.Preparer).Prepare(record); !ok {
			t.Fatalf("%q: schema %+v is not known", c.key, w)
		}
		var e codec.Event
		if reason := d.Decode(record, &e); reason != codec.OK || string(e.User) != c.want {
			t.Errorf("%q: %v, user %q; want %q", c.key, reason, e.User, c.want)
		}
	}
	// While it is not known whether a key names a schema, nothing is decided.
	record := codec.Record{Key: []byte(numbered(99, string(text))), Value: value, Time: recordTime}
	if w, ok := d.(codec.Preparer).Prepare(record); ok || w != (codec.Wanted{ID: codec.Numbered(99), Key: true}) {
		t.Errorf("%+v, %v; want that schema 99 of the key is wanted", w, ok)
	}
}

// Keys with headers of a registry are told from others.
func TestFramedKeys(t *testing.T) {
	for key, want := range map[string]bool{numbered(7, "u1"): true, numbered(0, "u1"): false, "u1": false, "": false,
		string(binary.BigEndian.AppendUint64(nil, 17<<24)): false, glued("u1"): true, glued("u1")[:17]: false,
		"\x03\x01" + glued("u1")[2:]: false} {
		if got := codec.Framed([]byte(key)); got != want {
			t.Errorf("%q: %v, want %v", key, got, want)
		}
	}
}

// decoderOfKeys decodes records whose users are in their keys, by the schemas of a registry. value is the value of such
// a record, and text is the Avro of the key u1.
func decoderOfKeys(t *testing.T, r codec.Schemas) (d codec.Decoder, value, text []byte) {
	t.Helper()
	s := avroSpec()
	s.User, s.Schema, s.Registry = codec.KeyField, codec.Schema{Registry: true}, r
	text, err := avro.MustParse(`"string"`).Encode("u1")
	if err != nil {
		t.Fatal(err)
	}
	return decoder(t, s), []byte(numbered(1, encoded(t, request(nil)))), text
}
