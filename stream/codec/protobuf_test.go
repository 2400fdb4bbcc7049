package codec_test

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/louver/louver/stream/codec"
)

const protobufSchema = `syntax = "proto3";
package web;
import "google/protobuf/timestamp.proto";
import "google/protobuf/duration.proto";
import "google/protobuf/wrappers.proto";
message Request {
  User user = 1;
  Region region = 2;
  double latency_ms = 3;
  google.protobuf.Timestamp ts = 4;
  int64 epoch = 5;
  optional uint64 size = 6;
  repeated Request earlier = 7;
  google.protobuf.DoubleValue amount = 8;
  google.protobuf.Int64Value client = 9;
  google.protobuf.Duration took = 10;
  string price = 11;
  google.protobuf.StringValue area = 12;
}
message User { oneof who { string id = 1; fixed64 number = 2; } }
enum Region { nowhere = 0; eu = 1; us = 2; mars = 3; }
`

func protobufSpec(t testing.TB) codec.Spec {
	t.Helper()
	path := filepath.Join(t.TempDir(), "web.proto")
	if err := os.WriteFile(path, []byte(protobufSchema), 0o600); err != nil {
		t.Fatal(err)
	}
	text, err := codec.CompileProto(path)
	if err != nil {
		t.Fatal(err)
	}
	s := jsonSpec()
	s.Format, s.User, s.Schema = "protobuf", "user.id", codec.Schema{Text: text, Message: "web.Request"}
	return s
}

// The wire, written by hand with protowire: nothing of what is tested writes what it reads.
func lengthed(n protowire.Number, content string) string {
	return string(protowire.AppendString(protowire.AppendTag(nil, n, protowire.BytesType), content))
}

func varint(n protowire.Number, v uint64) string {
	return string(protowire.AppendVarint(protowire.AppendTag(nil, n, protowire.VarintType), v))
}

func latency(v float64) string {
	return string(protowire.AppendFixed64(protowire.AppendTag(nil, 3, protowire.Fixed64Type), math.Float64bits(v)))
}

var (
	aUser    = lengthed(1, lengthed(1, "u1"))
	aRegion  = varint(2, 1)
	aLatency = latency(12.3)
	aTime    = lengthed(4, varint(1, uint64(at/int64(time.Second))))
)

func TestProtobufGood(t *testing.T) {
	s := protobufSpec(t)
	d := decoder(t, s)
	usual := event{"u1", 0, at, 123}
	all := aUser + aRegion + aLatency + aTime
	for _, c := range []good{
		{"plain", all, usual},
		{"another order", aTime + aLatency + aRegion + aUser, usual},
		{"the last one counts", latency(7) + all, usual},
		{"fields that the schema does not know", all + lengthed(99, "new") + varint(100, 1), usual},
		{"another group", aUser + varint(2, 2) + aLatency + aTime, event{"u1", 1, at, 123}},
		{"zero is a value", aUser + aRegion + aTime, event{"u1", 0, at, 0}},
		{"above", aUser + aRegion + latency(1e300) + aTime, event{"u1", 0, at, 600001}},
		{"nanoseconds", aUser + aRegion + aLatency + lengthed(4, varint(1, uint64(at/1e9))+varint(2, 123456789)),
			event{"u1", 0, at + 123456789, 123}},
		{"a second after 1970", aUser + aRegion + aLatency + lengthed(4, varint(1, 1)), event{"u1", 0, 1e9, 123}},
	} {
		t.Run(c.name, func(t *testing.T) { check(t, d, nil, c.record, c.want) })
	}
	s.User, s.Value, s.Time = "user.number", "size", "epoch"
	number := string(protowire.AppendFixed64(protowire.AppendTag(nil, 2, protowire.Fixed64Type), math.MaxUint64))
	check(t, decoder(t, s), nil, lengthed(1, number)+aRegion+varint(6, math.MaxUint64)+varint(5, uint64(at/1e6)),
		event{"18446744073709551615", 0, at, 600001})
	s = codec.Spec{Format: "protobuf", Schema: s.Schema, User: codec.KeyField, Value: "latency_ms"}
	check(t, decoder(t, s), []byte("k"), "", event{"k", 0, recordTime, 0}) // an empty message is one
}

