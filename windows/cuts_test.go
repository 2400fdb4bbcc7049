package windows

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestNothingThatIsNeededIsDeleted repeatedly deletes the log below what a gathering needs, and continues with a new
// gathering that knows only the rest and the decisions so far. Every window has the same parts and state as for a
// reader of the whole log, who decides nothing. The rest includes a later definition that is not followed at first.
// Something else reads the parts of periods of several windows, if slices are kept for it, and is as far behind as it
// likes.
func TestNothingThatIsNeededIsDeleted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const every, partitions = int64(time.Minute), 2
		schedule := Schedule{Size: time.Duration(rapid.Int64Range(1, 3).Draw(t, "slices of a window") * every),
			Every: time.Duration(every)}
		var log [][]byte
		kept := []int64{math.MaxInt64, math.MaxInt64}
		if rapid.Bool().Draw(t, "slices are kept") {
			kept = []int64{0, 0}
		}
		// a period that is read beside the windows
		const period = 4 * every
		follow := func(definitions uint32, decided []int64) *Gathering {
			g := NewGathering(rapid.Int64Range(0, 100).Draw(t, "payloads held"))
			for d := range definitions {
				g.Follow("s", d, schedule, time.Second, decided[d])
				g.Keep("s", d, kept[d])
			}
			return g
		}
		first := schedule.First().End - every
		decided := []int64{first, first}
		known := uint32(1)
		whole, rest, deleted := follow(2, decided), follow(known, decided), int64(0)
		send := func(messages ...[]byte) {
			for _, m := range messages {
				for _, g := range []*Gathering{whole, rest} {
					if err := g.Add(m, int64(len(log)), time.Unix(0, 0)); err != nil {
						t.Fatal(err)
					}
				}
				log = append(log, m)
			}
		}
		type worker struct {
			offset, through int64
			open            map[int64]bool // slices with unwritten records
		}
		var workers [2][partitions]worker
		for d := range workers {
			for p := range workers[d] {
				workers[d][p] = worker{through: first, open: map[int64]bool{}}
			}
		}
		flush := func(definition uint32, partition int, cut bool) {
			w := &workers[definition][partition]
			o := Origin{Stream: "s", Epoch: definition, Partition: partition, From: w.offset, To: w.offset + 10}
			o.Attempt[0], o.Attempt[1] = byte(len(log)), byte(len(log)>>8)
			m := Mark{Origin: o, Partitions: partitions, After: w.through, Through: w.through}
			if cut {
				m.Through += every
			}
			for start := range w.open {
				m.Slices = append(m.Slices, start)
			}
			slices.Sort(m.Slices)
			for _, start := range m.Slices {
				send(Part{Origin: o, Slice: Window{start, start + every},
					Payload: make([]byte, 30)}.Messages(messageHeader +
					50)...)
			}
			send(m.Message())
			w.offset, w.through, w.open = o.To, m.Through, map[int64]bool{}
		}
		told := func(g *Gathering, d uint32, w Window) string {
			text := fmt.Sprintf("%+v", g.State("s", d, w))
			for _, h := range g.Parts("s", d, w) {
				text += fmt.Sprintf("\n%v %d %v", h.Origin, h.Slice.Start, h.Offsets)
			}
			return text
		}
		// samePeriod compares the next period of a definition.
		samePeriod := func(d uint32, other *Gathering) {
			w := Window{kept[d], kept[d] + period}
			if diff := cmp.Diff(told(whole, d, w), told(other, d, w)); diff != "" {
				t.Fatalf("definition %d, period ending %d, log deleted below %d: %s", d, w.End/every, deleted, diff)
			}
		}
		// same compares the next windows of all followed definitions.
		same := func() {
			for d := range known {
				for w, n := (Window{}), 0; n < 4; n++ {
					if w, _ = schedule.After(max(decided[d], w.End)); n == 0 {
						w, _ = schedule.After(decided[d])
					}
					if diff := cmp.Diff(told(whole, d, w), told(rest, d, w)); diff != "" {
						t.Fatalf("definition %d, window ending %d, log deleted below %d: %s", d,
							w.End/every, deleted, diff)
					}
				}
				if kept[d] != math.MaxInt64 {
					samePeriod(d, rest)
				}
				for start, l := range rest.streams[edition{"s", d}].slices {
					if start+int64(schedule.Size) <= decided[d] &&
						slices.ContainsFunc(l.parts, func(h *Held) bool { return h.Payload != nil }) {
						t.Fatalf("definition %d: the payload of slice %d is held, and its windows are decided", d,
							start/every)
					}
				}
			}
		}
		definition := func() uint32 { return rapid.Uint32Range(0, 1).Draw(t, "definition") }
		partition := func() int { return rapid.IntRange(0, partitions-1).Draw(t, "partition") }
		t.Repeat(map[string]func(*rapid.T){
			"": func(*rapid.T) { same() },
			"event": func(*rapid.T) {
				w := &workers[definition()][partition()]
				// The oldest slice of an uncut window, or a later one.
				w.open[w.through+every-int64(schedule.Size)+rapid.Int64Range(0, 4).Draw(t, "ahead")*every] = true
			},
			"flush": func(*rapid.T) { flush(definition(), partition(), false) },
			"cut":   func(*rapid.T) { flush(definition(), partition(), true) },
			"decide": func(*rapid.T) {
				d := rapid.Uint32Range(0, known-1).Draw(t, "definition")
				w, _ := schedule.After(decided[d])
				if rest.State("s", d, w).Ready {
					// A gathering that knows only what this window needs has the same parts of it.
					one := follow(known, decided)
					for at := rest.NeedsOf("s", d, w); at < int64(len(log)); at++ {
						if err := one.Add(log[at], at, time.Unix(0, 0)); err != nil {
							t.Fatal(err)
						}
					}
					if diff := cmp.Diff(told(rest, d, w), told(one, d, w)); diff != "" {
						t.Fatalf("definition %d, window ending %d, read from %d on: %s", d, w.End/every,
							rest.NeedsOf("s", d, w), diff)
					}
					rest.Decide("s", d, w)
					decided[d] = w.End
				}
			},
			"find": func(*rapid.T) {
				d := rapid.Uint32Range(0, known-1).Draw(t, "definition")
				if kept[d] == math.MaxInt64 || !rest.State("s", d, Window{kept[d], kept[d] + period}).Ready {
					return
				}
				one := follow(known, decided)
				for at := rest.NeedsOf("s", d, Window{kept[d], kept[d] + period}); at < int64(len(log)); at++ {
					if err := one.Add(log[at], at, time.Unix(0, 0)); err != nil {
						t.Fatal(err)
					}
				}
				samePeriod(d, one)
				kept[d] += period
				rest.Keep("s", d, kept[d])
			},
			"delete and begin anew": func(*rapid.T) {
				deleted = max(deleted, rest.Needs(int64(len(log))))
				known = rapid.Uint32Range(known, 2).Draw(t, "definitions that are known")
				rest = follow(known, decided)
				for at := deleted; at < int64(len(log)); at++ {
					if err := rest.Add(log[at], at, time.Unix(0, 0)); err != nil {
						t.Fatal(err)
					}
				}
			},
		})
	})
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
