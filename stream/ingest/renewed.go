package ingest

import (
	"context"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/louver/louver/stream/episode"
	"github.com/louver/louver/stream/kafka/kafkaconn"
	"github.com/louver/louver/stream/kafka/topics"
)

// identities are the ids of topics, which all partitions of a process share. It is safe for concurrent use.
type identities struct {
	mu    sync.Mutex
	known map[string]identity
}

type identity struct {
	id    string
	asked time.Time
}

// of returns the id of a topic, at most this old, or "" if the broker has none. It retries until it succeeds or ctx
// ends.
func (i *identities) of(ctx context.Context, p *partition, age time.Duration) (string, error) {
	i.mu.Lock()
	known, ok := i.known[p.at.Topic]
	i.mu.Unlock()
	if ok && time.Since(known.asked) < age {
		return known.id, nil
	}
	asked := time.Now()
	id, err := kafkaconn.Persist(ctx, p.Reading(p.at.Topic), func(ctx context.Context) (string, error) {
		return topics.ID(ctx, p.Conn.Client, p.at.Topic)
	})
	if err != nil {
		return "", err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.known == nil {
		i.known = map[string]identity{}
	}
	i.known[p.at.Topic] = identity{id, asked}
	return id, nil
}

// renewed checks whether the topic was deleted and recreated. If so, it continues at the start of the new topic,
// because none of its records counts as read, whatever its length. Records that were read from it at offsets of the old
// topic are read again, which is harmless. The base grows, so offsets still increase.
func (p *partition) renewed(ctx context.Context, age time.Duration) (bool, error) {
	id, err := p.topics.of(ctx, p, age)
	if err != nil || id == "" || id == p.id || id == p.former {
		return false, err
	}
	if p.id == "" { // none was known until now
		p.id = id
		return false, nil
	}
	p.former, p.id = p.id, id
	p.base = max(p.position(), p.reported)
	for _, r := range p.routes {
		p.base = max(p.base, r.from)
	}
	p.base += atLeast
	p.reader = p.Fetch.Partition(p.at.Topic, p.at.Number, 0)
	p.capCuts()
	p.missing(atLeast)
	p.Monitor.Episodes.On("topic made anew: "+id, episode.Rule{},
		"an input topic was deleted and made anew: it is read from its start, and windows that had begun will be marked incomplete",
		zap.String("topic", p.at.Topic), zap.String("id_before", p.former), zap.String("id", p.id))
	return true, nil
}

// atLeast is how many records count as lost if the number is unknown. They take up offsets, so cuts come after them.
const atLeast = 1

// capCuts moves cuts back to the end of a log that has become shorter, because its records beyond will never come.
func (p *partition) capCuts() {
	for _, r := range p.routes {
		for i := range r.cuts {
			r.cuts[i].offset = min(r.cuts[i].offset, p.position())
		}
	}
}
