// Package export sends published figures to a backend by OTLP over HTTP, for `louver export`. It is a stage of its own
// that reads the output topics and nothing else, in a consumer group of its own.
//
// A figure is sent at least once: the offset is committed after the backend has said that it took the figure. Figures
// never change, so one that is sent twice is the same point again. While the backend takes nothing, the worker waits
// and Kafka keeps the rest. What a topic's retention deletes meanwhile is lost, and counted.
//
// Each partition has a worker, which sends one request at a time. All records of a series are in one partition, so its
// points arrive in order.
package export

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/louver/louver/stream/episode"
	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/kafka/group"
	"github.com/louver/louver/stream/kafka/kafkaconn"
	"github.com/louver/louver/stream/kafka/topics"
	"github.com/louver/louver/stream/metrics"
	"github.com/louver/louver/stream/outputs"
	"github.com/louver/louver/stream/stage"
)

// Export is the stage. Fields must not change while it runs.
type Export struct {
	stage.Env
	// Group is the membership of the consumer group whose offsets say what has been sent.
	Group group.Config
	// Reader reads figures, also those in Avro.
	Reader  *outputs.Reader
	Backend *Backend
	// From is the end of the first windows that are sent, where the group has no offset yet.
	From       time.Time
	Histograms Histograms
	Counts     *metrics.Export

	first, begins sync.Once // what the log says once
}

// Run works until ctx ends.
func (e *Export) Run(ctx context.Context) error {
	return stage.Run(ctx, e.Env, e.Group, func(ctx context.Context, at stage.Partition, m *stage.Membership) error {
		w := &worker{Export: e, at: at, member: m, tell: Teller{Log: e.Monitor.Episodes, Backend: e.Backend,
			After: episode.Failing.After}}
		return w.run(ctx)
	})
}

// worker sends the figures of one partition.
type worker struct {
	*Export
	at     stage.Partition
	member *stage.Membership
	topic  string // the topic's id
	held   batch  // what has been read and not sent
	tell   Teller
}

// run sends until ctx ends.
func (w *worker) run(ctx context.Context) error {
	begin, err := w.begin(ctx)
	if err != nil {
		return err
	}
	reader, committed := w.Fetch.Partition(w.at.Topic, w.at.Number, begin), begin
	w.Health.Opened(w.at)
	for ctx.Err() == nil {
		w.held = batch{}
		page, err := reader.Poll(ctx)
		if err == nil && reader.Retried() {
			err = w.same(ctx)
		}
		if err == nil {
			w.lost(page.Lost, "they were deleted from the topic before; want a retention of at least the longest outage")
			err = page.Each(func(m *fetch.Record) error { return w.take(ctx, m) })
		}
		lost, damaged := reader.Skip(err)
		var shorter *fetch.TruncatedError
		switch {
		case damaged:
			w.lost(lost, "they are damaged")
		case errors.Is(err, errAnew), errors.As(err, &shorter):
			if w.topic, err = w.id(ctx); err != nil {
				return err
			}
			w.anew()
			reader.MoveTo(0)
			committed = -1
			continue
		case err != nil:
			return err
		}
		if err := w.send(ctx); err != nil {
			return err
		}
		if at := reader.Position(); at != committed {
			if err := w.commit(ctx, at); err != nil {
				return err
			}
			committed = at
		}
		w.Lag(w.Group.GroupID, w.at, reader)
	}
	return nil
}

// begin returns the offset to begin at. Where the group has none, begin commits it: a process that starts again before
// the first figure begins there too.
func (w *worker) begin(ctx context.Context) (int64, error) {
	id, err := w.id(ctx)
	if err != nil {
		return 0, err
	}
	w.topic = id
	committed, err := w.member.Committed(ctx, w.at)
	if err != nil {
		return 0, err
	}
	begin := committed.Offset
	switch of := committed.Metadata; {
	case begin >= 0 && of != "" && id != "" && of != id:
		w.anew()
		begin = 0
	case begin < 0:
		w.begins.Do(func() {
			w.Log.Info("the consumer group has no offset: it begins with windows that end from a moment on",
				zap.String("group", w.Group.GroupID), zap.Time("from", w.From))
		})
		if begin, err = w.Fetch.OffsetAt(ctx, w.at.Topic, w.at.Number, w.From.UnixMilli()); err != nil {
			return 0, err
		}
	default:
		return begin, nil
	}
	return begin, w.commit(ctx, begin)
}

// id returns the id of the topic, or "" where brokers know none.
func (w *worker) id(ctx context.Context) (string, error) {
	return kafkaconn.Retry(ctx, w.Reading(w.at.Topic), func(ctx context.Context) (string, error) {
		return topics.ID(ctx, w.Conn.Client, w.at.Topic)
	})
}

// errAnew says that the topic is another one than before.
var errAnew = errors.New("the topic was created again")

