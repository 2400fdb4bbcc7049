package release

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/louver/louver/stream/kafka/txn"
	"github.com/louver/louver/stream/stage"
)

// session is the state of one owner of the transactional id. It ends when one of its transactions fails. The next
// session learns from the ledger what became of that transaction.
type session struct {
	*decisions
	kept   *stage.Latest[progressRecord]
	keepAt time.Time
}

// Run works until ctx ends. An error that wraps ledger.ErrUnreadable is a privacy stop: the charges are unknown.
func (s *Release) Run(ctx context.Context) error {
	programs := make([]*program, len(s.Editions))
	for i, e := range s.Editions {
		programs[i] = newProgram(e)
	}
	return stage.Run(ctx, s.Env, s.Group, func(ctx context.Context, at stage.Partition, m *stage.Membership) error {
		w := &worker{Release: s, at: at, membership: m}
		var here []*program
		for _, p := range programs {
			if s.Place(p.stream.Budget.Name) == at.Number {
				here = append(here, p)
			}
		}
		w.takes(here...)
		return w.session(ctx)
	})
}

// session opens the transactional id, which fences earlier workers. It reads the ledger to its end, commits what was
// drawn there and not committed, and decides windows as their parts come in.
func (w *worker) session(ctx context.Context) error {
	producer, err := txn.Open(ctx, w.Conn.Client, w.Names.ReleaseID(w.at.Number), stage.TransactionTimeout,
		txn.OnRetry(w.Transactions(w.at.Topic)))
	if err != nil {
		return err
	}
	d, err := newDecisions(w)
	if err != nil {
		return err
	}
	d.producer = producer
	s := &session{decisions: d}
	aborted, err := s.charges.read(ctx)
	if err != nil {
		return err
	}
	s.attend()
	if err := s.adopt(ctx, aborted); err != nil {
		return err
	}
	s.kept = stage.NewLatest(context.WithoutCancel(ctx), s.keep)
	deletes, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.parts.deleter = newDeleter(deletes, w)
	defer func() {
		s.remembers(0)
		s.forgetTotals()
		s.kept.Finish()
		stop()
		s.parts.deleter.wait()
	}()
	if err := s.open(ctx); err != nil {
		return err
	}
	s.remembers(s.held())
	for ctx.Err() == nil {
		if err := s.parts.read(ctx); err != nil {
			return err
		}
		if err := s.decide(ctx); err != nil {
			return err
		}
		if err := s.notes.catchUp(ctx); err != nil {
			return err
		}
		if err := s.save(ctx); err != nil {
			return err
		}
		s.remembers(s.held())
		s.gauge()
		s.Lag(s.Names.Group(stage.Release), s.at, s.parts.reader)
		if now := time.Now(); now.After(s.keepAt) {
			s.keepAt = now.Add(keepEvery)
			if _, err := s.parts.renewed(ctx); err != nil {
				return err
			}
			needs := s.record()
			s.kept.Put(needs)
			if err := s.parts.deleter.before(ctx, s.producer, needs); err != nil {
				return err
			}
		}
	}
	return nil
}

// held is how many bytes the session holds that may not be dropped.
func (s *session) held() int64 {
	return s.attendance.Bytes() + s.notes.bytes() + figureBytes*int64(s.figures())
}

// open begins to read the parts at the offset that the last session recorded, and takes up the trackers where it left
// them.
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
	s.beginAttendance(snapshots, before.Saved, deleted.Saved)
	if err := s.parts.identify(ctx); err != nil {
		return err
	}
	if !deleted.of(s.parts.id) {
		deleted.Offset = -1
	}
	s.parts.deleter.agreed = deleted.Offset
	s.parts.reader = s.Fetch.Partition(s.at.Topic, s.at.Number, max(0, before.Offset, deleted.Offset))
	s.keepAt = time.Now().Add(keepEvery)
	if !before.of(s.parts.id) {
		s.parts.anew()
		s.keepAt = time.Now() // otherwise the next session takes its own beginning for the moment of the loss
	} else if before.LostAt != nil {
		s.parts.lose(*before.LostAt)
	}
	s.progressed()
	s.Health.Opened(s.at)
	return nil
}

// needs returns the offset at which the next session has to begin, so that it knows as much about undecided windows as
// this one, and as much about who still counts in them.
func (s *session) needs() int64 {
	return min(s.parts.needs(), s.attendance.Needs())
}

// record returns what the next session has to know.
func (s *session) record() progressRecord {
	r := progressRecord{Offset: s.needs(), TopicID: s.parts.id, Saved: s.attendance.Saved()}
	if r.Offset == 0 && !s.parts.lostAt.IsZero() {
		r.LostAt = &s.parts.lostAt
	}
	return r
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
		s.Log.Debug("offset not committed yet", zap.String("topic", s.at.Topic), zap.Int("partition", s.at.Number),
			zap.Error(err))
	}
	return nil
}
