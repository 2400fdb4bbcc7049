package txn

import (
	"context"
	"errors"
	"net"
	"slices"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"golang.org/x/sync/errgroup"

	"github.com/louver/louver/stream/kafka/kafkaconn"
)

// maxConcurrentSends bounds how many partitions one Send writes to at a time.
const maxConcurrentSends = 16

// Option changes how Open and Send work.
type Option func(*settings)

type settings struct {
	notify   func(error)
	accepted func(records int)
	packed   bool
}

// Packed tells Send that the values are compressed already, so that it does not compress the batches.
func Packed() Option {
	return func(s *settings) { s.packed = true }
}

// OnRetry sets a hook that is called for each failure that is about to be retried, for logs.
func OnRetry(hook func(error)) Option {
	return func(s *settings) { s.notify = hook }
}

// OnAccepted sets a hook that is told by Send how many records of a partition have been written, each time that some
// have. It may be called concurrently.
func OnAccepted(hook func(records int)) Option {
	return func(s *settings) { s.accepted = hook }
}

func collect(options []Option) settings {
	var s settings
	for _, o := range options {
		o(&s)
	}
	return s
}

// Send writes records outside any transaction, each at least once. When it returns nil, all in-sync replicas have them.
// A retry after a lost answer may write a batch twice, and after an error some records may be written. Records of one
// partition keep their order. Temporary failures are retried until ctx ends. A hook given by OnRetry may be called
// concurrently. The records' bytes must never change afterwards: a try that was given up may still read them.
func Send(ctx context.Context, client *kafka.Client, records []Record, options ...Option) error {
	o := collect(options)
	order, batches := split(records)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxConcurrentSends)
	for _, p := range order {
		group.Go(func() error {
			for _, b := range batches[p] {
				if _, err := produce(ctx, client, "", p, encodeBatch(noSession, b, !o.packed), o.notify); err != nil {
					return err
				}
				if o.accepted != nil {
					o.accepted(len(b))
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// Append writes one record as Send does. It returns when the broker appended it, or zero if the topic keeps the
// producer's timestamps.
func Append(ctx context.Context, client *kafka.Client, r Record, options ...Option) (time.Time, error) {
	a, err := produce(ctx, client, "", partition{r.Topic, r.Partition}, encodeBatch(noSession, []Record{r}, true),
		collect(options).notify)
	return a.time, err
}

// appended says where and when a broker appended a batch.
type appended struct {
	offset int64     // of the first record; −1 if the broker does not say
	time   time.Time // zero if the topic keeps the producer's timestamps
}

// produce writes one encoded batch, which is in pieces, and retries until it is acknowledged, the error is permanent,
// or ctx ends.
func produce(
	ctx context.Context, client *kafka.Client, id string, p partition, batch [][]byte, notify func(error),
) (appended, error) {
	a, err := kafkaconn.Retry(ctx, notify, func(ctx context.Context) (appended, error) {
		unsent := net.Buffers(slices.Clone(batch)) // writing takes them out
		res, err := client.RawProduce(ctx, &kafka.RawProduceRequest{
			Topic:           p.topic,
			Partition:       p.id,
			RequiredAcks:    kafka.RequireAll,
			TransactionalID: id,
			RawRecords:      protocol.RawRecordSet{Reader: &unsent},
		})
		if err == nil {
			err = res.Error
		}
		// The broker has the batch from an earlier try and no longer knows at which offset.
		if errors.Is(err, kafka.DuplicateSequenceNumber) {
			return appended{offset: -1}, nil
		}
		if err != nil {
			return appended{}, err
		}
		return appended{res.BaseOffset, res.LogAppendTime}, nil
	})
	if err != nil {
		err = &PartitionError{Topic: p.topic, Partition: p.id, Err: err}
	}
	return a, typed("produce", err)
}
