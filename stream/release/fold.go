package release

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"go.uber.org/zap"

	"github.com/louver/louver/stream/episode"
	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/kafka/txn"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/progress"
)

// drawn is an entry from an aborted transaction that is still in the ledger's log.
type drawn struct {
	entry ledger.Entry
	value []byte
}

// partition is a partition of the ledger, as far as it has been read.
type partition struct {
	number int
	fold   *ledger.Fold
	next   int64 // the offset up to which it is read
	// told is how many entries the last checkpoint covers, size its bytes, and pieces the number of its records. grown
	// is the bytes of the entries since.
	told, size, grown int64
	pieces            int
}

// continued is another partition. It holds charges of budgets that budgets of this session have taken over.
type continued struct {
	*partition
	budgets []string // those taken over
	by      []string // those that took over
}

// fold reads all charges: first the partitions of budgets whose spending a budget here took over, then the worker's own
// partition of the ledger. It returns the entries that were drawn in its own partition and not committed.
func (s *session) fold(ctx context.Context) ([]drawn, error) {
	for _, budget := range s.budgets() {
		for _, old := range s.Lineage(budget)[1:] {
			if from := s.Place(old); from != s.at.Number {
				s.follow(from, old, budget)
			}
		}
	}
	for _, c := range s.continued {
		if _, err := s.readPartition(ctx, c.partition, s.Fetch); err != nil {
			return nil, err
		}
	}
	return s.readPartition(ctx, s.own, s.Drawn)
}

// follow notes that a budget took over one of another partition.
func (s *session) follow(number int, old, by string) {
	i := slices.IndexFunc(s.continued, func(c *continued) bool { return c.number == number })
	if i < 0 {
		i = len(s.continued)
		s.continued = append(s.continued, &continued{partition: &partition{number: number}})
	}
	c := s.continued[i]
	c.budgets, c.by = append(c.budgets, old), append(c.by, by)
}

// inherited reports whether the budgets that a budget has taken over can be charged no more and all their charges are
// in the books. Until then no window of the new budget can be decided. It reads missing charges, and counts even those
// that should no longer occur.
func (s *session) inherited(ctx context.Context, budget string) (bool, error) {
	for _, c := range s.continued {
		if slices.Contains(c.by, budget) {
			if _, err := s.readOn(ctx, c.partition, s.Fetch); err != nil {
				return false, err
			}
		}
	}
	if s.settled[budget] {
		return true, nil
	}
	line := s.Lineage(budget)[1:]
	for _, e := range s.Editions {
		if !slices.Contains(line, e.Stream.Budget.Name) {
			continue
		}
		last, ok := s.partitionOf(e.Stream.Budget.Name).fold.Books.Last(e.Stream.Name, e.Number)
		if e.Schedule.End == 0 || !ok || last.UnixNano() < e.Schedule.End {
			return false, nil
		}
	}
	s.settled[budget] = true
	return true, nil
}

// partitionOf returns the partition with the charges of a budget here, or of one that was taken over.
func (s *session) partitionOf(budget string) *partition {
	at := s.Place(budget)
	for _, c := range s.continued {
		if c.number == at {
			return c.partition
		}
	}
	return s.own
}

