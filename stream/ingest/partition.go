package ingest

import (
	"context"
	"errors"
	"math"
	"strconv"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/louver/louver/stream/codec"
	"github.com/louver/louver/stream/episode"
	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/kafka/kafkaconn"
	"github.com/louver/louver/stream/kafka/topics"
	"github.com/louver/louver/stream/progress"
	"github.com/louver/louver/stream/stage"
)

// partition reads one input partition for all streams of its topic: it decodes, cuts, and writes parts and marks. Its
// parts share the input.
type partition struct {
	input
	membership *stage.Membership
	away       away
	out        output
	cuts       cuts
	undecided  undecided
	copies     copies
	report     report
	speller    speller
	live       bool // a page has come: what lies behind its end comes while it is read
}

func newPartition(g *Ingest, at stage.Partition, m *stage.Membership) *partition {
	p := &partition{input: input{Ingest: g, at: at}, membership: m}
	p.away.input = &p.input
	p.undecided = undecided{input: &p.input, take: p.take}
	p.out = output{input: &p.input, away: &p.away, undecided: &p.undecided}
	p.cuts = cuts{input: &p.input, away: &p.away, out: &p.out}
	p.copies = copies{Env: g.Env, at: at, retry: map[string]time.Time{}}
	p.speller = speller{topic: at.Topic, all: &g.spellings}
	p.report = report{input: &p.input, hanging: -1}
	return p
}

// askEvery is how often an idle partition asks how many partitions its topic has.
const askEvery = 5 * time.Second

