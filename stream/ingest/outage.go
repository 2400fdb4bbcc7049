package ingest

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/louver/louver/stream/episode"
	"github.com/louver/louver/stream/kafka/kafkaconn"
	"github.com/louver/louver/stream/kafka/topics"
	"github.com/louver/louver/stream/stage"
)

// While a partition's broker is away, nobody can deliver events to it. When the broker is back, windows that are due
// wait for the grace again, so that producers can deliver what they have kept. Whether they wait follows from the
// broker's answers and the schedule, and not from events.

const (
	// leastAbsence is how long a broker must be away for windows to wait. An election of a leader is mostly shorter.
	leastAbsence = 2 * time.Second
	// mostGraces bounds how long windows wait for a broker that keeps going away: producers have this many graces in
	// all. Each return counts as at least a tenth of a grace (1/leastShare).
	mostGraces = 3
	leastShare = 10
)

// absence is the last time that a partition's broker was away.
type absence struct {
	since, back time.Time     // zero: it never was
	had         time.Duration // the grace that producers had after earlier returns, before any cut
}

// again adds an outage. One that was added before, perhaps by another worker, changes nothing.
func (o *absence) again(since, back time.Time, grace time.Duration) {
	if since.Before(o.back) {
		return
	}
	if since.Before(o.until(grace)) { // no window has been cut since the last return
		o.had += max(since.Sub(o.back), grace/leastShare)
	} else {
		o.had = 0
	}
	o.since, o.back = since, back
}

// until is when windows may be cut again.
func (o *absence) until(grace time.Duration) time.Time {
	return o.back.Add(max(0, min(grace, mostGraces*grace-o.had)))
}

// at names a stream of a partition.
type at struct {
	stage.Partition
	stream string // of [config.EditionKey]
}

// absences are those of all partitions of a process. They outlive a worker, so that a broker that keeps going away does
// not make each new worker wait as long as the first. They are safe for concurrent use.
type absences struct {
	mu  sync.Mutex
	all map[at]absence
}

func (s *absences) again(a at, grace time.Duration, since, back time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[at]absence{}
	}
	o := s.all[a]
	o.again(since, back, grace)
	s.all[a] = o
}

func (s *absences) of(a at, grace time.Duration) (o absence, until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o = s.all[a]
	return o, o.until(grace)
}

// outage notes when the partition's broker does not answer, and makes windows wait after its return.
type outage struct {
	*reader
	heard      time.Time   // when the broker last answered
	failed     atomic.Bool // a request has failed since
	waitsAgain bool        // some windows wait because the broker was away
}

// answered notes that the partition's broker has answered. failed says that it did not at first.
func (p *outage) answered(failed bool) {
	since, now := p.heard, time.Now()
	failed = p.failed.Swap(false) || failed
	if p.heard = now; failed && now.Sub(since) >= leastAbsence {
		p.returned(since, now)
	}
}

// noting returns a hook that calls hook, and also notes when a broker did not answer.
func (p *outage) noting(hook func(error)) func(error) {
	return func(err error) {
		if err != nil {
			p.failed.Store(true)
		}
		hook(err)
	}
}

// returned notes that the broker was away from since to back.
func (p *outage) returned(since, back time.Time) {
	waits := false
	for _, in := range p.streams {
		p.absences.again(p.placeOf(in), in.schedule.Grace, since, back)
		_, until := p.absences.of(p.placeOf(in), in.schedule.Grace)
		waits = waits || time.Now().Before(until)
	}
	if !waits {
		return
	}
	p.Monitor.Episodes.On("broker away: "+p.at.Topic, episode.Rule{Lapse: time.Minute},
		"the broker was away: windows that are due wait for the grace again",
		zap.String("topic", p.at.Topic), zap.Stringer("away", episode.Round(back.Sub(since))))
	p.waitsAgain = true
	p.tellAgain()
	p.keepProgress() // from which louver windows knows it
}

// tellAgain reports what the streams' windows wait for.
func (p *outage) tellAgain() {
	if !p.waitsAgain {
		return
	}
	p.waitsAgain = false
	for _, l := range p.lanes {
		a := p.again(l[len(l)-1])
		p.waitsAgain = p.waitsAgain || a != nil
		p.Health.Again(p.at, l[0].stream.Name, a)
	}
}

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
		// What waits of a former topic holds back no position any more.
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
