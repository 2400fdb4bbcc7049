package codec_test

import (
	"encoding/binary"
	"math"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/twmb/avro"

	"github.com/louver/louver/stream/codec"
)

const avroSchema = `{"type": "record", "name": "Request", "fields": [
	{"name": "user", "type": {"type": "record", "name": "User", "fields": [{"name": "id", "type": ["null", "string", "long"]}]}},
	{"name": "region", "type": {"type": "enum", "name": "Region", "symbols": ["eu", "us", "mars"]}},
	{"name": "latency_ms", "type": ["double", "null", {"type": "bytes", "logicalType": "decimal", "precision": 20, "scale": 4}]},
	{"name": "ts", "type": {"type": "long", "logicalType": "timestamp-micros"}},
	{"name": "tags", "type": {"type": "map", "values": "string"}},
	{"name": "more", "type": {"type": "array", "items": "null"}}]}`

func avroSpec() codec.Spec {
	s := jsonSpec()
	s.Format, s.User, s.Schema = "avro", "user.id", codec.Schema{Text: avroSchema}
	return s
}

// request is an event of avroSchema, with some fields replaced.
func request(change map[string]any) map[string]any {
	r := map[string]any{"user": map[string]any{"id": "u1"}, "region": "eu", "latency_ms": 12.3,
		"ts":   time.Unix(0, at).UTC(),
		"tags": map[string]any{"zone": "a"}, "more": []any{nil}}
	for k, v := range change {
		r[k] = v
	}
	return r
}

