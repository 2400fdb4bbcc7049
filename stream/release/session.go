package release

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/kafka/txn"
	"github.com/louver/louver/stream/stage"
	"github.com/louver/louver/windows"
)

// worker decides the windows of the budgets in one partition, in one session after another.
type worker struct {
	*Release
	at         stage.Partition
	membership *stage.Membership
	programs   []*program
	editions   map[string][]*program // the same by stream, in the same order
}

// takes gives the worker its programs.
func (w *worker) takes(programs ...*program) {
	w.programs, w.editions = programs, map[string][]*program{}
	for _, p := range programs {
		w.editions[p.stream.Name] = append(w.editions[p.stream.Name], p)
	}
}

// session is the state of one owner of the transactional id. It ends when one of its transactions fails. The next
// session learns from the ledger what became of that transaction.
type session struct {
	*worker
	producer *txn.Producer
	own      *partition // of the ledger
	seal     sealer     // nil without watches
	priors   []*prior   // of the programs
	turns    []*turns   // of the programs; nil where everybody counts
	gather   *windows.Gathering
	reader   *fetch.Reader
	lost     int64 // records deleted before they were read, if none has been read since …
	lostFrom int64 // … and where they began
	kept     *stage.Latest[progressRecord]
	keepAt   time.Time
	deleter  *deleter
	// continued are other partitions of the ledger whose charges count here. settled are the budgets to which these
	// will add no more charges.
	continued []*continued
	settled   map[string]bool
}

// keepEvery is how often the progress is written.
const keepEvery = 5 * time.Second

// session opens the transactional id, which fences earlier workers. It reads the ledger to its end, commits what was
// drawn there and not committed, and decides windows as their parts come in.
func (w *worker) session(ctx context.Context) error {
	producer, err := txn.Open(ctx, w.Conn.Client, w.Names.ReleaseID(w.at.Number), stage.TransactionTimeout, txn.OnRetry(w.Transactions(w.at.Topic)))
	if err != nil {
		return err
	}
	s := &session{worker: w, producer: producer, own: &partition{number: w.at.Number}, gather: windows.NewGathering(w.PartBytes), settled: map[string]bool{}}
	for _, p := range w.programs {
		s.priors = append(s.priors, newPrior(p))
	}
	if s.seal, err = w.newSeal(); err != nil {
		return err
	}
	aborted, err := s.fold(ctx)
	if err != nil {
		return err
	}
	if err := s.adopt(ctx, aborted); err != nil {
		return err
	}
	kept, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.kept = stage.NewLatest(kept, s.keep)
	s.deleter = newDeleter(kept, w)
	defer func() {
		stop()
		s.kept.Wait()
		s.deleter.wait()
	}()
	if err := s.open(ctx); err != nil {
		return err
	}
	for ctx.Err() == nil {
		if err := s.read(ctx); err != nil {
			return err
		}
		if err := s.decide(ctx); err != nil {
			return err
		}
		if err := s.save(ctx); err != nil {
			return err
		}
		s.remember()
		s.Lag(s.Names.Group(stage.Release), s.at, s.reader)
		if now := time.Now(); now.After(s.keepAt) {
			s.keepAt = now.Add(keepEvery)
			needs := progressRecord{s.needs(), s.saved()}
			s.kept.Put(needs)
			if err := s.deleteBefore(ctx, needs); err != nil {
				return err
			}
		}
	}
	return nil
}

// decided returns the end of a program's last window in the ledger.
func (s *session) decided(p *program) int64 {
	if last, ok := s.own.fold.Books.Last(p.stream.Name, p.epoch); ok {
		return last.UnixNano()
	}
	return p.schedule.First().End - int64(p.schedule.Every)
}

// progressRecord says how far the parts have been read: everything that an undecided window needs is at Offset or
// above, given what is saved.
type progressRecord struct {
	Offset int64 `json:"offset"`
	// Saved is for each cap the end of the window up to which nothing is needed, because a snapshot says who has counted, or
	// because the cap began there. In Unix nanoseconds, by [snapshotKey].
	Saved map[string]int64 `json:"saved,omitempty"`
}

func (w *worker) progressKey() string { return fmt.Sprintf("release/%d", w.at.Number) }

