package ingest

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/louver/louver/stream/episode"
	"github.com/louver/louver/stream/kafka/kafkaconn"
	"github.com/louver/louver/stream/kafka/topics"
	"github.com/louver/louver/stream/stage"
)

// renewed checks whether the topic was deleted and recreated, and returns the id of the new one; "" if it was not.
func (p *reader) renewed(ctx context.Context, age time.Duration) (id string, err error) {
	id, err = p.topics.of(ctx, p.Env, p.at.Topic, age)
	if err != nil || id == "" || id == p.id || id == p.former {
		return "", err
	}
	if p.id == "" { // none was known until now
		p.id, id = id, ""
	}
	return id, nil
}

// renew continues at the start of a topic that was recreated, whatever its length, because none of its records counts
// as read. Some may have been read already, at offsets of the old topic. They are read again. That is harmless, unless
// contributions add up: then events of up to five seconds count twice in their users' contributions, in windows that
// are incomplete.
func (p *reader) renew(id string) {
	p.former, p.id = p.id, id
	p.base = max(p.position(), p.reported)
	for _, in := range p.streams {
		p.base = max(p.base, in.from)
	}
	p.base += leap()
	p.pages = p.Fetch.Partition(p.at.Topic, p.at.Number, 0)
	p.capCuts()
	p.missing(atLeast)
	p.Monitor.Episodes.On("topic recreated: "+id, episode.Rule{},
		"an input topic was deleted and recreated: it is read from its start, and windows that lost records may "+
			"belong to will be marked incomplete",
		zap.String("topic", p.at.Topic), zap.String("id_before", p.former), zap.String("id", p.id))
}

// truncate continues at the end of a log that has lost records which it had served, as after an unclean leader
// election. Records in the bags stay counted.
func (p *reader) truncate(end int64) {
	p.base += p.pages.Position() - end + leap()
	p.pages = p.Fetch.Partition(p.at.Topic, p.at.Number, end)
	p.capCuts()
	p.lose(atLeast, errors.New("the partition ends before the position already read: the topic was recreated, or the "+
		"brokers lost records"))
}

// renumber lets change give the records that are still to come other numbers, higher ones than before. What has been
// read is written first, and then that records are lost, before the progress has the new numbers. Otherwise a new
// worker could take the old position of a stream for one among the new numbers: it would read records twice, or leave
// some out.
func (p *partition) renumber(ctx context.Context, change func()) error {
	p.undecided.decide(func(_ *aside, l lane) bool { return l.adds() }) // nobody can read them again
	for _, change := range []func(){func() {}, change} {
		change()
		p.undecided.settle()
		p.writer.flushAt = time.Time{} // all streams
		if err := p.writer.flush(ctx); err != nil {
			return err
		}
	}
	return nil
}

// leap is by how much the numbers of records grow when a log has become shorter. It is random, so that two workers that
// notice it at different positions have no numbers in common. Otherwise the marks of one could seem to continue those
// of the other, and records could be added twice: see windows/line.go.
func leap() int64 {
	var random [4]byte
	_, _ = rand.Read(random[:]) // never fails
	return 1 + int64(binary.BigEndian.Uint32(random[:]))
}

// atLeast is how many records count as lost if the number is unknown.
const atLeast = 1

// capCuts moves cuts that are still to be reached to the end of a log that has become shorter: the records up to them
// will never come.
func (p *reader) capCuts() {
	for _, in := range p.streams {
		for i := range in.cuts {
			in.cuts[i].offset = p.position()
		}
	}
}

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
