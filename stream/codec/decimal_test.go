package codec_test

import (
	"encoding/base64"
	"math/big"
	"strings"
	"testing"

	"github.com/twmb/avro"
	"pgregory.net/rapid"

	"github.com/louver/louver/stream/codec"
)

// twos is how Java's BigInteger writes a number into bytes: big-endian in two's complement, as short as it can be.
func twos(n int64) []byte {
	b := []byte{byte(n >> 56), byte(n >> 48), byte(n >> 40), byte(n >> 32), byte(n >> 24), byte(n >> 16), byte(n >> 8),
		byte(n)}
	for len(b) > 1 && (b[0] == 0 && b[1] < 0x80 || b[0] == 0xff && b[1] >= 0x80) {
		b = b[1:]
	}
	return b
}

// connectSchema is a schema of the JSON converter, around that of the field amount.
func connectSchema(amount string) string {
	row := `{"type":"struct","optional":true,"name":"db.orders.Value","fields":[{"type":"int32","field":"id"},` +
		amount + `],"field":"`
	return `{"type":"struct","fields":[` + row + `before"},` + row + `after"},{"type":"string","field":"op"}],` +
		`"name":"db.orders.Envelope"}`
}

func connectDecimal(scale string) string {
	return `{"type":"bytes","optional":false,"name":"org.apache.kafka.connect.data.Decimal","version":1,` +
		`"parameters":{"scale":"` + scale + `","connect.decimal.precision":"10"},"field":"amount"}`
}

const variableScale = `{"type":"struct","fields":[{"type":"int32","optional":false,"field":"scale"},{"type":"bytes",` +
	`"optional":false,"field":"value"}],"optional":false,"name":"io.debezium.data.VariableScaleDecimal","field":"amount"}`

func debezium(schema, amount string) string {
	return `{"schema":` + schema + `,"payload":{"before":null,"after":{"id":7,"amount":` + amount + `},"op":"c"}}`
}

func TestDecimalsOfConnect(t *testing.T) {
	b64 := func(n int64) string { return `"` + base64.StdEncoding.EncodeToString(twos(n)) + `"` }
	orders := codec.Spec{Format: "json", User: "payload.after.id", Value: "payload.after.amount"}
	whole := codec.Spec{Format: "json", User: codec.KeyField, Value: "payload"}
	flat := codec.Spec{Format: "json", User: "id", Value: "amount"}
	cloud := codec.Spec{Format: "cloudevents", User: "data.payload.after.id", Value: "data.payload.after.amount"}
	event := func(data string) string {
		return `{"specversion":"1.0","id":"1","source":"s","type":"t","data":` + data + "}"
	}
	text := strings.Replace(connectDecimal("2"), `"name":"org.apache.kafka.connect.data.Decimal"`, `"type":"string"`, 1)
	for _, c := range []struct {
		spec   codec.Spec
		record string
		want   int64 // in tenths; −1: below 0, −2: bad
	}{
		{orders, debezium(connectSchema(connectDecimal("2")), b64(1234)), 123},
		{orders, debezium(connectSchema(connectDecimal("2")), b64(-1)), -1},
		{orders, debezium(connectSchema(connectDecimal("0")), b64(128)), 1280},
		{orders, debezium(connectSchema(connectDecimal("-2")), b64(12)), 12000},
		{orders, debezium(connectSchema(connectDecimal("2")), `"1234"`), -1},  // no number, although it looks like one
		{orders, debezium(connectSchema(connectDecimal("2")), `12.3`), 123},   // decimal.format=NUMERIC
		{orders, debezium(connectSchema(text), `"12.3"`), 123},                // decimal.handling.mode=string
		{orders, debezium(connectSchema(connectDecimal("2")), `"12.3"`), -2},  // no base64
		{orders, debezium(connectSchema(connectDecimal("2")), `""`), -2},      // no number
		{orders, debezium(connectSchema(connectDecimal("two")), b64(12)), -2}, // no scale
		{orders, debezium("null", b64(1234)), -2},
		{orders, debezium("7", `"12.3"`), 123},
		{orders, debezium(connectSchema(variableScale), `{"scale":2,"value":`+b64(1234)+"}"), 123},
		{orders, debezium("null", `{"value":`+b64(12345)+`,"scale":3}`), 123},
		{orders, debezium(connectSchema(variableScale), `{"scale":2}`), -2},
		{orders, debezium(connectSchema(variableScale), `{"value":`+b64(1)+`}`), -2},
		{orders, debezium(connectSchema(variableScale), `{"scale":2,"value":"AQ==","more":1}`), -2},
		{orders, debezium(connectSchema(variableScale), `null`), -2},
		{whole, `{"schema":` + connectDecimal("1") + `,"payload":` + b64(77) + `}`, 77},
		{flat, `{"id":7,"amount":{"scale":1,"value":` + b64(77) + `}}`, 77},
		{flat, `{"id":7,"amount":` + b64(77) + `}`, -2},
		{flat, `{"id":7,"amount":[` + b64(77) + `]}`, -2},
		{cloud, event(debezium(connectSchema(connectDecimal("2")), b64(1234))), 123},
		{cloud, event(debezium(connectSchema(variableScale), `{"scale":2,"value":`+b64(1234)+"}")), 123},
	} {
		d := decoder(t, c.spec)
		for range 2 { // with the schema known from the record before, too
			var e codec.Event
			switch r := d.Decode(codec.Record{Key: []byte("u"), Value: []byte(c.record), Time: recordTime}, &e); {
			case c.want == -2 && r != codec.BadValue, c.want != -2 && (r != codec.OK || e.Value != c.want):
				t.Errorf("%s: %v, %d; want %d", c.record, r, e.Value, c.want)
			}
		}
	}
	// The schema of one record says nothing of the next.
	d := decoder(t, orders)
	for scale, want := range map[string]int64{"1": 1234, "2": 123, "0": 12340} {
		var e codec.Event
		record := debezium(connectSchema(connectDecimal(scale)), b64(1234))
		if r := d.Decode(codec.Record{Value: []byte(record), Time: recordTime}, &e); r != codec.OK || e.Value != want {
			t.Errorf("scale %s: %v, %d; want %d", scale, r, e.Value, want)
		}
	}
}

