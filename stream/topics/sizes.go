package topics

import (
	"context"
	"sync"

	"github.com/segmentio/kafka-go"
)

// Sizes remembers how many partitions topics that are written to have. It is safe for concurrent use.
type Sizes struct {
	Client *kafka.Client
	// OnRetry makes the hook that hears of each failure to find out that is tried again, and of nil at the end.
	OnRetry func(topic string) func(error)

	known sync.Map // topic → partitions
}

// Of gives the number of partitions of a topic, asked once; it waits until the topic is there or ctx ends.
func (s *Sizes) Of(ctx context.Context, topic string) (int, error) {
	if n, ok := s.known.Load(topic); ok {
		return n.(int), nil
	}
	n, err := PartitionsOf(ctx, s.Client, topic, 0, s.OnRetry(topic))
	if err != nil {
		return 0, err
	}
	s.known.Store(topic, n)
	return n, nil
}
