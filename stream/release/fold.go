package release

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"go.uber.org/zap"

	"github.com/louver/louver/stream/fetch"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/progress"
	"github.com/louver/louver/stream/txn"
)

// drawn is an entry that is in the ledger's log, though its transaction was aborted.
type drawn struct {
	entry ledger.Entry
	value []byte
}

// continued is a ledger partition with charges of budgets that budgets of this session took over.
type continued struct {
	partition int
	budgets   []string // those taken over
	by        []string // those that took over
	next      int64    // the offset up to which it is read
}

// fold reads what has been charged: the worker's own partition of the ledger, and before it those of the budgets whose
// spending a budget here took over. It returns what was drawn in the own partition and not committed.
func (s *session) fold(ctx context.Context) ([]drawn, error) {
	for _, budget := range s.budgets() {
		for _, old := range s.Lineage(budget)[1:] {
			if from := s.Place(old); from != s.at.Number {
				s.follow(from, old, budget)
			}
		}
	}
	for _, c := range s.continued {
		if err := s.whole(ctx, c.partition); err != nil {
			return nil, err
		}
		if err := s.readOn(ctx, c, s.learn); err != nil {
			return nil, err
		}
	}
	return s.foldOwn(ctx)
}

// follow notes that a budget took over one of another partition.
func (s *session) follow(partition int, old, by string) {
	i := slices.IndexFunc(s.continued, func(c *continued) bool { return c.partition == partition })
	if i < 0 {
		i = len(s.continued)
		s.continued = append(s.continued, &continued{partition: partition})
	}
	c := s.continued[i]
	c.budgets, c.by = append(c.budgets, old), append(c.by, by)
}

// inherited says that the budgets whose spending a budget took over are charged no more, and that all of their charges are
// in the books: nothing of the new one can be decided before. It reads what is missing, and also what should not come any
// more: what was charged counts.
func (s *session) inherited(ctx context.Context, budget string) (bool, error) {
	for _, c := range s.continued {
		if slices.Contains(c.by, budget) {
			if err := s.readOn(ctx, c, s.learn); err != nil {
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
		last, ok := s.books.Last(e.Stream.Name, e.Number)
		if e.Schedule.End == 0 || !ok || last.UnixNano() < e.Schedule.End {
			return false, nil
		}
	}
	s.settled[budget] = true
	return true, nil
}

// readOn reads a continued partition to its end.
func (s *session) readOn(ctx context.Context, c *continued, f func(ledger.Entry) error) (err error) {
	c.next, err = s.Fetch.ReadAll(ctx, s.Names.Ledger(), c.partition, c.next, func(r *fetch.Record) error {
		e, err := ledger.Decode(r.Value)
		if err != nil {
			return fmt.Errorf("%s/%d at offset %d: %w", s.Names.Ledger(), c.partition, r.Offset, err)
		}
		if !slices.Contains(c.budgets, e.Budget) {
			return nil
		}
		return f(e)
	})
	return unreadable(err)
}

// foldOwn reads the worker's own partition.
func (s *session) foldOwn(ctx context.Context) (aborted []drawn, err error) {
	if err := s.whole(ctx, s.at.Number); err != nil {
		return nil, err
	}
	_, err = s.Drawn.ReadAll(ctx, s.Names.Ledger(), s.at.Number, 0, func(r *fetch.Record) error {
		e, err := ledger.Decode(r.Value)
		if err != nil {
			return fmt.Errorf("%s/%d at offset %d: %w", s.Names.Ledger(), s.at.Number, r.Offset, err)
		}
		if r.Aborted {
			aborted = append(aborted, drawn{e, slices.Clone(r.Value)})
			return nil
		}
		return s.learn(e)
	})
	return aborted, unreadable(err)
}

// whole checks that nothing of a ledger partition is gone: neither its beginning nor what was published from its end.
func (s *session) whole(ctx context.Context, partition int) error {
	topic, one := s.Names.Ledger(), []int{partition}
	starts, err := s.Fetch.Starts(ctx, topic, one)
	if err != nil {
		return err
	}
	if starts[partition] > 0 {
		return fmt.Errorf("%w: the first %d records of %s/%d are gone: what they charged is not known", ledger.ErrUnreadable, starts[partition], topic, partition)
	}
	var published struct {
		Offset int64 `json:"offset"`
	}
	if _, err := s.Progress.Read(ctx, progress.PublishKey(partition), &published); err != nil {
		return err
	}
	ends, err := s.Fetch.Ends(ctx, topic, one)
	if err == nil && ends[partition] < published.Offset {
		err = fmt.Errorf("%w: %s/%d ends at offset %d, but it was published up to %d: what was charged there is not known; the topic must never be deleted or made anew",
			ledger.ErrUnreadable, topic, partition, ends[partition], published.Offset)
	}
	return err
}

// unreadable makes a privacy stop of records of the ledger that are lost or damaged.
func unreadable(err error) error {
	var lost *fetch.LostError
	var damaged *fetch.BatchError
	var truncated *fetch.TruncatedError
	if errors.As(err, &lost) || errors.As(err, &damaged) || errors.As(err, &truncated) {
		return fmt.Errorf("%w: %w", ledger.ErrUnreadable, err)
	}
	return err
}

// learn takes an entry into the books and the priors of all editions of its stream.
func (s *session) learn(e ledger.Entry) error {
	for i, p := range s.programs {
		if p.stream.Name == e.Stream {
			s.priors[i].learn(e)
		}
	}
	return s.books.Add(e)
}

// adopt commits what earlier sessions drew and could not commit. Whoever reads uncommitted has seen these figures: a
// second draw of the same window would be a second loss that nobody is charged for. So each is recorded as it was drawn,
// byte for byte, and of several the first. The transactional id has been taken over, so that nobody adds more.
func (s *session) adopt(ctx context.Context, aborted []drawn) error {
	for _, d := range aborted {
		if s.books.Has(d.entry.Stream, d.entry.Epoch, d.entry.WindowEnd) {
			continue
		}
		if err := s.producer.Commit(ctx, txn.Transaction{Records: []txn.Record{s.record(d.entry, d.value)}}); err != nil {
			return fmt.Errorf("record again the window ending %s of stream %s: %w", d.entry.WindowEnd, d.entry.Stream, err)
		}
		s.Log.Info("a window had been drawn but not committed: it is committed as it was drawn", zap.String("stream", d.entry.Stream), zap.Time("window_end", d.entry.WindowEnd))
		if err := s.learn(d.entry); err != nil {
			return errors.Join(ledger.ErrUnreadable, err)
		}
		s.observe(d.entry)
	}
	return nil
}