// same returns errAnew if the topic is no longer the one that the worker began with. It may have been deleted and
// created again while it could not be read. Then the position means nothing any more.
func (w *worker) same(ctx context.Context) error {
	id, err := w.id(ctx)
	if err == nil && id != w.topic && id != "" {
		err = errAnew
	}
	return err
}

// lastCommit is how long a worker that ends may take to note what it has sent.
const lastCommit = 2 * time.Second

// commit notes that everything below an offset has been sent, and from which topic: the next one of that name has the
// same offsets again. A worker that is told to end still notes what it has sent, so that nothing is sent twice without
// need.
func (w *worker) commit(asked context.Context, offset int64) error {
	ctx, cancel := context.WithCancel(context.WithoutCancel(asked))
	defer cancel()
	defer context.AfterFunc(asked, func() { time.AfterFunc(lastCommit, cancel) })()
	if err := w.member.Commit(ctx, w.at, offset, w.topic); err != nil {
		return fmt.Errorf("commit the offset of %s/%d: %w", w.at.Topic, w.at.Number, err)
	}
	return nil
}

// anew says that the topic is another one than before.
func (w *worker) anew() {
	w.Log.Warn("the topic was deleted and created again: its figures are exported from the first on",
		zap.String("topic", w.at.Topic), zap.Int("partition", w.at.Number))
}

// lost counts figures that will not be sent, and says why.
func (w *worker) lost(n int64, why string) {
	if n == 0 {
		return
	}
	w.Counts.Lost.WithLabelValues(w.at.Topic).Add(float64(n))
	w.Monitor.Episodes.On("lost "+w.at.Topic, episode.Rule{Every: time.Minute, Lapse: time.Hour},
		"some figures are not exported: "+why, zap.String("topic", w.at.Topic), zap.Int64("records", n))
}

// take reads a record. If as many figures wait as a request may have, take sends them first and notes that.
func (w *worker) take(ctx context.Context, m *fetch.Record) error {
	figure, ok, err := w.Reader.Figure(ctx, w.at.Topic, w.at.Number, m)
	if err != nil || !ok {
		return err
	}
	if w.held.full(figure) {
		if err := w.send(ctx); err != nil {
			return err
		}
		if err := w.commit(ctx, m.Offset); err != nil {
			return err
		}
	}
	w.held.add(figure)
	return nil
}

// send sends what waits. It returns when the backend has it, or refuses it for good.
func (w *worker) send(ctx context.Context) error {
	figures := w.held.figures
	w.held = batch{}
	for _, form := range w.Histograms.forms() {
		if err := w.deliver(ctx, figures, form); err != nil {
			return err
		}
	}
	return nil
}

// deliver sends figures in one form. If the backend refuses a request for what is in it, one figure may be the reason:
// its halves are sent instead, in order, and a figure that is refused alone is left out.
func (w *worker) deliver(ctx context.Context, figures []outputs.Record, as form) error {
	request := as.request(figures, w.Group.GroupID)
	if request == nil {
		return nil
	}
	rejected, err := w.Backend.send(ctx, request, w.blocked)
	var refused *refusedError
	if err == nil || errors.As(err, &refused) {
		w.blocked(nil)
	}
	switch topic := w.at.Topic; {
	case err == nil:
		if as.points {
			w.sent(figures)
		}
		w.partial(rejected)
		return nil
	case refused == nil:
		return err
	case len(figures) == 1:
		w.Counts.Refused.WithLabelValues(topic).Inc()
		w.Monitor.Episodes.On("refused", refusals, "the backend refuses figures: they are left out",
			zap.String("figure", figures[0].ID), zap.Error(err))
		return nil
	}
	half := len(figures) / 2
	if err := w.deliver(ctx, figures[:half], as); err != nil {
		return err
	}
	return w.deliver(ctx, figures[half:], as)
}

// sent counts figures that the backend has taken, and tells of the first ones.
func (w *worker) sent(figures []outputs.Record) {
	w.Counts.Sent.WithLabelValues(w.at.Topic).Add(float64(len(figures)))
	w.first.Do(func() {
		w.Log.Info("the first figures are sent", zap.String("topic", w.at.Topic), zap.Int("figures", len(figures)),
			zap.Time("window_end", figures[len(figures)-1].WindowEnd))
	})
}

// refusals is when a log has a line about refused figures, of which there may be thousands.
var refusals = episode.Rule{Every: time.Minute, Count: true, Lapse: 10 * time.Minute}

// partial counts points that the backend left out of a request that it took. Its answer does not say which.
func (w *worker) partial(r rejection) {
	if r.points == 0 {
		return
	}
	w.Counts.Rejected.WithLabelValues(w.at.Topic).Add(float64(r.points))
	w.Monitor.Episodes.On("rejected", refusals, "the backend leaves out some points of what it takes",
		zap.Int64("points", r.points), zap.String("reason", r.why))
}

// blocked says that figures cannot be sent and why, or with nil that they can.
func (w *worker) blocked(why error) {
	w.Health.Blocked(w.at, w.Backend.Name(), why)
	w.tell.Tell(why)
}
