package release

import (
	"context"
	"fmt"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/louver/louver/stream/kafka/txn"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/windows"
)

// together is how many windows may share a transaction, and togetherBytes how large their entries may be, unless a single one is
// larger: they are held in memory.
const (
	together      = 64
	togetherBytes = 4 << 20
)

// decide releases each complete window that is its budget's next one by due time. Budgets take turns.
func (s *session) decide(ctx context.Context) error {
	if err := s.rebuild(ctx); err != nil {
		return err
	}
	budgets := s.budgets()
	for len(budgets) > 0 {
		var more []string
		for _, budget := range budgets {
			full, err := s.decideSome(ctx, budget)
			if err != nil {
				return err
			}
			if full {
				more = append(more, budget)
			}
		}
		budgets = more
	}
	return nil
}

// decideSome records the next windows of a budget in one transaction, and reports whether it is full.
func (s *session) decideSome(ctx context.Context, budget string) (full bool, err error) {
	if ok, err := s.inherited(ctx, budget); !ok || err != nil {
		return false, err
	}
	var tx txn.Transaction
	var entries []ledger.Entry
	for size := 0; !full; full = len(entries) == together || size >= togetherBytes {
		i, window := s.next(budget)
		if i < 0 {
			break
		}
		p := s.programs[i]
		state := s.gather.State(p.stream.Name, p.epoch, window)
		if !state.Ready {
			break
		}
		if len(entries) == 0 {
			if err := s.mark(&tx); err != nil {
				return false, err
			}
		}
		entry, err := s.entry(ctx, i, window, state)
		if err != nil {
			return false, err
		}
		value, err := entry.Encode()
		if err != nil {
			return false, err
		}
		tx.Records = append(tx.Records, s.record(entry, value))
		if err := s.learn(entry, value); err != nil {
			return false, err
		}
		s.gather.Decide(p.stream.Name, p.epoch, window)
		entries = append(entries, entry)
		size += len(value)
	}
	if len(entries) == 0 {
		return false, nil
	}
	if err := s.producer.Commit(ctx, tx); err != nil {
		return false, fmt.Errorf("record windows, the first of stream %s, ending %s: %w", entries[0].Stream, entries[0].WindowEnd.Format(time.RFC3339), err)
	}
	s.committed()
	for _, e := range entries {
		s.observe(e)
	}
	s.progressed()
	return full, nil
}

func (s *session) record(e ledger.Entry, value []byte) txn.Record {
	return txn.Record{Topic: s.Names.Ledger(), Partition: s.at.Number, Key: e.Key(), Value: value, Time: e.WindowEnd.UnixMilli()}
}

// budgets returns the names of the budgets that are decided here, each once.
func (s *session) budgets() []string {
	var names []string
	for _, p := range s.programs {
		names = append(names, p.stream.Budget.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// next returns the undecided window of a budget that is due first, and its program, or −1 if there is none. The budget
// waits for this window even if a later one of another stream is complete. So the order of charges depends on the
// public schedule only.
func (s *session) next(budget string) (program int, window windows.Window) {
	program = -1
	for i, p := range s.programs {
		if p.stream.Budget.Name != budget {
			continue
		}
		candidate, ok := p.schedule.After(s.decided(p))
		if ok && (program < 0 || p.schedule.Due(candidate) < s.programs[program].schedule.Due(window)) {
			program, window = i, candidate
		}
	}
	return program, window
}

// entry settles a window with its budget and draws it.
func (s *session) entry(ctx context.Context, program int, window windows.Window, state windows.State) (ledger.Entry, error) {
	s.caught(program)
	p, learned := s.programs[program], s.priors[program]
	e := p.entry(s.Names.App, window)
	if line := s.Lineage(p.stream.Budget.Name); len(line) > 1 {
		e.Continues = line[1:]
	}
	if t := s.turns[program]; t != nil {
		e.Cap = t.of
	}
	e.Watches = s.watches(p, window)
	open, ended := s.resume(p)
	e.Ended = ended
	if err := s.own.fold.Books.Settle(&e); err != nil {
		return e, err
	}
	s.tell(e)
	e.ReleasedAt = time.Now().UTC().Truncate(time.Second)
	e.IncompleteIn = state.Incomplete
	if e.Incomplete = len(state.Incomplete) > 0; e.Incomplete {
		s.Log.Error("part of a window's input was lost: the window is released without it and marked incomplete", zap.String("stream", p.stream.Name),
			zap.Time("window_end", e.WindowEnd), zap.Ints("input_partitions", state.Incomplete))
	}
	if e.Reason != "" && s.turns[program] == nil && !e.Looks() {
		return e, nil
	}
	merged, lost, err := s.counting(ctx, program, window)
	if err != nil {
		return e, err
	}
	if err := s.look(p, &e, open, merged); err != nil {
		return e, err
	}
	if e.Reason != "" {
		e.Incomplete = e.Incomplete || lost && e.Looks()
		return e, nil
	}
	e.Incomplete = e.Incomplete || lost
	if e.Prior, err = learned.before(window, s.recent(e.Stream)); err != nil {
		return e, err
	}
	if err := p.draw(&e, merged, learned, s.Metrics); err != nil {
		return e, err
	}
	learned.smooth(&e)
	return e, nil
}

func (s *session) observe(e ledger.Entry) {
	if e.Incomplete {
		s.Metrics.Incomplete.WithLabelValues(e.Stream).Inc()
	}
	for _, w := range e.Watches {
		switch {
		case w.Release != nil && w.Looks():
			s.Metrics.Releases.WithLabelValues(e.Stream).Add(float64(len(e.Groups)))
		case w.Reason == ledger.BudgetExhausted:
			s.Metrics.Withheld.WithLabelValues(e.Stream, w.Reason).Add(float64(len(e.Groups)))
		}
	}
	if e.Reason != "" {
		s.Metrics.Withheld.WithLabelValues(e.Stream, e.Reason).Add(float64(len(e.Groups) * len(e.Releases)))
		return
	}
	for _, g := range e.Groups {
		for _, v := range g.Values {
			if v.Value == nil {
				s.Metrics.Withheld.WithLabelValues(e.Stream, g.Reason).Inc()
			} else {
				s.Metrics.Releases.WithLabelValues(e.Stream).Inc()
			}
		}
	}
}
