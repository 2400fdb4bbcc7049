package progress_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/kafka/kafkatest"
	"github.com/louver/louver/stream/kafka/topics"
	"github.com/louver/louver/stream/kafka/txn"
	"github.com/louver/louver/stream/progress"
)

// TestTextIsThereAsAWhole writes long texts under one key: committed, aborted, shorter than before, and cut off. What
// is read is always the last one that was committed as a whole.
func TestTextIsThereAsAWhole(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, b *kafkatest.Broker) {
		log := &progress.Log{Client: b.Conn.Client, Fetch: b.Fetch(fetch.Options{}),
			Topic: b.Topic(t, topics.Partitions, map[string]string{"cleanup.policy": "compact"})}
		key := progress.CheckpointKey(3)
		partition := topics.Place(key, topics.Partitions)
		text := func(letter string, size int) []byte { return bytes.Repeat([]byte(letter), size) }
		const long, short = 1_300_000, 10
		want := func(letter string, size, pieces int) {
			t.Helper()
			got, found, err := log.ReadText(kafkatest.Context(t), key)
			if err != nil || found != (size > 0) || !bytes.Equal(got.Text, text(letter, size)) || got.Pieces != pieces {
				t.Fatalf("read %d bytes in %d pieces (%t, %v), want %d of %q in %d", len(got.Text), got.Pieces, found,
					err, size, letter, pieces)
			}
		}
		write := func(how func(*kafkatest.Transaction), records ...txn.Record) {
			t.Helper()
			x := b.Begin(t, kafkatest.Name(t))
			for _, r := range records {
				x.Produce(t, log.Topic, partition, r)
			}
			how(x)
		}
		commit := func(x *kafkatest.Transaction) { x.Commit(t) }
		abort := func(x *kafkatest.Transaction) { x.Abort(t) }

		want("", 0, 0)
		first, pieces := log.TextRecords(key, text("a", long), 0)
		write(commit, first...)
		want("a", long, 3)
		other, _ := log.TextRecords(key, text("b", long), pieces)
		write(abort, other...)
		want("a", long, 3)
		write(commit, other[:2]...) // as a reader sees it that stops in the middle of a transaction
		want("a", long, 3)
		shorter, pieces := log.TextRecords(key, text("c", short), pieces)
		if len(shorter) != 3 || shorter[1].Value != nil || shorter[2].Value != nil || pieces != 1 {
			t.Fatalf("%d records in %d pieces, want one and two that delete", len(shorter), pieces)
		}
		write(commit, shorter...)
		want("c", short, 1)
		neighbour, _ := log.TextRecords(strings.TrimSuffix(key, "3")+"33", text("d", short), 0)
		write(commit, neighbour...)
		want("c", short, 1)
		// its other pieces are not there any more
		if err := txn.Send(context.Background(), b.Conn.Client, first[:1]); err != nil {
			t.Fatal(err)
		}
		want("c", short, 1)
		write(commit, txn.Record{Key: []byte(key)})
		want("", 0, 0)
	})
}
