package ingest

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"go.uber.org/zap"

	"github.com/louver/louver/stream/episode"
	"github.com/louver/louver/stream/stage"
)

// report tells operators what a partition's worker does.
type report struct {
	*input
	waiting time.Time // when a cut began to wait for an open transaction
	hanging int64     // where the transaction logged as hung begins; −1 if none
}

// page updates the metrics after a page.
func (p *report) page() {
	m := p.Metrics
	for _, r := range p.routes {
		if r.follows == nil {
			r.page = page{r.counted(), r.fresh}
			r.fresh = tally{}
		}
	}
	for _, r := range p.routes {
		name, of := r.stream.Name, &r.leader().page
		if r.counters == nil {
			r.counters = newCounters(m, name)
		}
		r.counters.add(of.counts, name, m.Rejected)
		r.traffic.add(of.fresh)
	}
	p.Lag(p.Names.Group(stage.Ingest), p.at, p.reader)
	m.CutWait.WithLabelValues(p.at.Topic, strconv.Itoa(p.at.Number)).Set(p.cutWait().Seconds())
}

// cutWait is how long a cut window has waited for an open transaction.
func (p *report) cutWait() time.Duration {
	for _, r := range p.routes {
		if len(r.cuts) > 0 && r.cuts[0].offset-p.base > p.reader.LastStable() &&
			p.reader.Position() >= p.reader.LastStable() {
			if p.waiting.IsZero() {
				p.waiting = time.Now()
			}
			return time.Since(p.waiting)
		}
	}
	p.waiting = time.Time{}
	return 0
}

// hungAfter is how long a cut may wait for an open transaction before it is logged.
const hungAfter = 10 * time.Second

// hung logs each open transaction that windows wait for, once. If the readable end does not move for another reason, it
// says so: it would be wrong to advise ending a transaction where there is none.
func (p *report) hung(ctx context.Context) {
	begins := p.reader.LastStable()
	if p.hanging >= 0 && (p.waiting.IsZero() || p.hanging != begins) {
		p.Monitor.Episodes.Over(p.hungKey(),
			fmt.Sprintf("windows no longer wait for the end of %s/%d", p.at.Topic, p.at.Number))
		p.hanging = -1
	}
	if p.hanging >= 0 || p.waiting.IsZero() || time.Since(p.waiting) < hungAfter {
		return
	}
	who, err := p.Fetch.ProducerAt(ctx, p.at.Topic, p.at.Number, begins)
	if err != nil {
		return // it has just ended, or the next check will tell
	}
	p.hanging = begins
	if !who.Transactional {
		p.Monitor.Episodes.On(p.hungKey(), episode.Rule{},
			fmt.Sprintf("windows are waiting: the readable end of %s/%d does not move, and no open transaction is "+
				"there; this process or the brokers may be too busy",
				p.at.Topic, p.at.Number), zap.Int64("offset", begins),
			zap.Stringer("waiting", episode.Round(time.Since(p.waiting))))
		return
	}
	p.Monitor.Episodes.On(p.hungKey(), episode.Rule{},
		fmt.Sprintf("windows are waiting for an open transaction on %s/%d", p.at.Topic, p.at.Number),
		zap.Int64("producer_id", who.ID), zap.Int16("producer_epoch", who.Epoch), zap.Int64("offset", begins),
		zap.Stringer("waiting", episode.Round(time.Since(p.waiting))), zap.String("to end it", fmt.Sprintf(
			"kafka-transactions.sh abort --topic %s --partition %d --start-offset %d", p.at.Topic,
			p.at.Number, begins)))
}

func (p *report) hungKey() string {
	return fmt.Sprintf("transaction on %s/%d", p.at.Topic, p.at.Number)
}

// progressed reports the oldest window of each stream that is not cut.
func (p *input) progressed() {
	for _, l := range p.lanes {
		oldest := l[len(l)-1]
		if w, ok := oldest.schedule.After(oldest.through); ok {
			p.Health.Next(p.at, oldest.stream.Name, w, oldest.schedule)
		} else {
			p.Health.Finished(p.at, oldest.stream.Name)
		}
	}
}