// Wrappers are named as the field that they stand for. One that is set has a value, also if that is a zero. A duration
// is a number of seconds, and a text may be a number.
func TestProtobufWrapped(t *testing.T) {
	s := protobufSpec(t)
	s.User, s.Value, s.Group, s.Time = "client", "amount", "area", "ts"
	amount := lengthed(8, string(protowire.AppendFixed64(protowire.AppendTag(nil, 1, protowire.Fixed64Type),
		math.Float64bits(12.3))))
	client, area := lengthed(9, varint(1, 77)), lengthed(12, lengthed(1, "eu"))
	d := decoder(t, s)
	check(t, d, nil, amount+client+area+aTime, event{"77", 0, at, 123})
	check(t, d, nil, lengthed(8, "")+lengthed(9, "")+area+aTime, event{"0", 0, at, 0})
	checkRejected(t, d, nil, client+area+aTime, codec.BadValue)
	checkRejected(t, d, nil, amount+area+aTime, codec.BadUser)
	checkRejected(t, d, nil, amount+client+lengthed(12, "")+aTime, codec.BadGroup)
	s.User, s.Value, s.Group = "client.value", "amount.value", "area.value" // as it had to be written before
	check(t, decoder(t, s), nil, amount+client+area+aTime, event{"77", 0, at, 123})

	seconds := func(s, ns int64) string { return lengthed(10, varint(1, uint64(s))+varint(2, uint64(ns))) }
	s = protobufSpec(t)
	s.Value = "took"
	d = decoder(t, s)
	for duration, want := range map[string]int64{seconds(12, 300_000_000): 123, seconds(0, 250_000_000): 3,
		seconds(-1, -1): -1, seconds(0, -100_000_000): -1, lengthed(10, ""): 0} {
		check(t, d, nil, aUser+aRegion+aTime+duration, event{"u1", 0, at, want})
	}
	for _, duration := range []string{"", seconds(1, -1), seconds(-1, 1), seconds(1, 1e9), seconds(1<<40, 0)} {
		checkRejected(t, d, nil, aUser+aRegion+aTime+duration, codec.BadValue)
	}
	s.Value = "price"
	d = decoder(t, s)
	check(t, d, nil, aUser+aRegion+aTime+lengthed(11, "12.30"), event{"u1", 0, at, 123})
	checkRejected(t, d, nil, aUser+aRegion+aTime+lengthed(11, "12,30"), codec.BadValue)
	checkRejected(t, d, nil, aUser+aRegion+aTime, codec.BadValue)
}

func TestProtobufBad(t *testing.T) {
	s := protobufSpec(t)
	d := decoder(t, s)
	all := aUser + aRegion + aLatency + aTime
	for want, records := range map[codec.Reason][]string{
		codec.Malformed: {"\x00", all[:len(all)-1], all + "\x0a", value("12.3"), "\x00\x00\x00\x00\x07\x00" + all,
			lengthed(1, lengthed(1, "\xff")) + aRegion + aLatency + aTime},
		codec.BadValue: {aUser + aRegion + latency(math.NaN()) + aTime,
			aUser + aRegion + latency(math.Inf(-1)) + aTime},
		codec.BadUser: {aRegion + aLatency + aTime, lengthed(1, "") + aRegion + aLatency + aTime,
			lengthed(1, lengthed(1, "")) + aRegion + aLatency + aTime, varint(1, 7) + aRegion + aLatency + aTime},
		codec.BadTime: {aUser + aRegion + aLatency, aUser + aRegion + aLatency + lengthed(4, varint(1, math.MaxUint64)),
			aUser + aRegion + aLatency + lengthed(4, varint(1, 1)+varint(2, 1e9)), aUser + aRegion + aLatency +
				lengthed(4, varint(1, 1<<62))},
		codec.BadGroup: {aUser + aLatency + aTime, aUser + varint(2, 3) + aLatency + aTime,
			aUser + varint(2, 77) + aLatency + aTime},
		codec.Future: {aUser + aRegion + aLatency + lengthed(4, varint(1, uint64(at/1e9)+3600))},
	} {
		for _, record := range records {
			checkRejected(t, d, nil, record, want)
			check(t, d, nil, all, event{"u1", 0, at, 123}) // nothing is left behind
		}
	}
	var e codec.Event
	if d.Decode(codec.Record{Time: recordTime}, &e) != codec.Malformed {
		t.Error("a record without a value is taken")
	}
	s.Value, s.Time = "size", "epoch"
	for record, want := range map[string]codec.Reason{aUser + aRegion + varint(5, 1): codec.BadValue, aUser + aRegion +
		varint(6, 1): codec.BadTime} {
		d := decoder(t, s)
		if r := d.Decode(codec.Record{Value: []byte(record), Time: recordTime}, &e); r != want || !d.Missing() {
			t.Errorf("%q: %v, missing %v; want %v, missing", record, r, d.Missing(), want)
		}
	}
}

func TestProtobufFiles(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"bad.proto": "message {",
		"lacks.proto": `syntax = "proto3"; import "other.proto";`} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := codec.CompileProto(path); err == nil || !strings.Contains(err.Error(), name) &&
			!strings.Contains(err.Error(), "other.proto") {
			t.Errorf("%s: %v, want an error that says where", name, err)
		}
	}
}

// What is wrong within a field that nobody wants is not looked at, however deep that is. Its length must be right.
func TestProtobufUnwantedFields(t *testing.T) {
	d := decoder(t, protobufSpec(t))
	all := aUser + aRegion + aLatency + aTime
	deep := ""
	for range 200 {
		deep = lengthed(7, deep)
	}
	for _, more := range []string{deep, lengthed(7, "\xff"), lengthed(11, "\xff"), lengthed(8, "\x09"),
		lengthed(5, "")} {
		check(t, d, nil, all+more, event{"u1", 0, at, 123})
	}
	for _, more := range []string{"\x3a\x02\x00", "\x3a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "\x7b", "\x7c",
		"\x00\x00", "\x7b\x84\x01", "\x7e"} {
		checkRejected(t, d, nil, all+more, codec.Malformed)
	}
}
