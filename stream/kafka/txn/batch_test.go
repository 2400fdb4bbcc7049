package txn

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// decode takes a batch apart with franz-go's decoder.
func decode(t *testing.T, encoded []byte) (kmsg.RecordBatch, []kmsg.Record) {
	t.Helper()
	raw := encoded[4:]
	if n := binary.BigEndian.Uint32(encoded); int(n) != len(raw) {
		t.Fatalf("size %d, want %d", n, len(raw))
	}
	var b kmsg.RecordBatch
	if err := b.ReadFrom(raw); err != nil {
		t.Fatal(err)
	}
	if int(b.Length) != len(raw)-12 {
		t.Errorf("length %d, want %d", b.Length, len(raw)-12)
	}
	if want := crc32.Checksum(raw[21:], crc32.MakeTable(crc32.Castagnoli)); uint32(b.CRC) != want {
		t.Errorf("crc %x, want %x", b.CRC, want)
	}
	records, err := kfake.BatchRecords(b)
	if err != nil {
		t.Fatal(err)
	}
	return b, records
}

func TestEncodeBatch(t *testing.T) {
	random := make([]byte, 2000)
	if _, err := rand.Read(random); err != nil {
		t.Fatal(err)
	}
	records := []Record{
		{Key: []byte("k"), Value: []byte("v"), Time: 5000, Headers: []Header{{Key: "a", Value: []byte("1")},
			{Key: "b"}}},
		{Key: nil, Value: nil, Time: 4000},
		{Key: []byte{}, Value: []byte{}, Time: 9000},
	}
	for name, c := range map[string]struct {
		value []byte
		zstd  bool
	}{
		"short":         {[]byte("x"), false},
		"packs well":    {bytes.Repeat([]byte("x"), 200_000), true},
		"does not pack": {random, false},
	} {
		t.Run(name, func(t *testing.T) {
			all := slices.Concat(records, []Record{{Value: c.value, Time: 6000}})
			b, got := decode(t, EncodeBatch(Session{ProducerID: 77, Epoch: 3, Sequence: 11, Transactional: true}, all))
			if b.ProducerID != 77 || b.ProducerEpoch != 3 || b.FirstSequence != 11 || b.NumRecords != 4 ||
				b.LastOffsetDelta != 3 ||
				b.FirstTimestamp != 5000 || b.MaxTimestamp != 9000 || b.Magic != 2 {
				t.Errorf("%+v", b)
			}
			if b.Attributes&transactionalBit == 0 || (b.Attributes&7 == zstdCodec) != c.zstd {
				t.Errorf("attributes %b", b.Attributes)
			}
			for i, r := range all {
				g := got[i]
				if g.TimestampDelta64 != r.Time-5000 || int(g.OffsetDelta) != i || !bytes.Equal(g.Key, r.Key) ||
					!bytes.Equal(g.Value, r.Value) ||
					(g.Key == nil) != (r.Key == nil) || (g.Value == nil) != (r.Value == nil) ||
					len(g.Headers) != len(r.Headers) {
					t.Errorf("record %d: %+v, want %+v", i, g, r)
				}
				for j, h := range r.Headers {
					if g.Headers[j].Key != h.Key || !bytes.Equal(g.Headers[j].Value, h.Value) {
						t.Errorf("record %d: header %+v, want %+v", i, g.Headers[j], h)
					}
				}
			}
		})
	}
}

func TestNoTimeIsNow(t *testing.T) {
	before := time.Now().UnixMilli()
	b, _ := decode(t, EncodeBatch(noSession, []Record{{}}))
	if b.FirstTimestamp < before || b.FirstTimestamp > time.Now().UnixMilli() {
		t.Errorf("time %d, want now", b.FirstTimestamp)
	}
	if b.ProducerID != -1 || b.ProducerEpoch != -1 || b.FirstSequence != -1 || b.Attributes != 0 {
		t.Errorf("%+v", b)
	}
}

