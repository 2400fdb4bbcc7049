package ingest

import (
	"bytes"
	"context"
	"strconv"

	"github.com/segmentio/kafka-go"
	"go.uber.org/zap"

	"github.com/louver/louver/stream/fetch"
	"github.com/louver/louver/stream/txn"
)

// copyOverhead is about what a queued copy takes beside its key and value.
const copyOverhead = 256

// copyOut queues a copy of the record for another (personal) topic of the stream, which may have other partitions. Of a
// record that is too large only its size is copied.
func (p *partition) copyOut(topic string, rec *fetch.Record, stream, reason string) {
	headers := []kafka.Header{{Key: "louver-stream", Value: []byte(stream)}, {Key: "louver-reason", Value: []byte(reason)}}
	if rec.TooLarge > 0 {
		headers = append(headers, kafka.Header{Key: "louver-bytes", Value: strconv.AppendInt(nil, rec.TooLarge, 10)})
	}
	p.forward = append(p.forward, txn.Record{Topic: topic, Partition: p.at.Number, Key: bytes.Clone(rec.Key), Value: bytes.Clone(rec.Value),
		Time: rec.Time, Headers: headers})
	p.forwardBytes += copyOverhead + len(rec.Key) + len(rec.Value)
}

// sendCopies writes the queued copies, each at least once. One that its topic does not take, since it is too large with
// its headers for example, is counted and left out: a bad record must not stop the stream.
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
	clear(p.forward)
	p.forward, p.forwardBytes = p.forward[:0], 0
	for topic, copies := range byTopic {
		if p.writeOnce(ctx, copies) != nil {
			p.sendOneByOne(ctx, topic, copies)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// sendOneByOne leaves out the copies that their topic does not take.
func (p *partition) sendOneByOne(ctx context.Context, topic string, copies []txn.Record) {
	refused, why := 0, error(nil)
	for i := range copies {
		if err := p.writeOnce(ctx, copies[i:i+1]); err != nil {
			refused, why = refused+1, err
		}
		if ctx.Err() != nil {
			return
		}
	}
	if refused > 0 {
		p.Metrics.ForwardFailure.WithLabelValues(topic).Add(float64(refused))
		p.Log.Warn("Kafka refuses copies of records: they are dropped", zap.String("topic", topic), zap.Int("copies", refused), zap.Error(why))
	}
}
