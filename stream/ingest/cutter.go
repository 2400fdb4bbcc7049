package ingest

import (
	"context"
	"crypto/rand"
	"fmt"
	"math"
	"time"

	"go.uber.org/zap"

	"github.com/louver/louver/stream/control"
	"github.com/louver/louver/stream/episode"
	"github.com/louver/louver/stream/kafka/kafkaconn"
	"github.com/louver/louver/stream/kafka/topics"
	"github.com/louver/louver/stream/kafka/txn"
	"github.com/louver/louver/windows"
)

const (
	// lead is the time until the first windows with a new number of partitions are due. It may be over before the
	// number is agreed on.
	lead = 2 * time.Second
	// proposeTimeout bounds how long an attempt to agree on another number holds up a partition.
	proposeTimeout = 10 * time.Second
	// doubt is how long a topic must seem to have lost partitions before ingest believes it: a broker's answer may be
	// stale.
	doubt = 30 * time.Second
)

// cutter decides where windows end in a partition: by the clock, and for each number of partitions that its topic has
// had.
type cutter struct {
	*reader
	outage *outage
	writer *writer
	askAt  time.Time // when to ask for the partition count again
	fewer  time.Time // when the topic first seemed to have lost partitions
}

// count makes sure that the app knows how many partitions the topic has, and that this one is among them.
func (p *cutter) count(ctx context.Context) error {
	n, err := topics.PartitionsOf(ctx, p.Conn.Client, p.at.Topic, p.at.Number, p.Reading(p.at.Topic))
	if err != nil {
		return err
	}
	if err := p.Inputs.Learn(ctx); err != nil {
		return err
	}
	if err := p.agree(ctx, n); err != nil {
		return err
	}
	return p.included(ctx)
}

// included waits until it is agreed from which window on this partition counts. Until then nobody can tell which of its
// events are late.
func (p *cutter) included(ctx context.Context) error {
	key := fmt.Sprintf("no agreement on %s/%d", p.at.Topic, p.at.Number)
	for p.Inputs.Partitions(p.at.Topic, math.MaxInt64) <= p.at.Number {
		p.Monitor.Episodes.On(key, notIncluded, fmt.Sprintf(
			"partition %d of topic %s is new and counts in no window yet: the worker that reads partition 0 has not seen it",
			p.at.Number, p.at.Topic))
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
		if err := p.Inputs.Learn(ctx); err != nil {
			return err
		}
	}
	p.Monitor.Episodes.Over(key, fmt.Sprintf("partition %d of topic %s counts", p.at.Number, p.at.Topic))
	return nil
}

var notIncluded = episode.Rule{After: 30 * time.Second, Every: time.Hour}

// recount checks whether the topic has grown. It ignores failures, because it is called again soon.
func (p *cutter) recount(ctx context.Context) {
	n, err := p.countNow(ctx)
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, proposeTimeout)
		defer cancel()
		err = p.agree(ctx, n)
	}
	if err != nil && ctx.Err() == nil {
		p.Log.Debug("the number of partitions is not agreed on yet", zap.String("topic", p.at.Topic), zap.Error(err))
	}
}

// countNow asks once how many partitions the topic has.
func (p *cutter) countNow(ctx context.Context) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	return topics.PartitionsOf(ctx, p.Conn.Client, p.at.Topic, p.at.Number, p.Reading(p.at.Topic))
}

