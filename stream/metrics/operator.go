// Package metrics holds the operators' metrics: exact counts that never leave the operators' own address.
package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
)

// Operator is every metric of the service that operators see. Safe for concurrent use. After a change, go generate
// ./cmd/louver brings deploy/METRICS.md up to date.
type Operator struct {
	Events         *prometheus.CounterVec // stream
	Rejected       *prometheus.CounterVec // stream, reason
	Late           *prometheus.CounterVec // stream
	Superseded     *prometheus.CounterVec // stream
	Clamped        *prometheus.CounterVec // stream
	OpenWindows    *prometheus.GaugeVec   // stream
	BagBytes       *prometheus.GaugeVec   // stream
	Lag            *prometheus.GaugeVec   // consumer_group, topic, partition
	Lost           *prometheus.CounterVec // topic
	CutWait        *prometheus.GaugeVec   // topic, partition
	ReleaseDelay   *prometheus.HistogramVec
	DrawDuration   *prometheus.HistogramVec
	Releases       *prometheus.CounterVec // stream
	Withheld       *prometheus.CounterVec // stream, reason
	LastRelease    *prometheus.GaugeVec   // stream
	Rebalances     prometheus.Counter
	AbortedTxns    prometheus.Counter
	ForwardFailure *prometheus.CounterVec // topic
	Incomplete     *prometheus.CounterVec // stream
}

// Stream is what New must know of a stream, so that all its label values exist at 0 from the start.
type Stream struct {
	Name, Topic string
	Statistics  []string
}

// Withholding reasons, as in the output records.
const (
	BudgetExhausted = "budget_exhausted"
	TooFewUsers     = "too_few_users"
)

// New registers the metrics with r. Reasons are those for which a record may be rejected.
func New(r prometheus.Registerer, streams []Stream, reasons []string) *Operator {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
		r.MustRegister(v)
		return v
	}
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
		r.MustRegister(v)
		return v
	}
	histogram := func(name, help, label string, buckets []float64) *prometheus.HistogramVec {
		v := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, []string{label})
		r.MustRegister(v)
		return v
	}
	m := &Operator{
		Events:         counter("louver_events_total", "Records read, re-reads again.", "stream"),
		Rejected:       counter("louver_events_rejected_total", "Records rejected alone, by reason.", "stream", "reason"),
		Late:           counter("louver_events_late_total", "Records at or above the cut of all their windows, or before the start.", "stream"),
		Superseded:     counter("louver_events_superseded_total", "Records that lost to another contribution of the same user, or won against one.", "stream"),
		Clamped:        counter("louver_values_clamped_total", "Values beyond the bounds.", "stream"),
		OpenWindows:    gauge("louver_open_windows", "Windows held open, over all owned partitions.", "stream"),
		BagBytes:       gauge("louver_bag_bytes", "Estimate of the memory held by open bags.", "stream"),
		Lag:            gauge("louver_consumer_lag_records", "Records between the position and the partition's end.", "consumer_group", "topic", "partition"),
		Lost:           counter("louver_input_lost_records_total", "Records that were deleted before they were read, or that are damaged.", "topic"),
		CutWait:        gauge("louver_cut_wait_seconds", "How long a window has waited for an open transaction.", "topic", "partition"),
		ReleaseDelay:   histogram("louver_release_delay_seconds", "From due to published.", "stream", prometheus.ExponentialBuckets(0.05, 2, 16)),
		DrawDuration:   histogram("louver_draw_duration_seconds", "Time of one draw.", "statistic", prometheus.ExponentialBuckets(1e-6, 4, 12)),
		Releases:       counter("louver_releases_total", "Releases recorded in the ledger.", "stream"),
		Withheld:       counter("louver_releases_withheld_total", "Releases withheld, by reason.", "stream", "reason"),
		LastRelease:    gauge("louver_last_release_timestamp_seconds", "When the stream's newest window was published.", "stream"),
		ForwardFailure: counter("louver_forward_failures_total", "Rejected or late records that could not be copied.", "topic"),
		Incomplete:     counter("louver_incomplete_windows_total", "Windows released although part of their input was lost.", "stream"),
		Rebalances:     prometheus.NewCounter(prometheus.CounterOpts{Name: "louver_rebalances_total", Help: "Generations of consumer groups joined."}),
		AbortedTxns:    prometheus.NewCounter(prometheus.CounterOpts{Name: "louver_transactions_aborted_total", Help: "Transactions that failed or were fenced."}),
	}
	r.MustRegister(m.Rebalances, m.AbortedTxns)
	for _, s := range streams {
		for _, v := range []*prometheus.CounterVec{m.Events, m.Late, m.Superseded, m.Clamped, m.Releases, m.Incomplete} {
			v.WithLabelValues(s.Name)
		}
		for _, reason := range reasons {
			m.Rejected.WithLabelValues(s.Name, reason)
		}
		for _, reason := range []string{BudgetExhausted, TooFewUsers} {
			m.Withheld.WithLabelValues(s.Name, reason)
		}
		for _, v := range []*prometheus.GaugeVec{m.OpenWindows, m.BagBytes, m.LastRelease} {
			v.WithLabelValues(s.Name)
		}
		m.Lost.WithLabelValues(s.Topic)
		m.ReleaseDelay.WithLabelValues(s.Name)
		for _, statistic := range s.Statistics {
			m.DrawDuration.WithLabelValues(statistic)
		}
	}
	return m
}
