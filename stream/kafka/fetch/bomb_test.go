package fetch

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/compress/snappy"
	"github.com/twmb/franz-go/pkg/kbin"
)

// recordLimit is the largest record that these tests want.
const recordLimit = 4 << 20

// zeros writes a record whose value is n times the digit 0.
func zeros(w io.Writer, delta int64, n int) {
	head := append([]byte{0, 0}, kbin.AppendVarlong(nil, delta)...)
	head = kbin.AppendVarint(append(head, 1), int32(n)) // no key
	must(w.Write(append(kbin.AppendVarint(nil, int32(len(head)+n+1)), head...)))
	chunk := bytes.Repeat([]byte{'0'}, 1<<20)
	for ; n > 0; n -= len(chunk) {
		must(w.Write(chunk[:min(n, len(chunk))]))
	}
	must(w.Write([]byte{0})) // no headers
}

func must(_ int, err error) {
	if err != nil {
		panic(err)
	}
}

// packed makes a batch of count records that write writes.
func packed(codec kafka.Compression, open func(io.Writer) io.WriteCloser, count int, write func(io.Writer)) []byte {
	var out bytes.Buffer
	w := open(&out)
	write(w)
	if err := w.Close(); err != nil {
		panic(err)
	}
	head := spec{attributes: int16(codec), count: int32(count), last: int32(count - 1)}.batch()
	return seal(append(head, out.Bytes()...))
}

// packings are the ways in which a batch may come. Raw snappy can't be unpacked in parts; it packs 21 to 1 at most.
func packings() map[string]func(count int, write func(io.Writer)) []byte {
	all := map[string]func(int, func(io.Writer)) []byte{}
	for _, codec := range []kafka.Compression{kafka.Gzip, kafka.Snappy, kafka.Lz4, kafka.Zstd} {
		all[codec.String()] = func(count int, write func(io.Writer)) []byte {
			return packed(codec, func(w io.Writer) io.WriteCloser { return codec.Codec().NewWriter(w) }, count, write)
		}
	}
	return all
}

// allocated is how many bytes f allocates in all, which is never less than what it holds at its peak.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestALargeRecordIsPassedOverAlone: a record of 140 MB between two others, which come as they are. Memory stays far
// below its size.
func TestALargeRecordIsPassedOverAlone(t *testing.T) {
	const size = 140 << 20
	for name, pack := range packings() {
		t.Run(name, func(t *testing.T) {
			batch := pack(3, func(w io.Writer) {
				must(w.Write(rec{delta: 0, key: []byte("k"), value: []byte("before")}.encode()))
				zeros(w, 1, size)
				must(w.Write(rec{delta: 2, value: []byte("behind")}.encode()))
			})
			c, _ := scripted(t, Options{MaxRecordBytes: recordLimit}, set(batch))
			r := c.Partition("t", 0, 0)
			page, err := r.Poll(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			used := allocated(func() {
				err = page.Each(func(r *Record) error {
					got = append(got, fmt.Sprintf("%d:%s %t", r.Offset, r.Value, r.TooLarge >= size))
					return nil
				})
			})
			if want := []string{"0:before false", "1: true", "2:behind false"}; err != nil || !slices.Equal(got, want) {
				t.Errorf("got %q, %v; want %q", got, err, want)
			}
			if r.Position() != 3 {
				t.Errorf("position %d, want 3", r.Position())
			}
			t.Logf("%d bytes unpack to %d MB with %.1f MB of memory", len(batch), size>>20, float64(used)/(1<<20))
			if used > 64<<20 {
				t.Errorf("%d bytes were allocated", used)
			}
		})
	}
}

func TestALargeRecordInABatchThatIsNotPacked(t *testing.T) {
	batch := spec{}.batch(values("before", strings.Repeat("0", recordLimit), strings.Repeat("1", recordLimit-100),
		"behind")...)
	c, _ := scripted(t, Options{MaxRecordBytes: recordLimit}, set(batch))
	page, err := c.Partition("t", 0, 0).Poll(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var sizes, large []int
	err = page.Each(func(r *Record) error {
		sizes = append(sizes, len(r.Value))
		if r.TooLarge > 0 {
			large = append(large, int(r.Offset))
		}
		return nil
	})
	if want := []int{6, 0, recordLimit - 100, 6}; err != nil || !slices.Equal(sizes, want) ||
		!slices.Equal(large, []int{1}) {
		t.Errorf("values of %v bytes, too large %v, %v; want %v and record 1", sizes, large, err, want)
	}
}

// TestManyRecordsAreUnpackedInLittleMemory: two million records of one batch.
func TestManyRecordsAreUnpackedInLittleMemory(t *testing.T) {
	const count = 2_000_000
	for name, pack := range packings() {
		t.Run(name, func(t *testing.T) {
			value := bytes.Repeat([]byte{'v'}, 60)
			batch := pack(count, func(w io.Writer) {
				var some []byte
				for i := range count {
					if some = append(some, rec{delta: int64(i), value: value}.encode()...); len(some) > 1<<20 ||
						i == count-1 {
						must(w.Write(some))
						some = some[:0]
					}
				}
			})
			c, _ := scripted(t, Options{MaxRecordBytes: recordLimit}, set(batch))
			r := c.Partition("t", 0, 0)
			page, err := r.Poll(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			used := allocated(func() {
				err = page.Each(func(r *Record) error {
					if len(r.Value) != len(value) || r.Offset != int64(n) {
						t.Fatalf("record %d has offset %d and %d bytes", n, r.Offset, len(r.Value))
					}
					n++
					return nil
				})
			})
			if err != nil || n != count {
				t.Errorf("%d records, %v", n, err)
			}
			t.Logf("%d bytes unpack to %d records with %.1f MB of memory", len(batch), n, float64(used)/(1<<20))
			if used > 64<<20 {
				t.Errorf("%d bytes were allocated", used)
			}
		})
	}
}

// TestALyingSnappyHeaderTakesNoMemory: a block's header may claim up to 4 GB.
func TestALyingSnappyHeaderTakesNoMemory(t *testing.T) {
	batch := packed(kafka.Snappy, func(w io.Writer) io.WriteCloser { return nop{w} }, 1, func(w io.Writer) {
		must(w.Write([]byte{0xff, 0xff, 0xff, 0xff, 0x0f, 0, 0}))
	})
	c, _ := scripted(t, Options{}, set(batch))
	r := c.Partition("t", 0, 0)
	used := allocated(func() {
		_, err := read(t, r)
		_ = mustBatchError(t, err, 0)
	})
	if used > 1<<20 {
		t.Errorf("%d bytes were allocated", used)
	}
}

func TestALargeBlockOfBareSnappy(t *testing.T) {
	codec := snappy.Codec{Framing: snappy.Unframed}
	batch := packed(kafka.Snappy, codec.NewWriter, 2, func(w io.Writer) {
		zeros(w, 0, 3*maxWhole)
		must(w.Write(rec{delta: 1, value: []byte("behind")}.encode()))
	})
	c, _ := scripted(t, Options{MaxRecordBytes: recordLimit}, set(batch))
	got, err := read(t, c.Partition("t", 0, 0))
	if want := []string{"0:", "1:behind"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
}

type nop struct{ io.Writer }

func (nop) Close() error { return nil }
