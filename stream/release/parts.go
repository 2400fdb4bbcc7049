package release

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/kafka/kafkaconn"
	"github.com/louver/louver/stream/kafka/topics"
	"github.com/louver/louver/stream/release/decide"
	"github.com/louver/louver/windows"
)

// parts reads the parts of undecided windows in one partition of the partials, as they come in, and again.
type parts struct {
	*worker
	core     *decide.Core
	reader   *fetch.Reader
	deleter  *deleter
	lost     int64  // records deleted before they were read, if none has been read since …
	lostFrom int64  // … and where they began
	id       string // of the topic; "" if the broker gives none
	// lostAt is when the loss was noticed, if the topic was recreated. The next session has to know it too, as long as
	// a window needs the new topic from its beginning.
	lostAt time.Time
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
	ps.core.Lost(0, at)
}

// needs returns the offset at which the next session has to begin, so that it knows as much about undecided windows as
// this one, and as much about who still counts in them.
func (ps *parts) needs() int64 {
	position := ps.reader.Position()
	if ps.lost > 0 {
		position = ps.lostFrom
	}
	return ps.core.Needs(position)
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
		if ps.lost == 0 {
			ps.lostFrom = from
		}
		ps.lost += page.Lost
	}
	err = page.Each(func(r *fetch.Record) error {
		ps.take(r)
		return nil
	})
	if ps.skip(ps.reader.Position(), err) {
		return nil
	}
	return err
}

// take gives a message to the core, after it has said which messages before it are lost. All of those were written
// before this one, perhaps long before.
func (ps *parts) take(r *fetch.Record) {
	written := time.UnixMilli(r.Time)
	if ps.lost > 0 {
		ps.Log.Error("parts were deleted before their windows were released: these windows will be marked incomplete",
			zap.String("topic", ps.at.Topic), zap.Int("partition", ps.at.Number), zap.Int64("records", ps.lost))
		ps.core.Lost(ps.lostFrom, written)
		ps.lost = 0
	}
	if err := ps.core.Message(r.Value, r.Offset, written); err != nil {
		ps.Log.Error("a part is unreadable: its windows will be marked incomplete",
			zap.Int("partition", ps.at.Number), zap.Int64("offset", r.Offset), zap.Error(err))
	}
}

// skip moves past parts that can't be read, if err is about such parts. They begin at from.
func (ps *parts) skip(from int64, err error) bool {
	lost, ok := ps.reader.Skip(err)
	if ok {
		ps.Metrics.Lost.WithLabelValues(ps.at.Topic).Add(float64(lost))
		ps.Log.Error("parts are damaged: their windows will be marked incomplete", zap.Int64("records", lost),
			zap.Error(err))
		ps.core.Lost(from, time.Now())
	}
	return ok
}

// again reads the messages of parts from the log once more and gives each part to the core, or what makes it
// unreadable.
func (ps *parts) again(ctx context.Context, held []*windows.Held) error {
	left := newUnread(held)
	reader := ps.Fetch.Partition(ps.at.Topic, ps.at.Number, 0)
	for len(left.offsets) > 0 {
		reader.MoveTo(left.offsets[0])
		page, err := reader.Poll(ctx)
		if err == nil {
			err = page.Each(func(r *fetch.Record) error {
				if h, messages := left.take(r); h != nil {
					payload, err := h.Assemble(messages)
					ps.core.Part(h, payload, err)
				}
				return nil
			})
		}
		if _, damaged := reader.Skip(err); err != nil && !damaged { // a damaged part stays unread, so it counts as gone
			return err
		}
		left.passed(reader.Position())
	}
	for h := range left.messages {
		ps.core.Part(h, nil, decide.ErrGone)
	}
	return nil
}

// unread are the parts that are read again, without those that were given to the core.
type unread struct {
	offsets  []int64 // at which messages of them are expected, in order
	parts    map[int64]*windows.Held
	messages map[*windows.Held][][]byte // what has been read, each message at its place
}

func newUnread(held []*windows.Held) *unread {
	u := &unread{parts: map[int64]*windows.Held{}, messages: map[*windows.Held][][]byte{}}
	for _, h := range held {
		u.messages[h] = make([][]byte, len(h.Offsets))
		for _, at := range h.Offsets {
			u.parts[at] = h
		}
	}
	u.offsets = slices.Sorted(maps.Keys(u.parts))
	return u
}

// take takes a message, and returns the part whose last one this is with all its messages.
func (u *unread) take(r *fetch.Record) (whole *windows.Held, messages [][]byte) {
	h := u.parts[r.Offset]
	if messages = u.messages[h]; messages == nil {
		return nil, nil
	}
	messages[slices.Index(h.Offsets, r.Offset)] = slices.Clone(r.Value)
	if slices.ContainsFunc(messages, func(m []byte) bool { return m == nil }) {
		return nil, nil
	}
	delete(u.messages, h)
	return h, messages
}

// passed says that everything before an offset has been read.
func (u *unread) passed(offset int64) {
	for len(u.offsets) > 0 && u.offsets[0] < offset {
		u.offsets = u.offsets[1:]
	}
}
