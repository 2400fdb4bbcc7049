package codec_test

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/louver/louver/stream/codec"
)

// shelf has schemas in memory.
type shelf struct {
	schemas  map[uint32]codec.Registered
	guids    map[[16]byte]codec.Registered
	asked    int
	unusable []string
}

func (s *shelf) Known(id codec.SchemaID) (codec.Registered, bool) {
	s.asked++
	if id.GUID != [16]byte{} {
		r, ok := s.guids[id.GUID]
		return r, ok
	}
	r, ok := s.schemas[id.Number]
	return r, ok
}

func (s *shelf) Unusable(_ codec.SchemaID, why string) { s.unusable = append(s.unusable, why) }

func numbered(id uint32, datum string) string {
	return string(binary.BigEndian.AppendUint32([]byte{0}, id)) + datum
}

// prepared prepares and decodes a record.
func prepared(t *testing.T, d codec.Decoder, record string) (codec.Event, codec.Reason) {
	t.Helper()
	d.(codec.Preparer).Prepare(codec.Record{Value: []byte(record)})
	var e codec.Event
	r := d.Decode(codec.Record{Value: []byte(record), Time: recordTime}, &e)
	return e, r
}

func wants(t *testing.T, d codec.Decoder, record string, want event) {
	t.Helper()
	e, r := prepared(t, d, record)
	if got := (event{string(e.User), e.Group, e.Time, e.Value}); r != codec.OK || got != want {
		t.Errorf("%q: %v, %+v; want %+v", record, r, got, want)
	}
}

func refuses(t *testing.T, d codec.Decoder, record string, want codec.Reason, missing bool) {
	t.Helper()
	if _, r := prepared(t, d, record); r != want || missing != (r != codec.Malformed && d.Missing()) {
		t.Errorf("%q: %v, missing %v; want %v, %v", record, r, d.Missing(), want, missing)
	}
}

func TestAvroRegistry(t *testing.T) {
	user := `{"type": "record", "name": "User", "fields": [{"name": "id", "type": ["null", "string", "long"]}]}`
	referring := strings.Replace(avroSchema, user, `"User"`, 1)
	if referring == avroSchema {
		t.Fatal("nothing is replaced")
	}
	r := &shelf{schemas: map[uint32]codec.Registered{
		1: {Format: "avro", Text: avroSchema},
		2: {Format: "avro", Text: referring, References: []codec.Reference{{Name: "User", Text: user}}},
		3: {Format: "avro", Text: strings.Replace(avroSchema, "latency_ms", "duration", 1)},
		4: {Format: "avro", Text: strings.Replace(avroSchema, `"timestamp-micros"`, `"local-timestamp-micros"`, 1)},
		5: {Format: "protobuf", Text: protobufSchema},
		6: {Format: "avro", Text: "{"},
		7: {Format: "avro", Text: referring},
	}}
	s := avroSpec()
	s.Schema, s.Registry = codec.Schema{Registry: true}, r
	d := decoder(t, s)
	datum, usual := encoded(t, request(nil)), event{"u1", 0, at, 123}
	wants(t, d, numbered(1, datum), usual)
	wants(t, d, numbered(2, datum), usual)
	refuses(t, d, numbered(3, datum), codec.BadValue, true)
	refuses(t, d, numbered(4, datum), codec.BadTime, false) // there, but no moment
	for _, id := range []uint32{5, 6, 7, 99} {
		refuses(t, d, numbered(id, datum), codec.Malformed, false)
	}
	for _, record := range []string{"", "\x00", "\x00\x00\x00\x01", datum, "\x01" + numbered(1, datum)[1:],
		numbered(1, ""), numbered(1, datum) + "x"} {
		refuses(t, d, record, codec.Malformed, false)
	}
	asked := r.asked
	wants(t, d, numbered(1, datum), usual)
	if r.asked != asked {
		t.Errorf("%d requests for what is known", r.asked-asked)
	}
	// Made-up numbers cost a bounded amount of memory, and take nothing away for long.
	for id := range uint32(3000) {
		refuses(t, d, numbered(1000+id, datum), codec.Malformed, false)
	}
	wants(t, d, numbered(1, datum), usual)
}

