package ingest

import (
	"context"
	"errors"

	"github.com/segmentio/kafka-go"
	"go.uber.org/zap"

	"github.com/louver/louver/stream/fetch"
	"github.com/louver/louver/stream/txn"
)

// copyOut queues a copy of the record for another (personal) topic of the stream, which may have other partitions.
func (p *partition) copyOut(topic string, rec *fetch.Record, stream, reason string) {
	p.forward = append(p.forward, txn.Record{Topic: topic, Partition: p.at.Number, Key: append([]byte(nil), rec.Key...), Value: append([]byte(nil), rec.Value...),
		Time: rec.Time, Headers: []kafka.Header{{Key: "louver-stream", Value: []byte(stream)}, {Key: "louver-reason", Value: []byte(reason)}}})
}

// sendCopies writes the queued copies, each at least once. One that its topic does not take, since it is too large with
// its headers, is counted and left out: a bad record must not stop the stream.
func (p *partition) sendCopies(ctx context.Context) error {
	byTopic := map[string][]txn.Record{}
	for _, r := range p.forward {
		partitions, err := p.Sizes.Of(ctx, r.Topic)
		if err != nil {
			return err
		}
		r.Partition %= partitions
		byTopic[r.Topic] = append(byTopic[r.Topic], r)
	}
	p.forward = p.forward[:0]
	for topic, copies := range byTopic {
		err := p.write(ctx, copies)
		if errors.Is(err, txn.ErrTooLarge) {
			err = p.sendFitting(ctx, topic, copies)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// sendFitting writes the copies one by one and leaves out those that are too large.
func (p *partition) sendFitting(ctx context.Context, topic string, copies []txn.Record) error {
	for i := range copies {
		err := p.write(ctx, copies[i:i+1])
		if errors.Is(err, txn.ErrTooLarge) {
			p.Metrics.ForwardFailure.WithLabelValues(topic).Inc()
			p.Log.Warn("a copy is too large for its topic and is left out", zap.String("topic", topic))
		} else if err != nil {
			return err
		}
	}
	return nil
}
