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
	other       bool // it is none of the stream's
}

// format is a way to write an event.
type format struct {
	input string // how a streams file reads it
	write func(b []byte, e event) []byte
	// item writes an event as one of many that a record holds, and record puts them together; nil: each has its own.
	item   func(b []byte, e event) []byte
	record func(items []byte) []byte
}

var formats = map[string]format{
	"json": {input: "format: json, user: user_id, value: latency_ms, time: ts, group: region", write: writeJSON},
	"csv": {
		input: "format: csv, columns: [ts, user_id, region, latency_ms], user: user_id, value: latency_ms, time: ts, " +
			"group: region",
		write: writeCSV},
	"cloudevents": {
		input: "format: cloudevents, user: data.user_id, value: data.latency_ms, time: time, group: data.region",
		write: writeCloudEvent},
	"avro": {input: "format: avro, schema: {text: '" + avroSchema +
		"'}, user: user_id, value: latency_ms, time: ts, group: region", write: writeAvro},
	"protobuf": {input: "format: protobuf, schema: {text: " + protobufSchema() +
		", message: Event}, user: user_id, value: latency_ms, time: ts, group: region", write: writeProtobuf},
	"otlp": {input: "format: otlp_traces, user: user.id, value: span.duration_ms, group: http.route",
		write: func(b []byte, e event) []byte { return append(b, writeRequest(writeSpan(nil, e))...) },
		item:  writeSpan, record: writeRequest},
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

// spanBytes is about how long a span is: that of a server with 15 attributes.
const spanBytes = 550

// writeSpan writes a span as the Collector does: each message from its last field to its first.
func writeSpan(b []byte, e event) []byte {
	message := func(b []byte, number protowire.Number, content []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(b, number, protowire.BytesType), content)
	}
	text := func(b []byte, key, value string) []byte {
		pair := message(nil, 2, message(nil, 1, []byte(value)))
		return message(b, 9, message(pair, 1, []byte(key)))
	}
	number := func(b []byte, key string, value uint64) []byte {
		pair := message(nil, 2, protowire.AppendVarint(protowire.AppendTag(nil, 3, protowire.VarintType), value))
		return message(b, 9, message(pair, 1, []byte(key)))
	}
	fixed := func(b []byte, number protowire.Number, at time.Time) []byte {
		return protowire.AppendFixed64(protowire.AppendTag(b, number, protowire.Fixed64Type), uint64(at.UnixNano()))
	}
	span := message(nil, 15, nil)
	for _, kv := range [][2]string{{"http.request.method", "GET"}, {"url.scheme", "https"},
		{"server.address", "shop.example.com"}, {"url.path", "/cart/12345"}, {"network.peer.address", "10.1.2.3"},
		{"user_agent.original", "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101"},
		{"network.protocol.version", "1.1"}, {"deployment.environment.name", "production"}, {"http.route", e.group},
		{"user.id", e.user}} {
		span = text(span, kv[0], kv[1])
	}
	for key, value := range []string{"server.port", "network.peer.port", "http.response.status_code",
		"http.response.body.size", "thread.id"} {
		span = number(span, value, uint64(443+key))
	}
	kind := uint64(2)
	if e.other {
		kind = 3
	}
	span = fixed(fixed(span, 8, e.time), 7, e.time.Add(-time.Duration(e.value)*time.Millisecond))
	span = protowire.AppendVarint(protowire.AppendTag(span, 6, protowire.VarintType), kind)
	span = message(message(span, 5, []byte("GET /cart")), 4, []byte("76543210"))
	return message(b, 2, message(message(span, 2, []byte("01234567")), 1, []byte("0123456789abcdef")))
}

// writeRequest writes a request with spans.
func writeRequest(spans []byte) []byte {
	message := func(b []byte, number protowire.Number, content []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(b, number, protowire.BytesType), content)
	}
	scope := message(spans[:len(spans):len(spans)], 1, message(nil, 1, []byte("otelhttp")))
	name := message(message(nil, 2, message(nil, 1, []byte("shop"))), 1, []byte("service.name"))
	return message(nil, 1, message(message(nil, 2, scope), 1, message(nil, 1, name)))
}

// producer writes the events of a row.
type producer struct {
	row    row
	client *kgo.Client
	random *rand.Rand
	groups []string
	users  int
	sent   int
	items  [partitions]batch
	last   time.Time // of the last record with items
}

// batch are the items of a record that is not sent yet.
type batch struct {
	b []byte
	n int
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
	e := event{user: fmt.Sprintf("u-%06d", user), group: p.groups[user%len(p.groups)], value: 100 + p.random.IntN(900),
		time: at}
	f := formats[or(p.row.format, "json")]
	if f.item != nil {
		e.other = p.sent%or(p.row.oneIn, 1) > 0
		p.sent++
		in := &p.items[user%partitions]
		in.b = f.item(in.b, e)
		if in.n++; in.n == p.row.items {
			p.sendItems(t, user%partitions, at)
		}
		return
	}
	record := &kgo.Record{Value: f.write(nil, e), Timestamp: at, Partition: int32(user % partitions)}
	if p.row.scattered {
		record.Partition = p.random.Int32N(partitions)
	}
	p.produce(t, record)
}

// sendItems sends the items of a partition that wait, in one record.
func (p *producer) sendItems(t *testing.T, partition int, at time.Time) {
	in := &p.items[partition]
	if in.n > 0 {
		p.last = at
		p.produce(t, &kgo.Record{Value: formats[p.row.format].record(in.b), Timestamp: at, Partition: int32(partition)})
		*in = batch{}
	}
}

func (p *producer) produce(t *testing.T, record *kgo.Record) {
	p.client.Produce(t.Context(), record, func(_ *kgo.Record, err error) {
		if err != nil {
			t.Error(err)
		}
	})
}

// flush waits until everything that was sent is in the topic.
func (p *producer) flush(t *testing.T) {
	t.Helper()
	for partition := range p.items {
		p.sendItems(t, partition, p.last)
	}
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
		spec := file.Streams[0].Codec()
		d, err := codec.New(spec)
		if err != nil {
			t.Fatalf("%s: %v", r.name, err)
		}
		want := int64(1) // of an event that is only counted
		if spec.Grid != nil {
			if want, err = spec.Grid.Parse([]byte("123")); err != nil {
				t.Fatal(err)
			}
		}
		e := event{user: "u-012345", group: r.groupNames()[2], value: 123, time: from.Add(time.Second)}
		record := codec.Record{Value: formats[or(r.format, "json")].write(nil, e), Time: from.UnixNano()}
		var got codec.Event
		if reason := d.Decode(record, &got); reason != codec.OK || string(got.User) != e.user || got.Group != 2 ||
			got.Time != e.time.UnixNano() || got.Value != want {
			t.Errorf("%s: %q: %v, %+v", r.name, record.Value, reason, got)
		}
		if r.format == "" && r.groups == 0 && len(record.Value) != 85 {
			t.Errorf("%s: %d bytes, want 85", r.name, len(record.Value))
		}
		if n := len(writeSpan(nil, e)); r.format == "otlp" && (n < spanBytes-20 || n > spanBytes+20) {
			t.Errorf("%s: %d bytes a span, want about %d", r.name, n, spanBytes)
		}
	}
}