// agree proposes a number of partitions that differs from the agreed one. If that topic has a number already, only the
// worker of partition 0 does: every window waits for its mark, and it marks none that the proposal may concern before
// it knows the outcome. So no window is decided by the old number that a new partition counts itself part of, however
// long the proposal takes.
func (p *cutter) agree(ctx context.Context, n int) error {
	have := p.Inputs.Partitions(p.at.Topic, math.MaxInt64)
	if n >= have {
		p.fewer = time.Time{}
	}
	if n == have && p.Inputs.Certain(p.at.Topic) == math.MaxInt64 || have > 0 && p.at.Number != 0 {
		return nil
	}
	if n < have {
		if p.fewer.IsZero() {
			p.fewer = time.Now()
		}
		if time.Since(p.fewer) < doubt {
			return nil
		}
	}
	due := p.Now().Add(lead).UnixNano()
	for _, in := range p.streams { // windows that are cut have the old number
		due = max(due, in.cutThrough()+int64(in.schedule.Grace)+1)
	}
	if err := p.Inputs.Propose(ctx, p.at.Topic, n, due); err != nil {
		return err
	}
	if have > 0 && n != have {
		p.Log.Warn("the number of partitions of an input has changed: windows due from now on read all of them",
			zap.String("topic", p.at.Topic), zap.Int("before", have), zap.Int("now", n))
	}
	p.vanished()
	return nil
}

// before returns the end of a stream's last window that is due before a moment.
func (in *streamInput) before(due int64) int64 {
	if due == control.Always {
		return math.MinInt64
	}
	return floor(due-int64(in.schedule.Grace)-1, int64(in.schedule.Every))
}

// spared returns the end of the last window that does not include this partition, because the partition was added
// later.
func (p *cutter) spared(in *streamInput) int64 {
	through, included := int64(math.MinInt64), false
	for _, s := range p.Inputs.Steps(p.at.Topic) {
		before := included
		if included = s.Partitions > p.at.Number; included && !before {
			through = in.before(s.Due)
		}
	}
	return through
}

// due is the due of a stream, less windows of which partition 0 does not know how many partitions they take; see agree.
func (p *cutter) due(in *streamInput, now int64) (through int64, ok bool) {
	through, ok = in.due(now)
	if p.at.Number == 0 {
		through = min(through, in.before(p.Inputs.Certain(p.at.Topic)))
		ok = through > in.cutThrough()
	}
	return through, ok
}

// cutAt cuts a stream's windows up to through, with one cut for each number of partitions that windows take.
func (p *cutter) cutAt(in *streamInput, through, offset int64) {
	steps, most := p.Inputs.Steps(p.at.Topic), 0
	for i, s := range steps {
		last := through
		if i+1 < len(steps) {
			last = min(last, in.before(steps[i+1].Due))
		}
		most = max(most, s.Partitions)
		if after := in.cutThrough(); last > after {
			in.cutAt(last, offset, s.Partitions)
			for _, in := range in.all() {
				p.cutGone(in, s.Partitions, most, windows.Mark{Partitions: s.Partitions, After: after, Through: last})
			}
		}
	}
}

// vanished marks all windows of partitions that no longer exist as cut. Nothing more will come from them, so the
// windows must be released without them.
func (p *cutter) vanished() {
	steps, most := p.Inputs.Steps(p.at.Topic), 0
	for i := 1; i < len(steps); i++ {
		most = max(most, steps[i-1].Partitions)
		for _, in := range p.streams {
			after := in.before(steps[i].Due)
			left := steps[i].Partitions
			p.cutGone(in, left, most, windows.Mark{Partitions: steps[i-1].Partitions, After: after, Through: after})
			through := in.cutThrough()
			if i+1 < len(steps) {
				through = min(through, in.before(steps[i+1].Due))
			}
			if through > after { // cut by a worker that is gone
				p.cutGone(in, left, most, windows.Mark{Partitions: left, After: after, Through: through})
			}
		}
	}
}

// cutGone writes a mark for each partition that the topic had and no longer has, from number left up to most. Workers
// of other processes may not know that it has fewer: they give windows the former number, which is larger, so these
// wait for all the partitions that there were. Only the worker of partition 0 does this, because it knows the number.
func (p *cutter) cutGone(in *streamInput, left, most int, mark windows.Mark) {
	if p.at.Number != 0 {
		return
	}
	for gone := left; gone < most; gone++ {
		mark.Origin = windows.Origin{Stream: in.stream.Name, Epoch: in.edition, Partition: gone}
		_, _ = rand.Read(mark.Attempt[:]) // never fails
		p.writer.put(in, mark.Message(), nil)
	}
}

