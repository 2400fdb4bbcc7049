package ingest

import (
	"bytes"
	"context"
	"strconv"
	"time"

	"github.com/segmentio/kafka-go"
	"go.uber.org/zap"

	"github.com/louver/louver/stream/episode"
	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/kafka/txn"
	"github.com/louver/louver/stream/stage"
)

const (
	// copyOverhead is roughly the memory of a queued copy in addition to its key and value.
	copyOverhead = 256
	// copyPatience is how long copies may hold up a partition. It is long enough for a leader to move.
	copyPatience = 10 * time.Second
	// copyPause is how long copies are dropped after their topic took none.
	copyPause = 30 * time.Second
)

// copies are the copies of bad and late records.
type copies struct {
	stage.Env
	at      stage.Partition      // the one that is read
	waiting []txn.Record         // not written yet
	bytes   int                  // roughly what these take
	retry   map[string]time.Time // when to retry a topic that took none
}

// add queues a copy of the record for another (personal) topic of the stream, which may have other partitions. For
// a record that is too large, only the size is copied. The record's own headers come first: they may say how to read
// it, and a copy of a copy says last where it comes from.
func (c *copies) add(topic string, rec *fetch.Record, stream, reason, detail string) {
	var headers []kafka.Header
	size := 0
	for key, value := range rec.Headers() {
		headers = append(headers, kafka.Header{Key: key, Value: bytes.Clone(value)})
		size += len(key) + len(value)
	}
	headers = append(headers,
		kafka.Header{Key: "louver-stream", Value: []byte(stream)},
		kafka.Header{Key: "louver-reason", Value: []byte(reason)},
		kafka.Header{Key: "louver-topic", Value: []byte(c.at.Topic)},
		kafka.Header{Key: "louver-partition", Value: strconv.AppendInt(nil, int64(c.at.Number), 10)},
		kafka.Header{Key: "louver-offset", Value: strconv.AppendInt(nil, rec.Offset, 10)})
	if detail != "" {
		headers = append(headers, kafka.Header{Key: "louver-detail", Value: []byte("the record " + detail)})
	}
	if rec.TooLarge > 0 {
		headers = append(headers, kafka.Header{Key: "louver-bytes", Value: strconv.AppendInt(nil, rec.TooLarge, 10)})
	}
	c.waiting = append(c.waiting,
		txn.Record{Topic: topic, Partition: c.at.Number, Key: bytes.Clone(rec.Key), Value: bytes.Clone(rec.Value),
			Time: rec.Time, Headers: headers})
	c.bytes += copyOverhead + size + len(rec.Key) + len(rec.Value)
}

// send writes the queued copies, each at least once. Copies that cannot be written are counted and dropped: neither a
// bad record nor a missing topic may stop the stream.
func (c *copies) send(ctx context.Context) error {
	byTopic := map[string][]txn.Record{}
	for _, r := range c.waiting {
		byTopic[r.Topic] = append(byTopic[r.Topic], r)
	}
	clear(c.waiting)
	c.waiting, c.bytes = c.waiting[:0], 0
	for topic, copies := range byTopic {
		c.sendTo(ctx, topic, copies)
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// sendTo writes copies to their topic.
func (c *copies) sendTo(ctx context.Context, topic string, copies []txn.Record) {
	if time.Now().Before(c.retry[topic]) {
		c.drop(topic, len(copies))
		return
	}
	trying, cancel := context.WithTimeout(ctx, copyPatience)
	defer cancel()
	done := 0 // copies written or counted
	partitions, err := c.Sizes.Of(trying, topic)
	if err == nil {
		for i := range copies {
			copies[i].Partition %= partitions
		}
		if err = c.write(trying, topic, copies); err != nil && trying.Err() == nil {
			done = c.sendOneByOne(trying, topic, copies)
			err = trying.Err()
		}
	}
	key := "copies to " + topic
	switch {
	case ctx.Err() != nil:
	case err == nil:
		c.Monitor.Episodes.Over(key, "topic "+topic+" takes copies of records again")
	default:
		c.Sizes.Forget(topic)
		c.retry[topic] = time.Now().Add(copyPause)
		c.drop(topic, len(copies)-done)
		c.Monitor.Episodes.On(key, episode.Rule{}, "copies of records are dropped until their topic can be written to",
			zap.String("topic", topic), zap.Error(err))
	}
}

// drop counts copies that are not written.
func (c *copies) drop(topic string, copies int) {
	c.Metrics.ForwardFailure.WithLabelValues(topic).Add(float64(copies))
}

// sendOneByOne drops and counts the copies that their topic refuses, for example because they are too large with their
// headers. It stops when ctx ends, and returns how many copies it has handled.
func (c *copies) sendOneByOne(ctx context.Context, topic string, copies []txn.Record) (done int) {
	refused, why := 0, error(nil)
	for ; done < len(copies); done++ {
		err := c.write(ctx, topic, copies[done:done+1])
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			refused, why = refused+1, err
		}
	}
	if refused > 0 {
		c.drop(topic, refused)
		c.Log.Warn("Kafka rejects copies of records, which are dropped", zap.String("topic", topic),
			zap.Int("copies", refused), zap.Error(why))
	}
	return done
}

// write writes copies to a topic. It retries temporary failures.
func (c *copies) write(ctx context.Context, topic string, copies []txn.Record) error {
	return txn.Send(ctx, c.Conn.Client, copies, txn.OnRetry(c.Writing(topic)))
}
