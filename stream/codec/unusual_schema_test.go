package codec_test

import (
	"strings"
	"testing"

	"github.com/louver/louver/stream/codec"
)

// Schemas that others read are read, and what cannot be read is said once for each schema.
func TestUnusualSchemas(t *testing.T) {
	field := func(more string) string {
		return strings.Replace(avroSchema, `"fields": [`, `"fields": [`+more+`, `, 1)
	}
	const unused = `{"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 8}}`
	price := `{"type": "record", "name": "Price", "fields": [` + unused + `]}`
	priced := field(`{"name": "price", "type": "Price"}`)
	r := &shelf{schemas: map[uint32]codec.Registered{
		1: {Format: "avro", Text: field(unused)},
		2: {Format: "avro", Text: priced, References: []codec.Reference{{Name: "Price", Text: price}}},
		3: {Format: "avro", Text: field(`{"name": "price", "type": {"type": "fixed", "name": "Amount", "size": 1,
			"logicalType": "decimal", "precision": 400, "scale": 8}}`)},
		4: {Format: "avro", Text: field(`{"name": "price", "type": "Unheard"}`)},
		5: {Format: "json", Text: "{}"},
	}}
	s := avroSpec()
	s.Schema, s.Registry = codec.Schema{Registry: true}, r
	d := decoder(t, s)
	datum, usual := encoded(t, request(nil)), event{"u1", 0, at, 123}
	wants(t, d, numbered(1, "\x02\x01"+datum), usual) // the underlying bytes come first
	wants(t, d, numbered(2, "\x02\x01"+datum), usual)
	wants(t, d, numbered(3, "\x01"+datum), usual)
	for range 2 {
		refuses(t, d, numbered(4, datum), codec.Malformed, false)
		refuses(t, d, numbered(5, datum), codec.Malformed, false)
	}
	if len(r.unusable) != 2 || !strings.HasPrefix(r.unusable[0], "a record names schema 4, which Louver cannot use: ") ||
		!strings.Contains(r.unusable[0], "Unheard") ||
		r.unusable[1] != "a record names schema 5, which is not of format avro" {
		t.Errorf("%q", r.unusable)
	}
}

// A decimal whose logical type is invalid is bytes, which are no value.
func TestInvalidDecimalAsValue(t *testing.T) {
	s := avroSpec()
	s.Schema.Text = strings.Replace(avroSchema, `"name": "latency_ms", "type": `,
		`"name": "latency_ms", "type": {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 8}}, {"name": "x", "type": `, 1)
	if s.Schema.Text == avroSchema {
		t.Fatal("nothing is replaced")
	}
	m := s.Mistakes()
	if len(m) != 1 || m[0].Part != "value" || !strings.Contains(m[0].Error(), "the schema says bytes") {
		t.Errorf("%v", m)
	}
}

// Registries have some files built in: schemas import them without a reference.
func TestBuiltInImports(t *testing.T) {
	imports := `
import "confluent/meta.proto";
import "confluent/type/decimal.proto";`
	for _, name := range []string{"calendar_period", "color", "date", "datetime", "dayofweek", "decimal", "expr",
		"fraction", "interval", "latlng", "localized_text", "money", "month", "phone_number", "postal_address",
		"quaternion", "timeofday"} {
		imports += "\nimport \"google/type/" + name + ".proto\";"
	}
	text := strings.Replace(protobufSchema, `import "google/protobuf/timestamp.proto";`,
		`import "google/protobuf/timestamp.proto";`+imports, 1)
	text = strings.Replace(text, "message Request {", `message Request {
		option (confluent.message_meta).doc = "a request";
		confluent.type.Decimal fee = 100 [(confluent.field_meta).tags = "money"];
		google.type.Date due_on = 101;
		google.type.Money in_all = 102;`, 1)
	if !strings.Contains(text, "money.proto") || !strings.Contains(text, "Money") {
		t.Fatal("nothing is replaced")
	}
	r := &shelf{schemas: map[uint32]codec.Registered{1: {Format: "protobuf", Text: text}}}
	s := protobufSpec(t)
	s.Schema, s.Registry = codec.Schema{Registry: true}, r
	wants(t, decoder(t, s), numbered(1, "\x00"+aUser+aRegion+aLatency+aTime), event{"u1", 0, at, 123})
	if len(r.unusable) > 0 {
		t.Error(r.unusable)
	}
}
