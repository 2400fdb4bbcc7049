package stream_test

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/louver/louver/stream"
	"github.com/louver/louver/stream/config/configtest"
	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/kafka/kafkatest"
	"github.com/louver/louver/stream/kafka/topics"
	"github.com/louver/louver/stream/progress"
)

// TestAnInputMadeAnewIsReadFromItsStart: while the service is off, its input is deleted and recreated, and is longer by
// now than the service had read. Nothing of it is passed over; what the old one may have held is said to be missing.
//
// In fake time alone: what a real broker says of such a topic is in TestAnInputMadeAnewUnderTheService.
func TestAnInputMadeAnewIsReadFromItsStart(t *testing.T) {
	kafkatest.Bubble(t, func(t *testing.T, b *kafkatest.Broker) {
		yaml, start := liveOf(20*time.Second, 2*time.Second, 1)
		w := newWorld(t, b, 1, yaml)
		ctx := kafkatest.Context(t)
		names := topics.Names{App: w.app}
		first := w.start()
		kafkatest.Await(t, "the service is ready", first.Ready)
		first.end(t)

		id, err := topics.ID(ctx, b.Conn.Client, w.input)
		if err != nil {
			t.Fatal(err)
		}
		// A service that has read five records leaves this behind.
		log := &progress.Log{Client: b.Conn.Client, Fetch: b.Fetch(fetch.Options{}), Topic: names.Progress()}
		read := progress.Input{Offset: 5, Read: 5, TopicID: id,
			Streams: map[string]progress.Stream{"live": {From: 5, Through: start.UnixNano()}}}
		if err := log.Put(ctx, progress.InputKey(w.input, 0), read); err != nil {
			t.Fatal(err)
		}
		w.remake()
		w.sendUsers(start, "new", 12)

		core, logs := observer.New(zap.WarnLevel)
		s := w.start(func(s *stream.Service) { s.Log = zap.New(core) })
		w.missesNothing("12")
		if n := logs.FilterMessageSnippet("was deleted and recreated").Len(); n != 1 {
			t.Errorf("%d warnings, want 1: %v", n, logs.All())
		}
		s.end(t)
		w.audit()
	})
}

// TestAnInputMadeAnewAfterItsFirstWorkerDied: a worker of a new stream dies before it has written any part, and the
// input is deleted and recreated. The next worker reads the new topic, and says that what the old one held is missing.
func TestAnInputMadeAnewAfterItsFirstWorkerDied(t *testing.T) {
	kafkatest.Bubble(t, func(t *testing.T, b *kafkatest.Broker) {
		yaml, start := liveOf(20*time.Second, 20*time.Second, 1)
		w := newWorld(t, b, 1, yaml)
		w.sendUsers(start, "old", 5)
		way := &wire{}
		first := w.start(func(s *stream.Service) { s.Conn = way.dial(t, b) })
		kafkatest.Await(t, "the old records are read", func() bool { return first.count(t, "louver_events_total") >= 5 })
		way.sever()
		first.stop()
		w.remake()
		w.sendUsers(start, "new", 12)
		s := w.start()
		w.missesNothing("12")
		s.end(t)
		w.audit()
	})
}

// TestAnInputMadeAnewUnderTheService does the same while the service runs. On a busy machine the new topic may be there
// only when the window is due. Then it is made anew with a window that waits longer.
func TestAnInputMadeAnewUnderTheService(t *testing.T) {
	kafkatest.BubbleAndReal(t, func(t *testing.T, b *kafkatest.Broker) {
		for grace := 10 * time.Second; !madeAnew(t, b, grace); grace *= 2 {
			t.Logf("a grace of %s was too short", grace)
		}
	})
}

// madeAnew reports whether the records of the new topic were there before the window was due.
func madeAnew(t *testing.T, b *kafkatest.Broker, grace time.Duration) bool {
	const size = 5 * time.Second
	yaml, start := liveOf(size, grace, 1)
	w := newWorld(t, b, 1, yaml)
	w.sendUsers(start, "old", 5)
	s := w.start()
	kafkatest.Await(t, "the old records are read, or are late", func() bool {
		return s.count(t, "louver_events_total")+s.count(t, "louver_events_late_total") >= 5
	})
	w.remake()
	w.sendUsers(start, "new", 12)
	inTime := time.Now().Before(start.Add(size + grace))
	if inTime {
		w.missesNothing("12", "17") // the old ones count too if the worker has not had to begin anew
	}
	s.end(t)
	w.audit()
	return inTime
}

