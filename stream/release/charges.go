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
	"github.com/louver/louver/stream/ledger/log"
	"github.com/louver/louver/stream/progress"
)

// charges says what was charged so far to the budgets of one partition, and what their streams have published.
type charges struct {
	*worker
	own *partition // of the ledger
	// continued are other partitions of the ledger whose charges count here. settled are the budgets for which these
	// will add no more charges.
	continued []*continued
	settled   map[string]bool
	// formers are partitions that say what earlier budgets had paid for streams, by number.
	formers map[int]*partition
	// readAll reads a partition of the ledger to its end. Tests take its records from elsewhere.
	readAll func(ctx context.Context, client *fetch.Client, partition int, from int64,
		add func(*fetch.Record) error) (next int64, err error)
}

func newCharges(w *worker) *charges {
	cs := &charges{worker: w, own: &partition{number: w.at.Number}, settled: map[string]bool{},
		formers: map[int]*partition{}}
	cs.readAll = func(ctx context.Context, client *fetch.Client, partition int, from int64,
		add func(*fetch.Record) error) (int64, error) {
		return client.ReadAll(ctx, cs.Names.Ledger(), partition, from, add)
	}
	return cs
}

// drawn is an entry from an aborted transaction that is still in the ledger's log.
type drawn struct {
	entry ledger.Entry
	value []byte
}

// partition is a partition of the ledger, as far as it has been read.
type partition struct {
	number int
	fold   *ledger.State
	next   int64 // the offset up to which it is read
	// told is how many entries the last checkpoint covers, size is its bytes, and pieces is the number of its records.
	// grown is the bytes of the entries since.
	told, size, grown int64
	pieces            int
}

// continued is another partition. It holds charges of budgets that budgets here have taken over.
type continued struct {
	*partition
	budgets []string // those taken over
	by      []string // those that took over
}

// read reads all charges: first the partitions of budgets whose spending a budget here took over, then the worker's own
// partition of the ledger. It returns the entries that were drawn in its own partition and not committed.
func (cs *charges) read(ctx context.Context) ([]drawn, error) {
	cs.followAll()
	for _, c := range cs.continued {
		if _, err := cs.readPartition(ctx, c.partition, cs.Fetch); err != nil {
			return nil, err
		}
	}
	return cs.readPartition(ctx, cs.own, cs.Drawn)
}

// followAll notes whose charges in other partitions count here.
func (cs *charges) followAll() {
	for _, budget := range cs.budgets() {
		for _, old := range cs.Lineage(budget)[1:] {
			if from := cs.Place(old); from != cs.at.Number {
				cs.follow(from, old, budget)
			}
		}
	}
}

// follow notes that a budget took over one whose charges are in another partition.
func (cs *charges) follow(number int, old, by string) {
	i := slices.IndexFunc(cs.continued, func(c *continued) bool { return c.number == number })
	if i < 0 {
		i = len(cs.continued)
		cs.continued = append(cs.continued, &continued{partition: &partition{number: number}})
	}
	c := cs.continued[i]
	c.budgets, c.by = append(c.budgets, old), append(c.by, by)
}

// inherited reports whether the budgets that a budget has taken over can be charged no more and all their charges are
// in the books. Until then no window of the new budget can be decided. It reads the charges that are missing here, and
// counts even those that should not have come any more.
func (cs *charges) inherited(ctx context.Context, budget string) (bool, error) {
	for _, c := range cs.continued {
		if slices.Contains(c.by, budget) {
			if _, err := cs.readOn(ctx, c.partition, cs.Fetch); err != nil {
				return false, err
			}
		}
	}
	if cs.settled[budget] {
		return true, nil
	}
	line := cs.Lineage(budget)[1:]
	for _, e := range cs.Editions {
		if !slices.Contains(line, e.Stream.Budget.Name) {
			continue
		}
		last, ok := cs.partitionOf(e.Stream.Budget.Name).fold.Books.Last(e.Stream.Name, e.Number)
		if e.Schedule.End == 0 || !ok || last.UnixNano() < e.Schedule.End {
			return false, nil
		}
	}
	cs.settled[budget] = true
	return true, nil
}

// partitionOf returns the partition with the charges of a budget here, or of one that was taken over.
func (cs *charges) partitionOf(budget string) *partition {
	at := cs.Place(budget)
	for _, c := range cs.continued {
		if c.number == at {
			return c.partition
		}
	}
	return cs.own
}

