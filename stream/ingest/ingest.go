// Package ingest is the first stage: it reads the input topics, gathers events in bags, and writes the bags as parts of
// windows.
//
// A window closes by the clock. When it is due, the partition's end becomes the window's cut. Records below the cut
// count, and records at or above it are late, however far the reader has come.
//
// Bags do not wait for their windows. They are written as parts every half minute, when a cut is reached, and when they
// take more than their share of memory. So neither a long window nor a backlog needs more memory. A mark follows the
// parts. It says which records they hold and which windows are cut. Once the broker has acknowledged the parts and the
// mark, the progress advances, and a new worker would begin there. Reading some records twice is harmless: see
// [windows.Part]. Where contributions add up, the reader of the marks finds a line of them that has each record once.
// It relies on this: parts come before their mark, and both reach the log before anything that follows; a mark begins
// where the worker's last one ended, or at the progress, which is the end of a mark that the broker has acknowledged;
// and a mark ends at every cut.
//
// A partition's worker has a reader, which says what is read into which streams. Its other parts share that: outage,
// cutter, writer (of bags), undecided, copies and report. round says in which order they work.
package ingest

import (
	"context"
	"errors"
	"math"
	"slices"
	"strconv"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/louver/louver/stream/clock"
	"github.com/louver/louver/stream/codec"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/control"
	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/kafka/group"
	"github.com/louver/louver/stream/kafka/kafkaconn"
	"github.com/louver/louver/stream/progress"
	"github.com/louver/louver/stream/stage"
	"github.com/louver/louver/windows"
)

// Ingest is the stage. Fields must not change while it runs.
type Ingest struct {
	stage.Env
	// Editions are the definitions of all streams, in the order of their numbers.
	Editions []config.Edition
	Hasher   *windows.Hasher
	// Clock says when windows are due.
	Clock clock.Clock
	// Place returns the partition of the partials for a budget's windows.
	Place func(budget string) int
	// BagBytes is how much memory the open bags of this process may take before they are written.
	BagBytes int64
	// Group is the membership of the input topics' consumer group.
	Group group.Config

	// Schemas has the schemas of records that name one by its id; nil if there is no registry.
	Schemas codec.Registry
	// Inputs says how many partitions of its input a window takes.
	Inputs *control.Inputs

	mu   sync.Mutex
	held map[string]map[stage.Partition]held // by stream

	traffic  map[string]*traffic // by stream
	schemas  *schemas            // nil if there is no registry
	asides   asides
	topics   identities
	absences absences
	// spellings are those of keys.
	spellings spellings
}

// held is the memory of one partition for a stream.
type held struct {
	windows int
	bytes   int64
}

// heldBytes returns the size of all partitions' bags, and the number of partitions with any.
func (g *Ingest) heldBytes() (bytes int64, partitions int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	holding := map[stage.Partition]bool{}
	for _, byPartition := range g.held {
		for at, h := range byPartition {
			if h.bytes > 0 {
				bytes += h.bytes
				holding[at] = true
			}
		}
	}
	return bytes, len(holding)
}

// hold records what a partition holds for a stream and sets the gauges, which are sums over partitions.
func (g *Ingest) hold(stream string, at stage.Partition, h held) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if before, known := g.held[stream][at]; known && before == h {
		return
	}
	if g.held[stream] == nil {
		g.held[stream] = map[stage.Partition]held{}
	}
	g.held[stream][at] = h
	var sum held
	for _, h := range g.held[stream] {
		sum.windows += h.windows
		sum.bytes += h.bytes
	}
	g.Metrics.OpenWindows.WithLabelValues(stream).Set(float64(sum.windows))
	g.Metrics.BagBytes.WithLabelValues(stream).Set(float64(sum.bytes))
}

// Run works until ctx ends.
func (g *Ingest) Run(ctx context.Context) error {
	g.held, g.traffic = map[string]map[stage.Partition]held{}, map[string]*traffic{}
	var all []*traffic
	for _, e := range g.Editions {
		g.traffic[e.Stream.Name] = newTraffic(e.Stream, g.Log, g.Monitor.Episodes) // the newest of several
	}
	for _, t := range g.traffic {
		all = append(all, t)
	}
	watching, stop := context.WithCancel(ctx)
	defer stop()
	go watch(watching, all, g.Health.Reading)
	if g.Schemas != nil {
		g.schemas = newSchemas(g.Schemas, g.Log, g.Monitor.Retrying("the schema registry cannot be read",
			"the schema registry can be read again"))
		go g.schemas.run(watching)
	}
	return stage.Run(ctx, g.Env, g.Group, func(ctx context.Context, at stage.Partition, m *stage.Membership) error {
		return newPartition(g, at, m).run(ctx)
	})
}

// partition reads one input partition for all streams of its topic: it decodes, cuts, and writes parts and marks. Its
// parts share the input.
type partition struct {
	reader
	membership *stage.Membership
	outage     outage
	writer     writer
	cutter     cutter
	undecided  undecided
	copies     copies
	report     report
	speller    speller
	live       bool // a page has come: what lies behind its end comes while it is read
	batches    []lane
	bad        [codec.NumReasons][]int // items of a part by the reason of their rejection; OK: those that were late
}

