package windows

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func testPartial(payload string) Partial {
	return Partial{Stream: "latency", Window: Window{-int64(time.Hour), 0}, Partition: 2, Partitions: 3, Cut: 1 << 40,
		Attempt: [16]byte{1, 2, 3}, ValuesOnly: true, Payload: []byte(payload)}
}

func TestChunksRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := testPartial("")
		p.Payload = rapid.SliceOfN(rapid.Byte(), 0, 100).Draw(t, "payload")
		limit := p.Overhead() + rapid.IntRange(1, 120).Draw(t, "room")
		var a Assembler
		chunks := p.Chunks(limit)
		for i, c := range chunks {
			if len(c) > limit {
				t.Fatalf("chunk of %d bytes, limit %d", len(c), limit)
			}
			if stream, w, err := ChunkOf(c); stream != p.Stream || w != p.Window || err != nil {
				t.Fatalf("ChunkOf = %q, %v, %v", stream, w, err)
			}
			got, err := a.Add(c)
			clear(c) // the assembler must not rely on the message's memory
			if err != nil || (got != nil) != (i == len(chunks)-1) {
				t.Fatalf("chunk %d of %d: %v, %v", i, len(chunks), got, err)
			}
			if got != nil {
				if d := cmp.Diff(&p, got); d != "" {
					t.Fatalf("(-want +got)\n%s", d)
				}
			}
		}
	})
}

func TestChunksBelowOverhead(t *testing.T) {
	p := testPartial("abc")
	for _, limit := range []int{-1, 0, p.Overhead()} {
		if got := len(p.Chunks(limit)); got != 3 {
			t.Errorf("limit %d: %d chunks, want one a byte", limit, got)
		}
	}
}

// feed adds chunks and returns the partials that come out.
func feed(t *testing.T, a *Assembler, chunks ...[]byte) (partials []Partial) {
	t.Helper()
	for _, c := range chunks {
		p, err := a.Add(c)
		if err != nil {
			t.Fatal(err)
		}
		if p != nil {
			partials = append(partials, *p)
		}
	}
	return partials
}

