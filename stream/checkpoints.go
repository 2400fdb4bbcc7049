package stream

import (
	"context"
	"errors"

	"github.com/segmentio/kafka-go"
	"golang.org/x/sync/errgroup"

	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/kafka/topics"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/ledger/log"
	"github.com/louver/louver/stream/progress"
)

// Checkpoints returns the last checkpoint of each partition of an app's ledger that has one, and where it is in the
// progress topic. An app without a progress topic has no checkpoints.
func Checkpoints(ctx context.Context, client *kafka.Client, read *fetch.Client,
	app string) (map[int]progress.Text, error) {
	saved, err := progressOf(ctx, client, read, app)
	if saved == nil || err != nil {
		return nil, err
	}
	all := map[int]progress.Text{}
	for partition := range topics.Partitions {
		text, found, err := saved.ReadText(ctx, progress.CheckpointKey(partition))
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
	saved := &progress.Log{Client: client, Fetch: read, Topic: topics.Names{App: app}.Progress()}
	_, err := topics.Counts(ctx, client, []topics.Topic{{Name: saved.Topic}})
	if errors.Is(err, topics.ErrMissing) {
		return nil, nil
	}
	return saved, err
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
	saved, err := progressOf(ctx, client, read, app)
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
			if err == nil && saved != nil {
				err = saved.Holds(ctx, topics.Names{App: app}.Ledger(), partition)
			}
			return err
		})
	}
	return tails, run.Wait()
}

// read adds the entries of a partition to a state that has just begun, and keeps the newest.
func (t *Tail) read(ctx context.Context, read *fetch.Client, app string, partition int, f *ledger.State,
	keep int) error {
	topic, from := topics.Names{App: app}.Ledger(), f.From()
	of := log.Partition{Topic: topic, Number: partition}
	starts, err := read.Starts(ctx, topic, []int{partition})
	if err != nil {
		return err
	}
	if start := starts[partition]; start > 0 {
		return log.Unreadable(&fetch.LostError{Topic: topic, Partition: partition, Start: start})
	}
	add := func(e ledger.Entry) {
		if e.Groups = nil; keep > 0 {
			t.Entries = append(t.Entries, e)
		}
		if len(t.Entries) > 2*keep {
			t.Entries = append(t.Entries[:0], t.Entries[len(t.Entries)-keep:]...)
		}
	}
	// Nobody knows how many offsets the entries before the state take: transactions have some of their own.
	for back := min(int64(2*keep), from); err == nil && len(t.Entries) < keep && back > 0; back *= 4 {
		t.Entries, back = nil, min(back, from)
		_, err = of.Read(ctx, read, from-back, func(e ledger.Entry, r *fetch.Record) error {
			if r.Offset >= from {
				return log.ErrEnough
			}
			add(e)
			return nil
		})
		if errors.Is(err, log.ErrEnough) {
			err = nil
		}
		if back == from {
			break
		}
	}
	if err == nil {
		_, err = of.Read(ctx, read, from, func(e ledger.Entry, r *fetch.Record) error {
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

// Charged reports whether any window was ever charged to a budget, according to the ledger: see [control.Charged]. An
// entry that cannot be read is an error.
func Charged(ctx context.Context, client *fetch.Client, names topics.Names, budget string) (charged bool, err error) {
	partition := topics.Place(budget, topics.Partitions)
	_, err = log.Partition{Topic: names.Ledger(), Number: partition}.Read(ctx, client, 0,
		func(e ledger.Entry, _ *fetch.Record) error {
			charged = charged || e.Budget == budget
			return nil
		})
	return charged, err
}
