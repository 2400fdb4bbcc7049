package fetch

import (
	"context"
	"encoding/binary"
	"fmt"
)

// Producer is the id and epoch of the idempotent or transactional producer that wrote a batch.
type Producer struct {
	ID    int64
	Epoch int16
	// Transactional says that the batch belongs to a transaction.
	Transactional bool
}

// atProducerEpoch is where a batch header holds the producer's epoch.
const atProducerEpoch = 51

// ProducerAt returns the producer of the record at an offset, even in a transaction that is still open. Temporary
// failures are retried until ctx ends.
func (c *Client) ProducerAt(ctx context.Context, topic string, partition int, offset int64) (Producer, error) {
	uncommitted := *c
	uncommitted.options.ReadUncommitted = true
	r := uncommitted.Partition(topic, partition, offset)
	res, err := retry(ctx, c, c.notify(topic, partition), r.fetch)
	if err != nil {
		return Producer{}, fmt.Errorf("fetch from offset %d of %s/%d: %w", offset, topic, partition, err)
	}
	b, _, whole, _ := nextBatch(res.records)
	if !whole || offset < b.base || offset >= b.next {
		return Producer{}, fmt.Errorf("no record at offset %d of %s/%d", offset, topic, partition)
	}
	return Producer{ID: b.producer(), Epoch: int16(binary.BigEndian.Uint16(b.raw[atProducerEpoch:])),
		Transactional: b.attributes&transactionalBit != 0}, nil
}
