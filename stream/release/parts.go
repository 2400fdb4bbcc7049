package release

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"

	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/kafka/kafkaconn"
	"github.com/louver/louver/stream/kafka/topics"
	"github.com/louver/louver/windows"
)

// parts are the parts of undecided windows in one partition of the partials, as they come in.
type parts struct {
	*worker
	gather   *windows.Gathering
	reader   *fetch.Reader
	deleter  *deleter
	lost     int64  // records deleted before they were read, if none has been read since …
	lostFrom int64  // … and where they began
	id       string // of the topic; "" if the broker gives none
	// lostAt is when the loss was noticed, if the topic was recreated. The next session has to know it too, as long as
	// a window needs the new topic from its beginning.
	lostAt time.Time
	last   mergedParts
	// note is told of each part that was read for a window.
	note func(p *program, h *windows.Held, payload []byte)
	// again reads parts again from the log: see [parts.load]. Tests take them from elsewhere.
	again func(ctx context.Context, parts []*windows.Held, take func(*windows.Held, []byte, error)) ([]*windows.Held,
		error)
}

// identify asks for the topic's id.
func (ps *parts) identify(ctx context.Context) (err error) {
	ps.id, err = kafkaconn.Persist(ctx, ps.Reading(ps.at.Topic), func(ctx context.Context) (string, error) {
		return topics.ID(ctx, ps.Conn.Client, ps.at.Topic)
	})
	return err
}

// renewed checks whether the topic was deleted and recreated since it was identified. If so, it begins to read the new
// one. That may already be longer than what was read of the old one, so its end says nothing about this.
func (ps *parts) renewed(ctx context.Context) (bool, error) {
	before := progressRecord{TopicID: ps.id}
	if err := ps.identify(ctx); err != nil || before.of(ps.id) {
		return false, err
	}
	ps.anew()
	return true, nil
}

// anew begins to read a topic that was recreated, whatever its length. Everything in the old one is lost.
func (ps *parts) anew() {
	ps.Log.Warn("the topic of parts was recreated, or the brokers lost records: windows that had begun, or "+
		"begin within max_future, will be marked incomplete", zap.String("topic", ps.at.Topic),
		zap.Int("partition", ps.at.Number))
	ps.lose(time.Now())
	ps.reader = ps.Fetch.Partition(ps.at.Topic, ps.at.Number, 0)
	ps.deleter.anew()
}

// lose marks what was written before a moment as lost, since the topic was recreated.
func (ps *parts) lose(at time.Time) {
	ps.lostAt = at
	ps.gather.Lose(0, at)
}

// needs returns the offset from which the parts of undecided windows have to be read.
func (ps *parts) needs() int64 {
	position := ps.reader.Position()
	if ps.lost > 0 {
		position = ps.lostFrom
	}
	return ps.gather.Needs(position)
}

// read reads the next parts and marks.
func (ps *parts) read(ctx context.Context) error {
	from := ps.reader.Position()
	page, err := ps.reader.Poll(ctx)
	if truncated := (*fetch.TruncatedError)(nil); errors.As(err, &truncated) {
		ps.anew()
		return ps.identify(ctx)
	}
	if ps.skip(from, err) {
		return nil
	}
	if err != nil {
		return err
	}
	if ps.reader.Retried() { // perhaps because the topic was gone
		if renewed, err := ps.renewed(ctx); renewed || err != nil {
			return err
		}
	}
	if page.Lost > 0 {
		if err := ps.overtaken(ctx, from+page.Lost); err != nil {
			return err
		}
	}
	if page.Lost > 0 && ps.lost == 0 {
		ps.lostFrom = from
	}
	ps.lost += page.Lost
	err = page.Each(func(r *fetch.Record) error {
		written := time.UnixMilli(r.Time)
		if ps.lost > 0 { // all of them were written before this one, perhaps long before
			ps.Log.Error("parts were deleted before their windows were released: these windows will be marked "+
				"incomplete", zap.String("topic", ps.at.Topic), zap.Int("partition", ps.at.Number),
				zap.Int64("records", ps.lost))
			ps.gather.Lose(ps.lostFrom, written)
			ps.lost = 0
		}
		if err := ps.gather.Add(r.Value, r.Offset, written); err != nil {
			ps.Log.Error("a part is unreadable: its windows will be marked incomplete",
				zap.Int("partition", ps.at.Number), zap.Int64("offset", r.Offset), zap.Error(err))
		}
		return nil
	})
	if ps.skip(ps.reader.Position(), err) {
		return nil
	}
	return err
}

// skip moves past parts that can't be read, if err is about such parts. They begin at from.
func (ps *parts) skip(from int64, err error) bool {
	lost, ok := ps.reader.Skip(err)
	if ok {
		ps.Metrics.Lost.WithLabelValues(ps.at.Topic).Add(float64(lost))
		ps.Log.Error("parts are damaged: their windows will be marked incomplete", zap.Int64("records", lost),
			zap.Error(err))
		ps.gather.Lose(from, time.Now())
	}
	return ok
}
