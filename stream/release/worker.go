package release

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/louver/louver/stream/fetch"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/stage"
	"github.com/louver/louver/stream/txn"
	"github.com/louver/louver/windows"
)

// worker decides the windows of the budgets in one partition.
type worker struct {
	*Release
	at         stage.Partition
	membership *stage.Membership
	programs   []*program
	priors     []*prior // of the programs, as far as this session has read and written the ledger
}

// session opens the transactional id, which fences whoever worked here before, reads the ledger to its end, and decides
// windows as their partials come in. It returns when a transaction of its own fails: the ledger then tells the next
// session what became of it.
func (w *worker) session(ctx context.Context) error {
	producer, err := txn.Open(ctx, w.Conn.Client, w.Names.ReleaseID(w.at.Number), stage.TransactionTimeout, txn.OnRetry(w.Transactions(w.at.Topic)))
	if err != nil {
		return err
	}
	w.priors = make([]*prior, len(w.programs))
	for i, p := range w.programs {
		w.priors[i] = newPrior(p)
	}
	books, err := w.fold(ctx)
	if err != nil {
		return err
	}
	gather := newGathering()
	for _, p := range w.programs {
		if last, ok := books.Last(p.stream.Name); ok {
			gather.forget(p.stream.Name, last.UnixNano())
		}
	}
	committed, err := w.membership.Committed(ctx, w.at)
	if err != nil {
		return err
	}
	begin := committed.Offset
	if begin < 0 {
		starts, err := w.Fetch.Starts(ctx, w.at.Topic, []int{w.at.Number})
		if err != nil {
			return err
		}
		begin = starts[w.at.Number]
	}
	reader := w.Fetch.Partition(w.at.Topic, w.at.Number, begin)
	w.progressed(books)
	w.Health.Opened(w.at)
	for ctx.Err() == nil {
		page, err := reader.Poll(ctx)
		if err != nil {
			return err
		}
		if page.Lost > 0 {
			w.Log.Error("partials were deleted before they were released; keep them longer", zap.String("topic", w.at.Topic), zap.Int("partition", w.at.Number), zap.Int64("records", page.Lost))
		}
		err = page.Each(func(r *fetch.Record) error {
			if err := gather.add(r.Value, r.Offset); err != nil {
				w.Log.Error("a partial is unreadable and left out", zap.Int("partition", w.at.Number), zap.Int64("offset", r.Offset), zap.Error(err))
			}
			return nil
		})
		if err != nil {
			return err
		}
		if err := w.decide(ctx, producer, books, gather); err != nil {
			return err
		}
		w.Lag(w.Names.ReleaseGroup(), w.at, reader)
		if offset := gather.needs(reader.Position()); offset != committed.Offset {
			if err := w.membership.Commit(ctx, w.at, offset, ""); err == nil {
				committed.Offset = offset
			}
		}
	}
	return nil
}

// fold reads what has been charged: the worker's own partition of the ledger, and before it those of the budgets whose
// spending a budget here took over.
func (w *worker) fold(ctx context.Context) (*ledger.Books, error) {
	books := ledger.NewBooks()
	folded := map[string]bool{}
	for _, p := range w.programs {
		line := w.Lineage(p.stream.Budget.Name)
		for _, old := range slices.Backward(line[1:]) {
			from := w.Place(old)
			if from == w.at.Number || folded[old] {
				continue
			}
			folded[old] = true
			if err := w.read(ctx, from, func(e ledger.Entry) bool { return e.Budget == old }, books); err != nil {
				return nil, err
			}
		}
	}
	return books, w.read(ctx, w.at.Number, func(ledger.Entry) bool { return true }, books)
}

// read folds the entries of a ledger partition that are wanted.
func (w *worker) read(ctx context.Context, partition int, wanted func(ledger.Entry) bool, books *ledger.Books) error {
	topic := w.Names.Ledger()
	starts, err := w.Fetch.Starts(ctx, topic, []int{partition})
	if err != nil {
		return err
	}
	if starts[partition] > 0 {
		return fmt.Errorf("%w: the first %d records of %s/%d are gone: what they charged is not known", ledger.ErrUnreadable, starts[partition], topic, partition)
	}
	_, err = w.Fetch.ReadAll(ctx, topic, partition, 0, func(r *fetch.Record) error {
		e, err := ledger.Decode(r.Value)
		if err != nil {
			return fmt.Errorf("%s/%d at offset %d: %w", topic, partition, r.Offset, err)
		}
		if !wanted(e) {
			return nil
		}
		for i, p := range w.programs {
			if p.stream.Name == e.Stream {
				w.priors[i].read(e)
			}
		}
		return books.Add(e)
	})
	var lost *fetch.LostError
	var damaged *fetch.BatchError
	if errors.As(err, &lost) || errors.As(err, &damaged) {
		return fmt.Errorf("%w: %w", ledger.ErrUnreadable, err)
	}
	return err
}

