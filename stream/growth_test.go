package stream_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"

	"github.com/louver/louver/stream/kafkatest"
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
		at := time.Now().UTC().Truncate(size).Add(3 * size) // a window that is wholly ahead
		for p := range 3 {
			var events []event
			for i := range p + 1 {
				events = append(events, event{User: fmt.Sprint(p, "-", i), Value: 1, Time: at.Add(time.Second)})
			}
			b.Produce(t, w.input, p, records(events...)...)
		}
		reached := func(r outputs.Record) bool { return !r.WindowStart.Before(at) }
		kafkatest.Await(t, "the window is published", func() bool { return slices.ContainsFunc(w.published(), reached) })
		s.end(t)
		for _, r := range w.published() {
			want := "0"
			if r.WindowStart.Equal(at) {
				want = "6"
			}
			if r.Value.String() != want {
				t.Errorf("%s = %s, want %s", r.ID, r.Value, want)
			}
		}
		w.audit()
	})
}
