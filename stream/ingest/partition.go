package ingest

import (
	"context"
	"errors"
	"math"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/kafka/kafkaconn"
	"github.com/louver/louver/stream/kafka/txn"
	"github.com/louver/louver/stream/progress"
	"github.com/louver/louver/stream/stage"
)

// partition reads one input partition for all streams of its topic: it decodes, cuts, and writes parts and marks.
//
// Offsets in routes and marks include the base; the reader's offsets do not.
type partition struct {
	*Ingest
	at         stage.Partition
	membership *stage.Membership
	kept       *stage.Latest[progress.Input]

	reader   *fetch.Reader
	routes   []*route
	lanes    []lane // the routes that take events
	base     int64
	id       string // the topic's id; "" if unknown
	former   string // the id of the previous topic of this name
	reported int64  // records below were already seen before a restart
	flushAt  time.Time
	askAt    time.Time // when to ask for the partition count again
	fewer    time.Time // when the topic first seemed to have lost partitions
	waiting  time.Time // when a cut began to wait for an open transaction
	hanging  int64     // where the transaction logged as hung begins; −1 if none

	forward      []txn.Record // bad and late records not copied yet
	forwardBytes int
	copyAt       map[string]time.Time // when to retry a topic that took no copies
	queue        []txn.Record         // parts and marks not sent yet
	bytes        int
	unseen       int // records added since the last check of the bags' size

	heard      time.Time   // when the broker last answered
	failed     atomic.Bool // a request has failed since
	waitsAgain bool        // some windows wait because the broker was away
}

// flushEvery is the time between two writes of parts. A restart rereads about that much.
const flushEvery = 30 * time.Second

// askEvery is how often an idle partition asks how many partitions its topic has.
const askEvery = 5 * time.Second

// run reads until ctx ends. It returns early only with a permanent error.
func (p *partition) run(ctx context.Context) error {
	// Write the last progress even after ctx ends, unless the brokers take too long.
	kept, stop := context.WithCancel(context.WithoutCancel(ctx))
	p.kept = stage.NewLatest(kept, p.keep)
	defer func() {
		stop()
		p.kept.Wait()
	}()
	if err := p.open(ctx); err != nil {
		return err
	}
	defer p.close()
	for ctx.Err() == nil {
		if err := p.round(ctx); err != nil {
			return err
		}
	}
	return nil
}

