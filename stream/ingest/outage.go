package ingest

import (
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/louver/louver/stream/episode"
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

// away notes when the partition's broker does not answer, and makes windows wait after its return.
type away struct {
	*input
	heard      time.Time   // when the broker last answered
	failed     atomic.Bool // a request has failed since
	waitsAgain bool        // some windows wait because the broker was away
}

// answered notes that the partition's broker has answered. failed says that it did not at first.
func (p *away) answered(failed bool) {
	since, now := p.heard, time.Now()
	failed = p.failed.Swap(false) || failed
	if p.heard = now; failed && now.Sub(since) >= absence {
		p.returned(since, now)
	}
}

// noting returns a hook that calls hook, and also notes when a broker did not answer.
func (p *away) noting(hook func(error)) func(error) {
	return func(err error) {
		if err != nil {
			p.failed.Store(true)
		}
		hook(err)
	}
}

// returned notes that the broker was away from since to back.
func (p *away) returned(since, back time.Time) {
	waits := false
	for _, r := range p.routes {
		p.outages.again(p.routeAt(r), r.schedule.Grace, since, back)
		_, until := p.outages.of(p.routeAt(r), r.schedule.Grace)
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
func (p *away) tellAgain() {
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
