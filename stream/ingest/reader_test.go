package ingest

import (
	"testing"
	"time"

	"github.com/louver/louver/stream/codec"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/windows"
)

// counted counts how often it decodes.
type counted struct {
	codec.Decoder
	times int
}

func (c *counted) Decode(in codec.Record, e *codec.Event) codec.Reason {
	c.times++
	return c.Decoder.Decode(in, e)
}

// sharing opens streams as a partition does. Each is first changed by one function.
func sharing(t *testing.T, changes ...func(*config.Stream)) []*streamInput {
	t.Helper()
	h := windows.NewHasher([16]byte{1})
	var streams []*streamInput
	for _, change := range changes {
		s := testStream(t) // with a grid of its own: specs are equal if what they say is
		change(s)
		in, err := newStreamInput(editionOf(s, 0), h, nil)
		if err != nil {
			t.Fatal(err)
		}
		in.share(streams)
		streams = append(streams, in)
	}
	return streams
}

func users(in *streamInput) (n int64) {
	for _, s := range in.bags {
		spec := in.bagSpec(s.slice)
		merged := windows.NewMerger(spec, 1<<20)
		payload := s.bag.Seal()
		for merged.Pass() {
			if err := merged.Add(payload, s.slice); err != nil {
				panic(err)
			}
		}
		for _, p := range merged.Sample(0) {
			n += p.Count
		}
	}
	return n
}

func same(*config.Stream) {}

func TestStreamsThatReadAlikeDecodeOnce(t *testing.T) {
	streams := sharing(t, same, func(s *config.Stream) { // all of this is no matter of the decoder
		s.Name, s.MaxGroups, s.Contribution, s.Rejects = "other", 2, "max", "rejects"
		s.Window.Size, s.Window.Every = 8*time.Second, 8*time.Second
	})
	c := &counted{Decoder: streams[0].decoding.decoder}
	for _, in := range streams {
		in.decoding.decoder = c
	}
	for i := range int64(5) {
		value := jsonEvent(int(i), 1)
		if i == 4 {
			value = []byte("no JSON")
		}
		for _, in := range streams {
			if v := in.add(i, &fetch.Record{Value: value, Time: 1000}); (v.rejected != codec.OK) != (i == 4) {
				t.Errorf("record %d: %+v", i, v)
			}
		}
	}
	if c.times != 5 {
		t.Errorf("5 records are decoded %d times for two streams, want 5", c.times)
	}
	for _, in := range streams {
		if n := users(in); n != 4 {
			t.Errorf("%d users, want 4", n)
		}
	}
}

// Each stream counts its records from its own position on, whichever stream stands further on.
func TestStreamsAtDifferentPositionsShare(t *testing.T) {
	for _, ahead := range []int{0, 1} {
		streams := sharing(t, same, same)
		streams[ahead].from = 3
		for i := range int64(5) {
			for k, in := range streams {
				v := in.add(i, &fetch.Record{Value: jsonEvent(int(i), 1), Time: 1000})
				want := verdict{}
				if k == ahead && i < 3 {
					want.when = seenBefore
				}
				if v != want {
					t.Errorf("record %d, stream %d: %+v", i, k, v)
				}
			}
		}
		if n, other := users(streams[ahead]), users(streams[1-ahead]); n != 2 || other != 5 {
			t.Errorf("%d and %d users, want 2 and 5", n, other)
		}
	}
}

// A stream's clock horizon and windows are its own, also for a record that another stream has taken.
func TestOnlyTheDecodingIsShared(t *testing.T) {
	streams := sharing(t, same, same, same)
	streams[1].horizon = 0
	streams[2].through = 100 * second
	want := []verdict{{}, {rejected: codec.Future}, {when: tooLate}}
	for i, in := range streams {
		if v := in.add(0, &fetch.Record{Value: jsonEvent(1, 1), Time: 1000}); v != want[i] {
			t.Errorf("stream %d: %+v, want %+v", i, v, want[i])
		}
	}
}

