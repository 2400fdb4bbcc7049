package release

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/kafka/txn"
	"github.com/louver/louver/stream/progress"
	"github.com/louver/louver/stream/release/decide"
	"github.com/louver/louver/stream/stage"
	"github.com/louver/louver/windows"
)

// session is one owner of the transactional id. It does what its core asks for. It ends when one of its transactions
// fails, and its core with it. The next session learns from the ledger what became of that transaction.
type session struct {
	*worker
	core     *decide.Core
	charges  *charges
	parts    *parts
	producer producer
	pieces   map[string]int // how many records hold each snapshot in Kafka
	kept     *stage.Latest[progressRecord]
	keepAt   time.Time
	busyAt   time.Time // when new parts have to be read, since nothing was due any more; 0 before that
}

// producer commits transactions under the transactional id of the partition, as [txn.Producer] does.
type producer interface {
	Commit(ctx context.Context, tx txn.Transaction) error
	Last(topic string, partition int) int64
}

// Run works until ctx ends. An error that wraps ledger.ErrUnreadable is a privacy stop: the charges are unknown.
func (s *Release) Run(ctx context.Context) error {
	return stage.Run(ctx, s.Env, s.Group, func(ctx context.Context, at stage.Partition, m *stage.Membership) error {
		return (&worker{Release: s, at: at, membership: m}).session(ctx)
	})
}

