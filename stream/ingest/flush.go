package ingest

import (
	"context"
	"crypto/rand"
	"math"
	"time"

	"go.uber.org/zap"

	"github.com/louver/louver/stream/kafkaconn"
	"github.com/louver/louver/stream/txn"
	"github.com/louver/louver/windows"
)

// messageBytes is the size of a part's messages: well below the megabyte that brokers take by default.
const messageBytes = 512 << 10

// queueBytes is how much is gathered before it is sent.
const queueBytes = 4 << 20

// flush writes parts and marks where a cut has been reached, where the last flush is long ago, and where the bags have
// grown too large. What is acknowledged need not be read again.
func (p *partition) flush(ctx context.Context) error {
	position, now := p.position(), time.Now()
	all := now.After(p.flushAt) || p.crowded()
	flushed := false
	for _, r := range p.routes {
		for r.reached(position) {
			p.mark(r, r.cuts[0].offset)
			flushed = true
			if err := p.sendIfMuch(ctx); err != nil {
				return err
			}
		}
		if all && !r.quiet(position, now) {
			p.mark(r, position)
			flushed = true
			if err := p.sendIfMuch(ctx); err != nil {
				return err
			}
		}
	}
	if all {
		p.flushAt = now.Add(flushEvery)
	}
	if !flushed && len(p.queue) == 0 {
		return nil
	}
	if err := p.send(ctx); err != nil {
		return err
	}
	p.progressed()
	p.kept.Put(p.progress())
	return nil
}

// relieveEvery is after how many records of a page the bags' size is looked at.
const relieveEvery = 1 << 16

// relieve writes the bags in the middle of a page if they hold more than a process may. Records below to are in them.
func (p *partition) relieve(ctx context.Context, to int64) error {
	var own int64
	for _, r := range p.routes {
		own += r.bytes()
	}
	if own <= p.BagBytes {
		return nil
	}
	for _, r := range p.routes {
		p.mark(r, to)
	}
	return p.send(ctx)
}

// crowded says that the bags of this process hold too much, and that this partition's share of it is not small.
func (p *partition) crowded() bool {
	var own int64
	for _, r := range p.routes {
		own += r.bytes()
	}
	all, partitions := p.heldBytes()
	return all > p.BagBytes && own*int64(partitions) >= all
}

// mark queues what a route has gathered below to, and the mark that ends it.
func (p *partition) mark(r *route, to int64) {
	origin := windows.Origin{Stream: r.stream.Name, Epoch: r.edition, Partition: p.at.Number}
	_, _ = rand.Read(origin.Attempt[:]) // never fails
	parts, mark := r.flush(to, origin, p.Inputs.Partitions(p.at.Topic, math.MaxInt64))
	for _, part := range parts {
		for _, message := range part.Messages(messageBytes) {
			p.put(r, message)
			p.Metrics.PartBytes.WithLabelValues(r.stream.Name).Add(float64(len(message)))
		}
	}
	p.put(r, mark.Message())
	if r.finished() {
		p.lanes = lanes(p.routes)
	}
}

// put queues a message for the stage that decides the route's windows.
func (p *partition) put(r *route, message []byte) {
	budget := r.stream.Budget.Name
	p.queue = append(p.queue, txn.Record{Topic: p.Names.Partials(), Partition: p.Place(budget), Key: []byte(budget), Value: message, Time: time.Now().UnixMilli()})
	p.bytes += len(message)
}

func (p *partition) sendIfMuch(ctx context.Context) error {
	if p.bytes < queueBytes {
		return nil
	}
	return p.send(ctx)
}

// send writes what is queued.
func (p *partition) send(ctx context.Context) error {
	err := p.write(ctx, p.queue)
	clear(p.queue)
	p.queue, p.bytes = p.queue[:0], 0
	return err
}

// write writes records, and tries again whatever the broker says, until it succeeds or ctx ends.
func (p *partition) write(ctx context.Context, records []txn.Record) error {
	if len(records) == 0 {
		return nil
	}
	_, err := kafkaconn.Persist(ctx, p.Writing(records[0].Topic), func(ctx context.Context) (struct{}, error) {
		return struct{}{}, p.writeOnce(ctx, records)
	})
	return err
}

// writeOnce writes records. It tries again after failures that pass.
func (p *partition) writeOnce(ctx context.Context, records []txn.Record) error {
	return txn.Send(ctx, p.Conn.Client, records, txn.OnRetry(p.Writing(records[0].Topic)))
}

// progress is how far everything is written. A route whose windows are all cut needs no record any more: a restart does
// not read again for its sake.
func (p *partition) progress() progressRecord {
	position := p.position()
	next := progressRecord{Offset: position, Base: p.base, Read: max(position, p.reported), Streams: map[string]streamProgress{}}
	for _, r := range p.routes {
		if !r.finished() {
			next.Offset = min(next.Offset, r.from)
		}
		next.Streams[r.key()] = streamProgress{From: r.from, Through: r.through}
	}
	next.Offset -= p.base
	return next
}

// keep writes the progress, and commits it for the group so that other tools see the lag. The progress is what counts.
func (p *partition) keep(ctx context.Context, next progressRecord) {
	ctx, cancel := context.WithTimeout(ctx, keepTimeout)
	defer cancel()
	err := p.Progress.Put(ctx, progressKey(p.at), next)
	p.Writing(p.Names.Progress())(err) // the next one makes up for it
	if err != nil {
		return
	}
	if err := p.membership.Commit(ctx, p.at, next.Offset, ""); err != nil {
		p.Log.Debug("offset not committed yet", zap.String("topic", p.at.Topic), zap.Int("partition", p.at.Number), zap.Error(err))
	}
}

// keepTimeout bounds how long one attempt to write the progress may take.
const keepTimeout = 5 * time.Second