func newPartition(g *Ingest, at stage.Partition, m *stage.Membership) *partition {
	p := &partition{reader: reader{Ingest: g, at: at}, membership: m}
	p.outage.reader = &p.reader
	p.undecided = undecided{reader: &p.reader, take: p.takeKept}
	p.writer = writer{reader: &p.reader, outage: &p.outage, undecided: &p.undecided}
	p.cutter = cutter{reader: &p.reader, outage: &p.outage, writer: &p.writer}
	p.copies = copies{Env: g.Env, at: at, retry: map[string]time.Time{}}
	p.speller = speller{topic: at.Topic, all: &g.spellings}
	p.report = report{reader: &p.reader, hanging: -1}
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
	p.pages.WaitAtMost(p.cutter.untilDue())
	page, err := kafkaconn.Persist(ctx, p.outage.noting(p.Reading(p.at.Topic)), p.pages.Poll)
	if ctx.Err() == nil {
		p.outage.answered(p.pages.Retried())
	}
	if truncated := (*fetch.TruncatedError)(nil); errors.As(err, &truncated) {
		id, err := p.renewed(ctx, 0)
		switch {
		case err != nil:
			return err
		case id != "":
			return p.renumber(ctx, func() { p.renew(id) })
		}
		return p.renumber(ctx, func() { p.truncate(truncated.End) })
	}
	if p.skip(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if !p.live {
		p.live = true
		for _, in := range p.streams {
			in.came, in.opened = p.pages.LastStable()+p.base, p.Now().UnixNano()
		}
	}
	if page.Lost > 0 {
		p.lose(page.Lost, errors.New("the topic deleted them before they were read"))
	}
	// Take the cut between the fetch and adding its records: everything fetched so far lies below the cut.
	if err := p.cutter.cut(ctx); err != nil {
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
	if err := p.writer.flush(ctx); err != nil {
		return err
	}
	p.writer.holds()
	p.report.page()
	p.outage.tellAgain()
	p.report.hung(ctx)
	if time.Now().After(p.cutter.askAt) {
		p.cutter.recount(ctx)
		p.cutter.askAt = time.Now().Add(askEvery)
		if p.Inputs.Certain(p.at.Topic) != math.MaxInt64 { // windows wait
			p.cutter.askAt = time.Now().Add(askEvery / 5)
		}
		if id, err := p.renewed(ctx, askEvery); err != nil {
			return err
		} else if id != "" {
			return p.renumber(ctx, func() { p.renew(id) })
		}
	}
	return nil
}

// skip moves past a batch that can't be read, if err is about one. Only its records are lost.
func (p *partition) skip(err error) bool {
	n, ok := p.pages.Skip(err)
	if ok {
		p.lose(n, err)
	}
	return ok
}

// open finds where to begin: where the last worker flushed or, for a stream without progress, where the events of its
// first window may begin.
func (p *partition) open(ctx context.Context) error {
	if err := p.cutter.count(ctx); err != nil {
		return err
	}
	var before progress.Input
	known, err := p.Progress.Read(ctx, progress.InputKey(p.at.Topic, p.at.Number), &before)
	if err != nil {
		return err
	}
	begin := before.Offset
	p.base, p.reported, p.id, p.former = before.Base, before.Read, before.TopicID, before.Former
	// streams without progress, and the offset from which on none of their records is missing
	fresh := map[*streamInput]int64{}
	for _, e := range p.Editions {
		s := e.Stream
		if s.Input.Topic != p.at.Topic {
			continue
		}
		var registered codec.Schemas // nil and not a nil pointer if there is no registry
		if p.schemas != nil {
			registered = p.schemas
		}
		in, err := newStreamInput(e, p.Hasher, registered)
		if err != nil {
			return err
		}
		in.share(p.streams)
		in.traffic = p.traffic[s.Name]
		in.traffic.between(in.schedule)
		p.streams = append(p.streams, in)
		if sp, ok := before.Streams[config.EditionKey(in.stream.Name, in.edition)]; ok {
			in.resume(sp)
			in.through = max(in.through, p.cutter.spared(in))
			continue
		}
		first, oldest, err := p.first(ctx, in)
		if err != nil {
			return err
		}
		in.from = first + p.base
		fresh[in] = oldest + p.base
		if _, before := before.Streams[s.Name]; !before && e.Number == 0 {
			in.traffic.skip(first - oldest)
		}
		in.through = max(in.through, p.cutter.spared(in))
		if !known || first < begin {
			begin, known = first, true
		}
	}
	p.sort()
	p.pages = p.Fetch.Partition(p.at.Topic, p.at.Number, begin)
	if id, err := p.renewed(ctx, 0); err != nil {
		return err
	} else if id != "" {
		p.renew(id)
	}
	now := time.Now()
	p.writer.flushAt, p.cutter.askAt = now.Add(flushEvery), now.Add(askEvery)
	// The first mark says which windows are cut, and which records hold no event of a fresh stream.
	for _, in := range p.streams {
		begin := max(in.from, p.base) // lower numbers are of a former topic
		if oldest, ok := fresh[in]; ok {
			in.from = oldest
		}
		if err := p.writer.mark(ctx, in, begin); err != nil {
			return err
		}
	}
	follow(p.lanes)
	p.sort()
	p.cutter.vanished()
	p.progressed()
	p.Health.Opened(p.at)
	if err := p.writer.send(ctx); err != nil {
		return err
	}
	if p.last = p.progress(); len(fresh) > 0 || p.id != before.TopicID {
		// Without it, a new worker would not know which topic this one read, and would not notice that it was recreated.
		p.keepProgress()
	}
	p.outage.heard = time.Now()
	if since, back := p.Monitor.Away(); !since.IsZero() {
		p.outage.returned(since, back)
	}
	return nil
}

// first returns the offset of the first record that a stream without progress reads, and the offset of the oldest
// record that exists, if that is lower. The records of the first window have timestamps of at least its start minus
// max_future. All records below first have earlier timestamps. While the start lies ahead, first is the partition's
// end, so another worker may find a later one.
func (p *partition) first(ctx context.Context, in *streamInput) (first, oldest int64, err error) {
	first, err = p.Fetch.OffsetAt(ctx, p.at.Topic, p.at.Number,
		(in.schedule.Start-int64(in.stream.Input.MaxFuture))/int64(time.Millisecond))
	if err != nil {
		return 0, 0, err
	}
	starts, err := p.Fetch.Starts(ctx, p.at.Topic, []int{p.at.Number})
	return first, min(first, starts[p.at.Number]), err
}

func (p *partition) close() {
	for _, in := range p.streams {
		p.hold(in.stream.Name, p.at, held{})
	}
	p.Metrics.CutWait.DeleteLabelValues(p.at.Topic, strconv.Itoa(p.at.Number))
	p.asides.put(p.at, waiting{})
	p.Monitor.Episodes.Forget(p.report.hungKey())
}

// add puts one record into the bags of every stream of the topic. If the record has reached a stream's cut, it writes
// the bags first. A page can unpack to any size, so bags and copies are also written in the middle of it.
func (p *partition) add(ctx context.Context, rec *fetch.Record) error {
	offset := rec.Offset + p.base
	if p.writer.unseen--; p.writer.unseen < 0 {
		p.writer.unseen = p.writer.unchecked()
		if err := p.writer.relieve(ctx, offset); err != nil {
			return err
		}
	}
	kept := false
	p.batches = p.batches[:0]
	for _, l := range p.leading {
		named, batched := false, false // records name their schemas; they may hold many items
		for _, in := range l {
			for in.reached(offset) {
				if err := p.writer.mark(ctx, in, in.cuts[0].offset); err != nil {
					return err
				}
			}
			named = named || in.decoding.preparer != nil
			batched = batched || in.decoding.batch != nil
		}
		if named && p.undecided.keep(l, offset, rec) {
			kept = true
			continue
		}
		if batched {
			p.batches = append(p.batches, l)
		} else {
			p.take(l, offset, rec)
		}
	}
	if len(p.batches) > 0 {
		items, err := p.takeAll(ctx, p.batches, offset, rec)
		if err != nil {
			return err
		}
		p.writer.unseen -= items
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

// takeKept offers a record to a lane that was kept aside. Another edition of the lane may be in a format whose records
// hold many items.
func (p *partition) takeKept(l lane, offset int64, rec *fetch.Record) {
	if !slices.ContainsFunc(l, func(in *streamInput) bool { return in.decoding.batch != nil }) {
		p.take(l, offset, rec)
		return
	}
	for n := 0; p.takePart(l, offset, n, rec).more; n++ {
	}
}

// take offers a record to a lane and counts what becomes of it.
func (p *partition) take(l lane, offset int64, rec *fetch.Record) {
	v, in := l.add(offset, rec), l[0]
	if offset < p.reported || v.when == seenBefore {
		return
	}
	in.fresh.count(v)
	if v.rejected == codec.Unwanted {
		in.fresh.unmet[in.decoding.one.condition][in.decoding.one.why]++
		return
	}
	if in.decoding.bareKeys && codec.Framed(rec.Key) {
		in.fresh.framed++
	}
	if in.stream.Input.User == codec.KeyField {
		if other, looked := p.speller.look(rec.Key); looked {
			in.fresh.spelled++
			if other {
				in.fresh.respelled++
			}
		}
	}
	if v.rejected != 0 {
		in.fresh.why(v.rejected, in.decoding)
	}
	if v.when == outside {
		in.fresh.strayed(in.decoding.one.time)
	}
	if v.rejected != 0 || v.late() {
		p.copy(in, rec, v, copied{value: rec.Value, cause: in.decoding.fault.cause})
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
