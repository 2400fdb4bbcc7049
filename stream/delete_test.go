package stream_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/louver/louver/stream"
	"github.com/louver/louver/stream/config/configtest"
	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/kafka/kafkatest"
	"github.com/louver/louver/stream/kafka/topics"
	"github.com/louver/louver/stream/outputs"
	"github.com/louver/louver/stream/progress"
)

// parts is where the parts of a stream's budget begin and end.
func (w *world) parts() (start, end int64) {
	w.t.Helper()
	return w.ends(topics.Names{App: w.app}.Partials())
}

// ends returns where the first stream's partition of a topic of the app begins and ends.
func (w *world) ends(topic string) (start, end int64) {
	w.t.Helper()
	p := topics.Place(w.streams[0].Budget.Name, topics.Partitions)
	client := w.broker.Fetch(fetch.Options{})
	starts, err := client.Starts(kafkatest.Context(w.t), topic, []int{p})
	if err != nil {
		w.t.Fatal(err)
	}
	ends, err := client.Ends(kafkatest.Context(w.t), topic, []int{p})
	if err != nil {
		w.t.Fatal(err)
	}
	return starts[p], ends[p]
}

// TestDecidedPartsAreDeleted: when the last window is decided, nothing is left of what anybody sent.
func TestDecidedPartsAreDeleted(t *testing.T) {
	kafkatest.BubbleAndReal(t, func(t *testing.T, b *kafkatest.Broker) {
		w := newWorld(t, b, 2, withBudget("1000000000"))
		for hour := range 3 {
			b.Produce(t, w.input, hour%2, in(hour, 5, "u")...)
		}
		s := w.start()
		w.await(3)
		kafkatest.Await(t, "all parts are deleted", func() bool {
			start, end := w.parts()
			return end > 0 && start == end
		})
		s.end(t)
		w.audit()
	})
}

// TestPartsThatAWindowNeedsStay lets windows overlap and stops the service without notice again and again, at any
// moment, also while it deletes. Every figure is right and none is incomplete. In between, a worker that has lost its
// partition writes how far it had come, which is not as far as what is deleted by then.
//
// In fake time alone: a service that is stopped while a real broker deletes is in TestTheSameUsersCountAfterAnyStop.
func TestPartsThatAWindowNeedsStay(t *testing.T) {
	kafkatest.Bubble(t, func(t *testing.T, b *kafkatest.Broker) {
		const seconds, size = 240, 4 // of events: more than a test may wait
		start := time.Now().UTC().Add(3 * time.Second).Truncate(time.Second)
		w := newWorld(t, b, 2,
			configtest.File(configtest.Stream("live", configtest.Window(size*time.Second, time.Second),
				configtest.Every(time.Second), configtest.Start(start))))
		var events [2][]event
		for second := range seconds { // one user each second
			events[second%2] = append(events[second%2], event{User: fmt.Sprint(second), Value: 1,
				Time: start.Add(time.Duration(second) * time.Second)})
		}
		for p := range events {
			b.Produce(t, w.input, p, records(events[p]...)...)
		}
		names := topics.Names{App: w.app}
		log := &progress.Log{Client: b.Conn.Client, Fetch: b.Fetch(fetch.Options{}), Topic: names.Progress()}
		random := rand.New(rand.NewPCG(8, 9))
		end := start.Add(28 * time.Second)
		// On a busy machine sessions take longer. If parts are deleted in two of them, that is enough to test
		// something.
		sessions, deletions, last := 0, 0, int64(0)
		for ; deletions < 2 || time.Now().Before(end); sessions++ {
			if sessions == 20 {
				t.Fatalf("in %d sessions parts were deleted in %d", sessions, deletions)
			}
			s := w.start()
			kafkatest.Await(t, "the service has worked for a while", func() bool { return s.Ready() })
			s.works(t, time.Duration(4000+random.IntN(4000))*time.Millisecond)
			s.end(t)
			if now, _ := w.parts(); now > last {
				deletions, last = deletions+1, now
			}
			behind := map[string]int64{"offset": 0}
			if err := log.Put(kafkatest.Context(t), fmt.Sprintf("release/%d", topics.Place("live", topics.Partitions)),
				behind); err != nil {
				t.Fatal(err)
			}
		}
		s := w.start()
		newest := time.Now().UTC().Truncate(time.Second)
		kafkatest.Await(t, "figures of the last session", func() bool {
			return slices.ContainsFunc(w.published(), func(r outputs.Record) bool { return r.WindowEnd.Equal(newest) })
		})
		s.end(t)
		all := w.published()
		slices.SortFunc(all, func(a, b outputs.Record) int { return a.WindowEnd.Compare(b.WindowEnd) })
		for i, r := range all {
			if want := start.Add(time.Duration(i+size) * time.Second); !r.WindowEnd.Equal(want) {
				t.Fatalf("%s ends at %s; want each window once, and %s here", r.ID, r.WindowEnd, want)
			}
			if r.Incomplete || shown(r) != fmt.Sprint(size) {
				t.Errorf("%s is %s, incomplete %v; want %d users", r.ID, shown(r), r.Incomplete, size)
			}
		}
		w.audit()
	})
}

// TestPartsThatMayNotBeDeleted: windows are released all the same, and one line names the right.
func TestPartsThatMayNotBeDeleted(t *testing.T) {
	kafkatest.Bubble(t, func(t *testing.T, b *kafkatest.Broker) {
		h := b.Fake.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.DeleteRecords}, Err: kerr.TopicAuthorizationFailed,
			Count: -1})
		w := newWorld(t, b, 2, withBudget("1000000000"))
		b.Produce(t, w.input, 0, in(0, 5, "u")...)
		core, logs := observer.New(zap.WarnLevel)
		s := w.start(func(s *stream.Service) { s.Log = zap.New(core) })
		w.await(3)
		kafkatest.Await(t, "it has been tried twice", func() bool { return h.Hits() >= 2 })
		s.end(t)
		if n := logs.Len(); n != 1 {
			t.Fatalf("%d warnings, want 1: %v", n, logs.All())
		}
		if text := fmt.Sprint(logs.All()[0].Message, logs.All()[0].ContextMap()); !strings.Contains(text,
			"it needs the right Delete on topic "+topics.Names{App: w.app}.Partials()) {
			t.Errorf("the warning does not name the right: %s", text)
		}
		if start, _ := w.parts(); start != 0 {
			t.Errorf("parts below offset %d are gone", start)
		}
	})
}
