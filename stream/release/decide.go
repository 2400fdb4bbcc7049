package release

import (
	"context"
	"fmt"
	"math"
	"time"

	"go.uber.org/zap"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/episode"
	"github.com/louver/louver/stream/kafka/txn"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/release/attendance"
	"github.com/louver/louver/windows"
)

// together is how many windows may share a transaction. togetherBytes is how many bytes their entries may have in all
// before the transaction is committed, because they are held in memory.
const (
	together      = 64
	togetherBytes = 4 << 20
)

// decisions decides the windows of a partition and commits their entries.
type decisions struct {
	*worker
	producer producer
	now      func() time.Time // the clock; tests set another
	charges  *charges
	parts    *parts
	// attendance says who has counted. It is there once the charges are read.
	attendance *attendance.Attendance
	pieces     map[string]int // how many records hold each snapshot in Kafka
	notes      *notes
	lookout    *lookout
	priors     []*prior // of the programs
}

// producer commits transactions under the transactional id of the partition, as [txn.Producer] does.
type producer interface {
	Commit(ctx context.Context, tx txn.Transaction) error
	Last(topic string, partition int) int64
}

// newDecisions returns decisions that do not know yet what was charged.
func newDecisions(w *worker) (*decisions, error) {
	d := &decisions{worker: w, now: w.Now, pieces: map[string]int{}, charges: newCharges(w),
		parts: &parts{worker: w, gather: windows.NewGathering(w.PartBytes)}}
	d.parts.again = d.parts.load
	d.notes = &notes{decisions: d, of: map[*attendance.Lane]*tallying{}}
	d.parts.note = d.notes.note
	for _, p := range w.programs {
		d.priors = append(d.priors, newPrior(p))
	}
	var err error
	d.lookout, err = newLookout(d)
	return d, err
}

// attend makes the lanes of the programs, once the charges are read.
func (d *decisions) attend() {
	var here []config.Edition
	for _, p := range d.programs {
		here = append(here, config.Edition{Stream: p.stream, Number: p.epoch, Schedule: p.schedule})
	}
	d.attendance = attendance.New(here, d.Editions, d.charges.own.fold.Books, d.parts.gather)
	for i, p := range d.programs {
		p.lanes = d.attendance.Lanes[i]
	}
}

