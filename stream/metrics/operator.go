// Package metrics holds the operators' metrics: exact counts that never leave the operators' own address.
package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/louver/louver/stream/record"
)

// Operator is every metric of the service that operators see. Safe for concurrent use. After a change, go generate
// ./cmd/louver brings deploy/METRICS.md up to date.
type Operator struct {
	Events         *prometheus.CounterVec // stream
	Rejected       *prometheus.CounterVec // stream, reason
	Skipped        *prometheus.CounterVec // stream, reason
	Late           *prometheus.CounterVec // stream
	Superseded     *prometheus.CounterVec // stream
	Clamped        *prometheus.CounterVec // stream
	OpenWindows    *prometheus.GaugeVec   // stream
	BagBytes       *prometheus.GaugeVec   // stream
	Lag            *prometheus.GaugeVec   // consumer_group, topic, partition
	LagSeconds     *prometheus.GaugeVec   // consumer_group, topic, partition
	Lost           *prometheus.CounterVec // topic
	CutWait        *prometheus.GaugeVec   // topic, partition
	ReleaseDelay   *prometheus.HistogramVec
	DrawDuration   *prometheus.HistogramVec
	Releases       *prometheus.CounterVec // stream
	Withheld       *prometheus.CounterVec // stream, reason
	LastRelease    *prometheus.GaugeVec   // stream
	ClockDoubted   prometheus.Gauge
	Rebalances     prometheus.Counter
	AbortedTxns    prometheus.Counter
	ForwardFailure *prometheus.CounterVec // topic
	Incomplete     *prometheus.CounterVec // stream
	Recounts       *prometheus.CounterVec // stream
	TotalRestarts  *prometheus.CounterVec // stream
	TotalUsers     *prometheus.GaugeVec   // stream, release
	PartBytes      *prometheus.CounterVec // stream
	MergePasses    *prometheus.CounterVec // stream
	// GroupNames and DiscoveryReadings are of the last period of a discovery.
	GroupNames        *prometheus.GaugeVec // stream, row
	DiscoveryReadings *prometheus.GaugeVec // stream, row
	Overdue           *prometheus.GaugeVec // stream
	Wait              *prometheus.GaugeVec // stream
	Blocked           *prometheus.GaugeVec // topic
	ConfigInfo        *prometheus.GaugeVec // stream, fingerprint, epoch
}

// Stream tells New the label values of a stream, so that all its series exist at 0 from the start.
type Stream struct {
	Name string
	// Topic is the input, Output the topic of its figures.
	Topic, Output string
	Statistics    []string
	// Skips are the reasons for which records may be skipped.
	Skips []string
}

// New registers the metrics with r. Reasons are those for which a record may be rejected.
func New(r prometheus.Registerer, streams []Stream, reasons []string) *Operator {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return promauto.With(r).NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		return promauto.With(r).NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
	}
	histogram := func(name, help, label string, buckets []float64) *prometheus.HistogramVec {
		return promauto.With(r).NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets},
			[]string{label})
	}
	m := &Operator{
		Events: counter("louver_events_total",
			"Records read from the input. A record that is read again counts again.", "stream"),
		Rejected: counter("louver_events_rejected_total",
			"Records rejected, by reason. malformed: the record cannot be parsed, or is larger than 4 MiB. bad_user, "+
				"bad_value, bad_time, bad_group: that field is missing, empty, of the wrong type or unknown. future: "+
				"the time is too far ahead.", "stream", "reason"),
		Skipped: counter("louver_events_skipped_total",
			"Records that are none of the stream's events, by reason. They are neither events nor rejected. where: they do "+
				"not meet the conditions of input.where. Of telemetry, no_user: an item without a user; no_value: a "+
				"data point without a number; no_delta: one of a sum that is a total so far.", "stream", "reason"),
		Late: counter("louver_events_late_total",
			"Records that came after all their windows had closed, or that lie before the stream's start.", "stream"),
		Superseded: counter("louver_events_superseded_total",
			"Records of users who had one in the window already. Only one of a user's values counts.", "stream"),
		Clamped: counter("louver_values_clamped_total", "Values beyond the bounds. They count as the nearer bound.",
			"stream"),
		OpenWindows: gauge("louver_open_windows", "Open windows of this process, summed over its partitions.",
			"stream"),
		BagBytes: gauge("louver_bag_bytes", "Estimated memory of open windows.", "stream"),
		Lag: gauge("louver_consumer_lag_records", "Records of the partition that have not been read yet.",
			"consumer_group", "topic", "partition"),
		LagSeconds: gauge("louver_consumer_lag_seconds",
			"Age of the newest record of the partition that has been read, by its timestamp, while others have not "+
				"been read yet. 0 if all have been.", "consumer_group", "topic", "partition"),
		Lost: counter("louver_input_lost_records_total",
			"Records that were deleted before they were read, or that are damaged.", "topic"),
		CutWait: gauge("louver_cut_wait_seconds",
			"How long a window has been waiting for a producer's open transaction.", "topic", "partition"),
		ReleaseDelay: histogram("louver_release_delay_seconds",
			"Time from a window's due time, its end and the grace, to its publication.", "stream",
			prometheus.ExponentialBuckets(0.05, 2, 16)),
		DrawDuration: histogram("louver_draw_duration_seconds", "Time that one draw takes.", "statistic",
			prometheus.ExponentialBuckets(1e-6, 4, 12)),
		Releases: counter("louver_releases_total", "Figures drawn and written to the ledger.", "stream"),
		Withheld: counter("louver_releases_withheld_total",
			"Figures and answers of watches withheld, by reason: budget_exhausted or too_few_users.",
			"stream", "reason"),
		LastRelease: gauge("louver_last_release_timestamp_seconds",
			"When the stream's newest window was published, in seconds since 1970.", "stream"),
		ForwardFailure: counter("louver_forward_failures_total", "Rejected or late records that could not be copied.",
			"topic"),
		Recounts: counter("louver_max_windows_recounts_total",
			"Times that counting for max_windows began anew, because parts or snapshots were lost.", "stream"),
		TotalRestarts: counter("louver_totals_restarts_total",
			"Times that a running total or a number of active users began anew, because parts or snapshots were lost.",
			"stream"),
		TotalUsers: gauge("louver_totals_state_users",
			"How many users are remembered for a running total or a number of active users, once for each of their groups.",
			"stream", "release"),
		Incomplete: counter("louver_incomplete_windows_total",
			"Windows released although part of their input was lost.", "stream"),
		PartBytes: counter("louver_part_bytes_total",
			"Bytes of parts of windows that were written to the partials topic.", "stream"),
		MergePasses: counter("louver_merge_passes_total",
			"Passes over the parts of windows. More than one a window: its users do not fit into "+
				"LOUVER_BAG_BYTES at once.", "stream"),
		GroupNames: gauge("louver_group_names",
			"How many names the last discovery of the stream counted users for, listed or not.", "stream", "row"),
		DiscoveryReadings: gauge("louver_discovery_readings",
			"How often the last discovery read the parts of its period. More than once: its users and names do not "+
				"fit into LOUVER_BAG_BYTES at once.", "stream", "row"),
		Overdue: gauge("louver_windows_overdue",
			"Windows of the stream that are due and not yet in the ledger. 0 in a process that does not decide them.",
			"stream"),
		Wait: gauge("louver_window_wait_seconds",
			"How long the oldest window has been due that is not yet in the ledger. 0 if there is none.", "stream"),
		Blocked: gauge("louver_output_blocked_seconds",
			"For how long the output topic has taken no figures: the topic or the right to write to it is gone, or "+
				"the schema registry does not answer. 0 if it takes them.", "topic"),
		ConfigInfo: gauge("louver_config_info",
			"Always 1. The labels give the newest definition of the stream and the epoch that this process uses. "+
				"Processes that show different ones for long disagree.", "stream", "fingerprint", "epoch"),
		ClockDoubted: promauto.With(r).NewGauge(prometheus.GaugeOpts{Name: "louver_clock_doubted",
			Help: "1 while no window closes because the clock of this machine cannot be trusted, else 0."}),
		Rebalances: promauto.With(r).NewCounter(prometheus.CounterOpts{Name: "louver_rebalances_total",
			Help: "How often this process has rejoined a consumer group."}),
		AbortedTxns: promauto.With(r).NewCounter(prometheus.CounterOpts{Name: "louver_transactions_aborted_total",
			Help: "Transactions that failed, or that another process took over."}),
	}
	m.expect(streams, reasons)
	return m
}

