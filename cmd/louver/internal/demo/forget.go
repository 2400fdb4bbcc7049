package demo

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/kafka/kafkaconn"
	"github.com/louver/louver/stream/kafka/topics"
)

const (
	// inputRetention is how long events of an endless input are at least kept, in memory, after they were needed.
	inputRetention = 2 * time.Hour
	// forgetEvery is the real time from one look at what can be deleted to the next.
	forgetEvery = 10 * time.Second
)

// inPieces makes the broker drop deleted records in pieces of a megabyte.
func inPieces() kfake.Opt {
	return kfake.BrokerConfigs(map[string]string{"log.segment.bytes": "1048576"})
}

// forget deletes events that have not been needed for inputRetention, again and again until ctx ends. The broker must
// not do so itself: it would compact other topics, too; see [embedded].
func forget(ctx context.Context, conn *kafkaconn.Conn, inputs []topics.Topic, needed func() time.Time) {
	client := fetch.New(conn.Transport, conn.Addr, fetch.Options{})
	ticker := time.NewTicker(forgetEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		for _, t := range inputs {
			if t.MinRetention == topics.Forever {
				continue
			}
			for n := range t.Partitions {
				forgetBefore(ctx, conn, client, t.Name, n, needed().Add(-t.MinRetention))
			}
		}
	}
}

// forgetBefore deletes the events of a partition from before a time. What fails is done the next time.
func forgetBefore(ctx context.Context, conn *kafkaconn.Conn, client *fetch.Client, topic string, partition int,
	before time.Time) {
	if offset, err := client.OffsetAt(ctx, topic, partition, before.UnixMilli()); err == nil {
		_ = topics.DeleteBefore(ctx, conn.Client, topic, partition, offset)
	}
}