// readPartition reads a partition of the ledger from its last checkpoint on, or from its first entry if there is none that
// fits. It returns what was drawn and not committed, if the client delivers that.
//
// A checkpoint only saves time. It cannot hide a charge:
//   - It is committed in a transaction of the worker that had all earlier entries, so it covers committed entries only.
//     A fenced worker commits no checkpoint.
//   - It is used only on the ledger that it was made from: it holds a digest of all its entries, and the entry at its
//     offset has to match. Its books have to agree with the sums in that entry and in all later ones.
//   - If it does not match, it is ignored and all entries are read. Those that it covers must then be among them: a
//     ledger that has lost entries is a privacy stop.
//   - Entries hold the sums that follow from them. `louver audit` recomputes all of them, and the checkpoints.
//
// Checkpoints need no more trust than the ledger: both topics belong to the app, with the same rights.
func (s *session) readPartition(ctx context.Context, p *partition, client *fetch.Client) ([]drawn, error) {
	if err := s.whole(ctx, p.number); err != nil {
		return nil, err
	}
	key := progress.CheckpointKey(p.number)
	text, found, err := s.Progress.ReadText(ctx, key)
	if err != nil {
		return nil, err
	}
	p.size, p.pieces = int64(len(text.Text)), text.Pieces
	where := zap.String("ledger", fmt.Sprintf("%s/%d", s.Names.Ledger(), p.number))
	var left *ledger.Fold
	if found {
		var aborted []drawn
		if p.fold, err = ledger.Restore(text.Text, s.Names.App, p.number); err == nil {
			left, p.told = p.fold, p.fold.Entries()
			aborted, err = s.readFold(ctx, p, client)
		}
		if !errors.Is(err, ledger.ErrCheckpoint) {
			return aborted, err
		}
		s.Log.Warn("a checkpoint of the ledger is left out: the ledger is read from its first entry", where, zap.Error(err))
	}
	p.fold, p.told, p.grown = ledger.NewFold(s.Names.App, p.number), 0, 0
	if left != nil {
		p.fold.Instead(left)
	}
	aborted, err := s.readFold(ctx, p, client)
	if n := p.fold.Entries(); err == nil && !found && n > s.CheckpointEvery {
		s.Log.Info("the ledger has no checkpoint yet: it was read from its first entry", where, zap.Int64("entries", n))
	}
	return aborted, err
}

// readFold reads a partition to its end into a fold that has just begun.
func (s *session) readFold(ctx context.Context, p *partition, client *fetch.Client) ([]drawn, error) {
	if p == s.own {
		for _, c := range s.continued {
			for _, old := range c.budgets {
				p.fold.Books.Elsewhere(old, c.fold.Books)
			}
		}
	}
	p.next = p.fold.From()
	aborted, err := s.readOn(ctx, p, client)
	if truncated := (*fetch.TruncatedError)(nil); err == nil || errors.As(err, &truncated) && p.next == p.fold.From() {
		err = p.fold.Done()
	}
	return aborted, err
}

// readOn reads a partition to its end.
func (s *session) readOn(ctx context.Context, p *partition, client *fetch.Client) (aborted []drawn, err error) {
	p.next, err = client.ReadAll(ctx, s.Names.Ledger(), p.number, p.next, func(r *fetch.Record) error {
		e, err := ledger.Decode(r.Value)
		if err == nil && r.Aborted {
			aborted = append(aborted, drawn{e, slices.Clone(r.Value)})
			return nil
		}
		if err == nil {
			p.grown += int64(len(r.Value))
			err = p.fold.Add(e, r.Value, r.Offset)
		}
		if err != nil {
			return fmt.Errorf("%s/%d at offset %d: %w", s.Names.Ledger(), p.number, r.Offset, err)
		}
		return nil
	})
	return aborted, unreadable(err)
}

// mostCheckpoint bounds the size of a checkpoint. A partition that would need a larger one has none.
const mostCheckpoint = 64 << 20

// mark adds a checkpoint of everything committed so far to a transaction, if one is due: every
// [Release.CheckpointEvery] entries, and only once the ledger has grown by the size of the last one. The transaction
// with later entries makes the checkpoint true: only the owner of the partition commits, and only after it has recorded
// the uncommitted draws of others. So nothing below the checkpoint remains to be done.
func (s *session) mark(tx *txn.Transaction) error {
	p := s.own
	if p.fold.Entries()-p.told < s.CheckpointEvery || p.grown < p.size {
		return nil
	}
	text, err := p.fold.Checkpoint()
	if err != nil || text == nil {
		return err
	}
	p.told, p.size, p.grown = p.fold.Entries(), int64(len(text)), 0
	if len(text) > mostCheckpoint {
		s.Monitor.Episodes.On(fmt.Sprintf("checkpoint of %d", p.number), episode.Rule{}, fmt.Sprintf(
			"%s/%d gets no checkpoint: it would take %d bytes, more than %d; a worker that takes it over reads it from its last checkpoint on, which takes longer",
			s.Names.Ledger(), p.number, len(text), mostCheckpoint))
		return nil
	}
	var records []txn.Record
	records, p.pieces = s.Progress.TextRecords(progress.CheckpointKey(p.number), text, p.pieces)
	tx.Records = append(tx.Records, records...)
	return nil
}

