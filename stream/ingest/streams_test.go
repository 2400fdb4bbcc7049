package ingest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/shopspring/decimal"
	"go.uber.org/zap"
	"pgregory.net/rapid"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/codec"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/health"
	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/metrics"
	"github.com/louver/louver/stream/progress"
	"github.com/louver/louver/stream/stage"
	"github.com/louver/louver/windows"
)

const second = int64(time.Second)

// testStream has windows of four seconds every two and a grace of one.
func testStream(t testing.TB) *config.Stream {
	t.Helper()
	grid, err := mechanisms.NewGrid(decimal.Zero, decimal.NewFromInt(60000), decimal.NewFromInt(1))
	if err != nil {
		t.Fatal(err)
	}
	return &config.Stream{Name: "s", Groups: []string{""}, MaxGroups: 1, Grid: grid, Contribution: "last",
		Input: config.Input{Topic: "in", Spec: codec.Spec{Format: "json", User: "user_id", Value: "latency_ms",
			Time: "ts", MaxFuture: time.Hour}},
		Window: config.Window{Size: 4 * time.Second, Every: 2 * time.Second, Grace: time.Second}}
}

func editionOf(s *config.Stream, start int64) config.Edition {
	return config.Edition{Stream: s, Schedule: s.Window.Schedule(start)}
}