// decide releases every window that is complete and, among those of its budget, next in order of due time.
func (w *worker) decide(ctx context.Context, producer *txn.Producer, books *ledger.Books, gather *gathering) error {
	for _, budget := range w.budgets() {
		for {
			i, window := w.next(books, budget)
			if i < 0 {
				break
			}
			stream := w.programs[i].stream.Name
			parts, ok := gather.complete(stream, window)
			if !ok {
				break
			}
			if err := w.record(ctx, producer, books, i, window, parts); err != nil {
				return err
			}
			gather.forget(stream, window.End)
			w.progressed(books)
		}
	}
	return nil
}

// progressed tells which window of each stream is the oldest that is not decided.
func (w *worker) progressed(books *ledger.Books) {
	for _, p := range w.programs {
		if window, ok := p.undecided(books); ok {
			w.Health.Next(w.at, p.stream.Name, window, p.schedule)
		} else {
			w.Health.Finished(w.at, p.stream.Name)
		}
	}
}

// budgets are the names of the budgets that are decided here, each once.
func (w *worker) budgets() []string {
	var names []string
	for _, p := range w.programs {
		names = append(names, p.stream.Budget.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// next is the window that is due first among those of a budget that are not decided, and whose it is; −1 if there is
// none. Waiting for it, although a later one of another stream may be complete, keeps the order of charges a matter of
// the public schedule.
func (w *worker) next(books *ledger.Books, budget string) (program int, window windows.Window) {
	program = -1
	for i, p := range w.programs {
		if p.stream.Budget.Name != budget {
			continue
		}
		candidate, ok := p.undecided(books)
		if ok && (program < 0 || p.schedule.Due(candidate) < w.programs[program].schedule.Due(window)) {
			program, window = i, candidate
		}
	}
	return program, window
}

// undecided is the stream's first window that is not decided; false if there is none.
func (p *program) undecided(books *ledger.Books) (windows.Window, bool) {
	if last, decided := books.Last(p.stream.Name); decided {
		return p.schedule.After(last.UnixNano())
	}
	return p.schedule.First(), true
}

// record draws a window and writes it to the ledger. After an error the window may or may not be recorded.
func (w *worker) record(ctx context.Context, producer *txn.Producer, books *ledger.Books, program int, window windows.Window, parts []*windows.Partial) error {
	p, learned := w.programs[program], w.priors[program]
	entry := p.entry(w.Names.App, window)
	if line := w.Lineage(p.stream.Budget.Name); len(line) > 1 {
		entry.Continues = line[1]
	}
	if err := books.Settle(&entry); err != nil {
		return err
	}
	if entry.Reason == "" {
		if err := learned.ready(learned.number(window.End)); err != nil {
			return err
		}
		if err := learned.mark(&entry, window); err != nil {
			return err
		}
		if err := p.draw(&entry, w.merge(p, window, parts), learned, w.Metrics); err != nil {
			return err
		}
		learned.smooth(&entry)
	} else {
		learned.read(entry)
	}
	entry.ReleasedAt = time.Now().UTC().Truncate(time.Second)
	value, err := entry.Encode()
	if err != nil {
		return err
	}
	err = producer.Commit(ctx, txn.Transaction{Records: []txn.Record{{Topic: w.Names.Ledger(), Partition: w.at.Number,
		Key: entry.Key(), Value: value, Time: entry.WindowEnd.UnixMilli()}}})
	if err != nil {
		return fmt.Errorf("record window ending %s of stream %s: %w", entry.WindowEnd.Format(time.RFC3339), entry.Stream, err)
	}
	w.observe(entry)
	if err := books.Add(entry); err != nil {
		return errors.Join(ledger.ErrUnreadable, err)
	}
	return nil
}

// merge puts the partials of a window into one bag a group.
func (w *worker) merge(p *program, window windows.Window, parts []*windows.Partial) *windows.Merger {
	merger := windows.NewMerger(windows.BagSpec{Groups: p.stream.Groups, MaxGroups: p.stream.MaxGroups, Policy: p.stream.Contribution,
		Window: window, Hasher: w.Hasher})
	for _, part := range parts {
		if err := merger.Add(part.Payload); err != nil {
			// What the partition sent is lost to this window, but the window is not: the schedule is public.
			w.Log.Error("a partial does not fit the stream and is left out", zap.String("stream", p.stream.Name), zap.Error(err))
		}
	}
	return merger
}

func (w *worker) observe(e ledger.Entry) {
	if e.Reason != "" {
		w.Metrics.Withheld.WithLabelValues(e.Stream, e.Reason).Add(float64(len(e.Groups) * len(e.Releases)))
		return
	}
	for _, g := range e.Groups {
		for _, v := range g.Values {
			if v.Value == nil {
				w.Metrics.Withheld.WithLabelValues(e.Stream, g.Reason).Inc()
			} else {
				w.Metrics.Releases.WithLabelValues(e.Stream).Inc()
			}
		}
	}
}
