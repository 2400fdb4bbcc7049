package ingest

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/louver/louver/stream/codec"
	"github.com/louver/louver/stream/metrics"
)

// counters are the metrics of a stream that every page adds to. They are looked up once, because with many streams that
// takes longer than most pages do.
type counters struct{ events, late, superseded, clamped prometheus.Counter }

func newCounters(m *metrics.Operator, stream string) *counters {
	return &counters{m.Events.WithLabelValues(stream), m.Late.WithLabelValues(stream),
		m.Superseded.WithLabelValues(stream), m.Clamped.WithLabelValues(stream)}
}

// add adds what happened to the records of a page. rejected counts rejections by stream and reason.
func (c *counters) add(n counts, stream string, rejected *prometheus.CounterVec) {
	c.events.Add(float64(n.events))
	c.late.Add(float64(n.late))
	c.superseded.Add(float64(n.superseded))
	c.clamped.Add(float64(n.clamped))
	for reason, n := range n.rejected {
		if n > 0 {
			rejected.WithLabelValues(stream, codec.Reason(reason).String()).Add(float64(n))
		}
	}
}
