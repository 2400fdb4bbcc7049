package ingest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/segmentio/kafka-go"
	"go.uber.org/zap"

	"github.com/louver/louver/stream/fetch"
	"github.com/louver/louver/stream/group"
	"github.com/louver/louver/stream/stage"
	"github.com/louver/louver/stream/txn"
	"github.com/louver/louver/windows"
)

// commitEvery is how often progress is committed when nothing was sealed.
const commitEvery = 5 * time.Second

// chunkBytes is the size of a partial's messages: well below the megabyte that brokers take by default.
const chunkBytes = 512 << 10

// flushBytes is how much of sealed bags is gathered before it is sent.
const flushBytes = 4 << 20

// partition reads one input partition for all streams of its topic: it decodes, cuts, seals and commits.
type partition struct {
	*Ingest
	at         stage.Partition
	membership *stage.Membership

	reader    *fetch.Reader
	routes    []*route
	reported  int64 // records below have been read before a restart
	committed group.Offset
	commitAt  time.Time
	waiting   time.Time // since when a cut waits for an open transaction

	forward []txn.Record // bad and late records of the page
	sealed  []txn.Record // partials not sent yet
	bytes   int
}

// run reads until ctx ends. It returns early only with an error that waiting does not mend.
func (p *partition) run(ctx context.Context) error {
	if err := p.open(ctx); err != nil {
		return err
	}
	defer p.close()
	for ctx.Err() == nil {
		page, err := p.reader.Poll(ctx)
		if truncated := (*fetch.TruncatedError)(nil); errors.As(err, &truncated) {
			p.truncate(truncated.End)
			continue
		}
		if err != nil {
			return err
		}
		if page.Lost > 0 {
			p.Metrics.Lost.WithLabelValues(p.at.Topic).Add(float64(page.Lost))
			p.Log.Error("records were deleted before they were read", zap.String("topic", p.at.Topic), zap.Int("partition", p.at.Number), zap.Int64("records", page.Lost))
		}
		// A cut is taken after the fetch and before its records are sorted in: everything fetched so far lies below it.
		if err := p.cut(ctx); err != nil {
			return err
		}
		if err := page.Each(p.add); err != nil {
			return err
		}
		if err := p.sendCopies(ctx); err != nil {
			return err
		}
		if err := p.seal(ctx); err != nil {
			return err
		}
		p.report()
		if time.Now().After(p.commitAt) {
			if err := p.count(ctx, p.at); err != nil {
				return err
			}
			p.commit(ctx)
		}
	}
	return nil
}

// open finds where to begin: at the committed offset, or, for a stream that has none, where its first window can begin.
func (p *partition) open(ctx context.Context) error {
	if err := p.count(ctx, p.at); err != nil {
		return err
	}
	at, err := p.membership.Committed(ctx, p.at)
	if err != nil {
		return err
	}
	before, err := decodeProgress(at.Metadata)
	if err != nil {
		return fmt.Errorf("%s/%d in group %s: %w", p.at.Topic, p.at.Number, p.Names.IngestGroup(), err)
	}
	begin, known := at.Offset, at.Offset >= 0
	p.committed, p.reported = at, before.Read
	for _, s := range p.Streams {
		if s.Input.Topic != p.at.Topic {
			continue
		}
		sealed, ok := before.sealedEnd(s.Name)
		r, err := newRoute(s, p.Starts[s.Name], sealed, ok, p.Hasher)
		if err != nil {
			return err
		}
		p.routes = append(p.routes, r)
		if ok && known {
			continue
		}
		// An event of the first window has a record timestamp of at least its start less max_future.
		first, err := p.Fetch.OffsetAt(ctx, p.at.Topic, p.at.Number, (r.schedule.Start-int64(s.Input.MaxFuture))/int64(time.Millisecond))
		if err != nil {
			return err
		}
		if !known || first < begin {
			begin, known = first, true
		}
	}
	p.reader = p.Fetch.Partition(p.at.Topic, p.at.Number, begin)
	p.commitAt = time.Now().Add(commitEvery)
	p.progressed()
	p.Health.Opened(p.at)
	return nil
}

// progressed tells which window of each stream is the oldest that is not sealed.
func (p *partition) progressed() {
	for _, r := range p.routes {
		if w, ok := r.schedule.After(r.sealed); ok {
			p.Health.Next(p.at, r.stream.Name, w, r.schedule)
		} else {
			p.Health.Finished(p.at, r.stream.Name)
		}
	}
}

func (p *partition) close() {
	for _, r := range p.routes {
		p.hold(r.stream.Name, p.at, held{})
	}
}

// truncate goes on at the end of a log that lost records it had served (an unclean leader election, a topic made anew).
// What the bags hold of them stays counted.
func (p *partition) truncate(end int64) {
	p.Log.Error("the partition ends before the position: records were lost on the brokers", zap.String("topic", p.at.Topic), zap.Int("partition", p.at.Number))
	p.reader = p.Fetch.Partition(p.at.Topic, p.at.Number, end)
	p.reported = min(p.reported, end)
	for _, r := range p.routes {
		r.truncate(end)
	}
}

