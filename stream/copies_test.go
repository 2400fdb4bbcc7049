package stream_test

import (
	"crypto/rand"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"

	"github.com/louver/louver/stream/kafka/kafkatest"
	"github.com/louver/louver/stream/kafka/txn"
)

// TestCopiesNeverStopTheStream sends bad and late records from all partitions of the input to topics with a single one,
// and among them a bad record that is larger than the topic of rejects takes.
func TestCopiesNeverStopTheStream(t *testing.T) {
	kafkatest.BubbleAndReal(t, func(t *testing.T, b *kafkatest.Broker) {
		w := newWorld(t, b, 1, withBudget("1000000000"))
		w.input += "-large"
		b.CreateTopic(t, w.input, 3, map[string]string{"max.message.bytes": "3000000", "retention.ms": "-1"})
		stream := w.streams[0]
		stream.Input.Topic = w.input
		stream.Rejects, stream.Late = b.Topic(t, 1, map[string]string{"max.message.bytes": "200000",
			"retention.ms": "-1"}),
			b.Topic(t, 1, map[string]string{"retention.ms": "-1"})
		huge := make([]byte, 500_000)
		if _, err := rand.Read(huge); err != nil {
			t.Fatal(err)
		}
		own := []kafka.Header{{Key: "content-type", Value: []byte("text/plain")}, {Key: "trace", Value: []byte("7")},
			{Key: "louver-offset", Value: []byte("of an earlier copy")}}
		before := event{User: "early", Value: 1, Time: midnight.Add(-time.Hour)}.record()
		before.Headers = own
		for p := range 3 {
			b.Produce(t, w.input, p, append(in(p, p+1, "u"), txn.Record{Value: []byte("bad"), Headers: own}, before)...)
		}
		b.Produce(t, w.input, 2, txn.Record{Value: huge})
		s := w.start()
		want := map[int]string{0: "1", 1: "2", 2: "3"}
		for hour, users := range values(w.await(3)) {
			if want[hour] != users {
				t.Errorf("hour %d counts %s users, want %s", hour, users, want[hour])
			}
		}
		kafkatest.Await(t, "all bad records are counted",
			func() bool { return s.count(t, "louver_events_rejected_total", "malformed") == 4 })
		rejects, late := b.Consume(t, stream.Rejects, 0), b.Consume(t, stream.Late, 0)
		bad := 0
		for _, m := range rejects {
			if m.Value == "bad" {
				bad++
			}
		}
		for _, m := range append(slices.Clone(rejects), late...) {
			offset, err := strconv.Atoi(m.Headers["louver-offset"])
			if (m.Value == "bad" || m.Headers["louver-reason"] == "late") && (m.Headers["content-type"] != "text/plain" ||
				m.Headers["trace"] != "7" || m.Headers["louver-stream"] != stream.Name || err != nil || offset < 0) {
				t.Errorf("a copy has the headers %v; want those of the record, and where it comes from", m.Headers)
			}
		}
		if bad != 3 || len(late) != 3 {
			t.Errorf("%d bad and %d late records were copied, want 3 and 3", bad, len(late))
		}
		if left := s.count(t, "louver_forward_failures_total"); len(rejects)-bad+int(left) != 1 {
			t.Errorf("the large record was copied %d times and left out %v times, want one of them once",
				len(rejects)-bad, left)
		}
		s.end(t)
		w.audit()
	})
}
