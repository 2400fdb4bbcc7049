package stream_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"

	"github.com/louver/louver/stream/config/configtest"
	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/kafka/kafkatest"
	"github.com/louver/louver/stream/outputs"
)

// TestInputGrows adds partitions to the input while the service runs: events of the new ones count in the windows that
// are open when the group has noticed.
//
// In fake time alone: a topic of a real broker grows in TestInputGrowsUnderTwoProcesses.
func TestInputGrows(t *testing.T) {
	kafkatest.Bubble(t, func(t *testing.T, b *kafkatest.Broker) {
		const size = 4 * time.Second
		start := time.Now().UTC().Truncate(size).Add(2 * size)
		w := newWorld(t, b, 1, configtest.File(configtest.Stream("growing", configtest.Window(size, time.Second),
			configtest.Start(start))))
		s := w.start()
		kafkatest.Await(t, "the service is ready", s.Ready)
		res, err := b.Conn.Client.CreatePartitions(kafkatest.Context(t), &kafka.CreatePartitionsRequest{
			Topics: []kafka.TopicPartitionsConfig{{Name: w.input, Count: 3}}})
		if err != nil || res.Errors[w.input] != nil {
			t.Fatal(err, res)
		}
		kafkatest.Await(t, "a generation with all three partitions",
			func() bool { return s.has(t, w.app+".ingest", "2") })
		at := w.sendInTime(start, func(at time.Time) {
			for p := range 3 {
				var events []event
				for i := range p + 1 {
					events = append(events, event{User: fmt.Sprint(p, "-", i), Value: 1, Time: at.Add(time.Second)})
				}
				b.Produce(t, w.input, p, records(events...)...)
			}
		})
		reached := func(r outputs.Record) bool { return !r.WindowStart.Before(at) }
		kafkatest.Await(t, "the window is published",
			func() bool { return slices.ContainsFunc(w.published(), reached) })
		s.end(t)
		for _, r := range w.published() {
			want := "0"
			if r.WindowStart.Equal(at) {
				want = "6"
			}
			if !r.WindowStart.Before(at) && r.Value.String() != want {
				t.Errorf("%s = %s, want %s", r.ID, r.Value, want)
			}
		}
		w.audit()
	})
}

// TestInputGrowsUnderTwoProcesses adds partitions while two processes share the work, and producers use the new ones at
// once. Whatever a window does not count is late. Later windows count everything.
func TestInputGrowsUnderTwoProcesses(t *testing.T) {
	kafkatest.BubbleAndReal(t, func(t *testing.T, b *kafkatest.Broker) {
		const size, grace = 2 * time.Second, time.Second
		start := time.Now().UTC().Truncate(size).Add(4 * size)
		w := newWorld(t, b, 2, configtest.File(configtest.Stream("growing", configtest.Window(size, grace),
			configtest.Start(start))))
		one, two := w.start(), w.start()
		kafkatest.Await(t, "both are ready", func() bool { return one.Ready() && two.Ready() })
		// events in all, and those of each window that were there before it was due
		sent, inTime := 0, map[time.Time]int{}
		send := func(partitions int) {
			now := time.Now().UTC()
			if now.Before(start) {
				return
			}
			for p := range partitions {
				sent++
				b.Produce(t, w.input, p, records(event{User: fmt.Sprint("u", sent), Value: 1, Time: now})...)
				if window := now.Truncate(size); time.Now().Before(window.Add(size + grace)) {
					inTime[window]++
				}
			}
		}
		kafkatest.Await(t, "windows of two partitions", func() bool { send(2); return len(w.published()) >= 2 })
		res, err := b.Conn.Client.CreatePartitions(kafkatest.Context(t), &kafka.CreatePartitionsRequest{
			Topics: []kafka.TopicPartitionsConfig{{Name: w.input, Count: 4}}})
		if err != nil || res.Errors[w.input] != nil {
			t.Fatal(err, res)
		}
		if _, err := b.Fetch(fetch.Options{}).Ends(kafkatest.Context(t), w.input, []int{2, 3}); err != nil {
			t.Fatal(err)
		}
		read := func(partition string) bool {
			return one.has(t, w.app+".ingest", partition) || two.has(t, w.app+".ingest", partition)
		}
		kafkatest.Await(t, "the new partitions are read", func() bool { send(4); return read("2") && read("3") })
		whole := time.Now().UTC().Truncate(size).Add(3 * size) // from here on windows read all partitions
		last := whole.Add(3 * size)
		kafkatest.Await(t, "three whole windows are over", func() bool { send(4); return !time.Now().Before(last) })
		kafkatest.Await(t, "all of them are published", func() bool {
			return slices.ContainsFunc(w.published(), func(r outputs.Record) bool { return r.WindowEnd.After(last) })
		})
		// The last event may be in the window after these, and the last ones that are late may be read after it was
		// cut.
		counted := func() (n int) {
			for _, r := range w.published() {
				users, err := r.Value.Int64()
				if err != nil || r.Incomplete {
					t.Fatal(r, err)
				}
				n += int(users)
			}
			return n
		}
		late := func() int {
			return int(one.count(t, "louver_events_late_total") + two.count(t, "louver_events_late_total"))
		}
		t.Cleanup(func() {
			if t.Failed() {
				t.Logf("%d sent, %d counted, %d late, %v rejected", sent, counted(), late(),
					one.count(t, "louver_events_rejected_total")+two.count(t, "louver_events_rejected_total"))
			}
		})
		kafkatest.Await(t, "every event counts or is late", func() bool { return counted()+late() >= sent })
		for _, r := range w.published() {
			if n, _ := r.Value.Int64(); !r.WindowStart.Before(whole) && int(n) < inTime[r.WindowStart] {
				t.Errorf("the window ending %s counts %d users, %d were sent in time", r.WindowEnd, n,
					inTime[r.WindowStart])
			}
		}
		one.end(t)
		two.end(t)
		if counts, n := counted(), late(); counts+n != sent {
			t.Errorf("%d events count and %d are late, want %d in all", counts, n, sent)
		}
		t.Logf("%d events, %d late", sent, late())
		w.audit()
	})
}
