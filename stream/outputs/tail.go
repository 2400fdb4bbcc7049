package outputs

import (
	"context"

	"github.com/louver/louver/stream/kafka/fetch"
)

// firstTail is how many records Tail reads at first.
const firstTail = 256

// Tail calls f for the newest records of a partition, in order. While enough says that more are needed, it begins again
// eight times as far back, up to the whole partition. It waits for a missing topic.
func (r *Reader) Tail(ctx context.Context, topic string, partition int,
	f func(Message) error, enough func() bool) error {
	if _, _, err := r.find(ctx, topic); err != nil {
		return err
	}
	starts, err := r.Fetch.Starts(ctx, topic, []int{partition})
	if err != nil {
		return err
	}
	ends, err := r.Fetch.Ends(ctx, topic, []int{partition})
	if err != nil {
		return err
	}
	for back := int64(firstTail); ; back *= 8 {
		from := max(starts[partition], ends[partition]-back)
		_, err := r.Fetch.ReadAll(ctx, topic, partition, from, func(m *fetch.Record) error {
			return f(Message{Topic: topic, Partition: partition, Offset: m.Offset, Key: m.Key, Value: m.Value})
		})
		if err != nil || from == starts[partition] || enough() {
			return err
		}
	}
}
