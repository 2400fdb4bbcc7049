package stream

import (
	"context"
	"errors"
	"fmt"

	"github.com/segmentio/kafka-go"
	"golang.org/x/sync/errgroup"

	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/kafka/topics"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/progress"
)

// Checkpoints returns the last checkpoint of each partition of an app's ledger that has one, and where it is in the
// progress topic. An app without a progress topic has no checkpoints.
func Checkpoints(ctx context.Context, client *kafka.Client, read *fetch.Client,
	app string) (map[int]progress.Text, error) {
	log, err := progressOf(ctx, client, read, app)
	if log == nil || err != nil {
		return nil, err
	}
	all := map[int]progress.Text{}
	for partition := range topics.Partitions {
		text, found, err := log.ReadText(ctx, progress.CheckpointKey(partition))
		if err != nil {
			return nil, err
		}
		if found {
			all[partition] = text
		}
	}
	return all, nil
}

// progressOf returns the progress of an app; nil if it has no such topic.
func progressOf(ctx context.Context, client *kafka.Client, read *fetch.Client, app string) (*progress.Log, error) {
	log := &progress.Log{Client: client, Fetch: read, Topic: topics.Names{App: app}.Progress()}
	_, err := topics.Counts(ctx, client, []topics.Topic{{Name: log.Topic}})
	if errors.Is(err, topics.ErrMissing) {
		return nil, nil
	}
	return log, err
}

// Tail is the end of a partition of a ledger: the books after all entries, and the newest entries, in order and without
// their groups.
type Tail struct {
	Books   *ledger.Books
	Entries []ledger.Entry
}

// Tails reads an app's ledger, which must exist, as a process that takes it over does: each partition from its last
// checkpoint on. It returns the newest entries of each partition: keep to twice as many, or all if there are fewer.
// ignored is told of checkpoints that do not fit, perhaps by several goroutines at once. Where no checkpoint fits,
// Tails reads all entries. Its error is a [ledger.ErrUnreadable] if entries are missing that were published.
func Tails(ctx context.Context, client *kafka.Client, read *fetch.Client, app string, keep int,
	ignored func(error)) ([]Tail, error) {
	checkpoints, err := Checkpoints(ctx, client, read, app)
	if err != nil {
		return nil, err
	}
	log, err := progressOf(ctx, client, read, app)
	if err != nil {
		return nil, err
	}
	tails := make([]Tail, topics.Partitions)
	run, ctx := errgroup.WithContext(ctx)
	for partition := range tails {
		run.Go(func() error {
			err := ledger.Resume(app, partition, checkpoints[partition].Text, func(f *ledger.State) error {
				tails[partition] = Tail{Books: f.Books}
				return tails[partition].read(ctx, read, app, partition, f, keep)
			}, ignored)
			if err == nil && log != nil {
				err = log.Holds(ctx, topics.Names{App: app}.Ledger(), partition)
			}
			return err
		})
	}
	return tails, run.Wait()
}

// read adds the entries of a partition to a fold that has just begun, and keeps the newest.
func (t *Tail) read(ctx context.Context, read *fetch.Client, app string, partition int, f *ledger.State,
	keep int) error {
	topic, from := topics.Names{App: app}.Ledger(), f.From()
	starts, err := read.Starts(ctx, topic, []int{partition})
	if err != nil {
		return err
	}
	if start := starts[partition]; start > 0 {
		return fmt.Errorf("%w: %w", ledger.ErrUnreadable, &fetch.LostError{Topic: topic, Partition: partition,
			Start: start})
	}
	entries := func(from int64, each func(e ledger.Entry, r *fetch.Record) error) error {
		_, err := read.ReadAll(ctx, topic, partition, from, func(r *fetch.Record) error {
			if r.Aborted {
				return nil
			}
			e, err := ledger.Decode(r.Value)
			if err == nil {
				err = each(e, r)
			}
			if err != nil && !errors.Is(err, errBefore) {
				err = fmt.Errorf("%s/%d at offset %d: %w", topic, partition, r.Offset, err)
			}
			return err
		})
		return err
	}
	add := func(e ledger.Entry) {
		if e.Groups = nil; keep > 0 {
			t.Entries = append(t.Entries, e)
		}
		if len(t.Entries) > 2*keep {
			t.Entries = append(t.Entries[:0], t.Entries[len(t.Entries)-keep:]...)
		}
	}
	// Nobody knows how many offsets the entries before the fold take: transactions have some of their own.
	for back := min(int64(2*keep), from); err == nil && len(t.Entries) < keep && back > 0; back *= 4 {
		t.Entries, back = nil, min(back, from)
		err = entries(from-back, func(e ledger.Entry, r *fetch.Record) error {
			if r.Offset >= from {
				return errBefore
			}
			add(e)
			return nil
		})
		if errors.Is(err, errBefore) {
			err = nil
		}
		if back == from {
			break
		}
	}
	if err == nil {
		err = entries(from, func(e ledger.Entry, r *fetch.Record) error {
			add(e)
			return f.Add(e, r.Value, r.Offset)
		})
	}
	if truncated := (*fetch.TruncatedError)(nil); err == nil || errors.As(err, &truncated) {
		if wrong := f.Done(); wrong != nil {
			return wrong
		}
	}
	return err
}

// errBefore ends the reading of entries before a fold.
var errBefore = errors.New("all entries before the fold are read")

// Charged reports whether any window was ever charged to a budget, according to the ledger: see [control.Charged]. An
// entry that cannot be read is an error.
func Charged(ctx context.Context, client *fetch.Client, names topics.Names, budget string) (charged bool, err error) {
	partition := topics.Place(budget, topics.Partitions)
	_, err = client.ReadAll(ctx, names.Ledger(), partition, 0, func(r *fetch.Record) error {
		e, err := ledger.Decode(r.Value)
		if err != nil {
			return fmt.Errorf("%s/%d at offset %d: %w", names.Ledger(), partition, r.Offset, err)
		}
		charged = charged || e.Budget == budget
		return nil
	})
	if damaged := (*fetch.BatchError)(nil); errors.As(err, &damaged) {
		err = fmt.Errorf("%w: %w", ledger.ErrUnreadable, err)
	}
	return charged, err
}
