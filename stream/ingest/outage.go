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
