package ingest

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"

	"github.com/louver/louver/stream/episode"
)

// renewed checks whether the topic was deleted and recreated. If so, it continues at the start of the new topic,
// whatever its length, because none of its records counts as read. Some may have been read already, at offsets of the
// old topic. They are read again, which is harmless. The base grows, so offsets still increase.
func (p *input) renewed(ctx context.Context, age time.Duration) (bool, error) {
	id, err := p.topics.of(ctx, p.Env, p.at.Topic, age)
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
	p.Monitor.Episodes.On("topic recreated: "+id, episode.Rule{},
		"an input topic was deleted and recreated: it is read from its start, and windows that lost records may "+
			"belong to will be marked incomplete",
		zap.String("topic", p.at.Topic), zap.String("id_before", p.former), zap.String("id", p.id))
	return true, nil
}

// truncate continues at the end of a log that has lost records which it had served, as after an unclean leader
// election. Records in the bags stay counted. The base grows, so offsets still increase.
func (p *input) truncate(end int64) {
	p.base += p.reader.Position() - end + atLeast
	p.reader = p.Fetch.Partition(p.at.Topic, p.at.Number, end)
	p.capCuts()
	p.lose(atLeast, errors.New("the partition ends before the position already read: the topic was recreated, or the "+
		"brokers lost records"))
}

// atLeast is how many records count as lost if the number is unknown. They take up offsets, so cuts come after them.
const atLeast = 1

// capCuts moves cuts back to the end of a log that has become shorter: the records beyond it will never come.
func (p *input) capCuts() {
	for _, r := range p.routes {
		for i := range r.cuts {
			r.cuts[i].offset = min(r.cuts[i].offset, p.position())
		}
	}
}