// decide releases each complete window that is its budget's next one by due time. Budgets take turns.
func (d *decisions) decide(ctx context.Context) error {
	if err := d.rebuild(ctx); err != nil {
		return err
	}
	budgets := d.budgets()
	for len(budgets) > 0 {
		var more []string
		for _, budget := range budgets {
			full, err := d.decideSome(ctx, budget)
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
func (d *decisions) decideSome(ctx context.Context, budget string) (full bool, err error) {
	if ok, err := d.charges.inherited(ctx, budget); !ok || err != nil {
		return false, err
	}
	var tx txn.Transaction
	var entries []ledger.Entry
	turns := d.turns(budget)
	for size := 0; !full; full = len(entries) == together || size >= togetherBytes {
		next, ok := firstDue(turns)
		if !ok {
			break
		}
		p := d.programs[next.lane.Place]
		state := d.parts.gather.State(p.stream.Name, p.epoch, next.window)
		if !state.Ready {
			break
		}
		before, ok, err := d.charges.before(ctx, p, next.window)
		if err != nil {
			return false, err
		}
		if !ok {
			break
		}
		if len(entries) == 0 {
			if err := d.charges.mark(&tx); err != nil {
				return false, err
			}
		}
		entry, err := d.entry(ctx, next, state, before)
		if err != nil {
			return false, err
		}
		value, err := entry.Encode()
		if err != nil {
			return false, err
		}
		tx.Records = append(tx.Records, d.record(entry, value))
		if err := d.learn(entry, value); err != nil {
			return false, err
		}
		d.learned(turns, entry.Stream)
		if next.lane.Of == nil {
			d.notes.hold(p, next.window)
		}
		d.attendance.Passed(next.lane, next.window)
		entries = append(entries, entry)
		size += len(value)
	}
	if len(entries) == 0 {
		return false, nil
	}
	if err := d.producer.Commit(ctx, tx); err != nil {
		return false, fmt.Errorf("record windows, the first of stream %s, ending %s: %w", entries[0].Stream,
			entries[0].WindowEnd.Format(time.RFC3339), err)
	}
	d.committed()
	for _, e := range entries {
		d.observe(e)
	}
	d.progressed()
	return full, nil
}

func (d *decisions) record(e ledger.Entry, value []byte) txn.Record {
	return txn.Record{Topic: d.Names.Ledger(), Partition: d.at.Number, Key: e.Key(), Value: value,
		Time: e.WindowEnd.UnixMilli()}
}

// turns returns what is next of each stream and discovery of a budget. Discoveries come first.
func (d *decisions) turns(budget string) (all []turn) {
	for _, p := range d.programs {
		if p.stream.Budget.Name == budget {
			for _, l := range p.lanes.Periods {
				all = append(all, nextOf(l))
			}
		}
	}
	for _, p := range d.programs {
		if p.stream.Budget.Name == budget {
			all = append(all, nextOf(p.lanes.Windows))
		}
	}
	return all
}

// nextOf returns the undecided window of a lane that is due first.
func nextOf(l *attendance.Lane) turn {
	t := turn{lane: l, due: math.MaxInt64}
	var more bool
	if t.window, more = l.Next(); more {
		t.due = l.Schedule.Due(t.window)
	}
	return t
}

// firstDue returns the turn that is due first, or false if there is none. The budget waits for it even if a later one
// of another stream is complete. So the order of charges depends on the public schedule only. If several are due at the
// same time, the first counts.
func firstDue(turns []turn) (next turn, ok bool) {
	next.due = math.MaxInt64
	for _, t := range turns {
		if t.due < next.due {
			next, ok = t, true
		}
	}
	return next, ok
}

// learned updates the turns of a stream of which an entry was learnt.
func (d *decisions) learned(turns []turn, stream string) {
	for i, t := range turns {
		if t.lane.Stream.Name == stream {
			turns[i] = nextOf(t.lane)
		}
	}
}

// entry settles a window or a discovery, draws it, and finishes it. before is what earlier budgets had paid for the
// stream.
func (d *decisions) entry(ctx context.Context, t turn, state windows.State,
	before ledger.Before) (e ledger.Entry, err error) {
	if t.lane.Of != nil {
		e, err = d.discover(ctx, t, state, before)
	} else {
		e, err = d.window(ctx, t, state, before)
	}
	if err == nil {
		err = d.charges.own.fold.Finish(&e)
	}
	return e, err
}

// settled fills in what an entry says about other budgets, before it is settled.
func (d *decisions) settled(e *ledger.Entry, before ledger.Before) {
	if line := d.Lineage(e.Budget); len(line) > 1 {
		e.Continues = line[1:]
	}
	e.Before = before
}

// began fills in when an entry is drawn and what of its input is lost.
func (d *decisions) began(e *ledger.Entry, state windows.State) {
	e.ReleasedAt = d.now().UTC().Truncate(time.Second)
	e.IncompleteIn = state.Incomplete
	if e.Incomplete = len(state.Incomplete) > 0; e.Incomplete {
		d.Log.Error("part of a window's input was lost: the window is released without it and marked incomplete",
			zap.String("stream", e.Stream),
			zap.Time("window_end", e.WindowEnd), zap.Ints("input_partitions", state.Incomplete))
	}
}

func (d *decisions) window(ctx context.Context, t turn, state windows.State,
	before ledger.Before) (ledger.Entry, error) {
	d.attendance.Overtake(t.lane)
	d.tellLosses()
	p, learned := d.programs[t.lane.Place], d.priors[t.lane.Place]
	e := p.entry(d.Names.App, t.window)
	d.settled(&e, before)
	if c := t.lane.Cap; c != nil {
		e.Cap = c.Of
	}
	e.Continual = d.lookout.steps(p, t.window)
	open, ended := d.lookout.resume(p)
	e.Ended = ended
	if err := d.charges.own.fold.Settle(&e); err != nil {
		return e, err
	}
	d.began(&e, state)
	if (e.Reason != "" || len(e.Groups) == 0) && t.lane.Cap == nil && !e.Looks() {
		return e, nil
	}
	merged, err := d.merge(ctx, t, &e)
	if err != nil {
		return e, err
	}
	if err := d.lookout.look(p, &e, open, merged); err != nil {
		return e, err
	}
	if e.Reason != "" {
		return e, nil
	}
	if e.Prior, err = learned.before(t.window, e.GroupNames(), d.charges.recent(e.Stream)); err != nil {
		return e, err
	}
	if err := p.draw(&e, merged, learned, d.Metrics, d.Log); err != nil {
		return e, err
	}
	learned.smooth(&e)
	return e, nil
}

// merge merges the parts of a settled window, takes the window through its trackers, and draws the sums of totals. An
// entry that is not withheld is incomplete if some of the parts are lost.
func (d *decisions) merge(ctx context.Context, t turn, e *ledger.Entry) (*windows.Merger, error) {
	totals, err := d.attendance.Looking(e, t.lane)
	if err != nil {
		return nil, err
	}
	merged, lost, err := d.through(ctx, d.attendance.Round(t.lane, t.window, totals), e.GroupNames())
	if err != nil {
		return nil, err
	}
	d.clipped(t.lane.Stream, merged, len(e.Groups))
	e.Incomplete = e.Incomplete || lost && (e.Reason == "" || e.Looks())
	random := buffered(d.programs[t.lane.Place].random)
	for _, t := range totals {
		if err := drawTotal(t, e, random, d.Metrics); err != nil {
			return nil, err
		}
	}
	return merged, nil
}

// clipped counts contributions beyond the bounds. Those that add up are known only now; ingest counts the others.
func (d *decisions) clipped(s *config.Stream, merged *windows.Merger, groups int) {
	if !s.Contribution.Adds() {
		return
	}
	beyond, all := int64(0), int64(0)
	for g := range groups {
		for _, p := range merged.All(g) {
			if all += p.Count; p.Index < 0 || p.Index > s.Grid.Last() {
				beyond += p.Count
			}
		}
	}
	d.Metrics.Clamped.WithLabelValues(s.Name).Add(float64(beyond))
	key := "stream " + s.Name + ": contributions beyond the bounds"
	if 2*beyond > all {
		d.Monitor.Episodes.On(key, episode.Rule{Every: time.Hour}, "stream "+s.Name+": what most users of a window add up "+
			"to lies beyond the bounds, and counts as the nearer bound")
	} else {
		d.Monitor.Episodes.Over(key, "stream "+s.Name+": what most users of a window add up to lies within the bounds")
	}
}

// learn adds an entry that is about to be committed to the charges. Then it tells what the entry withholds, and until
// when, which depends on what the entry ends.
func (d *decisions) learn(e ledger.Entry, value []byte) error {
	err := d.charges.learn(e, value)
	if err == nil {
		d.charges.tell(e)
	}
	return err
}

// committed records the offset of the entries that were learnt.
func (d *decisions) committed() {
	d.charges.own.fold.At(d.producer.Last(d.Names.Ledger(), d.at.Number))
}

// progressed reports the oldest window of each stream that is not decided.
func (d *decisions) progressed() {
	waiting := map[string]bool{}
	for _, p := range d.programs { // a stream's editions in order
		if waiting[p.stream.Name] {
			continue
		}
		if w, ok := p.lanes.Windows.Next(); ok {
			d.Health.Next(d.at, p.stream.Name, w, p.schedule)
			waiting[p.stream.Name] = true
		} else {
			d.Health.Finished(d.at, p.stream.Name)
		}
	}
}

// adopt commits the entries that earlier sessions drew and could not commit. Readers of uncommitted records may have
// seen these figures, so a second draw of the same window would be a second loss that is never charged. Therefore each
// window is recorded as it was first drawn, byte for byte. This session owns the transactional id, so nobody adds more.
func (d *decisions) adopt(ctx context.Context, aborted []drawn) error {
	for _, of := range aborted {
		if d.charges.own.fold.Books.Has(of.entry) {
			continue
		}
		if err := d.producer.Commit(ctx,
			txn.Transaction{Records: []txn.Record{d.record(of.entry, of.value)}}); err != nil {
			return fmt.Errorf("record again the window ending %s of stream %s: %w", of.entry.WindowEnd,
				of.entry.Stream, err)
		}
		d.Log.Info("a window was drawn but not committed: it is committed now as it was drawn",
			zap.String("stream", of.entry.Stream), zap.Time("window_end", of.entry.WindowEnd))
		if err := d.learn(of.entry, of.value); err != nil {
			return err
		}
		d.committed()
		d.observe(of.entry)
	}
	return nil
}