// expect makes the series of streams, at 0.
func (m *Operator) expect(streams []Stream, reasons []string) {
	for _, s := range streams {
		for _, v := range []*prometheus.CounterVec{m.Events, m.Late, m.Superseded, m.Clamped, m.Releases, m.Incomplete,
			m.Recounts, m.TotalRestarts, m.PartBytes, m.MergePasses} {
			v.WithLabelValues(s.Name)
		}
		for _, reason := range reasons {
			m.Rejected.WithLabelValues(s.Name, reason)
		}
		for _, reason := range s.Skips {
			m.Skipped.WithLabelValues(s.Name, reason)
		}
		for _, reason := range []string{record.BudgetExhausted, record.TooFewUsers} {
			m.Withheld.WithLabelValues(s.Name, reason)
		}
		for _, v := range []*prometheus.GaugeVec{m.OpenWindows, m.BagBytes, m.LastRelease, m.Overdue, m.Wait} {
			v.WithLabelValues(s.Name)
		}
		m.Lost.WithLabelValues(s.Topic)
		m.Blocked.WithLabelValues(s.Output)
		m.ReleaseDelay.WithLabelValues(s.Name)
		for _, statistic := range s.Statistics {
			m.DrawDuration.WithLabelValues(statistic)
		}
	}
}

// Export is what operators see of an export.
type Export struct {
	Sent     *prometheus.CounterVec // topic
	Refused  *prometheus.CounterVec // topic
	Rejected *prometheus.CounterVec // topic
	Lost     *prometheus.CounterVec // topic
}

// NewExport registers the metrics of an export with r, and of reading those that an export has too.
// blocked says for how many seconds figures could not be sent.
func NewExport(r prometheus.Registerer, outputs []string, reading *Operator, blocked func() float64) *Export {
	counter := func(name, help string) *prometheus.CounterVec {
		v := promauto.With(r).NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{"topic"})
		for _, topic := range outputs {
			v.WithLabelValues(topic)
		}
		return v
	}
	promauto.With(r).NewGaugeFunc(prometheus.GaugeOpts{Name: "louver_export_blocked_seconds",
		Help: "For how long louver export could send no figures, because the backend did not take them. 0 if it does."},
		blocked)
	if reading != nil {
		r.MustRegister(reading.Lag, reading.LagSeconds, reading.Rebalances)
	}
	return &Export{
		Sent: counter("louver_export_sent_total",
			"Figures that the backend of louver export has taken. One that is sent again counts again."),
		Refused: counter("louver_export_refused_total",
			"Figures that the backend of louver export refuses for good. They are left out."),
		Rejected: counter("louver_export_rejected_points_total",
			"Points that the backend of louver export left out of requests that it took."),
		Lost: counter("louver_export_lost_records_total",
			"Records of figures that were deleted before louver export read them, or that are damaged."),
	}
}
