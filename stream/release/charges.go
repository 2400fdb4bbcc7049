package release

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"go.uber.org/zap"

	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/ledger/log"
	"github.com/louver/louver/stream/progress"
	"github.com/louver/louver/stream/release/decide"
)

// charges reads what was charged so far: the worker's own partition of the ledger, and others that say something about
// its budgets.
type charges struct {
	*worker
	own       *partition
	continued []decide.Continued // other partitions whose charges count here
	others    map[int]*partition
}

func newCharges(w *worker, continued []decide.Continued) *charges {
	return &charges{worker: w, own: &partition{number: w.at.Number}, continued: continued, others: map[int]*partition{}}
}

// partition is a partition of the ledger, as far as it has been read.
type partition struct {
	number int
	state  *ledger.State
	next   int64 // the offset up to which it is read
	// covered is how many entries the last checkpoint covers, size is its bytes, and pieces is the number of its
	// records. grown is the bytes of the entries since.
	covered, size, grown int64
	pieces               int
}

// read reads all charges: first the partitions of budgets whose spending a budget here took over, then the worker's own
// partition of the ledger.
func (cs *charges) read(ctx context.Context) (decide.Charges, map[int]*ledger.State, error) {
	others := map[int]*ledger.State{}
	for _, c := range cs.continued {
		var err error
		if others[c.Partition], err = cs.other(ctx, c.Partition); err != nil {
			return decide.Charges{}, nil, err
		}
	}
	aborted, err := cs.readPartition(ctx, cs.own, cs.Uncommitted)
	return decide.Charges{State: cs.own.state, Covered: cs.own.covered, Size: cs.own.size, Grown: cs.own.grown,
		Aborted: aborted}, others, err
}

// other returns the state of another partition, read to its end.
func (cs *charges) other(ctx context.Context, number int) (*ledger.State, error) {
	if p := cs.others[number]; p != nil {
		_, err := cs.readOn(ctx, p, cs.Fetch)
		return p.state, err
	}
	p := &partition{number: number}
	if _, err := cs.readPartition(ctx, p, cs.Fetch); err != nil {
		return nil, err
	}
	cs.others[number] = p
	return p.state, nil
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
func (cs *charges) readPartition(ctx context.Context, p *partition, client *fetch.Client) ([]decide.Encoded, error) {
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
	var aborted []decide.Encoded
	read := func(f *ledger.State) (err error) {
		p.state, p.covered, p.grown = f, f.Entries(), 0
		aborted, err = cs.readState(ctx, p, client)
		return err
	}
	err = ledger.Resume(cs.Names.App, p.number, text.Text, read, func(err error) {
		cs.Log.Warn("a checkpoint of the ledger is left out: the ledger is read from its first entry", where,
			zap.Error(err))
	})
	if n := p.state.Entries(); err == nil && !found && n > cs.CheckpointEvery {
		cs.Log.Info("the ledger has no checkpoint yet: it was read from its first entry", where,
			zap.Int64("entries", n))
	}
	return aborted, err
}

// readState reads a partition to its end into a state that has just begun.
func (cs *charges) readState(ctx context.Context, p *partition, client *fetch.Client) ([]decide.Encoded, error) {
	if p == cs.own {
		for _, c := range cs.continued {
			for _, old := range c.Budgets {
				p.state.Books.Link(old, cs.others[c.Partition].state.Books)
			}
		}
	}
	p.next = p.state.From()
	aborted, err := cs.readOn(ctx, p, client)
	if truncated := (*fetch.TruncatedError)(nil); err == nil || errors.As(err, &truncated) && p.next == p.state.From() {
		err = p.state.Done()
	}
	return aborted, err
}

// readOn reads a partition to its end.
func (cs *charges) readOn(ctx context.Context, p *partition, client *fetch.Client) (aborted []decide.Encoded,
	err error) {
	of := log.Partition{Topic: cs.Names.Ledger(), Number: p.number}
	p.next, err = client.ReadAll(ctx, of.Topic, p.number, p.next, of.Decoded(func(e ledger.Entry, r *fetch.Record) error {
		if r.Aborted {
			aborted = append(aborted, decide.Encoded{Entry: e, Value: slices.Clone(r.Value)})
			return nil
		}
		p.grown += int64(len(r.Value))
		return p.state.Add(e, r.Value, r.Offset)
	}))
	return aborted, log.Unreadable(err)
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