func TestProtobufRegistry(t *testing.T) {
	whole := strings.Replace(protobufSchema, "message User",
		`message Outer { message Other {} message Request { User user = 1; Region region = 2; double latency_ms = 3; google.protobuf.Timestamp ts = 4; } }
message User`, 1)
	r := &shelf{schemas: map[uint32]codec.Registered{
		1: {Format: "protobuf", Text: protobufSchema},
		2: {Format: "protobuf", Text: whole},
		3: {Format: "protobuf",
			Text:       `syntax = "proto3"; import "web.proto"; message Cart { web.User user = 1; web.Region region = 2; float latency_ms = 3; string ts = 4; }`,
			References: []codec.Reference{{Name: "web.proto", Text: protobufSchema}}},
		4: {Format: "protobuf", Text: `syntax = "proto3"; import "web.proto";`},
	}}
	s := protobufSpec(t)
	s.Schema, s.Registry = codec.Schema{Registry: true}, r
	d := decoder(t, s)
	datum, usual := aUser+aRegion+aLatency+aTime, event{"u1", 0, at, 123}
	wants(t, d, numbered(1, "\x00"+datum), usual)                      // the first message
	wants(t, d, numbered(1, "\x02\x00"+datum), usual)                  // the same in full: one index, 0
	wants(t, d, numbered(2, "\x04\x02\x02"+datum), usual)              // two indexes, 1 and 1
	refuses(t, d, numbered(1, "\x02\x02"+datum), codec.BadValue, true) // User has none of the fields
	wants(t, d, numbered(3, "\x00"+aUser+aRegion+"\x1d\xcd\xcc\x44\x41"+lengthed(4, "2026-11-20T08:00:00Z")), usual)
	for _, record := range []string{numbered(1, ""), numbered(1, "\x02"), numbered(1, "\x02\x10"+datum),
		numbered(1, "\x01"), numbered(1, "\x40"+datum), numbered(4, "\x00"), numbered(2, "\x06\x02\x02\x00")} {
		refuses(t, d, record, codec.Malformed, false)
	}
}

// Nothing is decided about a record whose schema is not known yet; afterwards it counts.
func TestSchemaNotKnownYet(t *testing.T) {
	r := &shelf{}
	s := avroSpec()
	s.Schema, s.Registry = codec.Schema{Registry: true}, r
	d := decoder(t, s)
	record := numbered(1, encoded(t, request(nil)))
	if w, ok := d.(codec.Preparer).Prepare(codec.Record{Value: []byte(record)}); w != (codec.Wanted{ID: codec.Numbered(1)}) || ok {
		t.Errorf("schema %+v, known %v; want schema 1, which is not known", w, ok)
	}
	r.schemas = map[uint32]codec.Registered{1: {Format: "avro", Text: avroSchema}}
	wants(t, d, record, event{"u1", 0, at, 123})
	s.Registry, s.Grid = nil, grid(t)
	if _, err := codec.New(s); err == nil || !strings.Contains(err.Error(), "LOUVER_SCHEMA_REGISTRY_URL") {
		t.Errorf("%v", err)
	}
}

func FuzzRegistry(f *testing.F) {
	r := &shelf{schemas: map[uint32]codec.Registered{1: {Format: "protobuf", Text: protobufSchema}}}
	s := protobufSpec(f)
	s.Schema, s.Registry = codec.Schema{Registry: true}, r
	d := decoder(f, s)
	f.Add([]byte(numbered(1, "\x00"+aUser+aRegion+aLatency+aTime)))
	f.Add([]byte(numbered(1, "\x04\x02\x02")))
	f.Add([]byte(numbered(1, "\x02\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")))
	f.Fuzz(func(t *testing.T, record []byte) {
		d.(codec.Preparer).Prepare(codec.Record{Value: record})
		var e codec.Event
		if r := d.Decode(codec.Record{Value: record, Time: recordTime}, &e); r == codec.OK && len(e.User) == 0 {
			t.Fatalf("%q: %+v", record, e)
		}
	})
}
