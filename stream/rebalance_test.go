package stream_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/louver/louver/stream/config/configtest"
	"github.com/louver/louver/stream/kafka/kafkatest"
)

// TestRebalanceKeepsBags lets a second worker join while windows are open: what the first one keeps it does not read
// again, the windows close on time, and every event counts once.
//
// In fake time alone: groups of a real broker are in TestInputGrowsUnderTwoProcesses and
// TestTheSameUsersCountAfterAnyStop.
func TestRebalanceKeepsBags(t *testing.T) {
	kafkatest.Bubble(t, func(t *testing.T, b *kafkatest.Broker) {
		const size, partitions, perPartition = 20 * time.Second, 3, 50
		// The window ends in 40 to 60 s: both workers have joined by then, also where the machine is busy.
		start := time.Now().UTC().Truncate(size).Add(2 * size)
		w := newWorld(t, b, partitions,
			configtest.File(configtest.Stream("shared", configtest.Window(size, time.Second),
				configtest.Set("input", "{topic: INPUT, user: user, value: value, time: time, max_future: 1m}"),
				configtest.Start(start), configtest.End(start.Add(size)))))
		for p := range partitions {
			var events []event
			for i := range perPartition {
				events = append(events, event{User: fmt.Sprint(p, "-", i), Value: 1, Time: start.Add(time.Second)})
			}
			b.Produce(t, w.input, p, recent(events)...)
		}
		one := w.start()
		kafkatest.Await(t, "the first worker has read everything",
			func() bool { return one.count(t, "louver_events_total") == partitions*perPartition })
		two := w.start()
		owned := func() (n int) {
			for p := range partitions {
				if two.has(t, w.app+".ingest", strconv.Itoa(p)) {
					n++
				}
			}
			return n
		}
		kafkatest.Await(t, "the second worker has read what it took over", func() bool {
			return owned() > 0 && two.count(t, "louver_events_total") == float64(owned()*perPartition)
		})
		moved := owned()
		if moved == partitions {
			t.Fatal("the second worker has taken everything")
		}
		for _, r := range w.await(1) {
			if r.Value.String() != fmt.Sprint(partitions*perPartition) {
				t.Errorf("%s = %s, want %d", r.ID, r.Value, partitions*perPartition)
			}
		}
		if n := one.count(t, "louver_events_total"); n != partitions*perPartition {
			t.Errorf("the first worker has read %v records, want each of its %d once: what stayed was read again", n,
				partitions*perPartition)
		}
		one.end(t)
		two.end(t)
		w.audit()
	})
}
