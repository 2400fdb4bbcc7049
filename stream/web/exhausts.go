package web

import (
	"github.com/prometheus/client_golang/prometheus"
)

// Exhausts is the metric that says when each budget is exhausted. It follows from the windows in the store and from the
// definitions, as the report on budgets does. It is safe for concurrent use.
type Exhausts struct {
	reports *reports
	desc    *prometheus.Desc
}

// NewExhausts returns the metric of what a configuration shows.
func NewExhausts(c Config) *Exhausts {
	return &Exhausts{&reports{source: source{c.Store, c.Streams, c.now()}}, prometheus.NewDesc(
		"louver_budget_exhausts_timestamp_seconds",
		"End of the first window that the budget cannot pay if all of its streams go on unchanged, in seconds since "+
			"1970. Absent if it pays them all, or as long as not all windows of its period are known.",
		[]string{"budget"}, nil)}
}

// Describe implements prometheus.Collector.
func (x *Exhausts) Describe(c chan<- *prometheus.Desc) { c <- x.desc }

// Collect implements prometheus.Collector.
func (x *Exhausts) Collect(c chan<- prometheus.Metric) {
	x.reports.mu.Lock()
	defer x.reports.mu.Unlock()
	if err := x.reports.refresh(); err != nil {
		c <- prometheus.NewInvalidMetric(x.desc, err)
		return
	}
	for _, b := range x.reports.last.Budgets {
		if b.ExhaustedAt != nil {
			c <- prometheus.MustNewConstMetric(x.desc, prometheus.GaugeValue, float64(b.ExhaustedAt.Unix()), b.Budget)
		}
	}
}
