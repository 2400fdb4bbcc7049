package windows

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"testing"
	"time"
)

func testMessages() (part, mark []byte) {
	o := Origin{Stream: "latency", Epoch: 3, Partition: 2, From: 1 << 40, To: 1<<40 + 5, Attempt: [16]byte{1, 2, 3}}
	return Part{Origin: o, Slice: Window{-minute, 0}, Payload: []byte("payload")}.Messages(1000)[0],
		Mark{Origin: o, Partitions: 3, Lost: 4, Since: 5, Slices: []int64{-minute, 0},
			After: -minute, Through: 0}.Message()
}

func TestMessagesRefuseAnyChangedBit(t *testing.T) {
	part, mark := testMessages()
	for _, message := range [][]byte{part, mark} {
		if _, _, err := decode(message); err != nil {
			t.Fatal(err)
		}
		for i := range 8 * len(message) {
			c := slices.Clone(message)
			c[i/8] ^= 1 << (i % 8)
			if _, _, err := decode(c); err == nil {
				t.Fatalf("bit %d changed and accepted", i)
			}
		}
		for i := range message {
			if _, _, err := decode(message[:i]); err == nil {
				t.Fatalf("cut off after %d bytes and accepted", i)
			}
		}
	}
}

func TestMessagesRefuseImpossibleFields(t *testing.T) {
	f := func(message []byte, want string) {
		t.Helper()
		if _, _, err := decode(message); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not say %q", err, want)
		}
	}
	o := Origin{Stream: "s", Partition: 1, From: 1, To: 2}
	backwards, negative := o, o
	backwards.To, negative.Partition = 0, -1
	f(Mark{Origin: backwards, Partitions: 2}.Message(), "offsets 1 to 0")
	f(Mark{Origin: negative, Partitions: 2}.Message(), "partition -1")
	f(Mark{Origin: o, Partitions: -1}.Message(), "-1 partitions")
	f(Mark{Origin: o, Partitions: 2, After: 1}.Message(), "windows from")
	f(Mark{Origin: o, Partitions: 2, Lost: -1}.Message(), "-1 lost")
	f(Part{Origin: o, Slice: Window{5, 5}}.Messages(1000)[0], "not before its end")
	old, _ := testMessages()
	old[0] = 1
	f(old, "want version 3")
}

// FuzzMessages checks that any bytes, even with a correct checksum, are an error or a message, and never cause a panic.
func FuzzMessages(f *testing.F) {
	part, mark := testMessages()
	f.Add(part)
	f.Add(mark)
	f.Add([]byte{})
	f.Add(append([]byte{messageVersion, kindMark, 0, 0}, bytes.Repeat([]byte{0xff}, messageHeader)...))
	f.Fuzz(func(_ *testing.T, data []byte) {
		g := NewGathering(1 << 10)
		g.Follow("latency", 3, tumbling, 0, -10*minute)
		for range 2 {
			_ = g.Add(data, 0, time.Unix(0, 0))
			if data = slices.Clone(data); len(data) >= messageHeader {
				binary.BigEndian.PutUint32(data[4:], checksum(data))
			}
		}
	})
}