// open begins to read the parts at the offset that the last session recorded, and the caps where that left them.
func (s *session) open(ctx context.Context) error {
	var before progressRecord
	if _, err := s.Progress.Read(ctx, s.progressKey(), &before); err != nil {
		return err
	}
	deleted, err := s.deleted(ctx)
	if err != nil {
		return err
	}
	snapshots, err := s.snapshots(ctx)
	if err != nil {
		return err
	}
	s.begin(snapshots, before.Saved, deleted.Saved)
	s.deleter.agreed = deleted.Offset
	s.reader = s.Fetch.Partition(s.at.Topic, s.at.Number, max(before.Offset, deleted.Offset))
	s.keepAt = time.Now().Add(keepEvery)
	s.progressed()
	s.Health.Opened(s.at)
	return nil
}

// progressed reports the oldest window of each stream that is not decided.
func (s *session) progressed() {
	waiting := map[string]bool{}
	for _, p := range s.programs { // a stream's editions in order
		if waiting[p.stream.Name] {
			continue
		}
		if w, ok := p.schedule.After(s.decided(p)); ok {
			s.Health.Next(s.at, p.stream.Name, w, p.schedule)
			waiting[p.stream.Name] = true
		} else {
			s.Health.Finished(s.at, p.stream.Name)
		}
	}
}

// needs returns the offset at which the next session has to begin, so that it knows as much about undecided windows as
// this one, and as much about who still counts in them.
func (s *session) needs() int64 {
	position := s.reader.Position()
	if s.lost > 0 {
		position = s.lostFrom
	}
	return min(s.gather.Needs(position), s.capsNeed())
}

// keep writes the progress. It also commits the offset for the group, but only so that other tools see the lag.
func (s *session) keep(ctx context.Context, needs progressRecord) error {
	ctx, cancel := context.WithTimeout(ctx, keepEvery)
	defer cancel()
	err := s.Progress.Put(ctx, s.progressKey(), needs)
	s.Writing(s.Names.Progress())(err)
	if err != nil {
		return err
	}
	if err := s.membership.Commit(ctx, s.at, needs.Offset, ""); err != nil {
		s.Log.Debug("offset not committed yet", zap.String("topic", s.at.Topic), zap.Int("partition", s.at.Number), zap.Error(err))
	}
	return nil
}

// read reads the next parts and marks.
func (s *session) read(ctx context.Context) error {
	from := s.reader.Position()
	page, err := s.reader.Poll(ctx)
	if truncated := (*fetch.TruncatedError)(nil); errors.As(err, &truncated) {
		s.Log.Warn("the topic of parts ends before the position already read: it was recreated, or the brokers lost records", zap.String("topic", s.at.Topic), zap.Int("partition", s.at.Number))
		s.gather.Lose(0, time.Now())
		s.reader = s.Fetch.Partition(s.at.Topic, s.at.Number, 0)
		s.deleter.anew()
		return nil
	}
	if s.skip(from, err) {
		return nil
	}
	if err != nil {
		return err
	}
	if page.Lost > 0 {
		if err := s.overtaken(ctx, from+page.Lost); err != nil {
			return err
		}
	}
	if page.Lost > 0 && s.lost == 0 {
		s.lostFrom = from
	}
	s.lost += page.Lost
	err = page.Each(func(r *fetch.Record) error {
		written := time.UnixMilli(r.Time)
		if s.lost > 0 { // all of them were written before this one, perhaps long before
			s.Log.Error("parts were deleted before their windows were released: these windows will be marked incomplete", zap.String("topic", s.at.Topic), zap.Int("partition", s.at.Number), zap.Int64("records", s.lost))
			s.gather.Lose(s.lostFrom, written)
			s.lost = 0
		}
		if err := s.gather.Add(r.Value, r.Offset, written); err != nil {
			s.Log.Error("a part is unreadable: its windows will be marked incomplete", zap.Int("partition", s.at.Number), zap.Int64("offset", r.Offset), zap.Error(err))
		}
		return nil
	})
	if s.skip(s.reader.Position(), err) {
		return nil
	}
	return err
}

// skip moves past parts that can't be read, if err is about such parts. They begin at from.
func (s *session) skip(from int64, err error) bool {
	lost, ok := s.reader.Skip(err)
	if ok {
		s.Metrics.Lost.WithLabelValues(s.at.Topic).Add(float64(lost))
		s.Log.Error("parts are damaged: their windows will be marked incomplete", zap.Int64("records", lost), zap.Error(err))
		s.gather.Lose(from, time.Now())
	}
	return ok
}
