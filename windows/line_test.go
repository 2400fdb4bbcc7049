package windows

import (
	"slices"
	"testing"
	"time"
)

// since writes what flush does for partition 0, a millisecond later. The mark says that it continues another one.
func (s *scribe) since(before byte, from, to, through int64) {
	s.t.Helper()
	s.n++
	s.now += int64(time.Millisecond)
	o := Origin{Stream: "s", Epoch: 1, From: from, To: to, Attempt: [16]byte{s.n}}
	s.send(Part{Origin: o, Slice: Window{0, minute}, Payload: []byte{s.n}}.Messages(1000)...)
	s.send(Mark{Origin: o, Partitions: 2, Through: through, Slices: []int64{0}, Since: s.times[before]}.Message())
	s.times[s.n] = s.now
}

// Histories by hand: which parts of the first minute count, and whether it is complete.
func TestLinesByHand(t *testing.T) {
	for name, c := range map[string]struct {
		write      func(s *scribe)
		parts      string // 1 is that of partition 1
		incomplete []int
	}{
		"one worker": {func(s *scribe) {
			s.flush(0, 0, 5, 0, 0, 0)
			s.flush(0, 5, 9, 0, minute, 0)
		}, "123", nil},
		"a zombie goes on": {func(s *scribe) {
			s.flush(0, 0, 5, 0, 0, 0)      // 2
			s.flush(0, 5, 7, 0, 0, 0)      // 3: the zombie
			s.flush(0, 5, 9, 0, minute, 0) // 4
			s.flush(0, 7, 9, 0, minute, 0) // 5: the zombie
		}, "124", nil},
		"the zombie's cut is first": {func(s *scribe) {
			s.flush(0, 0, 5, 0, 0, 0)
			s.flush(0, 5, 7, 0, 0, 0)
			s.flush(0, 7, 9, 0, minute, 0)
			s.flush(0, 5, 9, 0, minute, 0)
		}, "1234", nil},
		"a worker with old progress begins anew": {func(s *scribe) {
			s.flush(0, 0, 5, 0, 0, 0)
			s.flush(0, 5, 7, 0, 0, 0)
			s.flush(0, 0, 0, 0, 0) // 4: no progress
			s.flush(0, 0, 9, 0, minute, 0)
		}, "15", nil},
		"it has cut the window, and another one has not": {func(s *scribe) {
			s.flush(0, 0, 5, 0, minute, 0)
			s.flush(0, 5, 9, minute, 2*minute, minute)
			s.flush(0, 5, 9, 0, 2*minute, 0) // 4: continues nothing, and cuts too late
		}, "12", nil},
		"a part whose worker died before the mark": {func(s *scribe) {
			s.flush(0, 0, 5, 0, 0, 0)
			o := Origin{Stream: "s", Epoch: 1, From: 5, To: 7, Attempt: [16]byte{9}}
			s.send(Part{Origin: o, Slice: Window{0, minute}, Payload: []byte{9}}.Messages(1000)...)
			s.flush(0, 5, 9, 0, minute, 0)
		}, "123", nil},
		"a batch is sent again later": {func(s *scribe) {
			s.flush(0, 0, 5, 0, 0, 0)
			s.flush(0, 5, 7, 0, 0, 0)
			s.n = 1
			s.flush(0, 0, 5, 0, 0, 0)
			s.n = 3
			s.flush(0, 7, 9, 0, minute, 0)
		}, "1234", nil},
		"a mark is lost": {func(s *scribe) {
			s.flush(0, 0, 5, 0, 0, 0)
			s.flush(0, 8, 9, 0, minute, 0)
		}, "13", []int{0}},
		"a fork of a line that lacks a mark": {func(s *scribe) {
			s.flush(0, 0, 5, 0, 0, 0)
			s.flush(0, 8, 9, 0, 0, 0)
			s.flush(0, 9, 12, 0, 0)
			s.flush(0, 9, 10, 0, minute, 0)
		}, "135", []int{0}},
		"a mark of another line is lost": {func(s *scribe) {
			s.flush(0, 0, 5, 0, 0, 0)
			s.flush(0, 6, 9, 0, 0, 0) // 3: a zombie, whose mark before is lost
			s.flush(0, 5, 9, 0, minute, 0)
		}, "124", nil},
		"a part is lost": {func(s *scribe) {
			o := Origin{Stream: "s", Epoch: 1, From: 0, To: 5}
			s.send(Mark{Origin: o, Slices: []int64{0}, Partitions: 2}.Message())
			s.flush(0, 5, 9, 0, minute, 0)
		}, "12", []int{0}},
		"records are deleted before they are read": {func(s *scribe) {
			s.send(Mark{Origin: Origin{Stream: "s", Epoch: 1, From: 0, To: 5}, Lost: 1, Partitions: 2}.Message())
			s.flush(0, 5, 9, 0, minute, 0)
		}, "12", []int{0}},
		"the cut is lost": {func(s *scribe) {
			s.flush(0, 0, 5, 0, 0, 0)
			s.flush(0, 5, 7, 0, 0, 0)
			s.flush(0, 0, 5, 0, 0, 0) // 4: another line
			s.flush(0, 9, 9, minute, minute)
		}, "14", []int{0}},
		"another worker has given a number to another record": {func(s *scribe) {
			s.since(0, 0, 5, 0)    // 2
			s.since(0, 0, 5, 0)    // 3: the topic has lost these records, and others have their numbers
			s.since(2, 5, 1005, 0) // 4: continues 2, which comes from the same worker
			s.since(4, 1005, 1006, minute)
		}, "1245", nil},
		"a mark without parts comes again, behind another worker's with the same number": {func(s *scribe) {
			o := Origin{Stream: "s", Epoch: 1, From: 5, To: 1005, Attempt: [16]byte{9}}
			lost := Mark{Origin: o, Lost: 1, Partitions: 2}
			s.flush(0, 0, 5, 0, 0, 0)
			s.send(lost.Message())    // the topic has become shorter
			s.flush(0, 0, 5, 0, 0, 0) // 3: other records, for one who began at the shorter topic
			s.send(lost.Message())
			s.flush(0, 1005, 1007, 0, minute, 0)
		}, "124", []int{0}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScribe(t, tumbling)
			s.g.Adds("s", 1)
			s.flush(1, 0, 5, 0, minute, 0)
			c.write(s)
			s.wants(minute, true, c.incomplete...)
			if got := s.parts(); got != c.parts {
				t.Errorf("parts %s count, want %s", got, c.parts)
			}
			if all := s.g.All("s", 1, Window{0, minute}); len(all) < len(c.parts) {
				t.Errorf("%d parts in all, and %s count", len(all), c.parts)
			}
		})
	}
}

