package windows

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"testing"
	"time"
)

const minute = int64(time.Minute)

var tumbling = Schedule{Size: time.Minute, Every: time.Minute}

// scribe writes a stream's log of parts and marks, and a gathering reads it.
type scribe struct {
	t   *testing.T
	g   *Gathering
	n   byte
	log int64
	now int64 // of the writer's clock, Unix nanoseconds
}

func newScribe(t *testing.T, s Schedule) *scribe {
	g := NewGathering(1 << 20)
	g.Follow("s", 1, s, time.Second, 0)
	return &scribe{t: t, g: g}
}

func (s *scribe) send(messages ...[]byte) {
	s.t.Helper()
	for _, m := range messages {
		if err := s.g.Add(m, s.log, time.Unix(0, s.now)); err != nil {
			s.t.Fatal(err)
		}
		s.log++
	}
}

// flush writes a part of each slice that starts there, then the mark.
func (s *scribe) flush(partition int, from, to int64, after, through int64, starts ...int64) {
	s.t.Helper()
	s.n++
	o := Origin{Stream: "s", Epoch: 1, Partition: partition, From: from, To: to, Attempt: [16]byte{s.n}}
	for _, start := range starts {
		s.send(Part{Origin: o, Slice: Window{start, start + minute}, Payload: []byte{s.n}}.Messages(1000)...)
	}
	s.send(Mark{Origin: o, Partitions: 2, After: after, Through: through, Slices: starts}.Message())
}

func (s *scribe) wants(end int64, ready bool, incomplete ...int) {
	s.t.Helper()
	st := s.g.State("s", 1, Window{end - minute, end})
	if st.Ready != ready || !slices.Equal(st.Incomplete, incomplete) {
		s.t.Errorf("the window ending at minute %d stands at %+v, want ready %v, incomplete %v", end/minute, st, ready,
			incomplete)
	}
}

// parts returns the attempts that count in the first window.
func (s *scribe) parts() string {
	var b []byte
	for _, h := range s.g.Parts("s", 1, Window{0, minute}) {
		b = append(b, '0'+h.Attempt[0])
	}
	slices.Sort(b)
	return string(b)
}

func TestWindowIsCompleteWhenAllPartitionsCutIt(t *testing.T) {
	s := newScribe(t, tumbling)
	s.wants(minute, false)
	s.flush(0, 0, 10, 0, 0, 0)
	s.flush(0, 10, 20, 0, minute, 0, minute)
	s.wants(minute, false)
	s.flush(1, 0, 5, 0, minute, 0)
	s.wants(minute, true)
	s.wants(2*minute, false)
	if got := s.parts(); got != "123" {
		t.Errorf("parts %s count, want 123", got)
	}
}

// If two workers both believe they own a partition, the one whose cut is first in the log decides.
func TestFirstCutInTheLogCounts(t *testing.T) {
	s := newScribe(t, tumbling)
	s.flush(1, 0, 0, 0, minute)
	s.flush(0, 0, 10, 0, minute, 0) // 2
	s.flush(0, 0, 15, 0, minute, 0) // 3: after the cut
	s.flush(0, 0, 5, 0, 0, 0)       // 4: the first worker has this too
	if got := s.parts(); got != "24" {
		t.Errorf("parts %s count, want 24", got)
	}
}

// The records lost in a break in the chain were written before the last lost mark, and the next mark gives its time.
// Windows that begin after that are complete, however late the next mark comes.
func TestBreakEndsWithTheLostMark(t *testing.T) {
	for _, c := range []struct {
		name       string
		since      int64
		incomplete []int
	}{
		{"before the window begins", minute - int64(time.Second), nil},
		{"an event may lie ahead of it", minute - int64(time.Second) + 1, []int{0}},
		{"not known", 0, []int{0}},
		{"by a clock that is ahead", 9 * minute, []int{0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScribe(t, tumbling)
			s.flush(1, 0, 5, 0, 2*minute, 0)
			s.flush(0, 0, 5, 0, minute)
			s.now = 2 * minute
			s.send(Mark{Origin: Origin{Stream: "s", Epoch: 1, From: 6, To: 9}, Since: c.since,
				Partitions: 2, After: minute, Through: 2 * minute}.Message())
			s.wants(minute, true)
			s.wants(2*minute, true, c.incomplete...)
		})
	}
}