// remake deletes the input and recreates it.
func (w *world) remake() {
	w.t.Helper()
	w.broker.DeleteTopic(w.t, w.input)
	w.broker.CreateTopic(w.t, w.input, 1, map[string]string{"retention.ms": "-1"})
}

func (w *world) sendUsers(at time.Time, prefix string, n int) {
	w.t.Helper()
	var events []event
	for i := range n {
		events = append(events, event{User: fmt.Sprint(prefix, i), Value: 1, Time: at})
	}
	w.broker.Produce(w.t, w.input, 0, recent(events)...)
}

// missesNothing checks that the one window counts so many users, and is incomplete.
func (w *world) missesNothing(counts ...string) {
	w.t.Helper()
	for _, r := range w.await(1) {
		if !r.Incomplete || !slices.Contains(counts, shown(r)) {
			w.t.Errorf("%s counts %s users, incomplete %v; want one of %v, incomplete", r.ID, shown(r),
				r.Incomplete, counts)
		}
	}
}

// A stream whose window is long begins at the new topic too, once a shorter one has written the progress of both: a
// position among the old numbers would be one before the first record, at which nobody can begin.
//
// In fake time alone: what a real broker says of such a topic is in TestAnInputMadeAnewUnderTheService.
func TestStreamsOfAnInputMadeAnewBeginAtItsStart(t *testing.T) {
	kafkatest.Bubble(t, func(t *testing.T, b *kafkatest.Broker) {
		const short, long = 5 * time.Second, 100 * time.Second
		start := time.Now().UTC().Truncate(long).Add(long)
		w := newWorld(t, b, 1, configtest.File(
			configtest.Stream("short", configtest.Window(short, time.Second), configtest.Start(start)),
			configtest.Stream("long", configtest.Window(long, time.Second), configtest.Start(start),
				configtest.Set("fresh", "true"))))
		w.sendUsers(start, "old", 5)
		s := w.start()
		kafkatest.Await(t, "the old records are read", func() bool { return s.count(t, "louver_events_total") >= 10 })
		id := ""
		kafkatest.Await(t, "the topic is known", func() bool { id = w.progress().TopicID; return id != "" })
		w.remake()
		w.sendUsers(start, "new", 3)
		kafkatest.Await(t, "progress at the new topic", func() bool { in := w.progress(); return in.TopicID != id && in.Base > 0 })
		in := w.progress()
		for name, at := range in.Streams {
			if at.From < in.Base || in.Offset < 0 {
				t.Errorf("stream %s begins at %d, and the topic's first record is %d: offset %d", name, at.From, in.Base,
					in.Offset)
			}
			// No mark reaches from the old numbers into the new ones beside the one that says that all between is lost.
			// Otherwise a worker that still reads the old topic would go on among numbers that have another meaning.
			got := w.ranges(name)
			for _, want := range []markRange{{0, 5}, {5, in.Base}} {
				if !slices.Contains(got, want) {
					t.Errorf("stream %s has marks for %v; want one for %v too", name, got, want)
				}
			}
		}
		s.end(t)
	})
}

// markRange is from where to where a mark covers the input.
type markRange struct{ from, to int64 }

// ranges are those of a stream's marks, as the log has them: package windows says where they are in a message.
func (w *world) ranges(stream string) (all []markRange) {
	w.t.Helper()
	const kind, from, to, name = 1, 24, 32, 52
	for _, m := range w.broker.Consume(w.t, topics.Names{App: w.app}.Partials(), topics.Place(stream, topics.Partitions)) {
		number := func(at int) int64 { return int64(binary.BigEndian.Uint64([]byte(m.Value[at:]))) }
		if isMark := m.Value[kind] == 1; isMark && strings.HasPrefix(m.Value[name:], stream) {
			all = append(all, markRange{number(from), number(to)})
		}
	}
	return all
}
