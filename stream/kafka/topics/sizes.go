package topics

import (
	"context"
	"sync"

	"github.com/segmentio/kafka-go"
)

// Sizes remembers the numbers of partitions of the topics that are written to. It is safe for concurrent use.
type Sizes struct {
	Client *kafka.Client

	known sync.Map // topic → partitions
}

// Of returns the number of partitions of a topic. It asks if it does not know, once; the error says why there is none.
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

// Forget has the next one ask again: the topic may have been deleted or made anew.
func (s *Sizes) Forget(topic string) { s.known.Delete(topic) }
