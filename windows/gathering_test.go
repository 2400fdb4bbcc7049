package windows

import (
	"slices"
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

	times map[byte]int64 // when marks were written that others name
}

func newScribe(t *testing.T, s Schedule) *scribe {
	g := NewGathering(1 << 20)
	g.Follow("s", 1, s, time.Second, 0)
	return &scribe{t: t, g: g, times: map[byte]int64{}}
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