// What one stream rejects another may take: only streams whose specs are equal share a decoding.
func TestStreamsThatReadDifferentlyDecodeApart(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*config.Stream)
		value  string // the unchanged stream takes it
		want   codec.Reason
	}{
		"format": {func(s *config.Stream) {
			s.Input.Format, s.Input.Columns = "csv", []string{"user_id", "latency_ms", "ts"}
		}, `{"user_id":"u","latency_ms":1,"ts":1}`, codec.Malformed},
		"field": {func(s *config.Stream) { s.Input.Value = "bytes" }, `{"user_id":"u","latency_ms":1,"ts":1}`,
			codec.BadValue},
		"a name twice": {func(s *config.Stream) { s.Input.Value = "bytes" },
			`{"user_id":"u","latency_ms":1,"bytes":1,"bytes":2,"ts":1}`, codec.Malformed},
		"groups": {func(s *config.Stream) { s.Input.Group, s.Groups = "region", []string{"eu"} },
			`{"user_id":"u","latency_ms":1,"ts":1,"region":"us"}`, codec.BadGroup},
		"max_future": {func(s *config.Stream) { s.Input.MaxFuture = 0 }, `{"user_id":"u","latency_ms":1,"ts":2}`,
			codec.Future},
	} {
		streams := sharing(t, same, c.change)
		if streams[0].decoding == streams[1].decoding {
			t.Errorf("%s: shared", name)
		}
		rec := &fetch.Record{Value: []byte(c.value), Time: 1000}
		if v := (lane{streams[0]}).add(0, rec); v != (verdict{}) {
			t.Errorf("%s: the unchanged stream: %+v", name, v)
		}
		if v := (lane{streams[1]}).add(0, rec); v.rejected != c.want {
			t.Errorf("%s: rejected as %q, want %q", name, v.rejected, c.want)
		}
	}
}

// An edited stream has two editions for a while. They share if the edit leaves alone how records are read.
func TestEditionsShareUnlessTheInputIsEdited(t *testing.T) {
	streams := sharing(t, same, func(s *config.Stream) { s.Window.Grace = 2 * time.Second },
		func(s *config.Stream) { s.Input.Value = "bytes" })
	streams[1].edition, streams[2].edition = 1, 2
	if streams[0].decoding != streams[1].decoding || streams[0].decoding == streams[2].decoding {
		t.Error("editions share a decoding if, and only if, they read alike: not so")
	}
	if v := lanes(streams)[0].add(0, &fetch.Record{Value: jsonEvent(1, 1), Time: 1000}); v != (verdict{}) {
		t.Errorf("an event of the former edition: %+v", v)
	}
}

// An event is outside if it lies before the first window or after the last, late if its windows are cut, and history if
// its record was written soon after it, before the first window began.
func TestWhyNoWindowTakesAnEvent(t *testing.T) {
	in := sharing(t, same)[0]
	const day = 24 * 3600
	in.schedule.Start, in.schedule.End, in.through = (day+100)*second, (day+200)*second, (day+110)*second
	for i, c := range []struct {
		at, written int64 // seconds
		want        when
	}{{99, 99, history}, {99, 100, outside}, {-1000, 300, outside}, {-day + 90, 90, outside}, {-day + 91, 90, history},
		{105, 150, tooLate}, {115, 150, inTime}, {200, 205, outside}} {
		rec := &fetch.Record{Value: jsonEvent(1, day+c.at), Time: (day + c.written) * 1000}
		if v := in.add(int64(i), rec); v.when != c.want {
			t.Errorf("%+v: %+v", c, v)
		}
	}
}

// A record that comes while records are read should have a timestamp of about that time. With an older one its event is
// outside, and not a part of the past.
func TestOldTimestampsOfNewRecords(t *testing.T) {
	const minute = int64(time.Minute)
	s := testStream(t)
	s.Input.Time = codec.TimestampField
	in := testStreamInput(t, s)
	in.schedule.Start, in.came, in.opened = 100*minute, 50, 90*minute
	for _, c := range []struct {
		offset, written int64
		want            when
	}{{49, 0, history}, {50, 0, outside}, {49, 30, history}, {50, 30, outside}, {50, 80, outside}, {50, 81, history},
		{50, 99, history}, {1000, 0, outside}} {
		record := &fetch.Record{Offset: c.offset, Time: c.written * minute / int64(time.Millisecond), Value: jsonEvent(1, 0)}
		if v := in.add(c.offset, record); v.when != c.want || v.rejected != codec.OK {
			t.Errorf("at %d, written in minute %d: %v; want %v", c.offset, c.written, v, c.want)
		}
	}
}

// What was rejected for more than its reason says why: for no timestamp, or for one that lies before its own time.
func TestTimestampsInWords(t *testing.T) {
	in := testStreamInput(t, testStream(t))
	for _, c := range []struct {
		written int64 // in milliseconds
		reason  codec.Reason
		want    string
	}{
		{-1, codec.BadTime, "has no timestamp"},
		{1764320000, codec.Future, "has a timestamp of 1970-01-21, and its own time is more than 1h later"},
		{1764316399999, codec.Future, "has a timestamp of 2025-11-28, and its own time is more than 1h later"},
		{1764316400000, codec.OK, ""},
	} {
		record := &fetch.Record{Time: c.written, Value: jsonEvent(1, 1764320000)}
		in.decoding.offset = -1
		v := in.decoding.decode(1, record)
		if v.rejected != c.reason || v.rejected != codec.OK && in.decoding.fault.cause != c.want {
			t.Errorf("%d: %v, the record %s; want %v, %s", c.written, v.rejected, in.decoding.fault.cause,
				c.reason, c.want)
		}
	}
}
