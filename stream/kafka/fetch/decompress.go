package fetch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/segmentio/kafka-go"
)

const (
	// window is how much of a stream is unpacked at a time.
	window = 64 << 10
	// maxWhole is the size up to which zstd and snappy unpack a batch in one go, which is faster than streaming.
	// Buffers up to this size are kept for the next batch.
	maxWhole = 8 << 20
	// maxZstdWindow is the memory that a zstd stream may ask for. The highest compression level needs this much.
	maxZstdWindow = 128 << 20
	// maxSnappyRatio bounds what a block of snappy unpacks to: no element of the format makes more than 64 bytes of
	// three. A header that claims more is wrong.
	maxSnappyRatio = 22
)

// unpacker unpacks the batches of one reader, one at a time, through one buffer. It needs memory for the largest wanted
// record, not for the whole batch. kafka-go's codecs have no such bound.
type unpacker struct {
	zstd   func() (*zstd.Decoder, error)
	codec  kafka.Compression
	buffer []byte
	more   io.Reader // the rest of the batch; nil if there is none
	source bytes.Reader
	gzip   *gzip.Reader
	lz4    *lz4.Reader
}

// open starts on the body of another batch and returns its first unpacked bytes, or all bytes if it is not compressed.
// Pass next and skip only bytes that open, next or skip returned last.
func (u *unpacker) open(codec kafka.Compression, b []byte) (head []byte, err error) {
	u.codec, u.more = codec, nil
	if cap(u.buffer) > maxWhole {
		u.buffer = nil // one large record has enlarged it
	}
	u.source.Reset(b)
	switch codec {
	case 0:
		return b, nil
	case kafka.Gzip:
		if u.gzip == nil {
			u.gzip = new(gzip.Reader)
		}
		err = u.gzip.Reset(&u.source)
		u.more = u.gzip
	case kafka.Snappy:
		head, err = u.snappy(b)
	case kafka.Lz4:
		if u.lz4 == nil {
			u.lz4 = lz4.NewReader(nil)
		}
		u.lz4.Reset(&u.source)
		u.more = u.lz4
	case kafka.Zstd:
		head, err = u.unzstd(b)
	default:
		return nil, fmt.Errorf("unknown compression %d", codec)
	}
	if err != nil {
		return nil, u.failed(err)
	}
	if head == nil {
		return u.next(nil, 1)
	}
	return head, nil
}

func (u *unpacker) failed(err error) error { return fmt.Errorf("%v: %w", u.codec, err) }

// close releases the memory of an unusually large batch.
func (u *unpacker) close() {
	if d, ok := u.more.(*zstd.Decoder); ok {
		d.Close()
	}
	u.more = nil
}

// next extends rest to at least n bytes, if there are that many.
func (u *unpacker) next(rest []byte, n int) ([]byte, error) {
	if len(rest) >= n || u.more == nil {
		return rest, nil
	}
	if cap(u.buffer) < window {
		u.buffer = make([]byte, window)
	}
	have := copy(u.buffer[:cap(u.buffer)], rest)
	for have < n {
		// A length is trusted only as far as there are bytes.
		if have == cap(u.buffer) {
			u.buffer = slices.Grow(u.buffer[:have], min(have, n-have))
		}
		got, err := u.more.Read(u.buffer[have:cap(u.buffer)])
		have += got
		if errors.Is(err, io.EOF) {
			u.close()
			break
		}
		if err != nil {
			return u.buffer[:have], u.failed(err)
		}
	}
	return u.buffer[:have], nil
}

// maxHead bounds the fields of a record before its key: attributes, timestamp and offset.
const maxHead = 1 + 2*binary.MaxVarintLen64

const longRecord = "a record longer than its batch"

// record extends rest until it begins with a whole record, or with the head of one larger than limit. It returns the
// record's size and where it begins.
func (u *unpacker) record(rest []byte, limit int64) (body []byte, size int64, i int, err error) {
	if body, err = u.next(rest, binary.MaxVarintLen64); err != nil {
		return nil, 0, 0, err
	}
	if size, i = varint(body, 0); i < 0 || size < 1 || size > math.MaxInt32 {
		return body, 0, -1, nil
	}
	if size > limit {
		body, err = u.next(body, i+maxHead)
		return body, size, i, err
	}
	if body, err = u.next(body, i+int(size)); err == nil && size > int64(len(body)-i) {
		i = -1
	}
	return body, size, i, err
}

// skip drops n bytes, the first of which are in rest, and returns the bytes after them that are already unpacked. If
// there are fewer than n, it returns an error.
func (u *unpacker) skip(rest []byte, n int64) ([]byte, error) {
	if n <= int64(len(rest)) {
		return rest[n:], nil
	}
	n -= int64(len(rest))
	if u.more == nil {
		return nil, errors.New(longRecord)
	}
	_, err := io.CopyN(io.Discard, u.more, n)
	if errors.Is(err, io.EOF) {
		return nil, errors.New(longRecord)
	}
	if err != nil {
		return nil, u.failed(err)
	}
	return u.buffer[:0], nil
}

