package ingest

import (
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/louver/louver/stream/episode"
)

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
