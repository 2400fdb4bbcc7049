package fetch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/compress/snappy"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func compress(codec kafka.Compression, b []byte) []byte {
	var out bytes.Buffer
	w := codec.Codec().NewWriter(&out)
	_, err := w.Write(b)
	if err = errors.Join(err, w.Close()); err != nil {
		panic(err)
	}
	return out.Bytes()
}

func TestRecordFields(t *testing.T) {
	records := []rec{
		{time: 5, key: []byte("k"), value: []byte("v")},
		{delta: 1, time: -7, key: nil, value: nil},
		{delta: 2, key: []byte{}, value: []byte{}, headers: []kmsg.Header{{Key: "a", Value: []byte("1")}, {Key: "b"},
			{Key: "a", Value: []byte("2")}}},
		{delta: 300, time: 1 << 40, value: bytes.Repeat([]byte("x"), 300)},
	}
	for _, appended := range []bool{false, true} {
		s := spec{base: 40, first: 1000, max: 9000}
		if appended {
			s.attributes = logAppendTimeBit
		}
		c, _ := scripted(t, Options{}, set(s.batch(records...)))
		page, err := c.Partition("t", 0, 0).Poll(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		i := 0
		err = page.Each(func(r *Record) error {
			want := records[i]
			i++
			time := 1000 + want.time
			if appended {
				time = 9000
			}
			if r.Offset != 40+want.delta || r.Time != time {
				t.Errorf("record %d: offset %d, time %d; want %d, %d", i, r.Offset, r.Time, 40+want.delta, time)
			}
			if !bytes.Equal(r.Key, want.key) || !bytes.Equal(r.Value, want.value) ||
				(r.Key == nil) != (want.key == nil) || (r.Value == nil) != (want.value == nil) {
				t.Errorf("record %d: key %#v, value %#v; want %#v, %#v", i, r.Key, r.Value, want.key, want.value)
			}
			var headers []kmsg.Header
			for k, v := range r.Headers() {
				headers = append(headers, kmsg.Header{Key: k, Value: v})
			}
			if fmt.Sprint(headers) != fmt.Sprint(want.headers) {
				t.Errorf("record %d: headers %v, want %v", i, headers, want.headers)
			}
			if v, ok := r.Header("a"); ok != (len(want.headers) > 0) || ok && string(v) != "2" {
				t.Errorf("record %d: header a is %q, %v", i, v, ok)
			}
			return nil
		})
		if err != nil || i != len(records) {
			t.Fatalf("%d of %d records, %v", i, len(records), err)
		}
	}
}

func TestEveryCodecUnpacks(t *testing.T) {
	want := strings.Repeat("some text that packs well ", 5000)
	for _, codec := range []kafka.Compression{0, kafka.Gzip, kafka.Snappy, kafka.Lz4, kafka.Zstd} {
		t.Run(codec.String(), func(t *testing.T) {
			c, _ := scripted(t, Options{}, set(spec{codec: codec}.batch(values(want, "second")...),
				spec{base: 2, codec: codec}.batch(values("third")...)),
				set(spec{base: 3, codec: codec}.batch(values("fourth")...)))
			r := c.Partition("t", 0, 0)
			for _, want := range [][]string{{"0:" + want, "1:second", "2:third"}, {"3:fourth"}} {
				if got, err := read(t, r); err != nil || !slices.Equal(got, want) {
					t.Fatalf("got %.100v, %v", got, err)
				}
			}
		})
	}
}

func TestBareSnappyUnpacks(t *testing.T) {
	var packed bytes.Buffer
	w := (&snappy.Codec{Framing: snappy.Unframed}).NewWriter(&packed)
	body := rec{value: []byte("bare")}.encode()
	if _, err := w.Write(body); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	var u unpacker
	got, err := u.open(kafka.Snappy, packed.Bytes())
	if err != nil || !bytes.Equal(got, body) {
		t.Fatalf("got %q, %v", got, err)
	}
}

func TestDamageIsNoticed(t *testing.T) {
	good := func() []byte { return spec{}.batch(values("first", "second", "third")...) }
	garbled := func(change func(b []byte)) []byte {
		b := good()
		change(b)
		return seal(b)
	}
	for name, c := range map[string]struct {
		batch     []byte
		delivered int
		lost      int64 // when it is skipped
		reason    string
	}{
		"crc":               {func() []byte { b := good(); b[len(b)-1] ^= 1; return b }(), 0, 3, "CRC"},
		"old format":        {func() []byte { b := good(); b[atMagic] = 1; return b }(), 0, 1, "format v1"},
		"tiny":              {func() []byte { b := good(); b[atLength+3] = 48; return b }(), 0, 1, "48 bytes"},
		"negative size":     {func() []byte { b := good(); b[atLength] = 0x80; return b }(), 0, 1, "bytes"},
		"negative offset":   {func() []byte { b := good(); b[0] = 0x80; return seal(b) }(), 0, 1, "offsets"},
		"negative delta":    {garbled(func(b []byte) { b[atLastOffsetDelta] = 0x80 }), 0, 1, "offsets"},
		"too many declared": {spec{count: 4, last: 5}.batch(values("a", "b", "c")...), 3, 3, "longer than its batch"},
		"too few declared":  {spec{count: 2}.batch(values("a", "b", "c")...), 2, 1, "more than the 2 records"},
		"record too long":   {garbled(func(b []byte) { b[headerSize] = 0x7e }), 0, 3, "longer than its batch"},
		"value too long":    {garbled(func(b []byte) { b[headerSize+5] = 0x7e }), 0, 3, "longer than its record"},
		"length below -1":   {garbled(func(b []byte) { b[headerSize+5] = 0x03 }), 0, 3, "longer than its record"},
		"offset twice": {spec{last: 1}.batch(rec{value: []byte("a")}, rec{value: []byte("b")}), 1, 1,
			"out of order"},
		"offset too high": {spec{last: 1}.batch(rec{value: []byte("a")}, rec{delta: 2}), 1, 1, "out of order"},
		"unknown codec":   {garbled(func(b []byte) { b[atAttributes+1] = 5 }), 0, 3, "compression"},
		"no gzip":         {garbled(func(b []byte) { b[atAttributes+1] = 1 }), 0, 3, "gzip"},
		"no snappy":       {garbled(func(b []byte) { b[atAttributes+1] = 2 }), 0, 3, "snappy"},
		"no lz4":          {garbled(func(b []byte) { b[atAttributes+1] = 3 }), 0, 3, "lz4"},
		"no zstd":         {garbled(func(b []byte) { b[atAttributes+1] = 4 }), 0, 3, "zstd"},
	} {
		t.Run(name, func(t *testing.T) {
			client, _ := scripted(t, Options{}, set(c.batch), set(c.batch))
			r := client.Partition("t", 0, 0)
			got, err := read(t, r)
			e := mustBatchError(t, err, int64(c.delivered))
			if len(got) != c.delivered || !strings.Contains(e.Reason, c.reason) {
				t.Errorf("%d records, %v; want %d, %q", len(got), e, c.delivered, c.reason)
			}
			if r.Position() != int64(c.delivered) {
				t.Errorf("position %d, want %d: damage is not passed over", r.Position(), c.delivered)
			}
			if _, err := read(t, r); err == nil {
				t.Error("the second try went well")
			}
			if lost, ok := r.Skip(e); !ok || lost != c.lost || r.Position() != int64(c.delivered)+c.lost {
				t.Errorf("skipped: %d lost, position %d; want %d, %d", lost, r.Position(), c.lost,
					int64(c.delivered)+c.lost)
			}
		})
	}
}

func TestMalformedHeadersEndQuietly(t *testing.T) {
	for _, b := range [][]byte{nil, {2}, {2, 9}, {4, 2, 'a', 2, '1', 6}, {0x80}, {1}} {
		r := Record{headers: b}
		n := 0
		for range r.Headers() {
			n++
		}
		if n > 1 {
			t.Errorf("%v: %d headers", b, n)
		}
	}
}

// FuzzPage gives the walker batches whose CRC is right but whose content is
// anything. Nothing may panic, and what is delivered must be in order, in
// range, and what franz-go's decoder finds as well.
func FuzzPage(f *testing.F) {
	f.Add(spec{base: 3}.batch(values("a", "bc", "def")...), int64(0))
	f.Add(join(txnBatch(0, 7, "a"), marker(1, 7, false), txnBatch(2, 7, "b"), marker(3, 7, true)), int64(0))
	f.Add(spec{}.batch(rec{headers: []kmsg.Header{{Key: "k", Value: []byte("v")}}}), int64(0))
	f.Add(spec{last: 9}.batch(rec{delta: 4, value: []byte("x")}), int64(5))
	for _, codec := range []kafka.Compression{kafka.Gzip, kafka.Snappy, kafka.Lz4, kafka.Zstd} {
		f.Add(spec{codec: codec}.batch(values("a", "a", "a", "a")...), int64(1))
	}
	f.Fuzz(func(t *testing.T, data []byte, from int64) {
		from = max(0, from)
		// Make the CRCs fit, or nothing behind them would ever be tried.
		for rest := data; ; {
			b, behind, whole, _ := nextBatch(rest)
			if !whole {
				break
			}
			n := len(b.raw)
			copy(rest[:n], seal(b.raw))
			rest = behind
		}
		c, _ := scripted(nil, Options{MaxRecordBytes: 1 << 10},
			&response{records: data, aborted: []aborted{{producer: 7}}})
		r := c.Partition("t", 0, from)
		page, err := r.Poll(t.Context())
		if err != nil {
			return
		}
		polled := r.Position()
		last := from - 1
		count := 0
		err = page.Each(func(rec *Record) error {
			if rec.Offset <= last || rec.Offset >= polled {
				t.Fatalf("offset %d after %d, position %d", rec.Offset, last, polled)
			}
			last = rec.Offset
			count++
			for k, v := range rec.Headers() {
				_, _ = k, v
			}
			return nil
		})
		if r.Position() <= last || r.Position() > polled {
			t.Fatalf("position %d after offset %d, polled %d", r.Position(), last, polled)
		}
		if err == nil && from == 0 {
			compareWithFranz(t, data[:page.Bytes()], count)
		}
	})
}

// compareWithFranz counts the deliverable records of uncompressed batches with
// kmsg's own decoder.
func compareWithFranz(t *testing.T, set []byte, count int) {
	t.Helper()
	want, next := 0, int64(0)
	for rest := set; len(rest) > 0; {
		var b batch
		b, rest, _, _ = nextBatch(rest)
		if b.base < next {
			return // a batch whose offsets were delivered is not looked at
		}
		next = b.next
		if b.attributes&(compressionBits|transactionalBit|controlBit) != 0 || b.base != int64(want) {
			return // other rules apply
		}
		var k kmsg.RecordBatch
		if err := k.ReadFrom(b.raw); err != nil {
			t.Fatalf("franz-go refuses what was accepted: %v", err)
		}
		for body := k.Records; len(body) > 0; want++ {
			var one kmsg.Record
			n, i := varint(body, 0)
			if err := one.ReadFrom(body[:i+int(n)]); err != nil {
				return // it also decodes headers, which here are left alone
			}
			body = body[i+int(n):]
		}
	}
	if count != want {
		t.Fatalf("%d records, franz-go finds %d", count, want)
	}
}

// Numbers of every length are read as encoding/binary reads them, whatever follows them, and none beyond the end.
func TestVarint(t *testing.T) {
	for bit := range 64 {
		for _, v := range []int64{1 << bit, 1<<bit - 1, -1 << bit, -1<<bit - 1, 0x5555555555555555 & (1<<bit - 1)} {
			for behind := range 5 {
				b := binary.AppendVarint([]byte{0x80}, v)
				end := len(b)
				b = append(b, 0xff, 0, 0x80, 1, 0xff)[:end+behind]
				if got, i := varint(b, 1); got != v || i != end {
					t.Fatalf("%x: %d up to %d, want %d up to %d", b, got, i, v, end)
				}
			}
			b := binary.AppendVarint(nil, v)
			for n := range b {
				if _, i := varint(b[:n:n], 0); i != -1 {
					t.Fatalf("%x: a number up to %d, want none", b[:n], i)
				}
			}
		}
	}
	tooLong := bytes.Repeat([]byte{0xff}, 11)
	for _, at := range []int{-1, 0, 11, 12} {
		if _, i := varint(tooLong, at); i != -1 {
			t.Errorf("from %d on there is a number up to %d, want none", at, i)
		}
	}
}

func BenchmarkEach(b *testing.B) {
	const records = 10_000
	var all []rec
	for i := range records {
		all = append(all, rec{delta: int64(i), time: int64(i), key: fmt.Appendf(nil, "user-%05d", i),
			value: fmt.Appendf(nil, `{"latency_ms":%d,"r":"eu"}`, i*7919%60000)})
	}
	for _, codec := range []kafka.Compression{0, kafka.Gzip, kafka.Snappy, kafka.Lz4, kafka.Zstd} {
		b.Run(codec.String(), func(b *testing.B) {
			// Batches of 500 records, about 20 kB, as a busy producer makes them.
			var raw []byte
			for i := 0; i < records; i += 500 {
				part := slices.Clone(all[i : i+500])
				for j := range part {
					part[j].delta = int64(j)
				}
				raw = append(raw, spec{base: int64(i), codec: codec}.batch(part...)...)
			}
			c, _ := scripted(nil, Options{})
			r := c.Partition("t", 0, 0)
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				r.position = 0
				page, err := r.page(&response{records: raw})
				if err != nil {
					b.Fatal(err)
				}
				err = page.Each(func(r *Record) error {
					n += len(r.Value)
					return nil
				})
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*records), "ns/record")
			if n == 0 {
				b.Fatal("no records")
			}
		})
	}
}