func testStreamInput(t testing.TB, s *config.Stream) *streamInput {
	t.Helper()
	in, err := newStreamInput(editionOf(s, 0), windows.NewHasher([16]byte{1}), nil)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

func jsonEvent(user int, at int64) []byte {
	return fmt.Appendf(nil, `{"user_id":"user-%d","latency_ms":%d,"ts":%d}`, user, user%1000, at)
}

// TestMembershipIsAPropertyOfRecordAndCut compares with the definition: a record counts in each window that contains
// its time and whose cut lies above its offset, however reading, cutting, flushing and restarting take turns. A restart
// begins at any progress that was ever written, as one does whose last writes were lost. Where contributions add up,
// each record counts once all the same.
func TestMembershipIsAPropertyOfRecordAndCut(t *testing.T) {
	last, counting := testStream(t), testStream(t)
	counting.Contribution = windows.Count
	rapid.Check(t, func(t *rapid.T) {
		stream := rapid.SampledFrom([]*config.Stream{last, counting}).Draw(t, "stream")
		adds := stream.Contribution.Adds()
		hasher := windows.NewHasher([16]byte{1})
		open := func() *streamInput {
			in, err := newStreamInput(editionOf(stream, 0), hasher, nil)
			if err != nil {
				t.Fatal(err)
			}
			return in
		}
		in := open()
		gather := windows.NewGathering(1 << 20)
		gather.Follow("s", 0, in.schedule, stream.Input.MaxFuture, 0)
		if adds {
			gather.Adds("s", 0)
		}
		var times []int64 // of the record at each offset
		cuts := map[int64]int64{}
		log, position, now := int64(0), int64(0), int64(0)
		kept := []progress.Stream{{Through: in.through}}
		send := func(message []byte) {
			if err := gather.Add(message, log, time.Unix(0, now*second)); err != nil {
				t.Fatal(err)
			}
			log++
		}
		flush := func(to int64) {
			attempt := windows.Origin{Stream: "s", Attempt: [16]byte{byte(log), byte(log >> 8)}}
			mark, err := in.flush(to, attempt, 1, func(p windows.Part) error {
				for _, m := range p.Messages(1 << 20) {
					send(m)
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			for w, more := in.schedule.After(mark.After); more &&
				w.End <= mark.Through; w, more = in.schedule.After(w.End) {
				if _, before := cuts[w.End]; !before {
					cuts[w.End] = mark.To
				}
			}
			send(mark.Message())
			kept = append(kept, progress.Stream{From: in.from, Through: in.through})
		}
		read := func() {
			// A fetch never reaches beyond the end that a cut of the same moment would take.
			for in.reached(position) {
				flush(in.cuts[0].offset)
			}
			user := int(position)
			if adds {
				user = 0
			}
			rec := &fetch.Record{Value: jsonEvent(user, times[position]),
				Time: 1000 * (times[position] + 3600)}
			if v := in.add(position, rec); v.rejected != 0 {
				t.Fatalf("a record was rejected: %v", v.rejected)
			}
			position++
		}
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			switch rapid.IntRange(0, 5).Draw(t, "step") {
			case 0: // a producer writes
				times = append(times, rapid.Int64Range(0, 30).Draw(t, "time"))
			case 1: // the clock goes on
				now += rapid.Int64Range(0, 5).Draw(t, "seconds")
			case 2: // the worker looks at the clock, as it does before it sorts a page in
				if through, ok := in.due(now * second); ok {
					in.cutAt(through, int64(len(times)), 1)
				}
			case 3: // and reads a few records
				for range rapid.IntRange(1, 5).Draw(t, "records") {
					if position < int64(len(times)) {
						read()
					}
				}
				for in.reached(position) {
					flush(in.cuts[0].offset)
				}
			case 4: // the half minute is over
				if !in.reached(position) {
					flush(position)
				}
			case 5: // another worker takes over
				in = open()
				in.resume(rapid.SampledFrom(kept).Draw(t, "progress"))
				position = rapid.Int64Range(0, in.from).Draw(t, "position") // another stream of the topic may need more
				flush(in.from)
			}
		}
		now += 100
		if through, ok := in.due(now * second); ok {
			in.cutAt(through, int64(len(times)), 1)
		}
		for position < int64(len(times)) {
			read()
		}
		for in.reached(position) {
			flush(in.cuts[0].offset)
		}
		for w, more := in.schedule.First(), true; more && w.End <= 40*second; w, more = in.schedule.Next(w) {
			if st := gather.State("s", 0, w); !st.Ready || len(st.Incomplete) > 0 {
				t.Fatalf("window ending %d stands at %+v", w.End/second, st)
			}
			merged := windows.NewMerger(windows.BagSpec{Groups: stream.Groups, MaxGroups: 1,
				Policy: stream.Contribution, Window: w, Hasher: hasher, Adding: stream.Adding()}, 1<<20)
			for merged.Pass() {
				for _, h := range gather.Parts("s", 0, w) {
					if err := merged.Add(h.Payload, h.Slice); err != nil {
						t.Fatal(err)
					}
				}
			}
			got, want := int64(0), int64(0)
			for _, p := range merged.Sample(0) {
				if adds {
					got += p.Index * p.Count
				} else {
					got += p.Count
				}
			}
			for offset, at := range times {
				if int64(offset) < cuts[w.End] && at*second >= w.Start && at*second < w.End {
					want++
				}
			}
			if got != want {
				t.Fatalf("stream of %s: window ending %d has %d users or events, want %d", stream.Contribution, w.End/second,
					got, want)
			}
			gather.Decide("s", 0, w)
		}
	})
}

// Names that nobody listed reach the merge, which knows the list, also those of a stream that shares the bags of
// another one. A name that is none is rejected alone.
func TestNamesReachTheMerge(t *testing.T) {
	hasher := windows.NewHasher([16]byte{1})
	var streams []*streamInput
	for _, name := range []string{"s", "t"} {
		s := testStream(t)
		s.Name, s.Groups, s.Found, s.Input.Group = name, nil, &config.Found{}, "page"
		in, err := newStreamInput(editionOf(s, 0), hasher, nil)
		if err != nil {
			t.Fatal(err)
		}
		in.share(streams)
		streams = append(streams, in)
	}
	follow([]lane{{streams[0]}, {streams[1]}})
	if streams[1].follows != streams[0] {
		t.Fatal("the second stream has bags of its own")
	}
	for i, page := range []string{"/a", " /a ", "caf\u00e9", "cafe\u0301", "/b", "/c", "", "\\u0000", "/a"} {
		v := streams[0].add(int64(i), &fetch.Record{Time: 1000, Value: fmt.Appendf(nil,
			`{"user_id":"user-%d","latency_ms":%d,"ts":1,"page":"%s"}`, i, i, page)})
		if bad := i == 6 || i == 7; bad != (v.rejected == codec.BadGroup) {
			t.Errorf("page %q: %+v", page, v)
		}
	}
	streams[0].cutAt(4*second, 9, 1)
	var parts []windows.Part
	if _, err := streams[0].flush(9, windows.Origin{Stream: "s"}, 1, func(p windows.Part) error {
		parts = append(parts, p)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	merged := windows.NewMerger(windows.BagSpec{Groups: []string{"/a", "café", "(other)"}, MaxGroups: 1,
		Policy: streams[0].stream.Contribution, Window: windows.Window{Start: 0, End: 4 * second}, Hasher: hasher,
		Open: true, Other: true}, 1<<20)
	for merged.Pass() {
		for _, p := range parts {
			if err := merged.Add(p.Payload, p.Slice); err != nil {
				t.Fatal(err)
			}
		}
	}
	for g, want := range [][]windows.Point{{{Index: 0, Count: 1}, {Index: 1, Count: 1}, {Index: 8, Count: 1}},
		{{Index: 2, Count: 1}, {Index: 3, Count: 1}}, {{Index: 4, Count: 1}, {Index: 5, Count: 1}}} {
		if got := merged.Sample(g); !slices.Equal(got, want) {
			t.Errorf("group %d has %v, want %v", g, got, want)
		}
	}
}

func TestBeforeTheStartIsLate(t *testing.T) {
	s := testStream(t)
	in, err := newStreamInput(editionOf(s, 100*second), windows.NewHasher([16]byte{1}), nil)
	if err != nil {
		t.Fatal(err)
	}
	if v := in.add(0, &fetch.Record{Value: jsonEvent(1, 99), Time: 3600 * 1000}); !v.late() {
		t.Error("an event before the start counts")
	}
	if v := in.add(1, &fetch.Record{Value: jsonEvent(1, 101), Time: 3600 * 1000}); v.late() {
		t.Error("an event after the start is late")
	}
}

// TestProgressWaitsForNoFinishedEdition has one edition whose windows are all cut, and that has not written since.
func TestProgressWaitsForNoFinishedEdition(t *testing.T) {
	old, now := testStreamInput(t, testStream(t)), testStreamInput(t, testStream(t))
	old.schedule.End, old.through, old.from = 10*second, 10*second, 5
	now.edition, now.from = 1, 90
	p := &reader{Ingest: &Ingest{}, streams: []*streamInput{old, now},
		pages: fetch.New(nil, nil, fetch.Options{}).Partition("in", 0, 100)}
	if got := p.progress().Offset; got != 90 {
		t.Errorf("a restart begins at offset %d, want 90", got)
	}
	old.through -= second
	if got := p.progress().Offset; got != 5 {
		t.Errorf("a restart begins at offset %d while a window is not cut, want 5", got)
	}
}

// A reader that misses a mark learns from the next one by when the missing one was written.
func TestMarksDateTheOneBefore(t *testing.T) {
	in := testStreamInput(t, testStream(t))
	mark := func(to int64) windows.Mark {
		t.Helper()
		m, err := in.flush(to, windows.Origin{}, 1, func(windows.Part) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	if since := mark(0).Since; since != 0 {
		t.Errorf("the first mark says that there was one before, at %d", since)
	}
	written := in.marked.UnixNano()
	if since := mark(5).Since; since != written {
		t.Errorf("the second mark dates the first at %d, want %d", since, written)
	}
	in = testStreamInput(t, testStream(t))
	in.resume(progress.Stream{From: 5, Marked: 7})
	if since := mark(9).Since; since != 7 {
		t.Errorf("the first mark after a restart dates the one before at %d, want 7", since)
	}
}

// A stream follows another one only if it would write the same parts at the same offsets.
func TestWhoFollows(t *testing.T) {
	for _, c := range []struct {
		what   string
		change func(*config.Stream)
		meet   func(*streamInput)
		want   bool
	}{
		{"name, output, releases", func(s *config.Stream) { s.Name, s.Output, s.Figures = "other", "elsewhere", nil },
			nil, true},
		{"topics for copies", func(s *config.Stream) { s.Rejects, s.Late = "bad", "late" }, nil, true},
		{"contribution", func(s *config.Stream) { s.Contribution = "max" }, nil, false},
		{"max_groups", func(s *config.Stream) { s.MaxGroups = 2 }, nil, false},
		{"size", func(s *config.Stream) { s.Window.Size = 8 * time.Second }, nil, false},
		{"grace", func(s *config.Stream) { s.Window.Grace = 3 * time.Second }, nil, false},
		{"groups", func(s *config.Stream) { s.Groups = []string{"a"}; s.Input.Group = "g" }, nil, false},
		{"max_future", func(s *config.Stream) { s.Input.MaxFuture = time.Minute }, nil, false},
		{"position", same, func(in *streamInput) { in.from = 1 }, false},
		{"cut windows", same, func(in *streamInput) { in.through = 4 * second }, false},
		{"lost records", same, func(in *streamInput) { in.lost = 1 }, false},
		{"open cuts", same, func(in *streamInput) { in.cutAt(4*second, 1, 1) }, false},
		{"open bags", same, func(in *streamInput) { in.slot(second) }, false},
	} {
		streams := sharing(t, same, func(s *config.Stream) { s.Name = "second"; c.change(s) })
		if c.meet != nil {
			c.meet(streams[1])
		}
		all := lanes(streams)
		follow(all)
		if got := streams[1].follows == streams[0]; got != c.want ||
			len(leading(all)) != len(streams)-len(streams[0].followers) {
			t.Errorf("another %s: follows is %v, want %v; %d lanes take events", c.what, got, c.want, len(leading(all)))
		}
	}
}

// Two definitions of a stream take events at the same time: neither follows.
func TestEditionsDoNotFollow(t *testing.T) {
	streams := sharing(t, same, same, func(s *config.Stream) { s.Name = "second" })
	streams[1].edition = 1
	if follow(lanes(streams)); len(streams[0].followers)+len(streams[1].followers)+len(streams[2].followers) > 0 {
		t.Error("a stream with two definitions follows or leads")
	}
}

// What the leader writes, its followers have written too.
func TestFollowersMoveWithTheirLeader(t *testing.T) {
	streams := sharing(t, same, func(s *config.Stream) { s.Name = "second" },
		func(s *config.Stream) { s.Name = "third" })
	follow(lanes(streams))
	leader := streams[0]
	leader.cutAt(4*second, 7, 1)
	for _, in := range streams {
		in.lose(3)
	}
	mark, err := leader.flush(7, windows.Origin{}, 1, func(windows.Part) error { return nil })
	if err != nil || mark.Lost != 3 {
		t.Fatalf("%+v, %v", mark, err)
	}
	type state struct {
		From, Through, Lost, Marked int64
	}
	of := func(in *streamInput) state { return state{in.from, in.through, in.lost, in.marked.UnixNano()} }
	want := state{7, 4 * second, 0, leader.marked.UnixNano()}
	for _, in := range streams {
		if d := cmp.Diff(want, of(in)); d != "" {
			t.Errorf("stream %s (-want +got)\n%s", in.stream.Name, d)
		}
	}
}

// Records of a topic that was made anew have higher numbers than all that a stream has passed over, also if it begins
// beyond the position that is read for others. The leap alone is less than 2^32.
func TestNumbersOfATopicMadeAnew(t *testing.T) {
	g := &Ingest{Env: stage.Env{Log: zap.NewNop(), Monitor: health.New(zap.NewNop()), Fetch: &fetch.Client{},
		Metrics: metrics.New(prometheus.NewRegistry(), nil, nil)}}
	ahead, behind := testStreamInput(t, testStream(t)), testStreamInput(t, testStream(t))
	ahead.from = 1 << 40
	p := &reader{Ingest: g, streams: []*streamInput{behind, ahead}, pages: g.Fetch.Partition("in", 0, 7)}
	if p.renew("id"); p.base <= ahead.from || p.position() != p.base {
		t.Errorf("the first record has number %d; want more than %d", p.base, ahead.from)
	}
}
