package fetch

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"iter"
	"math"

	"github.com/segmentio/kafka-go"
)

// Where the fields of a record batch's header are, in message format v2. See
// https://kafka.apache.org/documentation/#recordbatch
const (
	atLength          = 8 // counts from atLeaderEpoch
	atLeaderEpoch     = 12
	atMagic           = 16
	atCRC             = 17 // of everything from atAttributes
	atAttributes      = 21
	atLastOffsetDelta = 23
	atFirstTimestamp  = 27
	atMaxTimestamp    = 35
	atProducerID      = 43
	atCount           = 57
	headerSize        = 61

	compressionBits  = 0x07
	logAppendTimeBit = 0x08
	transactionalBit = 0x10
	controlBit       = 0x20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// batch is one record batch as received.
type batch struct {
	raw        []byte
	base, next int64 // the batch covers the offsets from base to below next
	attributes uint16
}

// nextBatch takes the batch at the front of set. If the set ends in the middle of it, whole is false, and the next
// fetch brings the batch again. If the batch is broken, reason says why, and b.next is the offset to continue at, or 0
// if unknown.
func nextBatch(set []byte) (b batch, rest []byte, whole bool, reason string) {
	if len(set) <= atMagic {
		return batch{}, nil, false, ""
	}
	if magic := set[atMagic]; magic != 2 {
		// This is the offset of a v0 or v1 message, or of the last message packed into it.
		last := int64(binary.BigEndian.Uint64(set))
		return batch{next: max(0, last) + 1}, nil, false,
			fmt.Sprintf("message format v%d; want v2: it was written for Kafka before 0.11 and must be rewritten",
				magic)
	}
	size := int(int32(binary.BigEndian.Uint32(set[atLength:])))
	if size < headerSize-atLeaderEpoch {
		return batch{}, nil, false,
			fmt.Sprintf("a batch of %d bytes; want at least %d", size, headerSize-atLeaderEpoch)
	}
	size += atLeaderEpoch
	if size > len(set) {
		return batch{}, nil, false, ""
	}
	b.raw = set[:size]
	b.base = int64(binary.BigEndian.Uint64(set))
	delta := int32(binary.BigEndian.Uint32(set[atLastOffsetDelta:]))
	if b.base < 0 || delta < 0 || b.base > math.MaxInt64-int64(delta)-1 {
		return batch{}, nil, false, fmt.Sprintf("offsets from %d by %d", b.base, delta)
	}
	b.next = b.base + int64(delta) + 1
	b.attributes = binary.BigEndian.Uint16(set[atAttributes:])
	return b, set[size:], true, ""
}

func (b *batch) intact() bool {
	return crc32.Checksum(b.raw[atAttributes:], castagnoli) == binary.BigEndian.Uint32(b.raw[atCRC:])
}

// tellsNext reports whether the end that a batch with a wrong CRC claims is plausible: it needs at least as many
// offsets as records.
func (b *batch) tellsNext() bool {
	count := int64(int32(binary.BigEndian.Uint32(b.raw[atCount:])))
	return count > 0 && count <= b.next-b.base
}

func (b *batch) maxTimestamp() int64 { return int64(binary.BigEndian.Uint64(b.raw[atMaxTimestamp:])) }

func (b *batch) producer() int64 { return int64(binary.BigEndian.Uint64(b.raw[atProducerID:])) }

// Record is one record of a page. It and its slices are valid until the visiting function returns.
type Record struct {
	// Offset is the record's place in its partition.
	Offset int64
	// Time is the record's timestamp in milliseconds since 1970: the producer's, or the broker's if the topic uses
	// LogAppendTime. −1 means none.
	Time int64
	// Key and Value are nil if null.
	Key, Value []byte
	// Aborted is set for a record whose transaction was aborted; see Options.Aborted.
	Aborted bool
	// TooLarge is the size in bytes of a record larger than Options.MaxRecordBytes, which comes without key, value and
	// headers. It is 0 for all other records.
	TooLarge int64
	headers  []byte
}

// Clone returns a copy that shares nothing with the page. It is valid for as long as it is kept.
func (r *Record) Clone() *Record {
	c := *r
	c.Key, c.Value, c.headers = bytes.Clone(r.Key), bytes.Clone(r.Value), bytes.Clone(r.headers)
	return &c
}

// Bytes is the size of the record's key, value and headers.
func (r *Record) Bytes() int { return len(r.Key) + len(r.Value) + len(r.headers) }

// Headers yields the record's headers in order. A key may occur more than once. A malformed header ends the sequence.
func (r *Record) Headers() iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		b := r.headers
		n, i := varint(b, 0)
		for ; n > 0 && i >= 0; n-- {
			var key, value []byte
			key, i = sized(b, i)
			value, i = sized(b, i)
			if i < 0 || !yield(string(key), value) {
				return
			}
		}
	}
}

