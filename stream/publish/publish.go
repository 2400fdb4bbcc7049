// Package publish is the third stage: it copies what the ledger records to the output topics, one record a value, in a
// transaction together with its own offset. It draws nothing, decides nothing and holds nothing personal.
package publish

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/segmentio/kafka-go"

	"github.com/louver/louver/stream/fetch"
	"github.com/louver/louver/stream/group"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/stage"
	"github.com/louver/louver/stream/topics"
	"github.com/louver/louver/stream/txn"
)

// batch is how many ledger entries go into one transaction at most.
const batch = 64

// Publish is the stage. Fields must not change while it runs.
type Publish struct {
	stage.Env
	// Group is the membership of the ledger's consumer group.
	Group group.Config
}

// Run works until ctx ends.
func (s *Publish) Run(ctx context.Context) error {
	return stage.Run(ctx, s.Env, s.Group, func(ctx context.Context, at stage.Partition, m *stage.Membership) error {
		w := &worker{Publish: s, at: at, membership: m}
		return w.session(ctx)
	})
}

// worker copies one partition of the ledger.
type worker struct {
	*Publish
	at         stage.Partition
	membership *stage.Membership
}

// session opens the transactional id, which fences whoever copied this partition before, and copies from the committed
// offset on. It returns when its own transactions fail: the next session begins at what is committed then.
func (w *worker) session(ctx context.Context) error {
	producer, err := txn.Open(ctx, w.Conn.Client, w.Names.PublishID(w.at.Number), stage.TransactionTimeout, txn.OnRetry(w.Transactions(w.at.Topic)))
	if err != nil {
		return err
	}
	begin, err := w.membership.Committed(ctx, w.at)
	if err != nil {
		return err
	}
	reader := w.Fetch.Partition(w.at.Topic, w.at.Number, max(0, begin.Offset))
	w.Health.Opened(w.at)
	var tx pending
	flush := func(next int64) error {
		if tx.entries == nil {
			return nil
		}
		generation, member := w.membership.Generation()
		err := producer.Commit(ctx, txn.Transaction{Records: tx.records, Offsets: &txn.Offsets{Group: w.Names.PublishGroup(),
			Generation: int(generation), Member: member, Topic: w.at.Topic, Partition: w.at.Number, Offset: next}})
		if err != nil {
			return err
		}
		w.observe(tx.entries)
		tx = pending{}
		return nil
	}
	for ctx.Err() == nil {
		page, err := reader.Poll(ctx)
		if err != nil {
			return unreadable(err)
		}
		if page.Lost > 0 {
			return fmt.Errorf("%w: %d records of %s/%d were deleted before they were published", ledger.ErrUnreadable, page.Lost, w.at.Topic, w.at.Number)
		}
		err = page.Each(func(r *fetch.Record) error {
			if err := w.add(ctx, &tx, r); err != nil || len(tx.entries) < batch {
				return err
			}
			return flush(r.Offset + 1)
		})
		if err == nil {
			err = flush(reader.Position())
		}
		if err != nil {
			return unreadable(err)
		}
		w.Lag(w.Names.PublishGroup(), w.at, reader)
	}
	return nil
}

// unreadable makes a privacy stop of a ledger that is damaged or has lost its end.
func unreadable(err error) error {
	var damaged *fetch.BatchError
	var truncated *fetch.TruncatedError
	if errors.As(err, &damaged) || errors.As(err, &truncated) {
		return fmt.Errorf("%w: %w", ledger.ErrUnreadable, err)
	}
	return err
}

// pending is the content of the next transaction.
type pending struct {
	records []txn.Record
	entries []published
}

// published is what the metrics want to know of an entry.
type published struct {
	stream string
	due    time.Time
}

func (w *worker) add(ctx context.Context, tx *pending, r *fetch.Record) error {
	entry, err := ledger.Decode(r.Value)
	if err != nil {
		return fmt.Errorf("%s/%d at offset %d: %w", w.at.Topic, w.at.Number, r.Offset, err)
	}
	partitions, err := w.Sizes.Of(ctx, entry.Output)
	if err != nil {
		return err
	}
	records, err := entry.Records()
	if err != nil {
		return err
	}
	for _, out := range records {
		record := txn.Record{Topic: entry.Output, Key: out.Key, Value: out.Value, Time: out.Time.UnixMilli(),
			Partition: topics.Place(string(out.Key), partitions)}
		for _, h := range out.Headers {
			record.Headers = append(record.Headers, kafka.Header{Key: h.Key, Value: h.Value})
		}
		tx.records = append(tx.records, record)
	}
	tx.entries = append(tx.entries, published{entry.Stream, entry.DueAt})
	return nil
}

func (w *worker) observe(entries []published) {
	now := time.Now()
	for _, e := range entries {
		w.Metrics.ReleaseDelay.WithLabelValues(e.stream).Observe(now.Sub(e.due).Seconds())
		w.Metrics.LastRelease.WithLabelValues(e.stream).Set(float64(now.Unix()))
	}
}