// unzstd unpacks b whole if the result is small enough, and as a stream otherwise.
func (u *unpacker) unzstd(b []byte) ([]byte, error) {
	d, err := u.zstd()
	if err != nil {
		return nil, err
	}
	for size := max(cap(u.buffer), window); ; size = min(4*size, maxWhole) {
		if cap(u.buffer) < size {
			u.buffer = make([]byte, size)
		}
		// An error may mean that the batch needs more room. If it does not, the stream finds it again.
		if whole, err := d.DecodeAll(b, u.buffer[:0:size]); err == nil {
			return whole, nil
		}
		if size == maxWhole {
			break
		}
	}
	u.more, err = zstd.NewReader(&u.source, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxZstdWindow))
	return nil, err
}

// The Java client frames snappy like the xerial library: this magic, two version words, then blocks, each after its
// length. Other clients send one bare block.
var xerial = []byte{0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0}

const xerialHeader = 16

// snappy unpacks b whole if the result is small enough, and as a stream of blocks otherwise.
func (u *unpacker) snappy(b []byte) ([]byte, error) {
	s := snappyBlocks{packed: b, bare: true}
	if bytes.HasPrefix(b, xerial) {
		if len(b) < xerialHeader {
			return nil, io.ErrUnexpectedEOF
		}
		s = snappyBlocks{packed: b[xerialHeader:]}
	}
	total := 0
	for count := s; len(count.packed) > 0 && total <= maxWhole; {
		_, n, err := count.next()
		if err != nil {
			return nil, err
		}
		total += n
	}
	if total > maxWhole {
		stream := s
		u.more = &stream
		return nil, nil
	}
	if cap(u.buffer) < total {
		u.buffer = make([]byte, total, total+total/4)
	}
	whole := u.buffer[:0]
	for len(s.packed) > 0 {
		block, n, _ := s.next()
		if _, err := snappy.Decode(u.buffer[len(whole):len(whole)+n:cap(u.buffer)], block); err != nil {
			return nil, err
		}
		whole = whole[:len(whole)+n]
	}
	return whole, nil
}

// snappyBlocks unpacks one block of snappy at a time. It can't unpack part of a block.
type snappyBlocks struct {
	packed   []byte
	bare     bool // one block, without a length
	buffer   []byte
	unpacked []byte
}

// next returns a block and its unpacked size.
func (s *snappyBlocks) next() (block []byte, size int, err error) {
	block = s.packed
	if s.bare {
		s.packed = nil
	} else {
		if len(block) < 4 {
			return nil, 0, io.ErrUnexpectedEOF
		}
		n := int64(binary.BigEndian.Uint32(block))
		if block = block[4:]; n > int64(len(block)) {
			return nil, 0, io.ErrUnexpectedEOF
		}
		block, s.packed = block[:n], block[n:]
	}
	size, err = snappy.DecodedLen(block)
	if err == nil && size > maxSnappyRatio*len(block) {
		err = snappy.ErrCorrupt
	}
	return block, size, err
}

func (s *snappyBlocks) Read(p []byte) (int, error) {
	for len(s.unpacked) == 0 {
		if len(s.packed) == 0 {
			return 0, io.EOF
		}
		block, size, err := s.next()
		if err != nil {
			return 0, err
		}
		if s.buffer = slices.Grow(s.buffer[:0], size); size > 0 {
			s.unpacked, err = snappy.Decode(s.buffer[:size], block)
		}
		if err != nil {
			return 0, err
		}
	}
	n := copy(p, s.unpacked)
	s.unpacked = s.unpacked[n:]
	return n, nil
}

// varint decodes the zigzag number at b[i] and returns the index after it. The index is −1 if there is no number, or if
// i is −1 already.
func varint(b []byte, i int) (int64, int) {
	if uint(i) < uint(len(b)) && b[i] < 0x80 {
		v := b[i]
		return int64(v>>1) ^ -int64(v&1), i + 1
	}
	return longVarint(b, i)
}

// longVarint is varint for numbers of several bytes. Those of two to four, which most are, take no loop.
func longVarint(b []byte, i int) (int64, int) {
	if i < 0 {
		return 0, -1
	}
	if i+4 <= len(b) {
		w := binary.LittleEndian.Uint32(b[i:])
		v := int64(w&0x7f | w>>1&(0x7f<<7))
		switch {
		case w&(0x80<<8) == 0:
			return v>>1 ^ -(v & 1), i + 2
		case w&(0x80<<16) == 0:
			v |= int64(w >> 2 & (0x7f << 14))
			return v>>1 ^ -(v & 1), i + 3
		case w&(0x80<<24) == 0:
			v |= int64(w>>2&(0x7f<<14) | w>>3&(0x7f<<21))
			return v>>1 ^ -(v & 1), i + 4
		}
	}
	v, n := binary.Varint(b[min(i, len(b)):])
	if n <= 0 {
		return 0, -1
	}
	return v, i + n
}
