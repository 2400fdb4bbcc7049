package txn

import (
	"bytes"
	"context"
	"errors"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"golang.org/x/sync/errgroup"

	"github.com/louver/louver/stream/kafkaconn"
)

// maxConcurrentSends bounds how many partitions one Send writes to at a time.
const maxConcurrentSends = 16

// Send writes records outside of any transaction, each at least once: all
// replicas in sync have them when it returns nil. A retry after a lost answer
// may write a batch twice, and after an error some may be written. Records of
// one partition keep their order. Failures that pass are tried again until ctx
// ends; notify, if not nil, hears of them and may be called concurrently.
func Send(ctx context.Context, client *kafka.Client, records []Record, notify func(error)) error {
	order, batches := split(records)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxConcurrentSends)
	for _, p := range order {
		group.Go(func() error {
			for _, b := range batches[p] {
				if err := produce(ctx, client, "", p, EncodeBatch(NoSession, b), notify); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// produce writes one encoded batch and retries until it is acknowledged, an
// error lasts, or ctx ends.
func produce(ctx context.Context, client *kafka.Client, id string, p partition, batch []byte, notify func(error)) error {
	_, err := kafkaconn.Retry(ctx, notify, func(ctx context.Context) (struct{}, error) {
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
		return struct{}{}, err
	})
	return typed("produce to "+p.String(), err)
}
