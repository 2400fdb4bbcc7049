package ingest

import (
	"context"
	"math"
	"time"

	"go.uber.org/zap"

	"github.com/louver/louver/stream/control"
	"github.com/louver/louver/stream/kafka/kafkaconn"
	"github.com/louver/louver/stream/kafka/topics"
	"github.com/louver/louver/windows"
)

const (
	// lead is the time until the first windows with a new number of partitions are due.
	lead = 2 * time.Second
	// doubt is how long a topic must seem to have lost partitions before ingest believes it: a broker's answer may be
	// stale.
	doubt = 30 * time.Second
)

// cuts decides where windows end in a partition: by the clock, and for each number of partitions that its topic has
// had.
type cuts struct {
	*input
	away  *away
	out   *output
	askAt time.Time // when to ask for the partition count again
	fewer time.Time // when the topic first seemed to have lost partitions
}

// count makes sure that the app knows how many partitions the topic has.
func (p *cuts) count(ctx context.Context) error {
	n, err := topics.PartitionsOf(ctx, p.Conn.Client, p.at.Topic, p.at.Number, p.Reading(p.at.Topic))
	if err != nil {
		return err
	}
	if err := p.Inputs.Learn(ctx); err != nil {
		return err
	}
	return p.agree(ctx, n)
}

// recount checks whether the topic has grown. It ignores failures, because it is called again soon.
func (p *cuts) recount(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	n, err := topics.PartitionsOf(ctx, p.Conn.Client, p.at.Topic, p.at.Number, p.Reading(p.at.Topic))
	if err == nil {
		err = p.agree(ctx, n)
	}
	if err != nil && ctx.Err() == nil {
		p.Log.Debug("the number of partitions is not agreed on yet", zap.String("topic", p.at.Topic), zap.Error(err))
	}
}

// agree proposes a number of partitions that differs from the agreed one.
func (p *cuts) agree(ctx context.Context, n int) error {
	have := p.Inputs.Partitions(p.at.Topic, math.MaxInt64)
	if n >= have {
		p.fewer = time.Time{}
	}
	if n == have {
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
	due := time.Now().Add(lead)
	if err := p.Inputs.Propose(ctx, p.at.Topic, n, due.UnixNano()); err != nil {
		return err
	}
	if have > 0 {
		p.Log.Warn("the number of partitions of an input has changed: windows due from now on read all of them",
			zap.String("topic", p.at.Topic), zap.Int("before", have), zap.Int("now", n))
	}
	p.vanished()
	return nil
}

// before returns the end of a route's last window that is due before a moment.
func (r *route) before(due int64) int64 {
	if due == control.Always {
		return math.MinInt64
	}
	return floor(due-int64(r.schedule.Grace)-1, int64(r.schedule.Every))
}

// spared returns the end of the last window that does not include this partition, because the partition was added
// later.
func (p *cuts) spared(r *route) int64 {
	for _, s := range p.Inputs.Steps(p.at.Topic) {
		if s.Partitions > p.at.Number {
			return r.before(s.Due)
		}
	}
	return math.MinInt64
}

// cutAt cuts a route's windows up to through, with one cut for each number of partitions that windows take.
func (p *cuts) cutAt(r *route, through, offset int64) {
	steps := p.Inputs.Steps(p.at.Topic)
	for i, s := range steps[:len(steps)-1] {
		if last := min(r.before(steps[i+1].Due), through); last > r.cutThrough() {
			r.cutAt(last, offset, s.Partitions)
		}
	}
	if through > r.cutThrough() {
		r.cutAt(through, offset, steps[len(steps)-1].Partitions)
	}
}

// vanished marks all windows of partitions that no longer exist as cut. Nothing more will come from them, so the
// windows must be released without them. The worker of the first partition does this.
func (p *cuts) vanished() {
	if p.at.Number != 0 {
		return
	}
	steps := p.Inputs.Steps(p.at.Topic)
	for i := 1; i < len(steps); i++ {
		for gone := steps[i].Partitions; gone < steps[i-1].Partitions; gone++ {
			for _, r := range p.routes {
				through := r.before(steps[i].Due)
				mark := windows.Mark{Origin: windows.Origin{Stream: r.stream.Name, Epoch: r.edition, Partition: gone},
					Partitions: steps[i-1].Partitions,
					After:      through, Through: through}
				p.out.put(r, mark.Message(), nil)
			}
		}
	}
}

// untilDue is how long it takes until the next window is due, so that a fetch from an idle partition does not hold up
// its cut. A window that is due already, and waits for something else, does not count. Without a next window, and while
// the clock is not trusted, it is very long.
func (p *cuts) untilDue() time.Duration {
	now, err := p.Clock.Now()
	if err != nil {
		return math.MaxInt64 / 2
	}
	return untilDue(p.routes, now.UnixNano())
}

func untilDue(routes []*route, now int64) time.Duration {
	wait := time.Duration(math.MaxInt64 / 2)
	for _, r := range routes {
		if due := r.nextDue(); due > now && due < math.MaxInt64 {
			wait = min(wait, time.Duration(due-now))
		}
	}
	return wait
}

// brokerAhead is how far ahead of its own time a broker allows a record's timestamp by default.
const brokerAhead = time.Hour

// cut takes the partition's end as the cut of every window that has become due. While the clock is not trusted, no
// window becomes due and no event counts as too far ahead.
func (p *cuts) cut(ctx context.Context) error {
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
		if r.follows != nil {
			continue
		}
		through, ok := r.due(now.UnixNano())
		if !ok {
			p.Clock.Confirmed(time.Unix(0, r.nextDue())) // asks now, so that the answer comes in time
			continue
		}
		if p.held(r) || !p.Clock.Confirmed(time.Unix(0, through+int64(r.schedule.Grace))) {
			continue
		}
		if end < 0 {
			ends, err := kafkaconn.Persist(ctx, p.away.noting(p.Reading(p.at.Topic)),
				func(ctx context.Context) (map[int]int64, error) {
					return p.Fetch.Ends(ctx, p.at.Topic, []int{p.at.Number})
				})
			if err != nil {
				return err
			}
			end = ends[p.at.Number]
			if p.away.answered(false); p.held(r) {
				continue
			}
		}
		p.cutAt(r, through, max(end+p.base, r.from))
	}
	return nil
}
