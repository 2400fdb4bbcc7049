package topics

import (
	"context"
	"sync"

	"github.com/segmentio/kafka-go"
)

// Sizes remembers how many partitions the output topics have. It is safe for concurrent use.
type Sizes struct {
	Client *kafka.Client

	known sync.Map // topic → partitions
}

// Of returns the number of partitions of a topic. If it does not know, it asks the broker once.
func (s *Sizes) Of(ctx context.Context, topic string) (int, error) {
	if n, ok := s.known.Load(topic); ok {
		return n.(int), nil
	}
	have, err := Counts(ctx, s.Client, []Topic{{Name: topic, Operations: []string{"Write"}}})
	if err != nil {
		return 0, err
	}
	s.known.Store(topic, have[topic])
	return have[topic], nil
}

// Forget makes the next Of ask again: the topic may have been deleted or recreated.
func (s *Sizes) Forget(topic string) { s.known.Delete(topic) }
