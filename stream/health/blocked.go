package health

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/louver/louver/stream/episode"
)

// Only says that all partitions of the stage have one output, and no other. While that is blocked, or a topic cannot be
// read, the process is not ready: nothing else shows that figures are missing. Call it before the stage begins.
func (s *Stage) Only() { s.only = true }

// Blocked says that an output takes no figures from the partition, or with nil that it takes them again. It does not
// make the process unready: the other outputs go on, unless there is only one.
func (s *Stage) Blocked(at Partition, output string, why error) {
	s.monitor.mu.Lock()
	defer s.monitor.mu.Unlock()
	p := s.partitions[at]
	switch {
	case p == nil:
	case why == nil:
		delete(p.blocked, output)
	default:
		b, known := p.blocked[output]
		if !known {
			b.since = time.Now()
		}
		b.why = why
		if p.blocked == nil {
			p.blocked = map[string]blocked{}
		}
		p.blocked[output] = b
	}
}

// BlockedOutputs returns how long each output that takes no figures has been blocked.
func (s *Stage) BlockedOutputs() map[string]time.Duration {
	s.monitor.mu.Lock()
	defer s.monitor.mu.Unlock()
	all := map[string]time.Duration{}
	for output, b := range s.allBlocked() {
		all[output] = time.Since(b.since)
	}
	return all
}

// allBlocked returns the blocked outputs, each as the partition that noticed first reported it. The caller holds the
// monitor's mutex.
func (s *Stage) allBlocked() map[string]blocked {
	all := map[string]blocked{}
	for _, p := range s.partitions {
		for output, b := range p.blocked {
			if first, known := all[output]; !known || b.since.Before(first.since) {
				all[output] = b
			}
		}
	}
	return all
}

// blockedFacts has a line about each output that takes no figures.
func (s *Stage) blockedFacts(now time.Time) (facts []string) {
	all := s.allBlocked()
	for _, output := range slices.Sorted(maps.Keys(all)) {
		facts = append(facts, fmt.Sprintf("output %s: blocked for %s: %v", output,
			episode.Round(now.Sub(all[output].since)), all[output].why))
	}
	return facts
}

// unread is a topic that cannot be read.
type unread struct {
	since, seen time.Time
	why         error
}

// Unread says that reading a topic has failed and is tried again, or with nil that it succeeds. A worker that ends does
// not say that, so failures lapse that do not come again.
func (s *Stage) Unread(topic string, why error) {
	s.monitor.mu.Lock()
	defer s.monitor.mu.Unlock()
	if why == nil {
		delete(s.unread, topic)
		return
	}
	now := time.Now()
	u, known := s.unread[topic]
	if !known || now.Sub(u.seen) > Patience {
		u.since = now
	}
	if s.unread == nil {
		s.unread = map[string]unread{}
	}
	s.unread[topic] = unread{u.since, now, why}
}

// unreadFacts says which topics cannot be read for longer than a moment. Kafka itself is there. The caller holds the
// monitor's mutex.
func (s *Stage) unreadFacts(now time.Time) (facts []string) {
	for _, topic := range slices.Sorted(maps.Keys(s.unread)) {
		u := s.unread[topic]
		if s.monitor.lost == nil && now.Sub(u.seen) <= Patience && now.Sub(u.since) > Patience {
			facts = append(facts, fmt.Sprintf("topic %s: not read for %s: %v", topic, episode.Round(now.Sub(u.since)), u.why))
		}
	}
	return facts
}
