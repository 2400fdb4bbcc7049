package stream

import (
	"context"
	"errors"

	"github.com/segmentio/kafka-go"

	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/kafka/topics"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/progress"
)

// Checkpoints calls f with the last checkpoint of each partition of an app's ledger and its offset. An app without a
// progress topic has no checkpoints.
func Checkpoints(ctx context.Context, client *kafka.Client, read *fetch.Client, app string, f func(at ledger.Position, app string, partition int, text []byte)) error {
	log := &progress.Log{Client: client, Fetch: read, Topic: topics.Names{App: app}.Progress()}
	switch _, err := topics.Counts(ctx, client, []topics.Topic{{Name: log.Topic}}); {
	case errors.Is(err, topics.ErrMissing):
		return nil
	case err != nil:
		return err
	}
	for partition := range topics.Partitions {
		text, found, err := log.ReadText(ctx, progress.CheckpointKey(partition))
		if err != nil {
			return err
		}
		if found {
			f(ledger.Position{Topic: log.Topic, Partition: text.Partition, Offset: text.Offset}, app, partition, text.Text)
		}
	}
	return nil
}
