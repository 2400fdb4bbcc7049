package stream_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"

	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/kafka/kafkatest"
	"github.com/louver/louver/stream/outputs"
)

// TestInputGrows adds partitions to the input while the service runs: events of the new ones count in the windows that
// are open when the group has noticed.
func TestInputGrows(t *testing.T) {
	t.Parallel() // it waits most of the time
	kafkatest.Each(t, func(t *testing.T, b *kafkatest.Broker) {
		const size = 4 * time.Second
		start := time.Now().UTC().Truncate(size).Add(2 * size)
		w := newWorld(t, b, 1, fmt.Sprintf(`
version: 1
streams:
  - name: growing
    input: {topic: INPUT, user: user, value: value, time: time}
    bounds: {lower: 0, upper: 100, step: 1}
    window: {size: 4s, every: 4s, grace: 1s, start: %s}
    contribution: last
    releases:
      - {name: users, statistic: count, epsilon: 1000000}
    output: {topic: OUTPUT}
    budget: {epsilon: 1000000000, per: 1h}
`, start.Format(time.RFC3339)))
		s := w.start()
		kafkatest.Await(t, "the service is ready", s.Ready)
		res, err := b.Conn.Client.CreatePartitions(kafkatest.Context(t), &kafka.CreatePartitionsRequest{
			Topics: []kafka.TopicPartitionsConfig{{Name: w.input, Count: 3}}})
		if err != nil || res.Errors[w.input] != nil {
			t.Fatal(err, res)
		}
		kafkatest.Await(t, "a generation with all three partitions", func() bool { return s.has(t, w.app+".ingest", "2") })
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
		kafkatest.Await(t, "the window is published", func() bool { return slices.ContainsFunc(w.published(), reached) })
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

// TestInputGrowsUnderTwoProcesses adds partitions while two processes share the work and producers use the new ones at
// once: whatever a window does not count is late, and windows that come after count everything.
func TestInputGrowsUnderTwoProcesses(t *testing.T) {
	t.Parallel() // it waits most of the time
	kafkatest.Each(t, func(t *testing.T, b *kafkatest.Broker) {
		const size, grace, count = 2 * time.Second, time.Second, 15
		start := time.Now().UTC().Truncate(size).Add(4 * size)
		end := start.Add(count * size)
		w := newWorld(t, b, 2, fmt.Sprintf(`
version: 1
streams:
  - name: growing
    input: {topic: INPUT, user: user, value: value, time: time}
    bounds: {lower: 0, upper: 100, step: 1}
    window: {size: 2s, every: 2s, grace: 1s, start: %s, end: %s}
    contribution: last
    releases:
      - {name: users, statistic: count, epsilon: 1000000}
    output: {topic: OUTPUT}
    budget: {epsilon: 1000000000, per: 1h}
`, start.Format(time.RFC3339), end.Format(time.RFC3339)))
		one, two := w.start(), w.start()
		kafkatest.Await(t, "both are ready", func() bool { return one.Ready() && two.Ready() })
		partitions, sent := 2, 0
		inTime := map[time.Time]int{} // events of each window that were there before it was due
		grown := false
		kafkatest.Await(t, "all windows", func() bool {
			now := time.Now().UTC()
			if !grown && now.After(start.Add(3*size)) {
				grown = true
				res, err := b.Conn.Client.CreatePartitions(kafkatest.Context(t), &kafka.CreatePartitionsRequest{
					Topics: []kafka.TopicPartitionsConfig{{Name: w.input, Count: 4}}})
				if err != nil || res.Errors[w.input] != nil {
					t.Fatal(err, res)
				}
				ends := func(ctx context.Context) error {
					_, err := b.Fetch(fetch.Options{}).Ends(ctx, w.input, []int{2, 3})
					return err
				}
				if err := ends(kafkatest.Context(t)); err != nil {
					t.Fatal(err)
				}
				partitions = 4
			}
			if window := now.Truncate(size); !now.Before(start) && now.Before(end) {
				for p := range partitions {
					sent++
					b.Produce(t, w.input, p, records(event{User: fmt.Sprint("u", sent), Value: 1, Time: now})...)
					if time.Now().Before(window.Add(size + grace)) {
						inTime[window]++
					}
				}
			}
			return len(w.published()) == count
		})
		counted := 0
		published := w.published()
		slices.SortFunc(published, func(a, b outputs.Record) int { return a.WindowEnd.Compare(b.WindowEnd) })
		for i, r := range published {
			n, err := r.Value.Int64()
			if err != nil || r.Incomplete {
				t.Fatal(r, err)
			}
			counted += int(n)
			if i >= count-3 && int(n) < inTime[r.WindowStart] {
				t.Errorf("the window ending %s counts %d users, %d were sent in time", r.WindowEnd, n, inTime[r.WindowStart])
			}
		}
		// The last ones may be read after the last window was cut.
		late := func() int {
			return int(one.count(t, "louver_events_late_total") + two.count(t, "louver_events_late_total"))
		}
		kafkatest.Await(t, "every event counts or is late", func() bool { return counted+late() >= sent })
		one.end(t)
		two.end(t)
		if n := late(); counted+n != sent {
			t.Errorf("%d events count and %d are late, want %d in all", counted, n, sent)
		}
		t.Logf("%d events, %d late", sent, late())
		w.audit()
	})
}
