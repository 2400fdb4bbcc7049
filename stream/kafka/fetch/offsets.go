package fetch

import (
	"context"
	"fmt"

	"github.com/segmentio/kafka-go"

	"github.com/louver/louver/stream/kafka/kafkaconn"
)

// Ends returns the offset after the last record of each partition, including records of open transactions. A new leader
// answers only when it knows its high watermark, so nothing that was acknowledged before the call is missing. Temporary
// failures are retried until ctx ends.
func (c *Client) Ends(ctx context.Context, topic string, partitions []int) (map[int]int64, error) {
	return c.offsets(ctx, topic, partitions, kafka.LastOffset)
}

// Used reports whether any of a topic's first n partitions has ever had records, as far as its brokers know.
func (c *Client) Used(ctx context.Context, topic string, n int) (bool, error) {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	ends, err := c.Ends(ctx, topic, all)
	if err != nil {
		return false, err
	}
	for _, end := range ends {
		if end > 0 {
			return true, nil
		}
	}
	return false, nil
}

// Starts returns the lowest offset that each partition still holds, or its end if it is empty. Temporary failures are
// retried until ctx ends.
func (c *Client) Starts(ctx context.Context, topic string, partitions []int) (map[int]int64, error) {
	return c.offsets(ctx, topic, partitions, kafka.FirstOffset)
}

// OffsetAt returns the lowest offset whose record has a timestamp of at least unixMs (milliseconds since 1970). If
// there is none, it returns an end of the partition that was read before the lookup, so no later record is missed.
func (c *Client) OffsetAt(ctx context.Context, topic string, partition int, unixMs int64) (int64, error) {
	one := []int{partition}
	ends, err := c.Ends(ctx, topic, one)
	if err != nil {
		return 0, err
	}
	// Negative times are commands to the broker (−1 is latest).
	at, err := c.offsets(ctx, topic, one, max(unixMs, 0))
	if err != nil {
		return 0, err
	}
	if at[partition] < 0 {
		return ends[partition], nil
	}
	return at[partition], nil
}

// offsets looks up the offset at a time, or at kafka.FirstOffset or kafka.LastOffset. It retries only the partitions
// that failed.
func (c *Client) offsets(ctx context.Context, topic string, partitions []int, time int64) (map[int]int64, error) {
	found := make(map[int]int64, len(partitions))
	missing := partitions
	first := 0
	if len(partitions) > 0 {
		first = partitions[0]
	}
	_, err := retry(ctx, c, c.notify(topic, first), func(ctx context.Context) (struct{}, error) {
		got, err := c.list(ctx, topic, missing, time)
		var left []int
		for _, p := range missing {
			if at, ok := got[p]; ok {
				found[p] = at
			} else {
				left = append(left, p)
			}
		}
		missing = left
		return struct{}{}, err
	})
	if err != nil {
		return nil, fmt.Errorf("offsets of %s: %w", topic, kafkaconn.Needs(err, "Read", "topic "+topic))
	}
	return found, nil
}

// ReadAll calls f for every record from the offset from (or kafka.FirstOffset) at least to the end of the partition as
// it is when ReadAll begins, and returns the offset to go on from. Under read committed it waits for the transactions
// that are open there: after it, nothing below next is undecided. If the broker has deleted records at or after from,
// it returns a *LostError. If f fails, it returns f's error and that record's offset.
func (c *Client) ReadAll(
	ctx context.Context, topic string, partition int, from int64, f func(*Record) error,
) (next int64, err error) {
	ends, err := c.Ends(ctx, topic, []int{partition})
	if err != nil {
		return from, err
	}
	end := ends[partition]
	if from == kafka.FirstOffset {
		starts, err := c.Starts(ctx, topic, []int{partition})
		if err != nil {
			return from, err
		}
		from = starts[partition]
	}
	if from > end {
		return from, &TruncatedError{Topic: topic, Partition: partition, Position: from, End: end}
	}
	r := c.Partition(topic, partition, from)
	for r.Position() < end {
		page, err := r.Poll(ctx)
		if err != nil {
			return r.Position(), err
		}
		if page.Lost > 0 {
			lost := page.from - page.Lost
			return lost, &LostError{Topic: topic, Partition: partition, From: lost, Start: page.from}
		}
		err = page.Each(func(rec *Record) error {
			if rec.TooLarge > 0 {
				return r.broken(rec.Offset, rec.Offset+1,
					fmt.Sprintf("a record of %d bytes; want at most %d", rec.TooLarge, c.options.MaxRecordBytes))
			}
			return f(rec)
		})
		if err != nil {
			return r.Position(), err
		}
	}
	return r.Position(), nil
}