// round reads one page and does what is due.
func (p *partition) round(ctx context.Context) error {
	page, err := kafkaconn.Persist(ctx, p.noting(p.Reading(p.at.Topic)), p.reader.Poll)
	if ctx.Err() == nil {
		p.answered(p.reader.Retried())
	}
	if truncated := (*fetch.TruncatedError)(nil); errors.As(err, &truncated) {
		if renewed, err := p.renewed(ctx, 0); renewed || err != nil {
			return err
		}
		p.truncate(truncated.End)
		return nil
	}
	if p.skip(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if page.Lost > 0 {
		p.lose(page.Lost, errors.New("the topic deleted them before they were read"))
	}
	// Take the cut between the fetch and adding its records: everything fetched so far lies below the cut.
	if err := p.cut(ctx); err != nil {
		return err
	}
	err = page.Each(func(r *fetch.Record) error { return p.add(ctx, r) })
	if err != nil && !p.skip(err) {
		return err
	}
	if err := p.sendCopies(ctx); err != nil {
		return err
	}
	if err := p.flush(ctx); err != nil {
		return err
	}
	p.report()
	p.tellAgain()
	p.hung(ctx)
	if time.Now().After(p.askAt) {
		p.recount(ctx)
		p.askAt = time.Now().Add(askEvery)
		if _, err := p.renewed(ctx, askEvery); err != nil {
			return err
		}
	}
	return nil
}

// skip moves past a batch that can't be read, if err is about one. Only its records are lost.
func (p *partition) skip(err error) bool {
	n, ok := p.reader.Skip(err)
	if ok {
		p.lose(n, err)
	}
	return ok
}

// open finds where to begin: where the last worker flushed or, for a stream without progress, where the events of its
// first window may begin.
func (p *partition) open(ctx context.Context) error {
	if err := p.count(ctx); err != nil {
		return err
	}
	var before progress.Input
	known, err := p.Progress.Read(ctx, progress.InputKey(p.at.Topic, p.at.Number), &before)
	if err != nil {
		return err
	}
	begin := before.Offset
	p.base, p.reported, p.id, p.former = before.Base, before.Read, before.TopicID, before.Former
	fresh := map[*route]int64{} // routes without progress, and the offset from which on none of their records is missing
	for _, e := range p.Editions {
		s := e.Stream
		if s.Input.Topic != p.at.Topic {
			continue
		}
		r, err := newRoute(e, p.Hasher, p.Schemas)
		if err != nil {
			return err
		}
		r.traffic = p.traffic[s.Name]
		p.routes = append(p.routes, r)
		if sp, ok := before.Streams[progress.StreamKey(r.stream.Name, r.edition)]; ok {
			r.resume(sp)
			continue
		}
		first, oldest, err := p.first(ctx, r)
		if err != nil {
			return err
		}
		r.from = first + p.base
		fresh[r] = oldest + p.base
		r.through = max(r.through, p.spared(r))
		if !known || first < begin {
			begin, known = first, true
		}
	}
	p.lanes = lanes(p.routes)
	p.reader = p.Fetch.Partition(p.at.Topic, p.at.Number, begin)
	if _, err := p.renewed(ctx, 0); err != nil {
		return err
	}
	now := time.Now()
	p.flushAt, p.askAt = now.Add(flushEvery), now.Add(askEvery)
	for _, r := range p.routes { // the first mark says which windows are cut, and which records hold none of a fresh route's events
		begin := r.from
		if oldest, ok := fresh[r]; ok {
			r.from = oldest
		}
		if err := p.mark(ctx, r, begin); err != nil {
			return err
		}
	}
	p.vanished()
	p.progressed()
	p.Health.Opened(p.at)
	if err := p.send(ctx); err != nil {
		return err
	}
	p.heard = time.Now()
	if since, back := p.Monitor.Away(); !since.IsZero() {
		p.returned(since, back)
	}
	return nil
}

// first returns the offset of the first record that a route without progress reads, and the offset of the oldest record
// that exists, if that is lower. The records of the first window have timestamps of at least its start minus max_future.
// All records below the first have earlier ones. While the start lies ahead, the first is the partition's end, so another
// worker may find a later one.
func (p *partition) first(ctx context.Context, r *route) (first, oldest int64, err error) {
	first, err = p.Fetch.OffsetAt(ctx, p.at.Topic, p.at.Number, (r.schedule.Start-int64(r.stream.Input.MaxFuture))/int64(time.Millisecond))
	if err != nil {
		return 0, 0, err
	}
	starts, err := p.Fetch.Starts(ctx, p.at.Topic, []int{p.at.Number})
	return first, min(first, starts[p.at.Number]), err
}

// progressed reports the oldest window of each stream that is not cut.
func (p *partition) progressed() {
	for _, l := range p.lanes {
		oldest := l[len(l)-1]
		if w, ok := oldest.schedule.After(oldest.through); ok {
			p.Health.Next(p.at, oldest.stream.Name, w, oldest.schedule)
		} else {
			p.Health.Finished(p.at, oldest.stream.Name)
		}
	}
}

func (p *partition) close() {
	for _, r := range p.routes {
		p.hold(r.stream.Name, p.at, held{})
	}
	p.Monitor.Episodes.Forget(p.hungKey())
}

// position is the reader's position plus the base.
func (p *partition) position() int64 { return p.reader.Position() + p.base }

// lose records that records just below the position could not be read.
func (p *partition) lose(n int64, why error) {
	p.missing(n)
	p.Log.Error("records are lost: windows that they may belong to will be marked incomplete",
		zap.String("topic", p.at.Topic), zap.Int("partition", p.at.Number), zap.Int64("records", n), zap.Error(why))
}

// missing counts records that could not be read.
func (p *partition) missing(n int64) {
	p.Metrics.Lost.WithLabelValues(p.at.Topic).Add(float64(n))
	for _, r := range p.routes {
		r.lose(n)
	}
}

// truncate continues at the end of a log that has lost records which it had served, as after an unclean leader
// election. Records in the bags stay counted. The base grows, so offsets still increase.
func (p *partition) truncate(end int64) {
	p.base += p.reader.Position() - end + atLeast
	p.reader = p.Fetch.Partition(p.at.Topic, p.at.Number, end)
	p.capCuts()
	p.lose(atLeast, errors.New("the partition ends before the position already read: the topic was recreated, or the brokers lost records"))
}

// brokerAhead is how far ahead of its own time a broker allows a record's timestamp by default.
const brokerAhead = time.Hour

// cut takes the partition's end as the cut of every window that has become due. While the clock is not trusted, no
// window becomes due and no event counts as too far ahead.
func (p *partition) cut(ctx context.Context) error {
	now, err := p.Clock.Now()
	for _, r := range p.routes {
		r.horizon = math.MaxInt64
		if err == nil {
			r.horizon = now.Add(brokerAhead + r.stream.Input.MaxFuture).UnixNano()
		}
	}
	if err != nil {
		return nil
	}
	end := int64(-1)
	for _, r := range p.routes {
		through, ok := r.due(now.UnixNano())
		if !ok {
			p.Clock.Confirmed(time.Unix(0, r.nextDue())) // so that the answer is there in time
			continue
		}
		if p.held(r) || !p.Clock.Confirmed(time.Unix(0, through+int64(r.schedule.Grace))) {
			continue
		}
		if end < 0 {
			ends, err := kafkaconn.Persist(ctx, p.noting(p.Reading(p.at.Topic)), func(ctx context.Context) (map[int]int64, error) {
				return p.Fetch.Ends(ctx, p.at.Topic, []int{p.at.Number})
			})
			if err != nil {
				return err
			}
			end = ends[p.at.Number]
			if p.answered(false); p.held(r) {
				continue
			}
		}
		p.cutAt(r, through, max(end+p.base, r.from))
	}
	return nil
}

// add puts one record into the bags of every stream of the topic. If the record has reached a stream's cut, it writes
// the bags first. A page can unpack to any size, so bags and copies are also written in the middle of it.
func (p *partition) add(ctx context.Context, rec *fetch.Record) error {
	offset := rec.Offset + p.base
	if p.unseen++; p.unseen >= p.unchecked() {
		p.unseen = 0
		if err := p.relieve(ctx, offset); err != nil {
			return err
		}
	}
	for _, l := range p.lanes {
		for _, r := range l {
			for r.reached(offset) {
				if err := p.mark(ctx, r, r.cuts[0].offset); err != nil {
					return err
				}
			}
			if r.preparer != nil {
				if err := p.prepare(ctx, r.preparer, rec); err != nil {
					return err
				}
			}
		}
		v, r := l.add(offset, rec.Time*int64(time.Millisecond), rec), l[0]
		if offset < p.reported || v.before {
			continue
		}
		r.fresh.count(v)
		switch {
		case v.rejected != 0 && r.stream.Rejects != "":
			p.copyOut(r.stream.Rejects, rec, r.stream.Name, v.rejected.String())
		case v.late && r.stream.Late != "":
			p.copyOut(r.stream.Late, rec, r.stream.Name, "late")
		}
	}
	if p.forwardBytes >= queueBytes {
		return p.sendCopies(ctx)
	}
	return nil
}
