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

// forget deletes events that have not been needed for inputRetention, and snapshots that later ones replace, again and
// again until ctx ends. The broker must not do so itself: it would compact other topics, too; see [embedded].
func forget(ctx context.Context, conn *kafkaconn.Conn, inputs []topics.Topic, needed func() time.Time) {
	client := fetch.New(conn.Transport, conn.Addr, fetch.Options{})
	snapshots := newReplaced(topics.Names{App: demoApp}.State())
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
		snapshots.forget(ctx, conn, client)
	}
}

// forgetBefore deletes the events of a partition from before a time. What fails is done the next time.
func forgetBefore(ctx context.Context, conn *kafkaconn.Conn, client *fetch.Client, topic string, partition int,
	before time.Time) {
	if offset, err := client.OffsetAt(ctx, topic, partition, before.UnixMilli()); err == nil {
		_ = topics.DeleteBefore(ctx, conn.Client, topic, partition, offset)
	}
}

// replaced deletes what a topic that nobody compacts need not hold: the records below the oldest one that is the last
// of its key. In a simulated day the snapshots of a total are some 400 MB.
type replaced struct {
	topic string
	next  [topics.Partitions]int64            // read up to there
	last  [topics.Partitions]map[string]int64 // the offset of each key's last record
}

func newReplaced(topic string) *replaced {
	r := &replaced{topic: topic}
	for n := range r.last {
		r.last[n] = map[string]int64{}
	}
	return r
}

// forget deletes once. What fails is done the next time.
func (r *replaced) forget(ctx context.Context, conn *kafkaconn.Conn, client *fetch.Client) {
	for n, last := range r.last {
		next, err := client.ReadAll(ctx, r.topic, n, r.next[n], func(rec *fetch.Record) error {
			if rec.Value == nil {
				delete(last, string(rec.Key))
			} else {
				last[string(rec.Key)] = rec.Offset
			}
			return nil
		})
		if err != nil || next == r.next[n] { // most demos have no such topic
			continue
		}
		r.next[n] = next
		oldest := next
		for _, offset := range last {
			oldest = min(oldest, offset)
		}
		_ = topics.DeleteBefore(ctx, conn.Client, r.topic, n, oldest)
	}
}
