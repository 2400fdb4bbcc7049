package fetch

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"net"
	"testing"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/listoffsets"
	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// rec is a record of a batch made by hand.
type rec struct {
	delta, time int64
	key, value  []byte
	headers     []kmsg.Header
}

// values makes records at the deltas 0, 1, ….
func values(vs ...string) []rec {
	var out []rec
	for i, v := range vs {
		out = append(out, rec{delta: int64(i), value: []byte(v)})
	}
	return out
}

func (r rec) encode() []byte {
	b := make([]byte, 1, 32+len(r.key)+len(r.value))
	b = kbin.AppendVarlong(b, r.time)
	b = kbin.AppendVarlong(b, r.delta)
	b = kbin.AppendVarintBytes(b, r.key)
	b = kbin.AppendVarintBytes(b, r.value)
	b = kbin.AppendVarint(b, int32(len(r.headers)))
	for _, h := range r.headers {
		b = kbin.AppendVarintBytes(b, []byte(h.Key))
		b = kbin.AppendVarintBytes(b, h.Value)
	}
	return append(kbin.AppendVarint(nil, int32(len(b))), b...)
}

// spec says what is special about a batch made by hand.
type spec struct {
	base       int64
	last       int32 // last offset delta; that of the last record unless given
	attributes int16
	producer   int64
	first, max int64 // timestamps
	count      int32 // records declared; as many as there are unless given
	codec      kafka.Compression
}

func (s spec) batch(records ...rec) []byte {
	var body []byte
	for _, r := range records {
		body = append(body, r.encode()...)
	}
	if s.last == 0 && len(records) > 0 {
		s.last = int32(records[len(records)-1].delta)
	}
	if s.count == 0 {
		s.count = int32(len(records))
	}
	if s.codec != 0 {
		body = compress(s.codec, body)
	}
	b := (&kmsg.RecordBatch{
		FirstOffset: s.base, Magic: 2, Attributes: s.attributes | int16(s.codec), LastOffsetDelta: s.last,
		FirstTimestamp: s.first, MaxTimestamp: s.max, ProducerID: s.producer, NumRecords: s.count, Records: body,
	}).AppendTo(nil)
	return seal(b)
}

// seal sets the size and the CRC of the batch b.
func seal(b []byte) []byte {
	binary.BigEndian.PutUint32(b[8:], uint32(len(b)-12))
	binary.BigEndian.PutUint32(b[17:], crc32.Checksum(b[21:], crc32.MakeTable(crc32.Castagnoli)))
	return b
}

// marker is the batch that ends a transaction.
func marker(base, producer int64, commit bool) []byte {
	kind := byte(0)
	if commit {
		kind = 1
	}
	return spec{base: base, producer: producer, attributes: transactionalBit | controlBit}.
		batch(rec{key: []byte{0, 0, 0, kind}, value: make([]byte, 6)})
}

func txnBatch(base, producer int64, vs ...string) []byte {
	return spec{base: base, producer: producer, attributes: transactionalBit}.batch(values(vs...)...)
}

func join(batches ...[]byte) []byte {
	var out []byte
	for _, b := range batches {
		out = append(out, b...)
	}
	return out
}

// script is a cluster that answers fetches from a list, and ListOffsets with
// start and end.
type script struct {
	t          *testing.T
	answers    []any // *response or error
	asked      []int64
	start, end int64
}

func (s *script) RoundTrip(_ context.Context, _ net.Addr, m kafka.Request) (kafka.Response, error) {
	switch q := m.(type) {
	case *request:
		s.asked = append(s.asked, q.wire.Topics[0].Partitions[0].FetchOffset)
		if len(s.answers) == 0 {
			s.t.Error("a fetch too many")
			return nil, kafka.UnsupportedVersion
		}
		a := s.answers[0]
		s.answers = s.answers[1:]
		if err, ok := a.(error); ok {
			return nil, err
		}
		return a.(*response), nil
	case *listoffsets.Request:
		p := q.Topics[0].Partitions[0]
		offset := s.start
		if p.Timestamp == kafka.LastOffset {
			offset = s.end
		}
		return &listoffsets.Response{Topics: []listoffsets.ResponseTopic{{Topic: q.Topics[0].Topic,
			Partitions: []listoffsets.ResponsePartition{{Partition: p.Partition, Offset: offset}}}}}, nil
	}
	return nil, fmt.Errorf("unexpected %T", m)
}

var _ protocol.Message = (*response)(nil)

func scripted(t *testing.T, o Options, answers ...any) (*Client, *script) {
	s := &script{t: t, answers: answers}
	return New(s, kafka.TCP("nowhere:9092"), o), s
}

func set(batches ...[]byte) *response { return &response{records: join(batches...)} }

// read polls once and returns what the page delivers, as "offset:value".
func read(t *testing.T, r *Reader) ([]string, error) {
	t.Helper()
	page, err := r.Poll(t.Context())
	if err != nil {
		return nil, err
	}
	var got []string
	err = page.Each(func(r *Record) error {
		got = append(got, fmt.Sprintf("%d:%s", r.Offset, r.Value))
		return nil
	})
	return got, err
}

// mustBatchError checks that err is a BatchError at that offset.
func mustBatchError(t *testing.T, err error, offset int64) *BatchError {
	t.Helper()
	var e *BatchError
	if !errors.As(err, &e) {
		t.Fatalf("error %v, want a BatchError", err)
	}
	if e.Offset != offset {
		t.Fatalf("%v: at offset %d, want %d", err, e.Offset, offset)
	}
	return e
}
