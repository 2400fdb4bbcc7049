package stream_test

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/avro"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/louver/louver/stream"
	"github.com/louver/louver/stream/codec"
	"github.com/louver/louver/stream/kafka/kafkatest"
	"github.com/louver/louver/stream/kafka/txn"
)

const avroEvent = `{"type": "record", "name": "Event", "fields": [{"name": "user", "type": "string"}, {"name": "value", "type": "int"},
	{"name": "time", "type": {"type": "long", "logicalType": "timestamp-micros"}}, {"name": "group", "type": "string"}]}`

// protobufEvent is a set of file descriptors, as text of `message Event {string user = 1; sint64 value = 2; string time
// = 3; string group = 4;}` in package test.
const protobufEvent = "CnQKB3QucHJvdG8SBHRlc3QiWwoFRXZlbnQSEgoEdXNlchgBIAEoCVIEdXNlchIUCgV2YWx1ZRgCIAEoElIFdmFsdWUSEgoEdGltZRgDIAEoCVIEdGltZRIUCgVncm91cBgEIAEoCVIFZ3JvdXBiBnByb3RvMw=="

// big4 is a number in four bytes, the most significant first, which JSON has in base64.
func big4(n int) []byte { return binary.BigEndian.AppendUint32(nil, uint32(int32(n))) }

// wrappedEvent is a set of file descriptors, as text, of `message Wrapped {google.protobuf.StringValue user = 1;
// google.protobuf.Duration value = 2; google.protobuf.Timestamp time = 3; google.protobuf.StringValue group = 4;}` in
// package test.
func wrappedEvent(t *testing.T) string {
	t.Helper()
	message := &descriptorpb.DescriptorProto{Name: proto.String("Wrapped")}
	for i, f := range []struct{ name, of string }{{"user", "StringValue"}, {"value", "Duration"}, {"time", "Timestamp"},
		{"group", "StringValue"}} {
		message.Field = append(message.Field, &descriptorpb.FieldDescriptorProto{Name: proto.String(f.name),
			Number: proto.Int32(int32(i + 1)), Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(),
			Type:     descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum(),
			TypeName: proto.String(".google.protobuf." + f.of)})
	}
	set := &descriptorpb.FileDescriptorSet{}
	file := &descriptorpb.FileDescriptorProto{Name: proto.String("wrapped.proto"), Package: proto.String("test"),
		Syntax: proto.String("proto3"), MessageType: []*descriptorpb.DescriptorProto{message}}
	for _, known := range []protoreflect.FileDescriptor{wrapperspb.File_google_protobuf_wrappers_proto,
		durationpb.File_google_protobuf_duration_proto, timestamppb.File_google_protobuf_timestamp_proto} {
		set.File = append(set.File, protodesc.ToFileDescriptorProto(known))
		file.Dependency = append(file.Dependency, known.Path())
	}
	set.File = append(set.File, file)
	b, err := proto.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(b)
}

