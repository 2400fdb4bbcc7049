package bench

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/twmb/avro"
	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/louver/louver/stream/codec"
	"github.com/louver/louver/stream/config/parse"
	"github.com/louver/louver/stream/kafka/kafkatest"
)

// event is what a record says.
type event struct {
	user, group string
	value       int
	time        time.Time
}

// format is a way to write an event.
type format struct {
	input string // how a streams file reads it
	write func(b []byte, e event) []byte
}

var formats = map[string]format{
	"json": {"format: json, user: user_id, value: latency_ms, time: ts, group: region", writeJSON},
	"csv": {
		"format: csv, columns: [ts, user_id, region, latency_ms], user: user_id, value: latency_ms, time: ts, " +
			"group: region",
		writeCSV},
	"cloudevents": {"format: cloudevents, user: data.user_id, value: data.latency_ms, time: time, group: data.region",
		writeCloudEvent},
	"avro": {"format: avro, schema: {text: '" + avroSchema +
		"'}, user: user_id, value: latency_ms, time: ts, group: region", writeAvro},
	"protobuf": {"format: protobuf, schema: {text: " + protobufSchema() +
		", message: Event}, user: user_id, value: latency_ms, time: ts, group: region", writeProtobuf},
}

const layout = "2006-01-02T15:04:05.000Z"

// writeJSON writes 85 bytes if the group's name has two characters.
func writeJSON(b []byte, e event) []byte {
	return fmt.Appendf(b, `{"user_id":%q,"region":%q,"latency_ms":%d,"ts":%q}`, e.user, e.group, e.value,
		e.time.Format(layout))
}

func writeCSV(b []byte, e event) []byte {
	return fmt.Appendf(b, "%s,%s,%s,%d", e.time.Format(layout), e.user, e.group, e.value)
}

func writeCloudEvent(b []byte, e event) []byte {
	return fmt.Appendf(b,
		`{"specversion":"1.0","id":"1","source":"/web","type":"request","time":%q,"data":{"user_id":%q,"region":%q,"latency_ms":%d}}`,
		e.time.Format(layout), e.user, e.group, e.value)
}

const avroSchema = `{"type": "record", "name": "Event", "fields": [{"name": "user_id", "type": "string"}, {"name": "latency_ms", "type": "int"}, ` +
	`{"name": "ts", "type": {"type": "long", "logicalType": "timestamp-millis"}}, {"name": "region", "type": "string"}]}`

var avroCodec = avro.MustParse(avroSchema)

func writeAvro(b []byte, e event) []byte {
	b, err := avroCodec.AppendEncode(b, map[string]any{"user_id": e.user, "latency_ms": e.value, "ts": e.time,
		"region": e.group})
	if err != nil {
		panic(err) // the schema is fixed
	}
	return b
}

// protobufSchema is that of
//
//	message Event {string user_id = 1; sint64 latency_ms = 2; int64 ts = 3; string region = 4;}
func protobufSchema() string {
	message := &descriptorpb.DescriptorProto{Name: proto.String("Event")}
	for i, f := range []struct {
		name string
		kind descriptorpb.FieldDescriptorProto_Type
	}{{"user_id", descriptorpb.FieldDescriptorProto_TYPE_STRING},
		{"latency_ms", descriptorpb.FieldDescriptorProto_TYPE_SINT64},
		{"ts", descriptorpb.FieldDescriptorProto_TYPE_INT64},
		{"region", descriptorpb.FieldDescriptorProto_TYPE_STRING}} {
		message.Field = append(message.Field, &descriptorpb.FieldDescriptorProto{Name: &f.name,
			Number: proto.Int32(int32(i + 1)), Type: &f.kind,
			Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum()})
	}
	raw, err := proto.Marshal(&descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{{
		Name: proto.String("event.proto"), Syntax: proto.String("proto3"),
		MessageType: []*descriptorpb.DescriptorProto{message}}}})
	if err != nil {
		panic(err) // the message is fixed
	}
	return base64.StdEncoding.EncodeToString(raw)
}

func writeProtobuf(b []byte, e event) []byte {
	b = protowire.AppendString(protowire.AppendTag(b, 1, protowire.BytesType), e.user)
	b = protowire.AppendVarint(protowire.AppendTag(b, 2, protowire.VarintType), protowire.EncodeZigZag(int64(e.value)))
	b = protowire.AppendVarint(protowire.AppendTag(b, 3, protowire.VarintType), uint64(e.time.UnixMilli()))
	return protowire.AppendString(protowire.AppendTag(b, 4, protowire.BytesType), e.group)
}

// producer writes the events of a row.
type producer struct {
	row    row
	client *kgo.Client
	random *rand.Rand
	groups []string
	users  int
	sent   int
}

func newProducer(t *testing.T, r row, b *kafkatest.Broker, topic string, users int) *producer {
	t.Helper()
	compression := map[string]kgo.CompressionCodec{"": kgo.NoCompression(), "lz4": kgo.Lz4Compression(),
		"zstd": kgo.ZstdCompression()}[r.compression]
	client, err := kgo.NewClient(kgo.SeedBrokers(b.Conn.Brokers...), kgo.DefaultProduceTopic(topic),
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchCompression(compression),
		kgo.ProducerLinger(20*time.Millisecond), kgo.MaxBufferedRecords(50_000))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return &producer{row: r, client: client, random: rand.New(rand.NewPCG(1, 2)), groups: r.groupNames(), users: users}
}

// send writes an event of a random user at a time. In a live row that says how many users a window has, they come in
// turn.
func (p *producer) send(t *testing.T, at time.Time) {
	user := p.random.IntN(p.users)
	if p.row.kind == live && p.row.users > 0 {
		user = p.sent % p.users
		p.sent++
	}
	e := event{fmt.Sprintf("u-%06d", user), p.groups[user%len(p.groups)], 100 + p.random.IntN(900), at}
	record := &kgo.Record{Value: formats[or(p.row.format, "json")].write(nil, e), Timestamp: at,
		Partition: int32(user % partitions)}
	if p.row.scattered {
		record.Partition = p.random.Int32N(partitions)
	}
	p.client.Produce(t.Context(), record, func(_ *kgo.Record, err error) {
		if err != nil {
			t.Error(err)
		}
	})
}

// flush waits until everything that was sent is in the topic.
func (p *producer) flush(t *testing.T) {
	t.Helper()
	if err := p.client.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// Each row's streams file is one, and reads the row's events.
func TestRowsReadTheirEvents(t *testing.T) {
	from := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	for _, r := range rows() {
		file, err := parse.File(r.name, []byte(r.yaml("in", "out", from)),
			func(string) (string, bool) { return "", false })
		if err != nil {
			t.Errorf("%s: %v", r.name, err)
			continue
		}
		d, err := codec.New(file.Streams[0].Codec())
		if err != nil {
			t.Fatalf("%s: %v", r.name, err)
		}
		e := event{"u-012345", r.groupNames()[2], 123, from.Add(time.Second)}
		record := codec.Record{Value: formats[or(r.format, "json")].write(nil, e), Time: from.UnixNano()}
		var got codec.Event
		if reason := d.Decode(record, &got); reason != codec.OK || string(got.User) != e.user || got.Group != 2 ||
			got.Time != e.time.UnixNano() || got.Value != 123 {
			t.Errorf("%s: %q: %v, %+v", r.name, record.Value, reason, got)
		}
		if r.format == "" && r.groups == 0 && len(record.Value) != 85 {
			t.Errorf("%s: %d bytes, want 85", r.name, len(record.Value))
		}
	}
}
