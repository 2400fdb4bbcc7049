package txn

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"golang.org/x/sync/errgroup"

	"github.com/louver/louver/stream/kafkaconn"
)

// maxConcurrentSends bounds how many partitions one Send writes to at a time.
const maxConcurrentSends = 16

// Option of Open and Send.
type Option func(*settings)

type settings struct{ notify func(error) }

// OnRetry gives a hook that hears of each failure that is about to be tried
// again, for logs.
func OnRetry(hook func(error)) Option {
	return func(s *settings) { s.notify = hook }
}

func collect(options []Option) settings {
	var s settings
	for _, o := range options {
		o(&s)
	}
	return s
}

// Send writes records outside of any transaction, each at least once: all
// replicas in sync have them when it returns nil. A retry after a lost answer
// may write a batch twice, and after an error some may be written. Records of
// one partition keep their order. Failures that pass are tried again until ctx
// ends; a hook given by OnRetry may be called concurrently.
func Send(ctx context.Context, client *kafka.Client, records []Record, options ...Option) error {
	o := collect(options)
	order, batches := split(records)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxConcurrentSends)
	for _, p := range order {
		group.Go(func() error {
			for _, b := range batches[p] {
				if _, err := produce(ctx, client, "", p, EncodeBatch(NoSession, b), o.notify); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// Append writes one record as Send does, and returns the broker's time when it
// appended it; zero if the topic keeps the producer's timestamps.
func Append(ctx context.Context, client *kafka.Client, r Record, options ...Option) (time.Time, error) {
	return produce(ctx, client, "", partition{r.Topic, r.Partition}, EncodeBatch(NoSession, []Record{r}), collect(options).notify)
}

// produce writes one encoded batch and retries until it is acknowledged, an
// error lasts, or ctx ends. It returns the broker's time if the topic has it.
func produce(ctx context.Context, client *kafka.Client, id string, p partition, batch []byte, notify func(error)) (time.Time, error) {
	appended, err := kafkaconn.Retry(ctx, notify, func(ctx context.Context) (time.Time, error) {
		res, err := client.RawProduce(ctx, &kafka.RawProduceRequest{
			Topic:           p.topic,
			Partition:       p.id,
			RequiredAcks:    kafka.RequireAll,
			TransactionalID: id,
			RawRecords:      protocol.RawRecordSet{Reader: bytes.NewReader(batch)},
		})
		if err == nil {
			err = res.Error
		}
		// The broker has the batch from an earlier try and no longer knows at
		// which offset.
		if errors.Is(err, kafka.DuplicateSequenceNumber) {
			err = nil
		}
		if err != nil {
			return time.Time{}, err
		}
		return res.LogAppendTime, nil
	})
	if err != nil {
		err = &PartitionError{Topic: p.topic, Partition: p.id, Err: err}
	}
	return appended, typed("produce", err)
}