// session opens the transactional id, which fences earlier workers. It reads the ledger to its end, and then does what
// its core asks for: the core first commits what was drawn there and not committed, and then decides windows as their
// parts come in.
func (w *worker) session(ctx context.Context) error {
	producer, err := txn.Open(ctx, w.Conn.Client, w.Names.ReleaseID(w.at.Number), stage.TransactionTimeout,
		txn.OnRetry(w.Transactions(w.at.Topic)))
	if err != nil {
		return err
	}
	s := &session{worker: w, producer: producer, pieces: map[string]int{}}
	cfg := s.config()
	s.charges = newCharges(w, cfg.Continued())
	own, others, err := s.charges.read(ctx)
	if err != nil {
		return err
	}
	if s.core, err = decide.New(cfg, own, others); err != nil {
		return err
	}
	s.parts = &parts{worker: w, core: s.core}
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
	for ctx.Err() == nil {
		do, err := s.core.Next(w.Now())
		s.tell(s.core.Notices())
		if err == nil {
			err = s.do(ctx, do)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// config is what the core of a session has to know.
func (s *session) config() decide.Config {
	return decide.Config{App: s.Names.App, Partition: s.at.Number, Place: s.Place, Lineage: s.Lineage,
		Editions: s.Editions, Hasher: s.Hasher, WatchKey: s.WatchKey, PartBytes: s.PartBytes, MergeBytes: s.MergeBytes,
		NoteBytes: s.NoteBytes, CheckpointEvery: s.CheckpointEvery, Random: rand.Reader, Timed: s.timed, Idle: s.idle}
}

// idleFor is how long parts of decided windows are read again for discoveries before new parts are read.
const idleFor = 200 * time.Millisecond

// idle reports whether there is still time for that.
func (s *session) idle() bool {
	if s.busyAt.IsZero() {
		s.busyAt = time.Now().Add(idleFor)
	}
	return time.Now().Before(s.busyAt)
}

// do does what the core asks for.
func (s *session) do(ctx context.Context, do decide.Action) error {
	switch do := do.(type) {
	case decide.Read:
		for _, number := range do.Partitions {
			state, err := s.charges.other(ctx, number)
			if err != nil {
				return err
			}
			s.core.Read(number, state)
		}
		return nil
	case decide.Restore:
		return s.restore(ctx, do.Snapshots)
	case decide.Again:
		return s.parts.again(ctx, do.Parts)
	case decide.Commit:
		return s.commit(ctx, do)
	}
	return s.poll(ctx)
}

// restore begins to read the parts at the offset that the last session recorded, and gives the core the snapshots under
// some keys.
func (s *session) restore(ctx context.Context, keys []string) error {
	var before progressRecord
	if _, err := s.Progress.Read(ctx, s.progressKey(), &before); err != nil {
		return err
	}
	deleted, err := s.deleted(ctx)
	if err != nil {
		return err
	}
	snapshots, err := s.snapshots(ctx, keys)
	if err != nil {
		return err
	}
	s.core.Restored(snapshots, before.Saved, deleted.Saved)
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

// snapshots reads the last snapshots under some keys, and notes how many records hold each.
func (s *session) snapshots(ctx context.Context, keys []string) (map[string][]byte, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	damaged := func(err error) {
		s.Log.Error("a snapshot of who has counted is damaged and left out", zap.Int("partition", s.at.Number),
			zap.Error(err))
	}
	for {
		found, err := s.State.ReadTexts(ctx, s.at.Number, func(key string) bool { return slices.Contains(keys, key) },
			damaged)
		var lost *fetch.LostError
		if errors.As(err, &lost) && ctx.Err() == nil {
			continue // the broker has just deleted old ones
		}
		texts := map[string][]byte{}
		for key, text := range found {
			texts[key], s.pieces[key] = text.Text, text.Pieces
		}
		return texts, err
	}
}

// commit commits entries, a checkpoint and snapshots in one transaction.
func (s *session) commit(ctx context.Context, of decide.Commit) error {
	var tx txn.Transaction
	if of.Checkpoint != nil {
		tx.Records, s.charges.own.pieces = s.Progress.TextRecords(progress.CheckpointKey(s.at.Number), of.Checkpoint,
			s.charges.own.pieces)
	}
	for _, d := range of.Entries {
		tx.Records = append(tx.Records, txn.Record{Topic: s.Names.Ledger(), Partition: s.at.Number, Key: d.Entry.Key(),
			Value: d.Value, Time: d.Entry.WindowEnd.UnixMilli()})
	}
	for _, x := range of.Snapshots {
		records, pieces := s.State.TextRecordsIn(s.at.Number, x.Key, x.Text, s.pieces[x.Key])
		s.pieces[x.Key] = pieces
		tx.Records = append(tx.Records, records...)
	}
	if err := s.producer.Commit(ctx, tx); err != nil {
		return fmt.Errorf("%s: %w", recorded(of), err)
	}
	s.core.Committed(s.producer.Last(s.Names.Ledger(), s.at.Number))
	s.tell(s.core.Notices())
	if len(of.Entries) > 0 && s.parts.reader != nil { // before that, entries are adopted
		s.progressed()
	}
	return nil
}

// recorded says what a transaction was to record.
func recorded(of decide.Commit) string {
	if len(of.Entries) == 0 {
		return "record who has counted"
	}
	first := of.Entries[0].Entry
	return fmt.Sprintf("record windows, the first of stream %s, ending %s", first.Stream,
		first.WindowEnd.Format(time.RFC3339))
}

// poll keeps the progress from time to time, and reads the next parts.
func (s *session) poll(ctx context.Context) error {
	s.busyAt = time.Time{}
	s.remembers(s.core.Bytes())
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
	return s.parts.read(ctx)
}

// record returns what the next session has to know.
func (s *session) record() progressRecord {
	r := progressRecord{Offset: s.parts.needs(), TopicID: s.parts.id, Saved: s.core.Saved()}
	if r.Offset == 0 && !s.parts.lostAt.IsZero() {
		r.LostAt = &s.parts.lostAt
	}
	return r
}

// progressed reports the oldest window of each stream that is not decided.
func (s *session) progressed() {
	s.core.EachStream(func(stream string, w windows.Window, schedule windows.Schedule, more bool) {
		if more {
			s.Health.Next(s.at, stream, w, schedule)
		} else {
			s.Health.Finished(s.at, stream)
		}
	})
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