// Any whole number comes out as it went in.
func TestDecimalsOfAnySize(t *testing.T) {
	d := decoder(t, codec.Spec{Format: "json", User: "u", Value: "v"})
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64().Draw(t, "n")
		scale := rapid.IntRange(-5, 25).Draw(t, "scale")
		var e codec.Event
		record := `{"u":"u","v":{"scale":` + big.NewInt(int64(scale)).String() + `,"value":"` +
			base64.StdEncoding.EncodeToString(twos(n)) + `"}}`
		if r := d.Decode(codec.Record{Value: []byte(record), Time: recordTime}, &e); r != codec.OK {
			t.Fatalf("%s: %v", record, r)
		}
		plain := `{"u":"u","v":` + big.NewInt(n).String() + "e" + big.NewInt(int64(-scale)).String() + "}"
		var want codec.Event
		if r := d.Decode(codec.Record{Value: []byte(plain), Time: recordTime}, &want); r != codec.OK ||
			want.Value != e.Value {
			t.Fatalf("%s: %d, %s: %v, %d", record, e.Value, plain, r, want.Value)
		}
	})
}

// A value that may be a decimal says what to set. Words and other texts say nothing.
func TestDoubtfulDecimals(t *testing.T) {
	d := decoder(t, codec.Spec{Format: "json", User: "id", Value: "amount"})
	for value, doubted := range map[string]bool{`"AfQ="`: true, `"BNI="`: true, `"none"`: false, `"NULL"`: false,
		`"Free"`: false, `"12,5"`: false, `""`: false, `true`: false, `[]`: false, `"n/a"`: false} {
		var e codec.Event
		if r := d.Decode(codec.Record{Value: []byte(`{"id":1,"amount":` + value + "}")}, &e); r != codec.BadValue {
			t.Fatalf("%s: %v", value, r)
		}
		if got := d.Doubt(); (got != "") != doubted || doubted && (!strings.Contains(got, "decimal.handling.mode=string") ||
			strings.Contains(got, "AfQ")) {
			t.Errorf("%s: the record %q", value, got)
		}
	}
}

// Debezium's decimals in Avro, and Confluent's in Protocol Buffers.
func TestDecimalsWithSchemas(t *testing.T) {
	const schema = `{"type": "record", "name": "Value", "namespace": "db", "fields": [{"name": "id", "type": "long"},
		{"name": "amount", "type": ["null", {"type": "record", "name": "VariableScaleDecimal",
		"namespace": "io.debezium.data", "fields": [{"name": "scale", "type": "int"}, {"name": "value", "type": "bytes"}]}]}]}`
	s := codec.Spec{Format: "avro", Schema: codec.Schema{Text: schema}, User: "id", Value: "amount"}
	d := decoder(t, s)
	datum, err := avro.MustParse(schema).Encode(map[string]any{"id": int64(7),
		"amount": map[string]any{"scale": int32(2), "value": twos(1234)}})
	if err != nil {
		t.Fatal(err)
	}
	read(t, d, nil, event{"7", 0, recordTime, 123}, string(datum))
	s.Schema.Text = strings.Replace(schema, "io.debezium.data", "other", 1)
	s.Grid = grid(t)
	if _, err := codec.New(s); err == nil || !strings.Contains(err.Error(), "decimal") {
		t.Errorf("another record as value: %v", err)
	}

	r := &shelf{schemas: map[uint32]codec.Registered{1: {Format: "protobuf", Text: `syntax = "proto3";
		import "confluent/type/decimal.proto"; message M { string id = 1; confluent.type.Decimal amount = 2; }`}}}
	d = decoder(t, codec.Spec{Format: "protobuf", Schema: codec.Schema{Registry: true}, Registry: r, User: "id",
		Value: "amount"})
	wants(t, d, numbered(1, "\x00\x0a\x02u1\x12\x08\x0a\x02\x04\xd2\x10\x0a\x18\x02"), event{"u1", 0, recordTime, 123})
	refuses(t, d, numbered(1, "\x00\x0a\x02u1\x12\x02\x18\x02"), codec.BadValue, false)
	refuses(t, d, numbered(1, "\x00\x0a\x02u1"), codec.BadValue, true)
}