// cut takes the partition's end as the cut of every window that has become due.
func (p *partition) cut(ctx context.Context) error {
	now := time.Now().UnixNano()
	end := int64(-1)
	for _, r := range p.routes {
		through, ok := r.due(now)
		if !ok {
			continue
		}
		if end < 0 {
			ends, err := p.Fetch.Ends(ctx, p.at.Topic, []int{p.at.Number})
			if err != nil {
				return err
			}
			end = ends[p.at.Number]
		}
		r.cutAt(through, end)
	}
	return nil
}

// add sorts one record into the bags of every stream of the topic.
func (p *partition) add(rec *fetch.Record) error {
	for _, r := range p.routes {
		v := r.add(rec.Offset, rec.Time*int64(time.Millisecond), rec.Key, rec.Value)
		if rec.Offset < p.reported {
			continue
		}
		switch {
		case v.rejected != 0 && r.stream.Rejects != "":
			p.copyOut(r.stream.Rejects, rec, r.stream.Name, v.rejected.String())
		case v.late && r.stream.Late != "":
			p.copyOut(r.stream.Late, rec, r.stream.Name, "late")
		}
	}
	return nil
}

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
		err := p.send(ctx, copies)
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
		err := p.send(ctx, copies[i:i+1])
		if errors.Is(err, txn.ErrTooLarge) {
			p.Metrics.ForwardFailure.WithLabelValues(topic).Inc()
			p.Log.Warn("a copy is too large for its topic and is left out", zap.String("topic", topic))
		} else if err != nil {
			return err
		}
	}
	return nil
}

// seal sends the partial of every window whose cut has been reached, and commits.
func (p *partition) seal(ctx context.Context) error {
	position := p.reader.Position()
	any := false
	for _, r := range p.routes {
		err := r.ready(position, func(w windows.Window, b *windows.Bag, cut int64) error {
			any = true
			return p.partial(ctx, r, w, b, cut)
		})
		if err != nil {
			return err
		}
	}
	if !any {
		return nil
	}
	if err := p.sendSealed(ctx); err != nil {
		return err
	}
	p.progressed()
	p.commit(ctx)
	return nil
}

func (p *partition) partial(ctx context.Context, r *route, w windows.Window, b *windows.Bag, cut int64) error {
	if b == nil {
		b = windows.NewBag(r.bagSpec(w))
	}
	partial := windows.Partial{Stream: r.stream.Name, Window: w, Partition: p.at.Number, Partitions: p.total(p.at.Topic), Cut: cut,
		ValuesOnly: r.stream.Input.UserPartitioned, Payload: b.Seal(r.stream.Input.UserPartitioned)}
	if _, err := rand.Read(partial.Attempt[:]); err != nil {
		return err
	}
	budget := r.stream.Budget.Name
	for _, chunk := range partial.Chunks(chunkBytes) {
		p.sealed = append(p.sealed, txn.Record{Topic: p.Names.Partials(), Partition: p.Place(budget), Key: []byte(budget), Value: chunk, Time: time.Now().UnixMilli()})
		p.bytes += len(chunk)
	}
	if p.bytes < flushBytes {
		return nil
	}
	return p.sendSealed(ctx)
}

// send writes the records; it retries until it succeeds or ctx ends.
func (p *partition) send(ctx context.Context, records []txn.Record) error {
	if len(records) == 0 {
		return nil
	}
	return txn.Send(ctx, p.Conn.Client, records, txn.OnRetry(p.Writing(records[0].Topic)))
}

// sendSealed writes the partials that are queued.
func (p *partition) sendSealed(ctx context.Context) error {
	err := p.send(ctx, p.sealed)
	p.sealed, p.bytes = p.sealed[:0], 0
	return err
}

// commit remembers the lowest offset that an open window needs. A commit that fails is made up for by a later one: what
// is read again is counted again in the same windows.
func (p *partition) commit(ctx context.Context) {
	p.commitAt = time.Now().Add(commitEvery)
	position := p.reader.Position()
	next := progress{Read: max(position, p.reported), Sealed: map[string]int64{}}
	offset := position
	for _, r := range p.routes {
		offset = min(offset, r.needs(position))
		next.Sealed[r.stream.Name] = r.sealed / int64(time.Second)
	}
	metadata, err := next.encode()
	if err == nil && offset == p.committed.Offset && metadata == p.committed.Metadata {
		return
	}
	if err == nil {
		err = p.membership.Commit(ctx, p.at, offset, metadata)
	}
	if err == nil {
		p.committed.Offset, p.committed.Metadata = offset, metadata
	} else if ctx.Err() == nil {
		p.Log.Info("progress not committed, will be later", zap.String("topic", p.at.Topic), zap.Int("partition", p.at.Number), zap.Error(err))
	}
}
