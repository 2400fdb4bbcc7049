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

// Checkpoints calls f with the last checkpoint of each partition of an app's ledger and its offset. An app without a
// progress topic has no checkpoints.
func Checkpoints(ctx context.Context, client *kafka.Client, read *fetch.Client, app string, f func(at ledger.Position, app string, partition int, text []byte)) error {
	log := &progress.Log{Client: client, Fetch: read, Topic: topics.Names{App: app}.Progress()}
	switch _, err := topics.Counts(ctx, client, []topics.Topic{{Name: log.Topic}}); {
	case errors.Is(err, topics.ErrMissing):
		return nil
	case err != nil:
		return err
	}
	for partition := range topics.Partitions {
		text, found, err := log.ReadText(ctx, progress.CheckpointKey(partition))
		if err != nil {
			return err
		}
		if found {
			f(ledger.Position{Topic: log.Topic, Partition: text.Partition, Offset: text.Offset}, app, partition, text.Text)
		}
	}
	return nil
}

// Tail is what a partition of a ledger says: the books after all entries, and the newest entries, in order and without their
// groups.
type Tail struct {
	Books   *ledger.Books
	Entries []ledger.Entry
}

// Tails reads an app's ledger, which must exist, as a process does that takes it over: each partition from its last checkpoint
// on. keep is how many entries it returns of each partition, if there are so many, or up to twice as many. ignored is told of
// checkpoints that do not fit, perhaps by several goroutines at once. Then, and without any, it reads all entries.
func Tails(ctx context.Context, client *kafka.Client, read *fetch.Client, app string, keep int, ignored func(error)) ([]Tail, error) {
	checkpoints := map[int][]byte{}
	err := Checkpoints(ctx, client, read, app, func(_ ledger.Position, _ string, partition int, text []byte) { checkpoints[partition] = text })
	if err != nil {
		return nil, err
	}
	tails := make([]Tail, topics.Partitions)
	run, ctx := errgroup.WithContext(ctx)
	for partition := range tails {
		run.Go(func() error {
			// Offsets are no count of entries: there are markers of transactions between them, and aborted entries.
			for back, whole := int64(keep), false; ; back *= 2 {
				err := ledger.Resume(app, partition, checkpoints[partition], func(f *ledger.Fold) (err error) {
					tails[partition] = Tail{Books: f.Books}
					whole, err = tails[partition].read(ctx, read, app, partition, f, keep, back)
					return err
				}, ignored)
				if err != nil || whole || len(tails[partition].Entries) >= keep {
					return err
				}
			}
		})
	}
	return tails, run.Wait()
}

// read adds the entries of a partition to a fold that has just begun, and keeps the newest. It begins so many offsets before
// the fold does, and says whether it has read the whole partition.
func (t *Tail) read(ctx context.Context, read *fetch.Client, app string, partition int, f *ledger.Fold, keep int, back int64) (whole bool, err error) {
	topic := topics.Names{App: app}.Ledger()
	starts, err := read.Starts(ctx, topic, []int{partition})
	if err != nil {
		return false, err
	}
	from := f.From()
	whole = from-back <= starts[partition]
	_, err = read.ReadAll(ctx, topic, partition, max(starts[partition], from-back), func(r *fetch.Record) error {
		if r.Aborted {
			return nil
		}
		e, err := ledger.Decode(r.Value)
		if err == nil && r.Offset >= from {
			err = f.Add(e, r.Value, r.Offset)
		}
		if err != nil {
			return fmt.Errorf("%s/%d at offset %d: %w", topic, partition, r.Offset, err)
		}
		if e.Groups = nil; keep > 0 {
			t.Entries = append(t.Entries, e)
		}
		if len(t.Entries) > 2*keep {
			t.Entries = append(t.Entries[:0], t.Entries[len(t.Entries)-keep:]...)
		}
		return nil
	})
	if truncated := (*fetch.TruncatedError)(nil); err == nil || errors.As(err, &truncated) {
		if wrong := f.Done(); wrong != nil {
			return whole, wrong
		}
	}
	return whole, err
}