func TestSplit(t *testing.T) {
	var records []Record
	for i := range 40 {
		records = append(records, Record{Topic: "t", Partition: i % 2, Key: fmt.Append(nil, i),
			Value: make([]byte, 100_000)})
	}
	records = append(records, Record{Topic: "u", Value: make([]byte, 2*maxBatchBytes)},
		Record{Topic: "u", Key: []byte("40")})
	order, batches := split(records)
	if diff := cmp.Diff([]partition{{"t", 0}, {"t", 1}, {"u", 0}}, order,
		cmp.AllowUnexported(partition{})); diff != "" {
		t.Error(diff)
	}
	for _, p := range order[:2] {
		next := p.id
		for _, batch := range batches[p] {
			if n := len(EncodeBatch(noSession, batch)); n > maxBatchBytes+100 {
				t.Errorf("%v: a batch of %d bytes", p, n)
			}
			size := 0
			for _, r := range batch {
				size += len(r.Value)
				if string(r.Key) != fmt.Sprint(next) {
					t.Errorf("%v: record %s, want %d", p, r.Key, next)
				}
				next += 2
			}
			if size > maxBatchBytes {
				t.Errorf("%v: %d bytes of values in a batch", p, size)
			}
		}
		if len(batches[p]) != 3 || next != 40+p.id {
			t.Errorf("%v: %d batches up to record %d, want 3 up to %d", p, len(batches[p]), next, 40+p.id)
		}
	}
	if b := batches[order[2]]; len(b) != 2 || len(b[0]) != 1 || len(b[1]) != 1 {
		t.Errorf("a large record and a small one came to %d batches, want one each", len(b))
	}
}

func TestPackedIsNotCompressed(t *testing.T) {
	all := []Record{{Value: bytes.Repeat([]byte("x"), 5000)}}
	if b, got := decode(t, bytes.Join(encodeBatch(noSession, all, false), nil)); b.Attributes != 0 ||
		!bytes.Equal(got[0].Value, all[0].Value) {
		t.Errorf("attributes %b, a value of %d bytes; want none and 5000", b.Attributes, len(got[0].Value))
	}
}

// A value may be in two pieces, and nobody sees it in the batch.
func TestValueInTwoPieces(t *testing.T) {
	whole := []Record{{Value: []byte("one two"), Time: 1},
		{Value: []byte("three"), Time: 2, Headers: []Header{{Key: "h"}}}}
	pieces := []Record{{Value: []byte("one "), Rest: []byte("two"), Time: 1},
		{Value: []byte{}, Rest: []byte("three"), Time: 2, Headers: []Header{{Key: "h"}}}}
	if want, got := EncodeBatch(noSession, whole), EncodeBatch(noSession, pieces); !bytes.Equal(want, got) {
		t.Errorf("%x, want %x", got, want)
	}
}

// The size that split counts on must not be exceeded.
func TestSizeIsAnUpperBound(t *testing.T) {
	for _, r := range []Record{
		{},
		{Key: make([]byte, 70), Value: make([]byte, 1<<21), Time: 1 << 50,
			Headers: []Header{{Key: string(make([]byte, 200)), Value: make([]byte, 70_000)}, {}}},
	} {
		if b, _ := appendRecord(nil, nil, &r, 1<<30, -1<<50); length(b) > r.size() {
			t.Errorf("%d bytes, want at most %d", length(b), r.size())
		}
	}
}

func BenchmarkEncodeBatch(b *testing.B) {
	var records []Record
	for i := range 500 {
		records = append(records,
			Record{Key: fmt.Appendf(nil, "user-%05d", i), Value: fmt.Appendf(nil, `{"latency_ms":%d}`,
				i*7919%60000), Time: int64(i)})
	}
	b.ReportAllocs()
	for b.Loop() {
		EncodeBatch(noSession, records)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(records)), "ns/record")
}
