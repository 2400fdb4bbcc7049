package fetch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/segmentio/kafka-go"
)

// decompressor unpacks the batches of one reader, one at a time, into one
// buffer. kafka-go's codecs are not used: they have no limit of size.
type decompressor struct {
	limit  int
	zstd   func() (*zstd.Decoder, error)
	buffer []byte
	source bytes.Reader
	gzip   *gzip.Reader
	lz4    *lz4.Reader
}

var errTooLarge = errors.New("it grows beyond the limit")

// unpack returns what b unpacks to, valid until the next call.
func (d *decompressor) unpack(codec kafka.Compression, b []byte) (_ []byte, err error) {
	switch codec {
	case 0:
		return b, nil
	case kafka.Gzip:
		d.source.Reset(b)
		if d.gzip == nil {
			d.gzip = new(gzip.Reader)
		}
		if err = d.gzip.Reset(&d.source); err == nil {
			err = d.drain(d.gzip)
		}
	case kafka.Snappy:
		err = d.snappy(b)
	case kafka.Lz4:
		d.source.Reset(b)
		if d.lz4 == nil {
			d.lz4 = lz4.NewReader(nil)
		}
		d.lz4.Reset(&d.source)
		err = d.drain(d.lz4)
	case kafka.Zstd:
		var z *zstd.Decoder
		if z, err = d.zstd(); err != nil {
			return nil, err
		}
		d.buffer, err = z.DecodeAll(b, d.buffer[:0])
		if errors.Is(err, zstd.ErrDecoderSizeExceeded) || errors.Is(err, zstd.ErrWindowSizeExceeded) {
			err = errTooLarge
		}
	default:
		return nil, fmt.Errorf("unknown compression %d", codec)
	}
	if err == nil && len(d.buffer) > d.limit {
		err = errTooLarge
	}
	if err != nil {
		return nil, fmt.Errorf("%v: %w", codec, err)
	}
	return d.buffer, nil
}

// drain reads r into the buffer, up to one byte beyond the limit.
func (d *decompressor) drain(r io.Reader) error {
	out := d.buffer[:0]
	for {
		if len(out) == cap(out) {
			out = append(out, 0)[:len(out)]
		}
		n, err := r.Read(out[len(out):min(cap(out), d.limit+1)])
		out = out[:len(out)+n]
		d.buffer = out
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if len(out) > d.limit {
			return errTooLarge
		}
	}
}

// The Java client frames snappy in the way of the xerial library: this magic,
// two version words, then blocks that their lengths precede. Others send one
// bare block.
var xerial = []byte{0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0}

const xerialHeader = 16

func (d *decompressor) snappy(b []byte) error {
	d.buffer = d.buffer[:0]
	if !bytes.HasPrefix(b, xerial) {
		return d.snappyBlock(b)
	}
	if len(b) < xerialHeader {
		return io.ErrUnexpectedEOF
	}
	for b = b[xerialHeader:]; len(b) > 0; {
		if len(b) < 4 {
			return io.ErrUnexpectedEOF
		}
		n := int64(binary.BigEndian.Uint32(b))
		if b = b[4:]; n > int64(len(b)) {
			return io.ErrUnexpectedEOF
		}
		if err := d.snappyBlock(b[:n]); err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

// snappyBlock appends what one block unpacks to.
func (d *decompressor) snappyBlock(b []byte) error {
	n, err := snappy.DecodedLen(b)
	if err != nil {
		return err
	}
	have := len(d.buffer)
	if n > d.limit-have {
		return errTooLarge
	}
	if have+n > cap(d.buffer) {
		d.buffer = append(make([]byte, 0, 2*have+n), d.buffer...)
	}
	_, err = snappy.Decode(d.buffer[have:have+n], b)
	d.buffer = d.buffer[:have+n]
	return err
}