// untilDue is how long it takes until the next window is due, so that a fetch from an idle partition does not hold up
// its cut. A window that is due already, and waits for something else, does not count. Without a next window, and while
// the clock is not trusted, it is very long.
func (p *cutter) untilDue() time.Duration {
	now, err := p.Clock.Now()
	if err != nil {
		return math.MaxInt64 / 2
	}
	return p.Clock.Takes(untilDue(p.streams, now.UnixNano()))
}

func untilDue(streams []*streamInput, now int64) time.Duration {
	wait := time.Duration(math.MaxInt64 / 2)
	for _, in := range streams {
		if due := in.nextDue(); due > now && due < math.MaxInt64 {
			wait = min(wait, time.Duration(due-now))
		}
	}
	return wait
}

// brokerAhead is how far ahead of its own time a broker allows a record's timestamp by default.
const brokerAhead = time.Hour

// cut takes the partition's end as the cut of every window that has become due. While the clock is not trusted, no
// window becomes due and no event counts as too far ahead.
func (p *cutter) cut(ctx context.Context) error {
	now, err := p.Clock.Now()
	for _, in := range p.streams {
		in.horizon = math.MaxInt64
		if err == nil {
			in.horizon = now.Add(brokerAhead + in.stream.Input.MaxFuture).UnixNano()
		}
	}
	if err != nil {
		return nil
	}
	end := int64(-1)
	for _, in := range p.streams {
		if in.follows != nil {
			continue
		}
		through, ok := p.due(in, now.UnixNano())
		if !ok {
			p.Clock.Confirmed(time.Unix(0, in.nextDue())) // asks now, so that the answer comes in time
			continue
		}
		if p.held(in) || !p.Clock.Confirmed(time.Unix(0, through+int64(in.schedule.Grace))) {
			continue
		}
		if end < 0 {
			ends, err := kafkaconn.Persist(ctx, p.outage.noting(p.Reading(p.at.Topic)),
				func(ctx context.Context) (map[int]int64, error) {
					return p.Fetch.Ends(ctx, p.at.Topic, []int{p.at.Number})
				})
			if err != nil {
				return err
			}
			end = ends[p.at.Number]
			if p.outage.answered(false); p.held(in) {
				continue
			}
		}
		p.cutAt(in, through, max(end+p.base, in.from))
	}
	return nil
}

// messageBytes is the size of a part's messages: well below the megabyte that brokers take by default.
const messageBytes = 512 << 10

// queueBytes is how much is collected before it is sent.
const queueBytes = 4 << 20

// writer writes the bags of a partition's streams as parts, and marks.
type writer struct {
	*reader
	outage    *outage
	undecided *undecided
	flushAt   time.Time
	queue     []txn.Record // parts and marks not sent yet
	bytes     int
	unseen    int // records that may be added until the next check of the bags' size
}

// flushEvery is the time between two writes of parts. A restart rereads about that much.
const flushEvery = 30 * time.Second

