package ingest

import (
	"context"
	"crypto/rand"
	"math"
	"time"

	"github.com/louver/louver/stream/kafka/kafkaconn"
	"github.com/louver/louver/stream/kafka/txn"
	"github.com/louver/louver/windows"
)

// messageBytes is the size of a part's messages: well below the megabyte that brokers take by default.
const messageBytes = 512 << 10

// queueBytes is how much is collected before it is sent.
const queueBytes = 4 << 20

// output writes the bags of a partition's routes as parts, and marks.
type output struct {
	*input
	away      *away
	undecided *undecided
	flushAt   time.Time
	queue     []txn.Record // parts and marks not sent yet
	bytes     int
	unseen    int // records that may be added until the next check of the bags' size
}

// flushEvery is the time between two writes of parts. A restart rereads about that much.
const flushEvery = 30 * time.Second

// flush writes the parts and marks of routes that have reached a cut or were flushed long ago, or of all routes if the
// bags are too large. Records in acknowledged parts need not be read again.
func (p *output) flush(ctx context.Context) error {
	position, now := p.position(), time.Now()
	all := now.After(p.flushAt) || p.crowded()
	flushed := false
	for _, r := range p.routes {
		if r.follows != nil {
			continue
		}
		for r.reached(position) {
			if err := p.mark(ctx, r, r.cuts[0].offset); err != nil {
				return err
			}
			flushed = true
		}
		if all && !r.quiet(position, now) {
			if err := p.mark(ctx, r, position); err != nil {
				return err
			}
			flushed = true
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
	p.keepProgress()
	return nil
}

// relieveEvery is the number of records between two checks of the bags' size. Where many streams have bags it is less,
// because a record may go into a bag of each: relieveBags is how often records may go into bags between two checks.
const (
	relieveEvery = 1 << 14
	relieveBags  = 1 << 17
)

// unchecked is how many records may be added to the bags before their size is checked.
func (p *output) unchecked() int {
	bags := 0
	for _, r := range p.routes {
		if r.follows == nil {
			bags++
		}
	}
	return max(1, min(relieveEvery, relieveBags/max(1, bags)))
}

// relieve writes the bags in the middle of a page if those of the process use more memory than allowed. A page may
// unpack to many times its size. The bags hold the records below to.
func (p *output) relieve(ctx context.Context, to int64) error {
	p.holds()
	if !p.crowded() {
		return nil
	}
	for _, r := range p.routes {
		if r.follows != nil {
			continue
		}
		if err := p.mark(ctx, r, to); err != nil {
			return err
		}
	}
	p.holds()
	return p.send(ctx)
}

// crowded reports whether the bags of this process are too large and this partition's share is not small.
func (p *output) crowded() bool {
	var own int64
	for _, r := range p.routes {
		own += r.bytes()
	}
	all, partitions := p.heldBytes()
	return all > p.BagBytes && own*int64(partitions) >= all
}

// mark queues what a route and those that follow it have collected below to, followed by their marks. It sends along
// the way.
func (p *output) mark(ctx context.Context, r *route, to int64) error {
	if r.reached(to) { // windows are cut: first decide what can be decided of their records
		if err := p.undecided.await(ctx, r); err != nil {
			return err
		}
	}
	origin := windows.Origin{Partition: p.at.Number}
	_, _ = rand.Read(origin.Attempt[:]) // never fails
	mark, err := r.flush(to, origin, p.Inputs.Partitions(p.at.Topic, math.MaxInt64), func(part windows.Part) error {
		for _, r := range r.all() {
			part.Stream, part.Epoch = r.stream.Name, r.edition
			for head, share := range part.Split(messageBytes) {
				p.put(r, head, share)
				p.Metrics.PartBytes.WithLabelValues(r.stream.Name).Add(float64(len(head) + len(share)))
			}
			if err := p.sendIfMuch(ctx); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, r := range r.all() {
		mark.Stream, mark.Epoch = r.stream.Name, r.edition
		p.put(r, mark.Message(), nil)
	}
	if r.finished() {
		p.sort()
	}
	return p.sendIfMuch(ctx)
}

// put queues a message, which may be in two pieces, for the stage that decides the route's windows.
func (p *output) put(r *route, message, rest []byte) {
	budget := r.stream.Budget.Name
	p.queue = append(p.queue, txn.Record{Topic: p.Names.Partials(), Partition: p.Place(budget), Key: []byte(budget),
		Value: message, Rest: rest, Time: time.Now().UnixMilli()})
	p.bytes += len(message) + len(rest)
}

func (p *output) sendIfMuch(ctx context.Context) error {
	if p.bytes < queueBytes {
		return nil
	}
	return p.send(ctx)
}

// send writes the queue. It retries after any broker error until it succeeds or ctx ends.
func (p *output) send(ctx context.Context) error {
	if len(p.queue) == 0 {
		return nil
	}
	writing := p.away.noting(p.Writing(p.Names.Partials()))
	_, err := kafkaconn.Persist(ctx, writing, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, txn.Send(ctx, p.Conn.Client, p.queue, txn.OnRetry(writing), txn.Packed())
	})
	clear(p.queue)
	p.queue, p.bytes = p.queue[:0], 0
	return err
}

// holds reports what the bags of this partition hold.
func (p *output) holds() {
	for _, l := range p.lanes {
		var h held
		for _, r := range l {
			of := heldOf(r)
			h.windows += of.windows
			h.bytes += of.bytes
		}
		p.hold(l[0].stream.Name, p.at, h)
	}
}

// heldOf returns what the bags of a route hold. Routes that share bags have equal parts of the bytes.
func heldOf(r *route) held {
	leader := r.leader()
	return held{windows: len(leader.bags), bytes: leader.bytes() / int64(1+len(leader.followers))}
}
