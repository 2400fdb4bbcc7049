package release

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/parse"
	"github.com/louver/louver/stream/health"
	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/kafka/kafkatest"
	"github.com/louver/louver/stream/kafka/topics"
	"github.com/louver/louver/stream/kafka/txn"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/metrics"
	"github.com/louver/louver/stream/release/decide"
	"github.com/louver/louver/stream/stage"
	"github.com/louver/louver/windows"
)

// counting has four windows of an hour. Its noise is nearly always 0.
const counting = `
version: 1
streams:
  - name: s
    input: {topic: in, user: user, value: value, time: time}
    bounds: {lower: 0, upper: 10, step: 1}
    window: {size: 1h, every: 1h, grace: 10s, start: 2026-01-01T00:00:00Z, end: 2026-01-01T04:00:00Z}
    contribution: last
    releases: [{name: users, statistic: count, epsilon: 1000000}]
    output: {topic: out}
    budget: {epsilon: 1000000000, per: 24h}
`

// opened is a session of the only stream in a configuration, whose core holds so many bytes of parts. It has no
// producer, and no entries.
func opened(t testing.TB, text string, partBytes int64) (*session, config.Edition) {
	t.Helper()
	file, err := parse.File("streams.yaml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	of := config.Edition{Stream: file.Streams[0], Number: 1}
	of.Schedule = of.Stream.Window.Schedule(of.Stream.Window.Start)
	w := &worker{Release: &Release{Env: stage.Env{Names: topics.Names{App: "app"}, Log: zap.NewNop(),
		Metrics: metrics.New(prometheus.NewRegistry(), nil, nil), Monitor: health.New(zap.NewNop(), "release")}}}
	core, err := decide.New(decide.Config{App: "app", Editions: []config.Edition{of}, Place: func(string) int { return 0 },
		Lineage: func(budget string) []string { return []string{budget} }, Hasher: windows.NewHasher([16]byte{}),
		PartBytes: partBytes, MergeBytes: 1 << 20, NoteBytes: 1 << 20, CheckpointEvery: 1000, Random: rand.Reader},
		decide.Charges{State: ledger.NewState("app", 0)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	core.Restored(nil)
	return &session{worker: w, core: core, parts: &parts{worker: w, core: core}}, of
}

// decided does what the core asks for until nothing is due, as if all transactions were committed. It returns the
// entries.
func (s *session) decided(t testing.TB) (all []ledger.Entry) {
	t.Helper()
	for {
		do, err := s.core.Next(time.Now())
		if err != nil {
			t.Fatal(err)
		}
		switch do := do.(type) {
		case decide.Again:
			err = s.parts.again(t.Context(), do.Parts)
		case decide.Commit:
			for _, d := range do.Entries {
				all = append(all, d.Entry)
			}
			s.core.Committed(int64(len(all)) - 1)
		case decide.Poll:
			return all
		default:
			t.Fatalf("%T is asked for", do)
		}
		s.tell(s.core.Notices())
		if err != nil {
			t.Fatal(err)
		}
	}
}

// A topic of parts that is recreated may be longer than what was read of the one before, so its end tells nothing. It
// is read from its start all the same: otherwise windows whose marks are there would wait for ever.
func TestALongerTopicOfPartsIsReadFromItsStart(t *testing.T) {
	b := kafkatest.Fake(t)
	s, of := opened(t, counting, 1<<20)
	ps := s.parts
	ps.at = stage.Partition{Topic: b.Topic(t, 1, nil)}
	ps.Conn, ps.Fetch = b.Conn, b.Fetch(fetch.Options{MaxWait: 10 * time.Millisecond})
	ps.deleter = newDeleter(t.Context(), ps.worker)
	ps.reader = ps.Fetch.Partition(ps.at.Topic, 0, 0)
	if err := ps.identify(t.Context()); err != nil {
		t.Fatal(err)
	}
	read := func(position int64) {
		t.Helper()
		kafkatest.Await(t, "the marks are read", func() bool {
			if err := ps.read(t.Context()); err != nil {
				t.Fatal(err)
			}
			return ps.reader.Position() == position
		})
	}
	first := of.Schedule.First()
	second, _ := of.Schedule.Next(first)
	mark := func(attempt byte, w windows.Window) txn.Record {
		o := windows.Origin{Stream: of.Stream.Name, Epoch: of.Number, To: 1, Attempt: [16]byte{attempt}}
		return txn.Record{Value: windows.Mark{Origin: o, Partitions: 1, After: w.Start, Through: w.End}.Message()}
	}
	b.Produce(t, ps.at.Topic, 0, mark(1, second))
	read(1)
	if renewed, err := ps.renewed(t.Context()); renewed || err != nil {
		t.Fatalf("the topic is another one: %v, %v", renewed, err)
	}
	b.DeleteTopic(t, ps.at.Topic)
	b.CreateTopic(t, ps.at.Topic, 1, nil)
	b.Produce(t, ps.at.Topic, 0, mark(2, second), mark(3, first))
	if renewed, err := ps.renewed(t.Context()); !renewed || err != nil {
		t.Fatalf("the topic is another one: %v, %v; want it noticed", renewed, err)
	}
	read(2)
	if all := s.decided(t); len(all) != 2 {
		t.Errorf("%d windows are decided, want the two that have marks", len(all))
	}
}

// TestPartsAreReadAgain decides windows whose parts are not held, or not all of them, and are in several messages each.
// The parts of the last window are deleted after the session has heard of them.
func TestPartsAreReadAgain(t *testing.T) {
	for _, limit := range []int64{0, 3000, 1 << 20} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			b := kafkatest.Fake(t)
			s, of := opened(t, counting, limit)
			s.at = stage.Partition{Topic: b.Topic(t, 1, nil)}
			s.Fetch = b.Fetch(fetch.Options{MaxWait: 10 * time.Millisecond})
			const partitions, each = 3, 40
			offset, last, entries := int64(0), 0, []ledger.Entry{}
			for w, more := of.Schedule.First(), true; more && w.End <= of.Schedule.End; w, more = of.Schedule.Next(w) {
				for partition := range partitions {
					bag := windows.NewBag(windows.BagSpec{Groups: of.Stream.Groups, MaxGroups: 1,
						Policy: of.Stream.Contribution, Window: w, Hasher: windows.NewHasher([16]byte{})})
					for user := range each * (last + 1) { // half of them are in the next partition too
						name := fmt.Append(nil, partition*each*(last+1)/2+user)
						bag.Add(windows.NewHasher([16]byte{}).User(name), 0, w.Start, 5)
					}
					o := windows.Origin{Stream: of.Stream.Name, Epoch: of.Number, Partition: partition, To: 1,
						Attempt: [16]byte{byte(offset)}}
					part := windows.Part{Origin: o, Slice: w, Payload: bag.Seal()}
					mark := windows.Mark{Origin: o, Partitions: partitions, Slices: []int64{w.Start}, After: w.Start,
						Through: w.End}
					for _, message := range append(part.Messages(700), mark.Message()) {
						b.Produce(t, s.at.Topic, 0, txn.Record{Value: bytes.Clone(message)})
						if err := s.core.Message(message, offset, time.Unix(0, w.End)); err != nil {
							t.Fatal(err)
						}
						offset++
					}
				}
				if last++; last == 4 && limit < 1<<20 {
					b.DeleteRecords(t, s.at.Topic, 0, offset)
				}
				entries = append(entries, s.decided(t)...)
			}
			if len(entries) != 4 {
				t.Fatalf("%d windows, want 4", len(entries))
			}
			for i, e := range entries {
				users, want := *e.Groups[0].Users, int64(each*(i+1)*(partitions+1)/2)
				switch gone := i == 3 && limit < 1<<20; {
				case !gone && (e.Incomplete || users != want):
					t.Errorf("window %d: %d users, lost %v; want %d", i, users, e.Incomplete, want)
				case gone && !e.Incomplete && users != want:
					t.Errorf("the last window has %d users of %d, and nobody says that parts are lost", users, want)
				case gone && limit == 0 && !e.Incomplete:
					t.Error("parts that were not held are deleted, and nobody says that they are lost")
				}
			}
		})
	}
}
