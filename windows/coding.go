package windows

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/klauspost/compress/zstd"
)

// reader decodes a payload or message. It keeps its first error, and every later call returns zero.
type reader struct {
	rest []byte
	err  error
}

// openSnapshot unpacks a snapshot, and reads its version. The reader has the error if that is not the version wanted.
func openSnapshot(snapshot []byte, version uint8) *reader {
	raw, err := decompress(snapshot)
	r := &reader{raw, err}
	if v := r.uint8("version"); r.err == nil && v != version {
		r.fail("version %d; want %d", v, version)
	}
	return r
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
		r.rest = nil
	}
}

func (r *reader) bytes(n int, what string) []byte {
	if n < 0 || n > len(r.rest) {
		r.fail("%s: %d bytes wanted, %d left", what, n, len(r.rest))
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *reader) uint8(what string) uint8 {
	if b := r.bytes(1, what); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) uint32(what string) uint32 {
	if b := r.bytes(4, what); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

func (r *reader) uint64(what string) uint64 {
	if b := r.bytes(8, what); b != nil {
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

// appendUser appends the 16 bytes of a hash, and user reads them.
func appendUser(data []byte, u UserHash) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(data, u[0]), u[1])
}

func (r *reader) user() UserHash { return UserHash{r.uint64("user"), r.uint64("user")} }

func (r *reader) uvarint(what string) uint64 {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 {
		r.fail("%s: not a number", what)
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

func (r *reader) varint(what string) int64 {
	v, n := binary.Varint(r.rest)
	if n <= 0 {
		r.fail("%s: not a number", what)
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

// count reads a number of elements that take at least size bytes each. It refuses numbers that cannot fit, so that
// corrupt data reserves no memory.
func (r *reader) count(size int, what string) int {
	n := r.uvarint(what)
	if n > uint64(len(r.rest)/size) {
		r.fail("%s: %d do not fit into %d bytes", what, n, len(r.rest))
		return 0
	}
	return int(n)
}

// appendRows appends the number of some rows of a table, and for each the hash of its user and two numbers. The three
// snapshots of who has counted have such rows.
func appendRows(data []byte, t *table, rows []uint32, numbers func(r *row) (first, second int64)) []byte {
	data = slices.Grow(data, 20*len(rows))
	data = binary.AppendUvarint(data, uint64(len(rows)))
	for _, i := range rows {
		r := t.row(i)
		first, second := numbers(r)
		data = binary.AppendUvarint(appendUser(data, r.user), uint64(first))
		data = binary.AppendUvarint(data, uint64(second))
	}
	return data
}

// readRows reads what appendRows wrote. The users ascend; twice says that one may have several rows. add takes a row
// into the table, or has the reader fail.
func readRows(r *reader, t *table, twice bool, first, second string, add func(u UserHash, first, second uint64)) {
	var before UserHash
	n := r.count(18, "users")
	t.reserve(n)
	for i := 0; i < n && r.err == nil; i++ {
		u, x, y := r.user(), r.uvarint(first), r.uvarint(second)
		order := compareUsers(before, u)
		switch {
		case r.err != nil:
		case i > 0 && (order > 0 || order == 0 && !twice):
			r.fail("user %d does not come after the one before", i)
		default:
			add(u, x, y)
			before = u
		}
	}
}

// window reads the number of a window, where windows begin at such a step.
func (r *reader) window(every time.Duration) int64 {
	at := r.varint("window")
	if last := horizon / int64(every); r.err == nil && (at < -last || at > last) {
		r.fail("window %d; want one from %d to %d", at, -last, last)
	}
	return at
}

// compress and decompress make a new coder each time, because snapshots are rare, and a shared coder would be state.
// The fastest level is enough: hashes do not compress at all, small numbers compress at any level, and its coder is
// small.
func compress(b []byte) []byte {
	w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithLowerEncoderMem(true))
	if err != nil {
		panic("windows: zstd refuses constant options: " + err.Error())
	}
	return w.EncodeAll(b, make([]byte, 0, len(b)+64))
}

// mostPacked bounds how many times its size a snapshot unpacks to. In each row 16 bytes are a hash, which does not pack
// unless a user is in several groups.
const mostPacked = 1 << 10

// decompress trusts the size that a frame claims only as far as there are bytes.
func decompress(b []byte) ([]byte, error) { return decompressInto(b, mostPacked*len(b)) }

// decompressInto refuses a frame that unpacks to more than most bytes. A frame may always ask for a kilobyte.
func decompressInto(b []byte, most int) ([]byte, error) {
	if len(b) == 0 {
		return nil, errors.New("empty")
	}
	r, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(max(uint64(most), 1<<10)))
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return r.DecodeAll(b, nil)
}
