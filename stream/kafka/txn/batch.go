package txn

import (
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
	Headers    []Header
	// Time is the record's timestamp in milliseconds since 1970. Zero means
	// now: a record of 1970 would be deleted at once by retention.
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
func EncodeBatch(s Session, records []Record) []byte { return encodeBatch(s, records, true) }

func encodeBatch(s Session, records []Record, compress bool) []byte {
	now := time.Now().UnixMilli()
	at := func(r *Record) int64 {
		if r.Time == 0 {
			return now
		}
		return r.Time
	}
	first := at(&records[0])
	latest := first
	var body, scratch []byte
	for i := range records {
		t := at(&records[i])
		latest = max(latest, t)
		body, scratch = appendRecord(body, scratch, &records[i], i, t-first)
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
		Records:              body,
	}
	if s.Transactional {
		b.Attributes |= transactionalBit
	}
	if compress && len(body) >= compressFrom {
		if z := encoder().EncodeAll(body, nil); len(z) < len(body) {
			b.Records = z
			b.Attributes |= zstdCodec
		}
	}
	const prefix = 4
	out := b.AppendTo(make([]byte, prefix, prefix+64+len(b.Records)))
	raw := out[prefix:]
	binary.BigEndian.PutUint32(out, uint32(len(raw)))
	binary.BigEndian.PutUint32(raw[8:], uint32(len(raw)-batchOverhead))
	binary.BigEndian.PutUint32(raw[17:], crc32.Checksum(raw[crcFrom:], castagnoli))
	return out
}

// appendRecord encodes one record: its length, then its content. It assembles the content in scratch first, because the
// length comes first.
func appendRecord(dst, scratch []byte, r *Record, delta int, timeDelta int64) (_, _ []byte) {
	b := scratch[:0]
	b = append(b, 0) // attributes: none are defined
	b = kbin.AppendVarlong(b, timeDelta)
	b = kbin.AppendVarint(b, int32(delta))
	b = kbin.AppendVarintBytes(b, r.Key)
	b = kbin.AppendVarintBytes(b, r.Value)
	b = kbin.AppendVarint(b, int32(len(r.Headers)))
	for _, h := range r.Headers {
		b = kbin.AppendVarintString(b, h.Key)
		b = kbin.AppendVarintBytes(b, h.Value)
	}
	return append(kbin.AppendVarint(dst, int32(len(b))), b...), b
}

// size is an upper bound of a record's size in a batch.
func (r *Record) size() int {
	const varints = 32 // lengths, deltas and counts
	n := varints + len(r.Key) + len(r.Value)
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