// TestFormats sends the same events in each format, with a bad record among them: the figures are those of the events.
func TestFormats(t *testing.T) {
	t.Parallel()
	schema := avro.MustParse(avroEvent)
	datum := func(e event) []byte {
		value, err := schema.Encode(map[string]any{"user": e.User, "value": e.Value, "time": e.Time, "group": e.Group})
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
	header := func(key, value string) txn.Header { return txn.Header{Key: key, Value: []byte(value)} }
	for name, format := range map[string]struct {
		input string
		write func(e event) txn.Record
	}{
		"cloudevents": {"format: cloudevents, user: subject, value: data.value, time: time, group: group",
			func(e event) txn.Record {
				return txn.Record{Value: mustJSON(t, map[string]any{"value": e.Value}),
					Headers: []txn.Header{header("ce_specversion", "1.0"),
						header("ce_subject", e.User), header("ce_time", e.Time.Format(time.RFC3339Nano)),
						header("ce_group", e.Group),
						header("content-type", "application/json")}}
			}},
		"avro": {"format: avro, schema: {text: '" + avroEvent +
			"'}, user: user, value: value, time: time, group: group",
			func(e event) txn.Record { return txn.Record{Value: datum(e)} }},
		"avro of AWS Glue": {"format: avro, schema: {text: '" + avroEvent +
			"'}, user: user, value: value, time: time, group: group",
			func(e event) txn.Record {
				return txn.Record{Value: append([]byte("\x03\x000123456789abcdef"), datum(e)...)}
			}},
		"avro with aliases": {"format: avro, schema: {text: '" + strings.Replace(avroEvent, `{"name": "value", "type": "int"}`,
			`{"name": "value", "aliases": ["amount", "ms"], "type": "int"}`, 1) +
			"'}, user: user, value: ms, time: time, group: group",
			func(e event) txn.Record { return txn.Record{Value: datum(e)} }},
		"avro with a union": {"format: avro, schema: {text: '[{\"type\": \"record\", \"name\": \"Other\", \"fields\": [" +
			"{\"name\": \"note\", \"type\": \"string\"}]}, " + avroEvent +
			"]'}, user: user, value: value, time: time, group: group",
			func(e event) txn.Record { return txn.Record{Value: append([]byte{2}, datum(e)...)} }},
		"quoted cloudevents": {"format: cloudevents, user: subject, value: data.value, time: time, group: group",
			func(e event) txn.Record {
				return txn.Record{Value: mustJSON(t, map[string]any{"value": e.Value}),
					Headers: []txn.Header{header("ce_specversion", `"1.0"`), header("ce_subject", `"`+e.User+`"`),
						header("ce_time", `"`+e.Time.Format(time.RFC3339Nano)+`"`), header("ce_group", `"`+e.Group+`"`),
						header("content-type", `"application/json"`)}}
			}},
		"debezium": {"user: payload.user, value: payload.value, time: payload.time, group: payload.group",
			func(e event) txn.Record {
				return txn.Record{Value: mustJSON(t, map[string]any{
					"schema": map[string]any{"type": "struct", "fields": []map[string]any{{"type": "bytes", "field": "value",
						"name":       "org.apache.kafka.connect.data.Decimal",
						"parameters": map[string]string{"scale": "3"}}}},
					"payload": map[string]any{"user": e.User, "value": big4(1000 * e.Value.(int)), "time": e.Time,
						"group": e.Group}})}
			}},
		"date and time": {"format: csv, columns: [user, value, date, clock, group], user: user, value: value, time: date, " +
			"time_of_day: clock, zone: Asia/Kolkata, group: group",
			func(e event) txn.Record {
				local := e.Time.In(time.FixedZone("", 5*60*60+30*60))
				return txn.Record{Value: fmt.Appendf(nil, "%s,%d,%s,%s,%s", e.User, e.Value, local.Format(time.DateOnly),
					local.Format("15:04:05.999999"), e.Group)}
			}},
		"json schema": {"user: user, value: value, time: time, group: group",
			func(e event) txn.Record {
				return txn.Record{Value: append([]byte{0, 0, 0, 1, byte(e.Value.(int))}, mustJSON(t, e)...)}
			}},
		"wrappers": {"format: protobuf, schema: {text: " + wrappedEvent(t) +
			", message: test.Wrapped}, user: user, value: value, time: time, group: group", func(e event) txn.Record {
			wrap := func(m proto.Message) []byte {
				b, err := proto.Marshal(m)
				if err != nil {
					t.Fatal(err)
				}
				return b
			}
			var b []byte
			for i, field := range [][]byte{wrap(wrapperspb.String(e.User)),
				wrap(durationpb.New(time.Duration(e.Value.(int)) * time.Second)), wrap(timestamppb.New(e.Time)),
				wrap(wrapperspb.String(e.Group))} {
				b = protowire.AppendBytes(protowire.AppendTag(b, protowire.Number(i+1), protowire.BytesType), field)
			}
			return txn.Record{Value: b}
		}},
		"protobuf": {"format: protobuf, schema: {text: " + protobufEvent +
			", message: test.Event}, user: user, value: value, time: time, group: group", func(e event) txn.Record {
			b := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), e.User)
			b = protowire.AppendVarint(protowire.AppendTag(b, 2, protowire.VarintType),
				protowire.EncodeZigZag(int64(e.Value.(int))))
			b = protowire.AppendString(protowire.AppendTag(b, 3, protowire.BytesType), e.Time.Format(time.RFC3339Nano))
			return txn.Record{Value: protowire.AppendString(protowire.AppendTag(b, 4, protowire.BytesType), e.Group)}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			kafkatest.Bubble(t, func(t *testing.T, b *kafkatest.Broker) {
				w := newWorld(t, b, 1, strings.Replace(exactly, "user: user, value: value, time: time, group: group",
					format.input, 1))
				events := history(rand.New(rand.NewPCG(11, 12)), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), 300)
				records := []txn.Record{{Value: []byte("\xff\xff")}}
				for i, e := range events {
					events[i].Time = e.Time.Truncate(time.Microsecond)
					records = append(records, format.write(events[i]))
				}
				b.Produce(t, w.input, 0, records...)
				s := w.start()
				for _, r := range w.await(7 * 14) {
					if err := right(r, naive(events, r.WindowStart, r.WindowEnd, r.Group), 1000); err != nil {
						t.Error(err)
					}
				}
				s.expect(t, 1, "louver_events_rejected_total", "malformed")
				s.end(t)
			})
		})
	}
}

