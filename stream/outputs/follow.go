package outputs

import (
	"context"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/louver/louver/stream/episode"
	"github.com/louver/louver/stream/fetch"
	"github.com/louver/louver/stream/kafkaconn"
)

// Reader reads output topics, committed records only. It is safe for concurrent use.
type Reader struct {
	Conn  *kafkaconn.Conn
	Fetch *fetch.Client
	Log   *zap.Logger
}

// Message is a record as it stands in a topic. Key and Value are valid until the function that gets it returns.
type Message struct {
	Topic      string
	Partition  int
	Offset     int64
	Key, Value []byte
}

// Follow calls f for every record from the given time on, and goes on as they come until ctx ends or f fails. Records
// of one series come in their order; f is never called concurrently. A zero time begins with what comes next.
func (r *Reader) Follow(ctx context.Context, topics []string, from time.Time, f func(Record, []byte) error) error {
	var one sync.Mutex
	return r.partitions(ctx, topics, func(ctx context.Context, topic string, partition int) error {
		begin, err := r.begin(ctx, topic, partition, from)
		if err != nil {
			return err
		}
		reader := r.Fetch.Partition(topic, partition, begin)
		for {
			page, err := reader.Poll(ctx)
			if err != nil {
				return err
			}
			err = page.Each(func(m *fetch.Record) error {
				record, ok, err := Decode(m.Value)
				if err != nil || !ok {
					return nil // somebody else's record: the topic is the user's
				}
				one.Lock()
				defer one.Unlock()
				return f(record, m.Value)
			})
			if err != nil {
				return err
			}
		}
	})
}

func (r *Reader) begin(ctx context.Context, topic string, partition int, from time.Time) (int64, error) {
	if from.IsZero() {
		ends, err := r.Fetch.Ends(ctx, topic, []int{partition})
		return ends[partition], err
	}
	return r.Fetch.OffsetAt(ctx, topic, partition, from.UnixMilli())
}

// All calls f for every record that the topics hold now, those of a partition in their order. f is never called
// concurrently.
func (r *Reader) All(ctx context.Context, topics []string, f func(Message) error) error {
	var one sync.Mutex
	return r.partitions(ctx, topics, func(ctx context.Context, topic string, partition int) error {
		starts, err := r.Fetch.Starts(ctx, topic, []int{partition})
		if err != nil {
			return err
		}
		_, err = r.Fetch.ReadAll(ctx, topic, partition, starts[partition], func(m *fetch.Record) error {
			one.Lock()
			defer one.Unlock()
			return f(Message{topic, partition, m.Offset, m.Key, m.Value})
		})
		return err
	})
}

// partitions runs work on every partition of the topics at once.
func (r *Reader) partitions(ctx context.Context, topics []string, work func(ctx context.Context, topic string, partition int) error) error {
	meta, err := kafkaconn.Retry(ctx, episode.New(r.Log).Retrying("cannot find the output topics", "all output topics are there"),
		func(ctx context.Context) (*kafka.MetadataResponse, error) {
			meta, err := r.Conn.Client.Metadata(ctx, &kafka.MetadataRequest{Topics: topics})
			if err != nil {
				return nil, err
			}
			for _, t := range meta.Topics {
				if t.Error != nil {
					return nil, t.Error
				}
			}
			return meta, nil
		})
	if err != nil {
		return err
	}
	run, ctx := errgroup.WithContext(ctx)
	for _, t := range meta.Topics {
		for _, p := range t.Partitions {
			run.Go(func() error { return work(ctx, t.Name, p.ID) })
		}
	}
	return run.Wait()
}
