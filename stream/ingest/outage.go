package ingest

import (
	"sync"
	"time"

	"github.com/louver/louver/stream/stage"
)

// While a partition's broker is away, nobody can deliver events to it. When the broker is back, windows that are due
// wait for the grace again, so that producers can deliver what they have kept. Whether they wait follows from the
// broker's answers and the schedule, and not from events.

const (
	// absence is how long a broker must be away for windows to wait. An election of a leader is mostly shorter.
	absence = 2 * time.Second
	// mostGraces bounds how long windows wait for a broker that keeps going away: producers have this many graces in
	// all. Each return counts as at least a tenth of a grace (1/leastShare).
	mostGraces = 3
	leastShare = 10
)

// outage is the last time that a partition's broker was away.
type outage struct {
	since, back time.Time     // zero: it never was
	had         time.Duration // the grace that producers had after earlier returns, before any cut
}

// again adds an outage. One that was added before, perhaps by another worker, changes nothing.
func (o *outage) again(since, back time.Time, grace time.Duration) {
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
func (o *outage) until(grace time.Duration) time.Time {
	return o.back.Add(max(0, min(grace, mostGraces*grace-o.had)))
}

// at names a route of a partition.
type at struct {
	stage.Partition
	stream string // of [progress.StreamKey]
}

// outages are the outages of all partitions of a process. They outlive a worker, so that a broker that keeps going away
// does not make each new worker wait as long as the first. They are safe for concurrent use.
type outages struct {
	mu  sync.Mutex
	all map[at]outage
}

func (s *outages) again(a at, grace time.Duration, since, back time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[at]outage{}
	}
	o := s.all[a]
	o.again(since, back, grace)
	s.all[a] = o
}

func (s *outages) of(a at, grace time.Duration) (o outage, until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o = s.all[a]
	return o, o.until(grace)
}