// Header returns the value of the last header of that name.
func (r *Record) Header(name string) (value []byte, ok bool) {
	for k, v := range r.Headers() {
		if k == name {
			value, ok = v, true
		}
	}
	return value, ok
}

// each unpacks b and visits its records from the offset from on. It visits a record larger than limit without its
// content. It returns f's error, or what is wrong with the batch.
func (b *batch) each(u *unpacker, from, limit int64, rec *Record, f func(*Record) error) (reason string, err error) {
	body, err := u.open(kafka.Compression(b.attributes&compressionBits), b.raw[headerSize:])
	if err != nil {
		return err.Error(), nil
	}
	defer u.close()
	first := int64(binary.BigEndian.Uint64(b.raw[atFirstTimestamp:]))
	appended := b.attributes&logAppendTimeBit != 0
	latest := int64(binary.BigEndian.Uint64(b.raw[atMaxTimestamp:]))
	lowest := b.base // offsets must increase
	count := int32(binary.BigEndian.Uint32(b.raw[atCount:]))
	rec.TooLarge = 0
	for range count {
		size, i := varint(body, 0)
		if i < 0 || size > limit || size > int64(len(body)-i) {
			if body, size, i, err = u.record(body, limit); err != nil {
				return err.Error(), nil
			}
		}
		if i < 0 || size < 1 {
			return longRecord, nil
		}
		end := min(i+int(size), len(body)) // a record that is too large is cut off here
		r := body[i:end]
		// r[0] holds attributes; none are defined.
		time, at := varint(r, 1)
		delta, at := varint(r, at)
		offset := b.base + delta
		var key, value []byte
		if size <= limit {
			key, at = sized(r, at)
			value, at = sized(r, at)
			body = body[end:]
		} else if body, err = u.skip(body, int64(i)+size); err != nil {
			return err.Error(), nil
		}
		if at < 0 {
			return "a field longer than its record", nil
		}
		if offset < lowest || offset >= b.next {
			return fmt.Sprintf("offset %d is out of order", offset), nil
		}
		lowest = offset + 1
		if offset < from {
			continue
		}
		rec.Offset, rec.Key, rec.Value, rec.headers = offset, key, value, r[at:]
		if rec.Time = first + time; appended {
			rec.Time = latest
		}
		if size > limit {
			rec.TooLarge, rec.headers = size, nil
		}
		if err := f(rec); err != nil {
			return "", err
		}
		rec.TooLarge = 0
	}
	if body, err = u.next(body, 1); err != nil {
		return err.Error(), nil
	}
	if len(body) > 0 {
		return fmt.Sprintf("more than the %d records declared", count), nil
	}
	return "", nil
}

// sized takes a length and that many bytes from b[i] on. The length −1 means nil.
func sized(b []byte, i int) ([]byte, int) {
	n, i := varint(b, i)
	switch {
	case i < 0 || n < -1 || n > int64(len(b)-i):
		return nil, -1
	case n < 0:
		return nil, i
	}
	return b[i : i+int(n) : i+int(n)], i + int(n)
}
