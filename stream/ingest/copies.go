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
)

const (
	// copyOverhead is roughly the memory of a queued copy in addition to its key and value.
	copyOverhead = 256
	// copyPatience is how long copies may hold up a partition: long enough for a leader to move.
	copyPatience = 10 * time.Second
	// copyPause is how long copies are dropped after their topic took none.
	copyPause = 30 * time.Second
)

// copyOut queues a copy of the record for another (personal) topic of the stream, which may have other partitions. For
// a record that is too large, only the size is copied.
func (p *partition) copyOut(topic string, rec *fetch.Record, stream, reason string) {
	headers := []kafka.Header{{Key: "louver-stream", Value: []byte(stream)}, {Key: "louver-reason", Value: []byte(reason)}}
	if rec.TooLarge > 0 {
		headers = append(headers, kafka.Header{Key: "louver-bytes", Value: strconv.AppendInt(nil, rec.TooLarge, 10)})
	}
	p.forward = append(p.forward, txn.Record{Topic: topic, Partition: p.at.Number, Key: bytes.Clone(rec.Key), Value: bytes.Clone(rec.Value),
		Time: rec.Time, Headers: headers})
	p.forwardBytes += copyOverhead + len(rec.Key) + len(rec.Value)
}

// sendCopies writes the queued copies, each at least once. Copies that cannot be written are counted and dropped:
// neither a bad record nor a missing topic may stop the stream.
func (p *partition) sendCopies(ctx context.Context) error {
	byTopic := map[string][]txn.Record{}
	for _, r := range p.forward {
		byTopic[r.Topic] = append(byTopic[r.Topic], r)
	}
	clear(p.forward)
	p.forward, p.forwardBytes = p.forward[:0], 0
	for topic, copies := range byTopic {
		p.sendTo(ctx, topic, copies)
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// sendTo writes copies to their topic.
func (p *partition) sendTo(ctx context.Context, topic string, copies []txn.Record) {
	if time.Now().Before(p.copyAt[topic]) {
		p.drop(topic, len(copies))
		return
	}
	trying, cancel := context.WithTimeout(ctx, copyPatience)
	defer cancel()
	done := 0 // copies written or counted
	partitions, err := p.Sizes.Of(trying, topic)
	if err == nil {
		for i := range copies {
			copies[i].Partition %= partitions
		}
		if err = p.write(trying, topic, copies); err != nil && trying.Err() == nil {
			done = p.sendOneByOne(trying, topic, copies)
			err = trying.Err()
		}
	}
	key := "copies to " + topic
	switch {
	case ctx.Err() != nil:
	case err == nil:
		p.Monitor.Episodes.Over(key, "topic "+topic+" takes copies of records again")
	default:
		p.Sizes.Forget(topic)
		p.copyAt[topic] = time.Now().Add(copyPause)
		p.drop(topic, len(copies)-done)
		p.Monitor.Episodes.On(key, episode.Rule{}, "copies of records are dropped until their topic can be written to", zap.String("topic", topic), zap.Error(err))
	}
}

// drop counts copies that are not written.
func (p *partition) drop(topic string, copies int) {
	p.Metrics.ForwardFailure.WithLabelValues(topic).Add(float64(copies))
}

// sendOneByOne drops and counts the copies that their topic refuses, for example because they are too large with their
// headers. It ends with ctx, and returns how many copies it has handled.
func (p *partition) sendOneByOne(ctx context.Context, topic string, copies []txn.Record) (done int) {
	refused, why := 0, error(nil)
	for ; done < len(copies); done++ {
		err := p.write(ctx, topic, copies[done:done+1])
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			refused, why = refused+1, err
		}
	}
	if refused > 0 {
		p.drop(topic, refused)
		p.Log.Warn("Kafka rejects copies of records, which are dropped", zap.String("topic", topic), zap.Int("copies", refused), zap.Error(why))
	}
	return done
}

// write writes copies to a topic. It retries temporary failures.
func (p *partition) write(ctx context.Context, topic string, copies []txn.Record) error {
	return txn.Send(ctx, p.Conn.Client, copies, txn.OnRetry(p.Writing(topic)))
}