// whole checks that a ledger partition is complete: it still has its beginning, and everything that was published.
func (s *session) whole(ctx context.Context, partition int) error {
	topic, one := s.Names.Ledger(), []int{partition}
	starts, err := s.Fetch.Starts(ctx, topic, one)
	if err != nil {
		return err
	}
	if starts[partition] > 0 {
		return fmt.Errorf("%w: the first %d records of %s/%d are missing, so what they charged is unknown", ledger.ErrUnreadable, starts[partition], topic, partition)
	}
	var published struct {
		Offset int64 `json:"offset"`
	}
	if _, err := s.Progress.Read(ctx, progress.PublishKey(partition), &published); err != nil {
		return err
	}
	ends, err := s.Fetch.Ends(ctx, topic, one)
	if err == nil && ends[partition] < published.Offset {
		err = fmt.Errorf("%w: %s/%d ends at offset %d, but records up to %d were published, so what was charged is unknown; the topic must never be deleted or recreated",
			ledger.ErrUnreadable, topic, partition, ends[partition], published.Offset)
	}
	return err
}

// unreadable turns the error about lost or damaged records of the ledger into a privacy stop.
func unreadable(err error) error {
	var lost *fetch.LostError
	var damaged *fetch.BatchError
	var truncated *fetch.TruncatedError
	if errors.As(err, &lost) || errors.As(err, &damaged) || errors.As(err, &truncated) {
		return fmt.Errorf("%w: %w", ledger.ErrUnreadable, err)
	}
	return err
}

// learn adds an entry that is about to be committed.
func (s *session) learn(e ledger.Entry, value []byte) error {
	s.own.grown += int64(len(value))
	if err := s.own.fold.Add(e, value, -1); err != nil {
		return errors.Join(ledger.ErrUnreadable, err)
	}
	return nil
}

// committed records the offset of the entries that were learnt.
func (s *session) committed() { s.own.fold.At(s.producer.Last(s.Names.Ledger(), s.at.Number)) }

// recent returns what a stream has published lately, including while a budget of another partition paid for it.
func (s *session) recent(stream string) []ledger.Past {
	own := s.own.fold.Recent(stream)
	var before []ledger.Past
	for _, c := range s.continued {
		before = append(before, c.fold.Recent(stream)...)
	}
	if len(before) == 0 {
		return own
	}
	return append(before, own...)
}

// adopt commits the entries that earlier sessions drew and could not commit. Readers of uncommitted records may have
// seen these figures, so a second draw of the same window would be a second loss that is never charged. Therefore each
// window is recorded as it was first drawn, byte for byte. This session owns the transactional id, so nobody adds more.
func (s *session) adopt(ctx context.Context, aborted []drawn) error {
	for _, d := range aborted {
		if s.own.fold.Books.Has(d.entry.Stream, d.entry.Epoch, d.entry.WindowEnd) {
			continue
		}
		if err := s.producer.Commit(ctx, txn.Transaction{Records: []txn.Record{s.record(d.entry, d.value)}}); err != nil {
			return fmt.Errorf("record again the window ending %s of stream %s: %w", d.entry.WindowEnd, d.entry.Stream, err)
		}
		s.Log.Info("a window was drawn but not committed: it is committed now as it was drawn", zap.String("stream", d.entry.Stream), zap.Time("window_end", d.entry.WindowEnd))
		if err := s.learn(d.entry, d.value); err != nil {
			return err
		}
		s.committed()
		s.observe(d.entry)
	}
	return nil
}