// A new reader begins early enough to see that a mark is missing, even if nothing else of the window is there.
func TestLinesOfANewReaderLackTheSame(t *testing.T) {
	s := newScribe(t, tumbling)
	s.g.Adds("s", 1)
	s.flush(0, 0, 5, 0, 0) // 0
	s.flush(0, 8, 9, 0, 0, 0)
	if got := s.g.Needs(s.log); got != 0 {
		t.Errorf("needs the log from %d on, want from 0", got)
	}
	s.wants(minute, false)
}

// What windows that are decided needed is forgotten, however often workers take over.
func TestLinesAreForgotten(t *testing.T) {
	s := newScribe(t, tumbling)
	s.g.Adds("s", 1)
	from, through := int64(0), int64(0)
	for n := range int64(1000) {
		s.now = n * minute
		s.flush(0, from, from+5, through, through, through)
		s.flush(0, from+5, from+7, through, through, through) // a zombie
		s.flush(0, from+5, from+9, through, through+minute, through)
		s.flush(1, from, from+9, through, through+minute, through)
		from, through = from+9, through+minute
		s.wants(through, true)
		if parts := s.g.Parts("s", 1, Window{through - minute, through}); len(parts) != 3 {
			t.Fatalf("%d parts of window %d count, want 3", len(parts), n)
		}
		s.g.Decide("s", 1, Window{through - minute, through})
		lines := 0
		o := s.g.streams[edition{"s", 1}].sources[0]
		for l := o.chain.links[len(o.chain.links)-1].line; l != nil; l = l.of.line {
			lines++
		}
		if len(o.chain.links) > 3 || lines > 3 {
			t.Fatalf("%d marks and %d lines are remembered after %d windows", len(o.chain.links), lines, n+1)
		}
	}
	if needs := s.g.Needs(s.log); needs < s.log-12 {
		t.Errorf("needs the log from %d of %d on", needs, s.log)
	}
}

// The parts of a mark and of those before it are found quickly, however many forks lie between.
func TestLinesLeadBack(t *testing.T) {
	var at []place
	p := place{}.next(lacks{})
	for n := range 50 {
		at = append(at, p)
		next := p.next(lacks{})
		if n%3 == 0 { // next is a zombie's
			next = p.next(lacks{})
		}
		p = next
	}
	for i := range at {
		if back := slices.IndexFunc(at, func(p place) bool { return p == at[i] }); back != i || !at[i].leadsTo(p) {
			t.Errorf("mark %d is not on the line of the last one", i)
		}
	}
	if stray := at[3].next(lacks{}); stray.leadsTo(p) || p.leadsTo(stray) || stray.leadsTo(place{}) {
		t.Error("a zombie's mark is on the line of the last one")
	}
}
