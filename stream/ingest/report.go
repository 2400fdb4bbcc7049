package ingest

import (
	"strconv"
	"time"

	"github.com/louver/louver/stream/codec"
)

// report brings the metrics up to date after a page.
func (p *partition) report() {
	m := p.Metrics
	for _, r := range p.routes {
		name, c := r.stream.Name, &r.counts
		m.Events.WithLabelValues(name).Add(float64(c.events))
		m.Late.WithLabelValues(name).Add(float64(c.late))
		m.Superseded.WithLabelValues(name).Add(float64(c.superseded))
		m.Clamped.WithLabelValues(name).Add(float64(c.clamped))
		for reason, n := range c.rejected {
			if n > 0 {
				m.Rejected.WithLabelValues(name, codec.Reason(reason).String()).Add(float64(n))
			}
		}
		*c = counts{}
		p.hold(name, p.at, held{len(r.bags), r.bytes()})
	}
	p.Lag(p.Names.IngestGroup(), p.at, p.reader)
	m.CutWait.WithLabelValues(p.at.Topic, strconv.Itoa(p.at.Number)).Set(p.cutWait().Seconds())
}

// cutWait is how long a cut window has waited for an open transaction.
func (p *partition) cutWait() time.Duration {
	for _, r := range p.routes {
		if len(r.cuts) > 0 && r.cuts[0].offset-p.base > p.reader.LastStable() && p.reader.Position() >= p.reader.LastStable() {
			if p.waiting.IsZero() {
				p.waiting = time.Now()
			}
			return time.Since(p.waiting)
		}
	}
	p.waiting = time.Time{}
	return 0
}
