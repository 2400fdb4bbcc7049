package stream_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/louver/louver/stream"
	"github.com/louver/louver/stream/kafka/kafkatest"
)

// TestAfterAnOutageProducersGetTheGraceAgain: the broker of one partition is away when a window becomes due. What is
// delivered in the grace after its return counts.
func TestAfterAnOutageProducersGetTheGraceAgain(t *testing.T) {
	kafkatest.Bubble(t, func(t *testing.T, b *kafkatest.Broker) {
		const grace = 15 * time.Second
		yaml, start := liveOf(10*time.Second, grace, 1)
		w := newWorld(t, b, 2, yaml)
		s := w.start()
		kafkatest.Await(t, "both partitions are read",
			func() bool { return s.Health.Stage(stream.Ingest).Reading(w.input) == 2 })
		away := b.Fake.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch, kmsg.ListOffsets}, Topic: w.input,
			Partitions: []int32{1}, Err: kerr.LeaderNotAvailable, Count: -1})
		kafkatest.Await(t, "the window is due",
			func() bool { return time.Now().After(start.Add(10*time.Second + grace)) })
		away.Remove()
		kafkatest.Await(t, "the window waits for the grace again", func() bool {
			return slices.ContainsFunc(s.Health.Report().Facts, func(fact string) bool {
				return strings.Contains(fact, "stream live: the broker was away for ") &&
					strings.Contains(fact, "; waits the grace of 15s again, until ")
			})
		})
		reads := b.Fake.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Topic: w.input, Partitions: []int32{1},
			Count: -1, Observe: true})
		kafkatest.Await(t, "the partition is read again and again", func() bool { return reads.Hits() >= 4 })
		b.Produce(t, w.input, 1, event{User: "u", Value: 1, Time: start}.record())
		for _, r := range w.await(1) {
			if shown(r) != "1" {
				t.Errorf("%s is %s, want 1: an event that was delivered in the grace is late", r.ID, shown(r))
			}
		}
		s.expect(t, 0, "louver_events_late_total")
		s.end(t)
		w.audit()
	})
}