func TestWhatCannotComeIsNotWaitedFor(t *testing.T) {
	for name, c := range map[string]struct {
		write      func(s *scribe)
		incomplete []int
	}{
		"a later window is cut, this one's cut is gone": {func(s *scribe) { s.flush(0, 10, 20, minute, 2*minute) },
			[]int{0}},
		"a worker says that it is cut": {func(s *scribe) { s.flush(0, 10, 10, minute, minute) },
			[]int{0}},
		"a break in the chain": {func(s *scribe) {
			s.flush(0, 0, 5, 0, 0)
			s.flush(0, 6, 9, 0, minute)
		}, []int{0}},
		"records lost before they were read": {func(s *scribe) {
			s.send(Mark{Origin: Origin{Stream: "s", Epoch: 1, From: 0, To: 9}, Lost: 1, Partitions: 2,
				Through: minute}.Message())
		}, []int{0}},
		"a part that its mark names": {func(s *scribe) {
			s.send(Mark{Origin: Origin{Stream: "s", Epoch: 1, From: 0, To: 9}, Slices: []int64{0}, Partitions: 2,
				Through: minute}.Message())
		}, []int{0}},
		"messages deleted from the log": {func(s *scribe) {
			s.g.Lose(0, time.Unix(0, s.now))
			s.flush(0, 0, 9, 0, minute)
		}, []int{0, 1}},
		"an unreadable message": {func(s *scribe) {
			if err := s.g.Add([]byte("noise"), s.log, time.Unix(0, s.now)); err == nil {
				s.t.Error("noise is accepted")
			}
			s.flush(0, 0, 9, 0, minute)
		}, []int{0, 1}},
		"nothing is lost": {func(s *scribe) {
			s.flush(0, 0, 5, 0, 0, 0)
			s.flush(0, 4, 9, 0, minute, 0)
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScribe(t, tumbling)
			s.flush(1, 0, 5, 0, minute, 0)
			c.write(s)
			s.wants(minute, true, c.incomplete...)
			gone := len(c.incomplete) > 0 && name != "records lost before they were read"
			if st := s.g.State("s", 1, Window{0, minute}); st.Gone != gone {
				t.Errorf("the window stands at %+v, want gone %v", st, gone)
			}
		})
	}
}

// A gap that was recorded long before a window began cannot hold anything of that window.
func TestGapIsForgottenWithTheWindowsItTouches(t *testing.T) {
	s := newScribe(t, tumbling)
	s.now = 90 * int64(time.Second) // and at most one second ahead
	s.flush(1, 0, 5, 0, 3*minute)
	s.flush(0, 0, 5, 0, 0)
	s.flush(0, 6, 9, 0, 3*minute)
	s.wants(minute, true, 0)
	s.wants(2*minute, true, 0)
	s.wants(3*minute, true)
	if got := s.g.Needs(100); got != 0 {
		t.Errorf("needs the log from %d on, want 0: the first cut of partition 1", got)
	}
	for end := minute; end <= 3*minute; end += minute {
		s.g.Decide("s", 1, Window{end - minute, end})
	}
	if got := s.g.Needs(100); got != 100 {
		t.Errorf("needs the log from %d on, want nothing", got)
	}
}

func TestDecidedWindowsAreFreed(t *testing.T) {
	hopping := Schedule{Size: 3 * time.Minute, Every: time.Minute, Start: -2 * minute}
	s := newScribe(t, hopping)
	s.flush(0, 0, 5, 0, 0, 0, minute)
	s.flush(1, 0, 5, 0, minute)
	if got := s.g.held; got != 2 {
		t.Errorf("%d bytes are held, want 2", got)
	}
	for end := minute; end <= 3*minute; end += minute {
		s.g.Decide("s", 1, Window{end - 3*minute, end})
	}
	if got := s.g.held; got != 1 {
		t.Errorf("%d bytes are held after the last window of the first slice, want 1", got)
	}
	s.flush(0, 0, 5, 0, 0, 0)
	if got := s.g.held; got != 1 {
		t.Errorf("a part of a decided slice is held")
	}
}

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

// What a kept slice has lost is known as long as the slice is kept. The first of several cuts also counts for a reader
// that is behind.
func TestKeptSlices(t *testing.T) {
	s := newScribe(t, tumbling)
	s.g.Keep("s", 1, 0)
	s.flush(0, 0, 10, 0, minute, 0)
	s.flush(1, 0, 10, 0, minute, 0)
	s.g.Decide("s", 1, Window{0, minute})
	s.now = 2 * minute
	s.flush(0, 20, 30, minute, 2*minute, minute) // records from 10 on are missing
	s.flush(1, 10, 20, minute, 2*minute, minute)
	s.flush(0, 10, 20, 0, 2*minute, 0) // a later cut, which does not count
	s.g.Decide("s", 1, Window{minute, 2 * minute})
	s.now = 20 * minute
	s.flush(0, 30, 40, 2*minute, 10*minute)
	s.flush(1, 20, 40, 2*minute, 10*minute)
	for end := 3 * minute; end <= 10*minute; end += minute {
		s.g.Decide("s", 1, Window{end - minute, end})
	}
	two := Window{0, 2 * minute}
	if st := s.g.State("s", 1, two); !st.Ready || !slices.Equal(st.Incomplete, []int{0}) || !st.Gone {
		t.Errorf("two minutes stand at %+v, want ready, and partition 0 incomplete", st)
	}
	if parts := s.g.Parts("s", 1, two); len(parts) != 5 {
		t.Errorf("%d parts of two minutes, want 5", len(parts))
	}
	s.g.Keep("s", 1, 3*minute)
	if st := s.g.State("s", 1, Window{3 * minute, 10 * minute}); !st.Ready || st.Incomplete != nil || st.Gone {
		t.Errorf("what follows stands at %+v, want ready and complete", st)
	}
	if n := len(s.g.streams[edition{"s", 1}].slices); n != 0 {
		t.Errorf("%d slices are kept that nobody needs", n)
	}
}