// run reads until ctx ends. It returns early only with a permanent error.
func (p *partition) run(ctx context.Context) error {
	// Write the last progress even after ctx ends, unless the brokers take too long. Otherwise the next worker would
	// read records once more, and report them again.
	p.kept = stage.NewLatest(context.WithoutCancel(ctx), p.keep)
	defer p.kept.Finish()
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
	p.reader.WaitAtMost(p.cuts.untilDue())
	page, err := kafkaconn.Persist(ctx, p.away.noting(p.Reading(p.at.Topic)), p.reader.Poll)
	if ctx.Err() == nil {
		p.away.answered(p.reader.Retried())
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
	if !p.live {
		p.live = true
		for _, r := range p.routes {
			r.came, r.opened = p.reader.LastStable()+p.base, p.Now().UnixNano()
		}
	}
	if page.Lost > 0 {
		p.lose(page.Lost, errors.New("the topic deleted them before they were read"))
	}
	// Take the cut between the fetch and adding its records: everything fetched so far lies below the cut.
	if err := p.cuts.cut(ctx); err != nil {
		return err
	}
	err = page.Each(func(r *fetch.Record) error { return p.add(ctx, r) })
	if err != nil && !p.skip(err) {
		return err
	}
	p.undecided.sweep()
	if err := p.copies.send(ctx); err != nil {
		return err
	}
	if err := p.out.flush(ctx); err != nil {
		return err
	}
	p.out.holds()
	p.report.page()
	p.away.tellAgain()
	p.report.hung(ctx)
	if time.Now().After(p.cuts.askAt) {
		p.cuts.recount(ctx)
		p.cuts.askAt = time.Now().Add(askEvery)
		if p.Inputs.Certain(p.at.Topic) != math.MaxInt64 { // windows wait
			p.cuts.askAt = time.Now().Add(askEvery / 5)
		}
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
	if err := p.cuts.count(ctx); err != nil {
		return err
	}
	var before progress.Input
	known, err := p.Progress.Read(ctx, progress.InputKey(p.at.Topic, p.at.Number), &before)
	if err != nil {
		return err
	}
	begin := before.Offset
	p.base, p.reported, p.id, p.former = before.Base, before.Read, before.TopicID, before.Former
	// routes without progress, and the offset from which on none of their records is missing
	fresh := map[*route]int64{}
	for _, e := range p.Editions {
		s := e.Stream
		if s.Input.Topic != p.at.Topic {
			continue
		}
		var registered codec.Schemas // nil and not a nil pointer if there is no registry
		if p.schemas != nil {
			registered = p.schemas
		}
		r, err := newRoute(e, p.Hasher, registered)
		if err != nil {
			return err
		}
		r.share(p.routes)
		r.traffic = p.traffic[s.Name]
		r.traffic.between(r.schedule)
		p.routes = append(p.routes, r)
		if sp, ok := before.Streams[progress.StreamKey(r.stream.Name, r.edition)]; ok {
			r.resume(sp)
			r.through = max(r.through, p.cuts.spared(r))
			continue
		}
		first, oldest, err := p.first(ctx, r)
		if err != nil {
			return err
		}
		r.from = first + p.base
		fresh[r] = oldest + p.base
		if _, before := before.Streams[s.Name]; !before && e.Number == 0 {
			r.traffic.skip(first - oldest)
		}
		r.through = max(r.through, p.cuts.spared(r))
		if !known || first < begin {
			begin, known = first, true
		}
	}
	p.sort()
	p.reader = p.Fetch.Partition(p.at.Topic, p.at.Number, begin)
	if _, err := p.renewed(ctx, 0); err != nil {
		return err
	}
	now := time.Now()
	p.out.flushAt, p.cuts.askAt = now.Add(flushEvery), now.Add(askEvery)
	// The first mark says which windows are cut, and which records hold no event of a fresh route.
	for _, r := range p.routes {
		begin := r.from
		if oldest, ok := fresh[r]; ok {
			r.from = oldest
		}
		if err := p.out.mark(ctx, r, begin); err != nil {
			return err
		}
	}
	follow(p.lanes)
	p.sort()
	p.cuts.vanished()
	p.progressed()
	p.Health.Opened(p.at)
	if err := p.out.send(ctx); err != nil {
		return err
	}
	p.last = p.progress()
	p.away.heard = time.Now()
	if since, back := p.Monitor.Away(); !since.IsZero() {
		p.away.returned(since, back)
	}
	return nil
}

// first returns the offset of the first record that a route without progress reads, and the offset of the oldest record
// that exists, if that is lower. The records of the first window have timestamps of at least its start minus
// max_future. All records below first have earlier timestamps. While the start lies ahead, first is the partition's
// end, so another worker may find a later one.
func (p *partition) first(ctx context.Context, r *route) (first, oldest int64, err error) {
	first, err = p.Fetch.OffsetAt(ctx, p.at.Topic, p.at.Number,
		(r.schedule.Start-int64(r.stream.Input.MaxFuture))/int64(time.Millisecond))
	if err != nil {
		return 0, 0, err
	}
	starts, err := p.Fetch.Starts(ctx, p.at.Topic, []int{p.at.Number})
	return first, min(first, starts[p.at.Number]), err
}

func (p *partition) close() {
	for _, r := range p.routes {
		p.hold(r.stream.Name, p.at, held{})
	}
	p.Metrics.CutWait.DeleteLabelValues(p.at.Topic, strconv.Itoa(p.at.Number))
	p.asides.put(p.at, waiting{})
	p.Monitor.Episodes.Forget(p.report.hungKey())
}

// add puts one record into the bags of every stream of the topic. If the record has reached a stream's cut, it writes
// the bags first. A page can unpack to any size, so bags and copies are also written in the middle of it.
func (p *partition) add(ctx context.Context, rec *fetch.Record) error {
	offset := rec.Offset + p.base
	if p.out.unseen--; p.out.unseen < 0 {
		p.out.unseen = p.out.unchecked()
		if err := p.out.relieve(ctx, offset); err != nil {
			return err
		}
	}
	kept := false
	for _, l := range p.leading {
		named := false // records name their schemas
		for _, r := range l {
			for r.reached(offset) {
				if err := p.out.mark(ctx, r, r.cuts[0].offset); err != nil {
					return err
				}
			}
			named = named || r.decoding.preparer != nil
		}
		if named && p.undecided.keep(l, offset, rec) {
			kept = true
			continue
		}
		p.take(l, offset, rec)
	}
	if kept {
		if err := p.undecided.relieve(ctx); err != nil {
			return err
		}
	}
	if p.copies.bytes >= queueBytes {
		return p.copies.send(ctx)
	}
	return nil
}

// take offers a record to a lane and counts what becomes of it.
func (p *partition) take(l lane, offset int64, rec *fetch.Record) {
	v, r := l.add(offset, rec), l[0]
	if offset < p.reported || v.when == seenBefore {
		return
	}
	r.fresh.count(v)
	if r.decoding.bareKeys && codec.Framed(rec.Key) {
		r.fresh.framed++
	}
	if r.stream.Input.User == codec.KeyField {
		if other, looked := p.speller.look(rec.Key); looked {
			r.fresh.spelled++
			if other {
				r.fresh.respelled++
			}
		}
	}
	if v.rejected != 0 {
		r.fresh.why(v.rejected, r.decoding)
	}
	if v.when == outside {
		r.fresh.strayed(r.decoding.event.Time)
	}
	if v.rejected != 0 || v.late() {
		p.copy(r, rec, v)
	}
}

// copy queues copies of a bad or late record for the streams that want one.
func (p *partition) copy(leader *route, rec *fetch.Record, v verdict) {
	for _, r := range leader.all() {
		switch {
		case v.rejected != 0 && r.stream.Rejects != "":
			p.copies.add(r.stream.Rejects, rec, r.stream.Name, v.rejected.String(), leader.decoding.fault.cause)
		case v.late() && r.stream.Late != "":
			p.copies.add(r.stream.Late, rec, r.stream.Name, "late", "")
		}
	}
}

// keep writes the progress. It also commits the offset for the group, but only so that other tools see the lag.
func (p *partition) keep(ctx context.Context, next progress.Input) error {
	ctx, cancel := context.WithTimeout(ctx, keepTimeout)
	defer cancel()
	err := p.Progress.Put(ctx, progress.InputKey(p.at.Topic, p.at.Number), next)
	p.Writing(p.Names.Progress())(err)
	if err != nil {
		return err
	}
	if err := p.membership.Commit(ctx, p.at, next.Offset, ""); err != nil {
		p.Log.Debug("offset not committed yet", zap.String("topic", p.at.Topic), zap.Int("partition", p.at.Number),
			zap.Error(err))
	}
	return nil
}

// keepTimeout bounds how long one attempt to write the progress may take.
const keepTimeout = 5 * time.Second

// renewed checks whether the topic was deleted and recreated. If so, it continues at the start of the new topic,
// whatever its length, because none of its records counts as read. Some may have been read already, at offsets of the
// old topic. They are read again, which is harmless. The base grows, so offsets still increase.
func (p *input) renewed(ctx context.Context, age time.Duration) (bool, error) {
	id, err := p.topics.of(ctx, p.Env, p.at.Topic, age)
	if err != nil || id == "" || id == p.id || id == p.former {
		return false, err
	}
	if p.id == "" { // none was known until now
		p.id = id
		return false, nil
	}
	p.former, p.id = p.id, id
	p.base = max(p.position(), p.reported)
	for _, r := range p.routes {
		p.base = max(p.base, r.from)
	}
	p.base += atLeast
	p.reader = p.Fetch.Partition(p.at.Topic, p.at.Number, 0)
	p.capCuts()
	p.missing(atLeast)
	p.Monitor.Episodes.On("topic recreated: "+id, episode.Rule{},
		"an input topic was deleted and recreated: it is read from its start, and windows that lost records may "+
			"belong to will be marked incomplete",
		zap.String("topic", p.at.Topic), zap.String("id_before", p.former), zap.String("id", p.id))
	return true, nil
}

// truncate continues at the end of a log that has lost records which it had served, as after an unclean leader
// election. Records in the bags stay counted. The base grows, so offsets still increase.
func (p *input) truncate(end int64) {
	p.base += p.reader.Position() - end + atLeast
	p.reader = p.Fetch.Partition(p.at.Topic, p.at.Number, end)
	p.capCuts()
	p.lose(atLeast, errors.New("the partition ends before the position already read: the topic was recreated, or the "+
		"brokers lost records"))
}

// atLeast is how many records count as lost if the number is unknown. They take up offsets, so cuts come after them.
const atLeast = 1

// capCuts moves cuts back to the end of a log that has become shorter: the records beyond it will never come.
func (p *input) capCuts() {
	for _, r := range p.routes {
		for i := range r.cuts {
			r.cuts[i].offset = min(r.cuts[i].offset, p.position())
		}
	}
}

// identities are the ids of topics. All partitions of a process share them. They are safe for concurrent use.
type identities struct {
	mu    sync.Mutex
	known map[string]identity
}

type identity struct {
	id    string
	asked time.Time
}

// of returns the id of a topic, or "" if the broker has none. The answer is at most age old. It retries until it
// succeeds or ctx ends.
func (i *identities) of(ctx context.Context, env stage.Env, topic string, age time.Duration) (string, error) {
	i.mu.Lock()
	known, ok := i.known[topic]
	i.mu.Unlock()
	if ok && time.Since(known.asked) < age {
		return known.id, nil
	}
	asked := time.Now()
	id, err := kafkaconn.Persist(ctx, env.Reading(topic), func(ctx context.Context) (string, error) {
		return topics.ID(ctx, env.Conn.Client, topic)
	})
	if err != nil {
		return "", err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.known == nil {
		i.known = map[string]identity{}
	}
	i.known[topic] = identity{id, asked}
	return id, nil
}
