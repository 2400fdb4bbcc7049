package embedded_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/segmentio/kafka-go"

	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/kafka/kafkatest"
)

// TestShortAnswersTellOfAbortedTransactions reads aborted batches in answers that hold one or two of them.
func TestShortAnswersTellOfAbortedTransactions(t *testing.T) {
	b := kafkatest.Fake(t)
	topic := b.Topic(t, 1, nil)
	aborted, committed := b.Begin(t, kafkatest.Name(t)), b.Begin(t, kafkatest.Name(t))
	for range 5 {
		aborted.Produce(t, topic, 0, kafkatest.Values("aborted "+strings.Repeat("a", 100))...)
		committed.Produce(t, topic, 0, kafkatest.Values("committed")...)
	}
	aborted.Abort(t)
	committed.Commit(t)
	for _, size := range []int{100, 250, 400, 600} {
		var got []string
		client := b.Fetch(fetch.Options{MaxBytes: size})
		_, err := client.ReadAll(kafkatest.Context(t), topic, 0, kafka.FirstOffset, func(r *fetch.Record) error {
			got = append(got, string(r.Value))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(slices.Repeat([]string{"committed"}, 5), got); diff != "" {
			t.Errorf("in answers of %d bytes: %s", size, diff)
		}
	}
}
