package release

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"go.uber.org/zap"

	"github.com/louver/louver/stream/fetch"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/txn"
)

// drawn is an entry that is in the ledger's log, though its transaction was aborted.
type drawn struct {
	entry ledger.Entry
	value []byte
}

// fold reads what has been charged: the worker's own partition of the ledger, and before it those of the budgets whose
// spending a budget here took over. It returns what was drawn in the own partition and not committed.
func (s *session) fold(ctx context.Context) ([]drawn, error) {
	folded := map[string]bool{}
	for _, p := range s.programs {
		line := s.Lineage(p.stream.Budget.Name)
		for _, old := range slices.Backward(line[1:]) {
			from := s.Place(old)
			if from == s.at.Number || folded[old] {
				continue
			}
			folded[old] = true
			if _, err := s.foldPartition(ctx, from, func(e ledger.Entry) bool { return e.Budget == old }); err != nil {
				return nil, err
			}
		}
	}
	return s.foldPartition(ctx, s.at.Number, func(ledger.Entry) bool { return true })
}

// foldPartition folds the entries of a ledger partition that are wanted.
func (s *session) foldPartition(ctx context.Context, partition int, wanted func(ledger.Entry) bool) (aborted []drawn, err error) {
	topic := s.Names.Ledger()
	starts, err := s.Fetch.Starts(ctx, topic, []int{partition})
	if err != nil {
		return nil, err
	}
	if starts[partition] > 0 {
		return nil, fmt.Errorf("%w: the first %d records of %s/%d are gone: what they charged is not known", ledger.ErrUnreadable, starts[partition], topic, partition)
	}
	_, err = s.Drawn.ReadAll(ctx, topic, partition, 0, func(r *fetch.Record) error {
		e, err := ledger.Decode(r.Value)
		if err != nil {
			return fmt.Errorf("%s/%d at offset %d: %w", topic, partition, r.Offset, err)
		}
		if !wanted(e) {
			return nil
		}
		if r.Aborted {
			aborted = append(aborted, drawn{e, slices.Clone(r.Value)})
			return nil
		}
		return s.learn(e)
	})
	var lost *fetch.LostError
	var damaged *fetch.BatchError
	if errors.As(err, &lost) || errors.As(err, &damaged) {
		return nil, fmt.Errorf("%w: %w", ledger.ErrUnreadable, err)
	}
	return aborted, err
}

// learn takes a committed entry into the books and the priors.
func (s *session) learn(e ledger.Entry) error {
	for i, p := range s.programs {
		if p.stream.Name == e.Stream {
			s.priors[i].read(e)
		}
	}
	return s.books.Add(e)
}

// adopt commits what earlier sessions drew and could not commit. Whoever reads uncommitted has seen these figures: a
// second draw of the same window would be a second loss that nobody is charged for. So each is recorded as it was drawn,
// byte for byte, and of several the first. The transactional id has been taken over, so that nobody adds more.
func (s *session) adopt(ctx context.Context, aborted []drawn) error {
	for _, d := range aborted {
		if s.books.Has(d.entry.Stream, d.entry.WindowEnd) {
			continue
		}
		if err := s.producer.Commit(ctx, txn.Transaction{Records: []txn.Record{s.record(d.entry, d.value)}}); err != nil {
			return fmt.Errorf("record again the window ending %s of stream %s: %w", d.entry.WindowEnd, d.entry.Stream, err)
		}
		s.Log.Info("a window that was drawn before is recorded as it was drawn", zap.String("stream", d.entry.Stream), zap.Time("window_end", d.entry.WindowEnd))
		if err := s.learn(d.entry); err != nil {
			return errors.Join(ledger.ErrUnreadable, err)
		}
		s.observe(d.entry)
	}
	return nil
}
