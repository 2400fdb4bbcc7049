package stream_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"

	"github.com/louver/louver/stream/kafkatest"
)

// TestInputGrows adds partitions to the input while the service runs: events of the new ones count in the windows that
// are open when the group has noticed.
func TestInputGrows(t *testing.T) {
	t.Parallel() // it waits most of the time
	kafkatest.Each(t, func(t *testing.T, b *kafkatest.Broker) {
		const size, count = 4 * time.Second, 7
		start := time.Now().UTC().Truncate(size).Add(2 * size)
		w := newWorld(t, b, 1, fmt.Sprintf(`
version: 1
streams:
  - name: growing
    input: {topic: INPUT, user: user, value: value, time: time}
    bounds: {lower: 0, upper: 100, step: 1}
    window: {size: 4s, every: 4s, grace: 1s, start: %s, end: %s}
    contribution: last
    releases:
      - {name: users, statistic: count, epsilon: 1000000}
    output: {topic: OUTPUT}
    budget: {epsilon: 1000000000, per: 1h}
`, start.Format(time.RFC3339), start.Add(count*size).Format(time.RFC3339)))
		s := w.start()
		kafkatest.Eventually(t, 30*time.Second, s.Ready)
		res, err := b.Conn.Client.CreatePartitions(kafkatest.Context(t), &kafka.CreatePartitionsRequest{
			Topics: []kafka.TopicPartitionsConfig{{Name: w.input, Count: 3}}})
		if err != nil || res.Errors[w.input] != nil {
			t.Fatal(err, res)
		}
		// A generation with all three partitions is there before the last windows begin.
		kafkatest.Eventually(t, 5*size, func() bool { return s.has(t, w.app+".ingest", "2") })
		at := time.Now().UTC().Truncate(size).Add(size) // the next window is wholly ahead
		if last := start.Add((count - 1) * size); at.After(last) {
			t.Fatalf("the group noticed too late: %s is after %s", at, last)
		}
		for p := range 3 {
			var events []event
			for i := range p + 1 {
				events = append(events, event{User: fmt.Sprint(p, "-", i), Value: 1, Time: at.Add(time.Second)})
			}
			b.Produce(t, w.input, p, records(events...)...)
		}
		for _, r := range w.await(count) {
			want := "0"
			if r.WindowStart.Equal(at) {
				want = "6"
			}
			if r.Value.String() != want {
				t.Errorf("%s = %s, want %s", r.ID, r.Value, want)
			}
		}
		s.end(t)
		w.audit()
	})
}
