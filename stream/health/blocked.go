package health

import (
	"maps"
	"slices"
	"time"

	"github.com/louver/louver/stream/episode"
)

// blocked is an output that takes no figures.
type blocked struct {
	since time.Time
	why   error
}

// Blocked says that an output takes no figures from the partition, or with nil that it takes them again. It does not make
// the process unready: the other outputs go on.
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

// reportBlocked adds a fact about each output that takes no figures.
func (s *Stage) reportBlocked(r *Report, now time.Time) {
	all := map[string]blocked{} // an output may be blocked for several partitions
	for _, p := range s.partitions {
		for output, b := range p.blocked {
			if first, known := all[output]; !known || b.since.Before(first.since) {
				all[output] = b
			}
		}
	}
	for _, output := range slices.Sorted(maps.Keys(all)) {
		r.fact("output %s: blocked for %s: %v", output, episode.Round(now.Sub(all[output].since)), all[output].why)
	}
}
