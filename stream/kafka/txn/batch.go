package txn

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Header is a header of a record.
type Header = kafka.Header

// Record is one record to write.
type Record struct {
	Topic     string
	Partition int
	// Key and Value are null if nil.
	Key, Value []byte
	// Rest continues a value that is in two pieces. Value then is not nil.
	Rest    []byte
	Headers []Header
	// Time is the record's timestamp in milliseconds since 1970. Zero means now, because retention would delete a
	// record of 1970 at once.
	Time int64
}

// maxBatchBytes bounds the uncompressed size of a batch's records. By default brokers accept batches of 1 MiB. A
// topic's compression.type may make the broker unpack them, so the limit applies to the uncompressed size.
const maxBatchBytes = 900 << 10

// compressFrom is the size from which a batch is worth compressing.
const compressFrom = 512

// Session is a producer's identity with its current sequence number. The zero Session is not valid: see noSession.
type Session struct {
	ProducerID int64
	Epoch      int16
	// Sequence is the number of the batch's first record.
	Sequence int32
	// Transactional says that the batch is part of a transaction.
	Transactional bool
}

// noSession is the session of a producer without identity, which is neither idempotent nor transactional.
var noSession = Session{ProducerID: -1, Epoch: -1, Sequence: -1}

const (
	zstdCodec        = 0x04
	transactionalBit = 0x10
	batchOverhead    = 12 // bytes that the batch's length does not count
	crcFrom          = 21
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// encoder is shared: EncodeAll is safe for concurrent use.
var encoder = sync.OnceValue(func() *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithZeroFrames(true))
	if err != nil {
		panic(fmt.Sprintf("zstd refuses constant options: %v", err))
	}
	return e
})

// EncodeBatch encodes records of one partition as one record batch of message format v2. It compresses with zstd if
// that makes the batch smaller. The first four bytes are the batch's size, as kafka-go's RawRecordSet wants it.
func EncodeBatch(s Session, records []Record) []byte {
	return bytes.Join(encodeBatch(s, records, true), nil)
}

// encodeBatch returns a batch in pieces, one after another. The records' values are among them and not copied, as long
// as they are not compressed.
func encodeBatch(s Session, records []Record, compress bool) [][]byte {
	now := time.Now().UnixMilli()
	at := func(r *Record) int64 {
		if r.Time == 0 {
			return now
		}
		return r.Time
	}
	first := at(&records[0])
	latest := first
	room := 0
	for i := range records {
		latest = max(latest, at(&records[i]))
		room += records[i].size() - len(records[i].Value) - len(records[i].Rest)
	}
	heads := make([]byte, 0, room)              // it never moves: the pieces are parts of it
	body := make([][]byte, 1, 1+4*len(records)) // the first is for the head
	for i := range records {
		body, heads = appendRecord(body, heads, &records[i], i, at(&records[i])-first)
	}
	b := kmsg.RecordBatch{
		PartitionLeaderEpoch: -1,
		Magic:                2,
		LastOffsetDelta:      int32(len(records) - 1),
		FirstTimestamp:       first,
		MaxTimestamp:         latest,
		ProducerID:           s.ProducerID,
		ProducerEpoch:        s.Epoch,
		FirstSequence:        s.Sequence,
		NumRecords:           int32(len(records)),
	}
	if s.Transactional {
		b.Attributes |= transactionalBit
	}
	size := length(body)
	if compress && size >= compressFrom {
		if z := encoder().EncodeAll(bytes.Join(body, nil), nil); len(z) < size {
			body, size = [][]byte{nil, z}, len(z)
			b.Attributes |= zstdCodec
		}
	}
	const prefix = 4
	head := b.AppendTo(make([]byte, prefix, prefix+64))
	raw := head[prefix:]
	size += len(raw)
	binary.BigEndian.PutUint32(head, uint32(size))
	binary.BigEndian.PutUint32(raw[8:], uint32(size-batchOverhead))
	crc := crc32.Checksum(raw[crcFrom:], castagnoli)
	for _, piece := range body {
		crc = crc32.Update(crc, castagnoli, piece)
	}
	binary.BigEndian.PutUint32(raw[17:], crc)
	body[0] = head
	return body
}

func length(pieces [][]byte) (n int) {
	for _, piece := range pieces {
		n += len(piece)
	}
	return n
}

// appendRecord encodes one record: its length, then its content. Everything but the value goes to heads, which must
// have room for it.
func appendRecord(pieces [][]byte, heads []byte, r *Record, delta int, timeDelta int64) (_ [][]byte, _ []byte) {
	value := len(r.Value) + len(r.Rest)
	from := len(heads)
	heads = kbin.AppendVarint(heads, int32(1+kbin.VarlongLen(timeDelta)+kbin.VarintLen(int32(delta))+
		sizedLen(r.Key == nil, len(r.Key))+sizedLen(r.Value == nil, value)+r.headersLen()))
	heads = append(heads, 0) // attributes: none are defined
	heads = kbin.AppendVarlong(heads, timeDelta)
	heads = kbin.AppendVarint(heads, int32(delta))
	heads = kbin.AppendVarintBytes(heads, r.Key)
	if r.Value == nil {
		heads = kbin.AppendVarint(heads, -1)
	} else {
		heads = kbin.AppendVarint(heads, int32(value))
	}
	pieces = append(pieces, heads[from:], r.Value, r.Rest)
	from = len(heads)
	heads = kbin.AppendVarint(heads, int32(len(r.Headers)))
	for _, h := range r.Headers {
		heads = kbin.AppendVarintString(heads, h.Key)
		heads = kbin.AppendVarintBytes(heads, h.Value)
	}
	return append(pieces, heads[from:]), heads
}

// sizedLen is how many bytes a field with its length takes.
func sizedLen(null bool, n int) int {
	if null {
		return kbin.VarintLen(-1)
	}
	return kbin.VarintLen(int32(n)) + n
}

func (r *Record) headersLen() int {
	n := kbin.VarintLen(int32(len(r.Headers)))
	for _, h := range r.Headers {
		n += sizedLen(false, len(h.Key)) + sizedLen(h.Value == nil, len(h.Value))
	}
	return n
}

// size is an upper bound of a record's size in a batch.
func (r *Record) size() int {
	const varints = 32 // lengths, deltas and counts
	n := varints + len(r.Key) + len(r.Value) + len(r.Rest)
	for _, h := range r.Headers {
		n += 10 + len(h.Key) + len(h.Value)
	}
	return n
}

// partition is a topic's partition.
type partition struct {
	topic string
	id    int
}

func (p partition) String() string { return fmt.Sprintf("%s/%d", p.topic, p.id) }

// split sorts records by partition, in the order in which the partitions occur, and cuts those of each into batches
// below maxBatchBytes. A larger record gets a batch of its own: it may still fit when it is compressed.
func split(records []Record) (order []partition, batches map[partition][][]Record) {
	batches = make(map[partition][][]Record)
	size := make(map[partition]int)
	for _, r := range records {
		p := partition{r.Topic, r.Partition}
		n := r.size()
		have := batches[p]
		if len(have) == 0 {
			order = append(order, p)
		}
		if len(have) == 0 || size[p]+n > maxBatchBytes {
			have = append(have, nil)
			size[p] = 0
		}
		last := len(have) - 1
		have[last] = append(have[last], r)
		size[p] += n
		batches[p] = have
	}
	return order, batches
}