func TestAssemblerTakesFirstCompleteAttempt(t *testing.T) {
	begun, complete, later := testPartial("begun first"), testPartial("complete first"), testPartial("later")
	complete.Attempt[0], later.Attempt[0] = 7, 8
	b, c := begun.Chunks(begun.Overhead()+4), complete.Chunks(complete.Overhead()+4)
	var a Assembler
	got := feed(t, &a, slices.Concat(b[:2], c, b[2:], later.Chunks(1000), c)...)
	if d := cmp.Diff([]Partial{complete}, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	// Other places are not concerned.
	partition, window, stream := testPartial("x"), testPartial("x"), testPartial("x")
	partition.Partition, window.Window.End, stream.Stream = 1, 1, "other"
	if n := len(feed(t, &a, slices.Concat(partition.Chunks(1000), window.Chunks(1000), stream.Chunks(1000))...)); n != 3 {
		t.Errorf("%d of 3 other places complete", n)
	}
}

func TestAssemblerForgets(t *testing.T) {
	old, open, other := testPartial("old"), testPartial("open"), testPartial("other")
	open.Window, other.Stream = Window{0, int64(time.Hour)}, "other"
	var a Assembler
	half := open.Chunks(open.Overhead() + 2)
	feed(t, &a, slices.Concat(old.Chunks(1000), half[:1], other.Chunks(other.Overhead() + 3)[:1])...)
	a.Forget("latency", old.Window.End)
	a.Forget("latency", old.Window.End-1) // must not bring anything back
	if len(a.open) != 2 {
		t.Errorf("%d places are held, want those of the open window and of the other stream", len(a.open))
	}
	if got := feed(t, &a, old.Chunks(1000)...); got != nil {
		t.Errorf("a forgotten window came again: %v", got)
	}
	if got := feed(t, &a, half[1:]...); len(got) != 1 {
		t.Error("a window that ends later was forgotten")
	}
}

func TestAssemblerRefusesContradiction(t *testing.T) {
	p := testPartial("payload")
	chunks := p.Chunks(p.Overhead() + 4)
	for _, change := range []func(*Partial){
		func(p *Partial) { p.Cut++ },
		func(p *Partial) { p.Partitions++ },
		func(p *Partial) { p.ValuesOnly = false },
		func(p *Partial) { p.Payload = append(p.Payload, "longer"...) },
	} {
		var a Assembler
		q := testPartial("payload")
		change(&q)
		feed(t, &a, chunks[0])
		if got, err := a.Add(q.Chunks(q.Overhead() + 4)[1]); got != nil || err == nil || !strings.Contains(err.Error(), "partition 2") {
			t.Errorf("%v, %v: want an error that says where", got, err)
		}
		if got := feed(t, &a, chunks[1]); len(got) != 1 || !bytes.Equal(got[0].Payload, p.Payload) {
			t.Errorf("after the refused chunk: %v", got)
		}
	}
}

func TestChunkRefusesImpossibleFields(t *testing.T) {
	f := func(change func(*Partial), want string) {
		t.Helper()
		p := testPartial("x")
		change(&p)
		if _, err := new(Assembler).Add(p.Chunks(1000)[0]); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not say %q", err, want)
		}
	}
	f(func(p *Partial) { p.Window.End = p.Window.Start }, "not before its end")
	f(func(p *Partial) { p.Partition = 3 }, "partition 3 of 3")
	f(func(p *Partial) { p.Partition = -1 }, "partition -1 of 3")

	patch := func(offset int, value uint32, want string) {
		t.Helper()
		c := testPartial("x").Chunks(1000)[0]
		binary.BigEndian.PutUint32(c[offset:], value)
		binary.BigEndian.PutUint32(c[4:], checksum(c))
		if _, err := new(Assembler).Add(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not say %q", err, want)
		}
	}
	patch(0, 2<<24, "reads version 1")
	patch(0, 1<<24|1, "reads version 1")
	patch(chunkHeader-12, 1, "index 1 of 1")
	patch(chunkHeader-4, 1000, "stream: 1000 bytes wanted")
	patch(chunkHeader-4, 1<<31, "stream: -2147483648 bytes wanted")
}

func TestAssemblerRefusesAnyChangedBit(t *testing.T) {
	p := testPartial("payload")
	chunk := p.Chunks(1000)[0]
	for i := range 8 * len(chunk) {
		c := slices.Clone(chunk)
		c[i/8] ^= 1 << (i % 8)
		if got, err := new(Assembler).Add(c); err == nil {
			t.Fatalf("bit %d changed: %v", i, got)
		}
	}
	for i := range chunk {
		if _, err := new(Assembler).Add(chunk[:i]); err == nil {
			t.Fatalf("cut off after %d bytes and accepted", i)
		}
		if _, _, err := ChunkOf(chunk[:i]); err == nil {
			t.Fatalf("cut off after %d bytes and still of a stream", i)
		}
	}
}

// FuzzAssembler: any bytes, also with a right checksum, are an error or a chunk, never a panic.
func FuzzAssembler(f *testing.F) {
	p := testPartial("payload")
	for _, c := range p.Chunks(p.Overhead() + 3) {
		f.Add(c)
	}
	f.Add([]byte{})
	f.Add(make([]byte, chunkHeader))
	f.Add(append([]byte{chunkVersion, 0, 0, 0}, bytes.Repeat([]byte{0xff}, chunkHeader)...))
	f.Fuzz(func(t *testing.T, data []byte) {
		var a Assembler
		for range 2 {
			got, err := a.Add(data)
			if err != nil && got != nil {
				t.Fatalf("both %v and %v", got, err)
			}
			if got != nil && !bytes.Contains(data, got.Payload) {
				t.Fatal("payload is not of the chunk")
			}
			if data = slices.Clone(data); len(data) >= chunkHeader {
				binary.BigEndian.PutUint32(data[4:], checksum(data))
			}
		}
	})
}
