// Package progress keeps how far each worker has come, in a compacted topic of the app. Kafka forgets the offsets of a
// consumer group that has been empty for a week. This topic keeps them.
package progress

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/segmentio/kafka-go"

	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/kafka/topics"
	"github.com/louver/louver/stream/kafka/txn"
	"github.com/louver/louver/stream/ledger"
)

// Log is the app's progress topic. It is safe for concurrent use.
type Log struct {
	Client *kafka.Client
	Fetch  *fetch.Client
	Topic  string
	// OnRetry is called for each failed write that is retried.
	OnRetry func(error)
}

// PublishKey is the key that says how far a partition of the ledger is published.
func PublishKey(partition int) string { return fmt.Sprintf("publish/%d", partition) }

// Read decodes the last committed value of a key into v, a pointer; found is false if there is none.
func (l *Log) Read(ctx context.Context, key string, v any) (found bool, err error) {
	var last []byte
	partition := topics.Place(key, topics.Partitions)
	_, err = l.Fetch.ReadAll(ctx, l.Topic, partition, 0, func(r *fetch.Record) error {
		if string(r.Key) == key {
			last = append(last[:0], r.Value...)
		}
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("read the progress of %s: %w", key, err)
	}
	if len(last) == 0 {
		return false, nil
	}
	if err := json.Unmarshal(last, v); err != nil {
		return false, fmt.Errorf("%s/%d: the progress of %s is unreadable: %w", l.Topic, partition, key, err)
	}
	return true, nil
}

// Holds checks that a partition of the ledger, whose topic is named, still has everything that was published of it. If
// not, its error is a [ledger.ErrUnreadable].
func (l *Log) Holds(ctx context.Context, topic string, partition int) error {
	var published struct {
		Offset int64 `json:"offset"`
	}
	if _, err := l.Read(ctx, PublishKey(partition), &published); err != nil {
		return err
	}
	ends, err := l.Fetch.Ends(ctx, topic, []int{partition})
	if err == nil && ends[partition] < published.Offset {
		err = fmt.Errorf("%w: %s/%d ends at offset %d, but records up to %d were published, so what was charged is "+
			"unknown; the topic must never be deleted or recreated",
			ledger.ErrUnreadable, topic, partition, ends[partition], published.Offset)
	}
	return err
}

// Record encodes v as the new value of a key, for a transaction.
func (l *Log) Record(key string, v any) (txn.Record, error) {
	value, err := json.Marshal(v)
	return txn.Record{Topic: l.Topic, Partition: topics.Place(key, topics.Partitions), Key: []byte(key), Value: value,
		Time: time.Now().UnixMilli()}, err
}

// Put writes the new value of a key outside any transaction. It retries until it succeeds or ctx ends.
func (l *Log) Put(ctx context.Context, key string, v any) error {
	r, err := l.Record(key, v)
	if err == nil {
		err = txn.Send(ctx, l.Client, []txn.Record{r}, txn.OnRetry(l.OnRetry))
	}
	if err != nil {
		return fmt.Errorf("write the progress of %s: %w", key, err)
	}
	return nil
}

// clockKey is the key of the record from which processes learn the brokers' time. Only its timestamp matters.
const clockKey = "clock"

// Time writes a record and returns when its broker appended it, by the broker's clock, or zero if the topic does not
// use LogAppendTime. It retries until it succeeds or ctx ends.
func (l *Log) Time(ctx context.Context) (time.Time, error) {
	r, err := l.Record(clockKey, struct{}{})
	if err != nil {
		return time.Time{}, err
	}
	r.Time = 0
	return txn.Append(ctx, l.Client, r, txn.OnRetry(l.OnRetry))
}