// schemas is a registry that is out of reach at first.
type schemas struct{ asked atomic.Int32 }

func (s *schemas) Schema(_ context.Context, id codec.SchemaID) (codec.Registered, error) {
	switch {
	case s.asked.Add(1) < 5:
		return codec.Registered{}, errors.New("no route to the registry")
	case id != codec.Numbered(258) && id.GUID != [16]byte{1, 2, 3}:
		return codec.Registered{}, codec.ErrNoSchema
	}
	return codec.Registered{Format: "avro", Text: avroEvent}, nil
}

// TestRegistry reads records that name their schemas, before the datum or in a header of Kafka's. While the registry is
// out of reach the service waits, and then every good record counts.
func TestRegistry(t *testing.T) {
	kafkatest.Bubble(t, func(t *testing.T, b *kafkatest.Broker) {
		schema := avro.MustParse(avroEvent)
		w := newWorld(t, b, 1, strings.Replace(exactly, "user: user,", "format: avro, schema: registry, user: user,",
			1))
		events := history(rand.New(rand.NewPCG(13, 14)), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), 300)
		records := kafkatest.Values("\x00\x00\x00\x00\x07of another schema")
		for i, e := range events {
			events[i].Time = e.Time.Truncate(time.Microsecond)
			r := txn.Record{Value: []byte{0, 0, 0, 1, 2}}
			if i%2 == 0 {
				r = txn.Record{Headers: []txn.Header{{Key: "__value_schema_id",
					Value: append([]byte{1, 1, 2, 3}, make([]byte, 13)...)}}}
			}
			var err error
			if r.Value, err = schema.AppendEncode(r.Value, map[string]any{"user": e.User, "value": e.Value,
				"time": events[i].Time, "group": e.Group}); err != nil {
				t.Fatal(err)
			}
			records = append(records, r)
		}
		w.broker.Produce(t, w.input, 0, records...)
		s := w.start(func(s *stream.Service) { s.Schemas = &schemas{} })
		for _, r := range w.await(7 * 14) {
			if err := right(r, naive(events, r.WindowStart, r.WindowEnd, r.Group), 1000); err != nil {
				t.Error(err)
			}
		}
		s.expect(t, 1, "louver_events_rejected_total", "malformed")
		s.end(t)
	})
}

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