func encoded(t testing.TB, v any) string {
	t.Helper()
	b, err := avro.MustParse(avroSchema).Encode(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestAvroGood(t *testing.T) {
	d := decoder(t, avroSpec())
	usual := event{"u1", 0, at, 123}
	id := func(v any) map[string]any { return map[string]any{"user": map[string]any{"id": v}} }
	for _, c := range []struct {
		name   string
		change map[string]any
		want   event
	}{
		{"plain", nil, usual},
		{"a long as user", id(int64(-42)), event{"-42", 0, at, 123}},
		{"another group", map[string]any{"region": "us"}, event{"u1", 1, at, 123}},
		{"decimal", map[string]any{"latency_ms": big.NewRat(123, 10)}, usual},
		{"below", map[string]any{"latency_ms": -1e300}, event{"u1", 0, at, -1}},
		{"above", map[string]any{"latency_ms": 1e300}, event{"u1", 0, at, 600001}},
		{"hardly anything", map[string]any{"latency_ms": 5e-324}, event{"u1", 0, at, 0}},
		{"microseconds", map[string]any{"ts": time.Unix(0, at+123456000).UTC()}, event{"u1", 0, at + 123456000, 123}},
		{"1970", map[string]any{"ts": time.Unix(0, 1000).UTC()}, event{"u1", 0, 1000, 123}}, // no guess at the unit
	} {
		t.Run(c.name, func(t *testing.T) { check(t, d, nil, encoded(t, request(c.change)), c.want) })
	}
	inMap := avroSpec()
	inMap.Group, inMap.Groups = "tags.zone", []string{"a", "b"}
	check(t, decoder(t, inMap), nil, encoded(t, request(map[string]any{"tags": map[string]any{"zone": "b"}})),
		event{"u1", 1, at, 123})
	keyed := codec.Spec{Format: "avro", Schema: codec.Schema{Text: avroSchema}, User: codec.KeyField,
		Value: "latency_ms"}
	check(t, decoder(t, keyed), []byte("k"), encoded(t, request(nil)), event{"k", 0, recordTime, 123})
}

func TestAvroBad(t *testing.T) {
	d := decoder(t, avroSpec())
	good := encoded(t, request(nil))
	for want, records := range map[codec.Reason][]string{
		codec.Malformed: {"", "\x00", good[:len(good)-1], good + "\x00", good + good, value("12.3"),
			"\x00\x00\x00\x00\x07" + good, strings.Repeat("\xff", 1000),
			good[:len(good)-3] + "\xfe\xff\xff\xff\xff\xff\xff\xff\x7f\x00"}, // an array of 2⁶² nulls
		codec.BadValue: {encoded(t, request(map[string]any{"latency_ms": nil})),
			encoded(t, request(map[string]any{"latency_ms": math.NaN()})),
			encoded(t, request(map[string]any{"latency_ms": math.Inf(1)}))},
		codec.BadUser: {encoded(t, request(map[string]any{"user": map[string]any{"id": nil}})),
			encoded(t, request(map[string]any{"user": map[string]any{"id": ""}}))},
		codec.BadTime: {encoded(t, request(map[string]any{"ts": time.Unix(-1, 0)})),
			encoded(t, request(map[string]any{"ts": time.Date(2300, 1, 1, 0, 0, 0, 0, time.UTC)}))},
		codec.BadGroup: {encoded(t, request(map[string]any{"region": "mars"}))},
		codec.Future:   {encoded(t, request(map[string]any{"ts": time.Unix(0, at).Add(time.Hour)}))},
	} {
		for _, record := range records {
			checkRejected(t, d, nil, record, want)
			check(t, d, nil, good, event{"u1", 0, at, 123}) // nothing is left behind
		}
	}
	checkRejected(t, d, nil, strings.Replace(good, "u1", "\xff1", 1), codec.BadUser)
	var e codec.Event
	if d.Decode(codec.Record{Time: recordTime}, &e) != codec.Malformed {
		t.Error("a record without a value is taken")
	}
	if r := d.Decode(codec.Record{Value: []byte(encoded(t, request(map[string]any{"latency_ms": nil}))),
		Time: recordTime},
		&e); r != codec.BadValue || !d.Missing() {
		t.Errorf("null: %v, missing %v; want bad_value, missing", r, d.Missing())
	}
}

// Debezium writes decimals as texts, if it is told to.
func TestAvroNumberInAText(t *testing.T) {
	s := avroSpec()
	s.Value, s.Group, s.Groups = "tags.price", "", nil
	d := decoder(t, s)
	priced := func(price string) string {
		return encoded(t, request(map[string]any{"tags": map[string]any{"price": price}}))
	}
	check(t, d, nil, priced("12.30"), event{"u1", 0, at, 123})
	for _, bad := range []string{"", "12.30 EUR", "NaN"} {
		checkRejected(t, d, nil, priced(bad), codec.BadValue)
	}
}

// Where events of several kinds are in one topic, a record's schema is a union of records. A field that only some have
// is missing in the others.
func TestAvroUnionOfRecords(t *testing.T) {
	const orders = `[{"type": "record", "name": "Paid", "fields": [{"name": "who", "type": "string"},
		{"name": "of", "type": ["null", "string", {"type": "record", "name": "Sum", "fields": [
			{"name": "amount", "type": "double"}]}]}]},
		{"type": "record", "name": "Shipped", "fields": [{"name": "parcel", "type": "long"}]}]`
	s := codec.Spec{Format: "avro", Schema: codec.Schema{Text: orders}, User: "who", Value: "of.amount",
		Grid: grid(t)}
	d := decoder(t, s)
	of := func(branch string, fields map[string]any) string {
		b, err := avro.MustParse(orders).Encode(map[string]any{branch: fields})
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	check(t, d, nil, of("Paid", map[string]any{"who": "u1", "of": map[string]any{"Sum": map[string]any{"amount": 12.3}}}),
		event{"u1", 0, recordTime, 123})
	checkRejected(t, d, nil, of("Paid", map[string]any{"who": "u1", "of": nil}), codec.BadValue)
	checkRejected(t, d, nil, of("Shipped", map[string]any{"parcel": int64(7)}), codec.BadValue)
	var e codec.Event
	if d.Decode(codec.Record{Value: []byte(of("Shipped", map[string]any{"parcel": int64(7)})), Time: recordTime},
		&e); !d.Missing() {
		t.Error("a field of another branch is not missing")
	}
	for field, want := range map[string]string{"what": "want one of who, of, parcel", "who.name": "string has no fields"} {
		s.User = field
		if _, err := codec.New(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("user %s: %v, want %q", field, err, want)
		}
	}
}

// A field may be named as it was named before.
func TestAvroAliases(t *testing.T) {
	const renamed = `{"type": "record", "name": "Paid", "fields": [
		{"name": "user_id", "aliases": ["uid", "who"], "type": "string"},
		{"name": "sum", "type": {"type": "record", "name": "Sum", "fields": [
			{"name": "of", "aliases": ["amount"], "type": "double"}, {"name": "who", "type": "long"}]}}]}`
	d := decoder(t, codec.Spec{Format: "avro", Schema: codec.Schema{Text: renamed}, User: "uid", Value: "sum.amount"})
	b, err := avro.MustParse(renamed).Encode(map[string]any{"user_id": "u1",
		"sum": map[string]any{"of": 12.3, "who": int64(7)}})
	if err != nil {
		t.Fatal(err)
	}
	check(t, d, nil, string(b), event{"u1", 0, recordTime, 123})
}

// What is wrong with a value that nobody wants is not looked at, only how long it is. Values may be nested 1,000 deep.
func TestAvroUnwantedFields(t *testing.T) {
	const schema = `{"type":"record","name":"R","fields":[{"name":"u","type":"string"},{"name":"v","type":"int"},
		{"name":"price","type":{"type":"bytes","logicalType":"big-decimal"}},
		{"name":"day","type":{"type":"long","logicalType":"time-micros"}},{"name":"next","type":["null","R"]}]}`
	d := decoder(t, codec.Spec{Format: "avro", Schema: codec.Schema{Text: schema}, User: "u", Value: "v"})
	record := func(price, day, next string) string { return "\x02u\x02" + price + day + next }
	lasting := string(binary.AppendVarint(nil, math.MaxInt64))
	good := record("\x06\x02\x01\x00", "\x02", "\x00")
	for _, r := range []string{good, record("\x00", lasting, "\x00"), record("\x02\xff", "\x02", "\x02"+good),
		strings.Repeat(record("\x00", "\x02", "\x02"), 499) + good} {
		check(t, d, nil, r, event{"u", 0, recordTime, 10})
	}
	for _, r := range []string{record("\x04\xff", "\x02", ""), record("\x01", "\x02", "\x00"),
		record(lasting, "\x02", "\x00"),
		record("\x00", "\x02", "\x04"), record("\x00", "\x02", "\x01"),
		strings.Repeat(record("\x00", "\x02", "\x02"), 500) + good} {
		checkRejected(t, d, nil, r, codec.Malformed)
	}
}
