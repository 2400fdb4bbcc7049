// Package log reads the entries of a ledger from its topic. It says where an entry stands that cannot be read, and
// which errors mean that charges are unknown. Package ledger itself knows no Kafka.
package log

import (
	"context"
	"errors"
	"fmt"

	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/ledger"
)

// Partition is one of the topic of a ledger.
type Partition struct {
	Topic  string
	Number int
}

// All reads whole partitions: [fetch.Client] does.
type All interface {
	ReadAll(ctx context.Context, topic string, partition int, from int64, f func(*fetch.Record) error) (next int64,
		err error)
}

// Bounded knows where partitions begin and end, too: [fetch.Client] does.
type Bounded interface {
	All
	Starts(ctx context.Context, topic string, partitions []int) (map[int]int64, error)
	Ends(ctx context.Context, topic string, partitions []int) (map[int]int64, error)
}

// Read passes each committed entry from an offset on, to the end of the partition, and returns the offset after the
// last one. An error of f ends the reading. If an entry cannot be read, or the partition is damaged or not whole from
// that offset on, the error is a [ledger.ErrUnreadable].
func (p Partition) Read(ctx context.Context, by All, from int64,
	f func(e ledger.Entry, r *fetch.Record) error) (next int64, err error) {
	each := p.Decoded(f)
	next, err = by.ReadAll(ctx, p.Topic, p.Number, from, func(r *fetch.Record) error {
		if r.Aborted {
			return nil
		}
		return each(r)
	})
	return next, Unreadable(err)
}

// Decoded returns a reader of records that passes the entry of each record to f. Where an entry cannot be read, or does
// not fit the entries before it, the error says the place. Other errors of f stay as they are.
func (p Partition) Decoded(f func(e ledger.Entry, r *fetch.Record) error) func(*fetch.Record) error {
	return func(r *fetch.Record) error {
		e, err := ledger.Decode(r.Value)
		if err == nil {
			err = f(e, r)
		}
		if errors.Is(err, ledger.ErrUnreadable) || errors.Is(err, ledger.ErrCheckpoint) {
			return fmt.Errorf("%s/%d at offset %d: %w", p.Topic, p.Number, r.Offset, err)
		}
		return err
	}
}

// ErrEnough ends a reading that needs no more entries.
var ErrEnough = errors.New("enough entries are read")

// firstTail is how many records Tail reads at first.
const firstTail = 256

// Tail passes the newest entries to f, in order. While enough says that more are needed, it begins again eight times as
// far back, up to the whole partition.
func (p Partition) Tail(ctx context.Context, by Bounded, f func(e ledger.Entry, r *fetch.Record) error,
	enough func() bool) error {
	starts, err := by.Starts(ctx, p.Topic, []int{p.Number})
	if err != nil {
		return err
	}
	ends, err := by.Ends(ctx, p.Topic, []int{p.Number})
	if err != nil {
		return err
	}
	for back := int64(firstTail); ; back *= 8 {
		from := max(starts[p.Number], ends[p.Number]-back)
		if _, err := p.Read(ctx, by, from, f); err != nil || from == starts[p.Number] || enough() {
			return err
		}
	}
}

// Covered returns the state that a checkpoint of the partition has. It compares the checkpoint's last entry with the
// one in the ledger. If they do not fit, the error is a [ledger.ErrCheckpoint], and the partition has to be read from
// its first entry.
func (p Partition) Covered(ctx context.Context, by All, app string, checkpoint []byte) (*ledger.State, error) {
	s, err := ledger.Restore(checkpoint, app, p.Number)
	if err != nil {
		return nil, err
	}
	_, err = p.Read(ctx, by, s.From(), func(e ledger.Entry, r *fetch.Record) error {
		if err := s.Add(e, r.Value, r.Offset); err != nil {
			return err
		}
		return ErrEnough
	})
	switch {
	case errors.Is(err, ErrEnough):
		return s, nil
	case err == nil: // no entry is there
		err = s.Done()
	}
	return nil, err
}

// Unreadable turns an error about lost or damaged records of the ledger into a [ledger.ErrUnreadable], which is a
// privacy stop: nobody knows what these records charged. Other errors stay as they are.
func Unreadable(err error) error {
	var lost *fetch.LostError
	var damaged *fetch.BatchError
	var truncated *fetch.TruncatedError
	if errors.As(err, &lost) || errors.As(err, &damaged) || errors.As(err, &truncated) {
		return fmt.Errorf("%w: %w", ledger.ErrUnreadable, err)
	}
	return err
}