// flush writes the parts and marks of streams that have reached a cut or were flushed long ago, or of all streams if
// the bags are too large. Records in acknowledged parts need not be read again.
func (p *writer) flush(ctx context.Context) error {
	position, now := p.position(), time.Now()
	all := now.After(p.flushAt) || p.crowded()
	flushed := false
	for _, in := range p.streams {
		if in.follows != nil {
			continue
		}
		for in.reached(position) {
			if err := p.mark(ctx, in, in.cuts[0].offset); err != nil {
				return err
			}
			flushed = true
		}
		if all && !in.quiet(position, now) {
			if err := p.mark(ctx, in, position); err != nil {
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
func (p *writer) unchecked() int {
	bags := 0
	for _, in := range p.streams {
		if in.follows == nil {
			bags++
		}
	}
	return max(1, min(relieveEvery, relieveBags/max(1, bags)))
}

// relieve writes the bags in the middle of a page if those of the process use more memory than allowed. A page may
// unpack to many times its size. The bags hold the records below to.
func (p *writer) relieve(ctx context.Context, to int64) error {
	p.holds()
	if !p.crowded() {
		return nil
	}
	for _, in := range p.streams {
		if in.follows != nil {
			continue
		}
		if err := p.mark(ctx, in, to); err != nil {
			return err
		}
	}
	p.holds()
	return p.send(ctx)
}

// crowded reports whether the bags of this process are too large and this partition's share is not small.
func (p *writer) crowded() bool {
	var own int64
	for _, in := range p.streams {
		own += in.bytes()
	}
	all, partitions := p.heldBytes()
	return all > p.BagBytes && own*int64(partitions) >= all
}

// mark queues what a stream and those that follow it have collected below to, followed by their marks. It sends along
// the way.
func (p *writer) mark(ctx context.Context, in *streamInput, to int64) error {
	to, err := p.undecided.upTo(ctx, in, to)
	if err != nil {
		return err
	}
	origin := windows.Origin{Partition: p.at.Number}
	_, _ = rand.Read(origin.Attempt[:]) // never fails
	mark, err := in.flush(to, origin, p.Inputs.Partitions(p.at.Topic, math.MaxInt64), func(part windows.Part) error {
		for _, in := range in.all() {
			part.Stream, part.Epoch = in.stream.Name, in.edition
			for head, share := range part.Split(messageBytes) {
				p.put(in, head, share)
				p.Metrics.PartBytes.WithLabelValues(in.stream.Name).Add(float64(len(head) + len(share)))
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
	now := time.Now()
	for _, in := range in.all() {
		mark.Stream, mark.Epoch = in.stream.Name, in.edition
		p.putAt(now, in, mark.Message(), nil)
		in.marked = now // the next mark names it by this time: see windows/line.go
	}
	if in.finished() {
		p.sort()
	}
	return p.sendIfMuch(ctx)
}

// put queues a message, which may be in two pieces, for the stage that decides the stream's windows.
func (p *writer) put(in *streamInput, message, rest []byte) { p.putAt(time.Now(), in, message, rest) }

// putAt queues a message that says when it was written.
func (p *writer) putAt(at time.Time, in *streamInput, message, rest []byte) {
	budget := in.stream.Budget.Name
	p.queue = append(p.queue, txn.Record{Topic: p.Names.Partials(), Partition: p.Place(budget), Key: []byte(budget),
		Value: message, Rest: rest, Time: at.UnixMilli()})
	p.bytes += len(message) + len(rest)
}

func (p *writer) sendIfMuch(ctx context.Context) error {
	if p.bytes < queueBytes {
		return nil
	}
	return p.send(ctx)
}

// send writes the queue. It retries after any broker error until it succeeds or ctx ends.
func (p *writer) send(ctx context.Context) error {
	if len(p.queue) == 0 {
		return nil
	}
	writing := p.outage.noting(p.Writing(p.Names.Partials()))
	_, err := kafkaconn.Persist(ctx, writing, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, txn.Send(ctx, p.Conn.Client, p.queue, txn.OnRetry(writing), txn.Packed())
	})
	clear(p.queue)
	p.queue, p.bytes = p.queue[:0], 0
	return err
}

// holds reports what the bags of this partition hold.
func (p *writer) holds() {
	for _, l := range p.lanes {
		var h held
		for _, in := range l {
			of := heldOf(in)
			h.windows += of.windows
			h.bytes += of.bytes
		}
		p.hold(l[0].stream.Name, p.at, h)
	}
}

// heldOf returns what the bags of a stream hold. Streams that share bags have equal parts of the bytes.
func heldOf(in *streamInput) held {
	leader := in.leader()
	return held{windows: len(leader.bags), bytes: leader.bytes() / int64(1+len(leader.followers))}
}
