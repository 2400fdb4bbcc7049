package fetch

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"iter"
	"math"
)

// The header of a record batch, message format v2: offsets of its fields. See
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

// batch is one record batch, still as it came.
type batch struct {
	raw        []byte
	base, next int64 // the batch covers the offsets from base to below next
	attributes uint16
}

// nextBatch takes the batch at the front of set. A set may end in the middle
// of a batch: the rest was cut off and will come with the next fetch; then
// whole is false.
func nextBatch(set []byte) (b batch, rest []byte, whole bool, reason string) {
	if len(set) <= atMagic {
		return batch{}, nil, false, ""
	}
	if magic := set[atMagic]; magic != 2 {
		return batch{base: int64(binary.BigEndian.Uint64(set))}, nil, false,
			fmt.Sprintf("message format v%d, want v2: it was written for Kafka before 0.11 and must be written anew", magic)
	}
	size := int(int32(binary.BigEndian.Uint32(set[atLength:])))
	if size < headerSize-atLeaderEpoch {
		return batch{base: int64(binary.BigEndian.Uint64(set))}, nil, false,
			fmt.Sprintf("a batch of %d bytes, want at least %d", size, headerSize-atLeaderEpoch)
	}
	size += atLeaderEpoch
	if size > len(set) {
		return batch{}, nil, false, ""
	}
	b.raw = set[:size]
	b.base = int64(binary.BigEndian.Uint64(set))
	delta := int32(binary.BigEndian.Uint32(set[atLastOffsetDelta:]))
	if b.base < 0 || delta < 0 || b.base > math.MaxInt64-int64(delta)-1 {
		return b, nil, false, fmt.Sprintf("offsets from %d by %d", b.base, delta)
	}
	b.next = b.base + int64(delta) + 1
	b.attributes = binary.BigEndian.Uint16(set[atAttributes:])
	return b, set[size:], true, ""
}

func (b *batch) intact() bool {
	return crc32.Checksum(b.raw[atAttributes:], castagnoli) == binary.BigEndian.Uint32(b.raw[atCRC:])
}

func (b *batch) producer() int64 { return int64(binary.BigEndian.Uint64(b.raw[atProducerID:])) }

// Record is one record of a page. Its slices point into the page: they are
// valid until the reader's next Poll, and the Record itself until the visiting
// function returns.
type Record struct {
	// Offset is the record's place in its partition.
	Offset int64
	// Time is the record's timestamp in milliseconds since 1970: the
	// producer's, or the broker's where the topic says LogAppendTime; −1 is none.
	Time int64
	// Key and Value are nil if null.
	Key, Value []byte
	// Aborted is set for a record whose transaction was aborted; see Options.Aborted.
	Aborted bool
	headers []byte
}

// Headers yields the record's headers in their order. A key may occur more
// than once. A malformed header ends the sequence.
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

// each visits the records of b from the offset from on. body is what follows
// the header, decompressed. It returns f's error, or the reason why the batch
// can't be right.
func (b *batch) each(body []byte, from int64, rec *Record, f func(*Record) error) (reason string, err error) {
	first := int64(binary.BigEndian.Uint64(b.raw[atFirstTimestamp:]))
	appended := b.attributes&logAppendTimeBit != 0
	latest := int64(binary.BigEndian.Uint64(b.raw[atMaxTimestamp:]))
	lowest := b.base // offsets must increase
	count := int32(binary.BigEndian.Uint32(b.raw[atCount:]))
	for range count {
		size, i := varint(body, 0)
		if i < 0 || size < 1 || size > int64(len(body)-i) {
			return "a record longer than its batch", nil
		}
		r := body[i : i+int(size)]
		body = body[i+int(size):]
		// r[0] holds attributes, of which none is defined.
		time, i := varint(r, 1)
		delta, i := varint(r, i)
		key, i := sized(r, i)
		value, i := sized(r, i)
		if i < 0 {
			return "a field longer than its record", nil
		}
		offset := b.base + delta
		if offset < lowest || offset >= b.next {
			return fmt.Sprintf("offset %d is out of order", offset), nil
		}
		lowest = offset + 1
		if offset < from {
			continue
		}
		rec.Offset, rec.Key, rec.Value, rec.headers = offset, key, value, r[i:]
		if rec.Time = first + time; appended {
			rec.Time = latest
		}
		if err := f(rec); err != nil {
			return "", err
		}
	}
	if len(body) > 0 {
		return fmt.Sprintf("more than the %d records declared", count), nil
	}
	return "", nil
}

// varint decodes the zigzag number at b[i] and returns the index behind it, or
// −1 if there is none or i already is −1.
func varint(b []byte, i int) (int64, int) {
	if uint(i) < uint(len(b)) && b[i] < 0x80 {
		v := b[i]
		return int64(v>>1) ^ -int64(v&1), i + 1
	}
	return longVarint(b, i)
}

func longVarint(b []byte, i int) (int64, int) {
	if i < 0 {
		return 0, -1
	}
	v, n := binary.Varint(b[min(i, len(b)):])
	if n <= 0 {
		return 0, -1
	}
	return v, i + n
}

// sized takes the bytes at b[i] that their length precedes; −1 means nil.
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
