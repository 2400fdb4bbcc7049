package topics

import (
	"context"
	"sync"

	"github.com/segmentio/kafka-go"
)

// Sizes remembers how many partitions topics that are written to have. It is safe for concurrent use.
type Sizes struct {
	Client *kafka.Client
	// OnRetry hears of each failure to find out that is tried again.
	OnRetry func(topic string, err error)

	known sync.Map // topic → partitions
}

// Of gives the number of partitions of a topic, asked once; it waits until the topic is there or ctx ends.
func (s *Sizes) Of(ctx context.Context, topic string) (int, error) {
	if n, ok := s.known.Load(topic); ok {
		return n.(int), nil
	}
	n, err := PartitionsOf(ctx, s.Client, topic, 0, func(err error) { s.OnRetry(topic, err) })
	if err != nil {
		return 0, err
	}
	s.known.Store(topic, n)
	return n, nil
}