// readPartition reads a partition of the ledger from its last checkpoint on, or from its first entry if there is none
// that fits. It returns what was drawn and not committed, if the client delivers aborted records.
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
func (cs *charges) readPartition(ctx context.Context, p *partition, client *fetch.Client) ([]drawn, error) {
	if err := cs.whole(ctx, p.number); err != nil {
		return nil, err
	}
	key := progress.CheckpointKey(p.number)
	text, found, err := cs.Progress.ReadText(ctx, key)
	if err != nil {
		return nil, err
	}
	p.size, p.pieces = int64(len(text.Text)), text.Pieces
	where := zap.String("ledger", fmt.Sprintf("%s/%d", cs.Names.Ledger(), p.number))
	var aborted []drawn
	read := func(f *ledger.State) (err error) {
		p.fold, p.told, p.grown = f, f.Entries(), 0
		aborted, err = cs.readFold(ctx, p, client)
		return err
	}
	err = ledger.Resume(cs.Names.App, p.number, text.Text, read, func(err error) {
		cs.Log.Warn("a checkpoint of the ledger is left out: the ledger is read from its first entry", where,
			zap.Error(err))
	})
	if n := p.fold.Entries(); err == nil && !found && n > cs.CheckpointEvery {
		cs.Log.Info("the ledger has no checkpoint yet: it was read from its first entry", where,
			zap.Int64("entries", n))
	}
	return aborted, err
}

// readFold reads a partition to its end into a fold that has just begun.
func (cs *charges) readFold(ctx context.Context, p *partition, client *fetch.Client) ([]drawn, error) {
	if p == cs.own {
		for _, c := range cs.continued {
			for _, old := range c.budgets {
				p.fold.Books.Elsewhere(old, c.fold.Books)
			}
		}
	}
	p.next = p.fold.From()
	aborted, err := cs.readOn(ctx, p, client)
	if truncated := (*fetch.TruncatedError)(nil); err == nil || errors.As(err, &truncated) && p.next == p.fold.From() {
		err = p.fold.Done()
	}
	return aborted, err
}

// readOn reads a partition to its end.
func (cs *charges) readOn(ctx context.Context, p *partition, client *fetch.Client) (aborted []drawn, err error) {
	of := log.Partition{Topic: cs.Names.Ledger(), Number: p.number}
	p.next, err = cs.readAll(ctx, client, p.number, p.next, of.Decoded(func(e ledger.Entry, r *fetch.Record) error {
		if r.Aborted {
			aborted = append(aborted, drawn{e, slices.Clone(r.Value)})
			return nil
		}
		p.grown += int64(len(r.Value))
		return p.fold.Add(e, r.Value, r.Offset)
	}))
	return aborted, log.Unreadable(err)
}

// mostCheckpoint bounds the size of a checkpoint. A partition that would need a larger one has none.
const mostCheckpoint = 64 << 20

// mark adds a checkpoint of everything committed so far to a transaction, if one is due: every
// [Release.CheckpointEvery] entries, and only once the ledger has grown by the size of the last one. The checkpoint is
// true because it shares a transaction with later entries: only the owner of the partition commits, and only after it
// has recorded the uncommitted draws of others. So nothing below the checkpoint remains to be done.
func (cs *charges) mark(tx *txn.Transaction) error {
	p := cs.own
	if p.fold.Entries()-p.told < cs.CheckpointEvery || p.grown < p.size {
		return nil
	}
	text, err := p.fold.Checkpoint()
	if err != nil || text == nil {
		return err
	}
	p.told, p.size, p.grown = p.fold.Entries(), int64(len(text)), 0
	if len(text) > mostCheckpoint {
		cs.Monitor.Episodes.On(fmt.Sprintf("checkpoint of %d", p.number), episode.Rule{}, fmt.Sprintf(
			"%s/%d gets no checkpoint: it would take %d bytes, more than %d; a worker that takes it over reads it "+
				"from its last checkpoint on, which takes longer",
			cs.Names.Ledger(), p.number, len(text), mostCheckpoint))
		return nil
	}
	var records []txn.Record
	records, p.pieces = cs.Progress.TextRecords(progress.CheckpointKey(p.number), text, p.pieces)
	tx.Records = append(tx.Records, records...)
	return nil
}

// whole checks that a ledger partition is complete: it still has its beginning, and everything that was published.
func (cs *charges) whole(ctx context.Context, partition int) error {
	topic := cs.Names.Ledger()
	starts, err := cs.Fetch.Starts(ctx, topic, []int{partition})
	if err != nil {
		return err
	}
	if starts[partition] > 0 {
		return fmt.Errorf("%w: the first %d records of %s/%d are missing, so what they charged is unknown",
			ledger.ErrUnreadable, starts[partition], topic, partition)
	}
	return cs.Progress.Holds(ctx, topic, partition)
}

// learn adds an entry that is about to be committed.
func (cs *charges) learn(e ledger.Entry, value []byte) error {
	cs.own.grown += int64(len(value))
	if err := cs.own.fold.Add(e, value, -1); err != nil {
		return errors.Join(ledger.ErrUnreadable, err)
	}
	return nil
}

// recent returns what a stream has published lately, including while a budget of another partition paid for it.
func (cs *charges) recent(stream string) []ledger.Past {
	own := cs.own.fold.Recent(stream)
	var before []ledger.Past
	for _, c := range cs.continued {
		before = append(before, c.fold.Recent(stream)...)
	}
	if len(before) == 0 {
		return own
	}
	return append(before, own...)
}
