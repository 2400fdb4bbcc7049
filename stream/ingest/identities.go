package ingest

import (
	"context"
	"sync"
	"time"

	"github.com/louver/louver/stream/kafka/kafkaconn"
	"github.com/louver/louver/stream/kafka/topics"
	"github.com/louver/louver/stream/stage"
)

// identities are the ids of topics. All partitions of a process share them. They are safe for concurrent use.
type identities struct {
	mu    sync.Mutex
	known map[string]identity
}

type identity struct {
	id    string
	asked time.Time
}

// of returns the id of a topic, or "" if the broker has none. The answer is at most age old. It retries until it
// succeeds or ctx ends.
func (i *identities) of(ctx context.Context, env stage.Env, topic string, age time.Duration) (string, error) {
	i.mu.Lock()
	known, ok := i.known[topic]
	i.mu.Unlock()
	if ok && time.Since(known.asked) < age {
		return known.id, nil
	}
	asked := time.Now()
	id, err := kafkaconn.Persist(ctx, env.Reading(topic), func(ctx context.Context) (string, error) {
		return topics.ID(ctx, env.Conn.Client, topic)
	})
	if err != nil {
		return "", err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.known == nil {
		i.known = map[string]identity{}
	}
	i.known[topic] = identity{id, asked}
	return id, nil
}
