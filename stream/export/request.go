package export

import (
	"math"
	"strconv"
	"strings"
	"time"

	commonv1 "go.opentelemetry.io/proto/otlp/common/v1"
	metricsv1 "go.opentelemetry.io/proto/otlp/metrics/v1"
	resourcev1 "go.opentelemetry.io/proto/otlp/resource/v1"

	"github.com/louver/louver/stream/outputs"
)

// Histograms says in which form the counts of histograms are sent.
type Histograms string

// Gauges are the counts up to the end of each bucket, a gauge each. Delta are histograms of OTLP with the counts of one
// window. None leaves them out.
const (
	Gauges Histograms = "gauges"
	Delta  Histograms = "delta"
	None   Histograms = "none"
)

// A request has at most so many figures, and at most so many points unless one figure alone has more.
const (
	mostFigures = 512
	mostPoints  = 10_000
)

// batch are figures for one request.
type batch struct {
	figures []outputs.Record
	points  int
}

// size is about how many points a figure has.
func size(r outputs.Record) int {
	n := len(outputs.Metrics())
	if r.Buckets != nil {
		n += len(r.Buckets.Count)
	}
	return n
}

// full says that a figure does not fit any more.
func (b *batch) full(r outputs.Record) bool {
	n := len(b.figures)
	return n == mostFigures || n > 0 && b.points+size(r) > mostPoints
}

func (b *batch) add(r outputs.Record) {
	b.figures, b.points = append(b.figures, r), b.points+size(r)
}

// form says which kinds of points a request has.
type form struct{ points, buckets, delta bool }

// forms are the requests that figures need. Histograms of OTLP have one to themselves: a backend that refuses these
// takes the figures all the same.
func (h Histograms) forms() []form {
	switch h {
	case Delta:
		return []form{{points: true}, {delta: true}}
	case None:
		return []form{{points: true}}
	}
	return []form{{points: true, buckets: true}}
}

// request makes the request for figures, or nil if the form says nothing of them. The resource is the consumer group:
// it stays the same whichever process sends.
func (as form) request(figures []outputs.Record, group string) *metricsv1.MetricsData {
	r := requested{at: map[string]int{}}
	for _, f := range figures {
		if as.points {
			for _, p := range outputs.Points(f, true) {
				r.gauge(f, p)
			}
		}
		d, ok := outputs.DistributionOf(f)
		switch {
		case ok && as.buckets:
			r.buckets(f, d)
		case ok && as.delta:
			r.histogram(f, d)
		}
	}
	if len(r.metrics) == 0 {
		return nil
	}
	return &metricsv1.MetricsData{ResourceMetrics: []*metricsv1.ResourceMetrics{{
		Resource: &resourcev1.Resource{Attributes: attributes([]string{"service.name", "service.instance.id"},
			[]string{"louver", group})},
		ScopeMetrics: []*metricsv1.ScopeMetrics{{Scope: &commonv1.InstrumentationScope{Name: "louver"},
			Metrics: r.metrics}}}}}
}

// requested collects the points of each metric, in the order of the figures.
type requested struct {
	metrics []*metricsv1.Metric
	at      map[string]int // where in metrics one with this name is
}

// metric returns the metric with a name, made by make if there is none yet.
func (r *requested) metric(name string, make func() *metricsv1.Metric) *metricsv1.Metric {
	i, known := r.at[name]
	if !known {
		i = len(r.metrics)
		r.at[name], r.metrics = i, append(r.metrics, make())
	}
	return r.metrics[i]
}

// gauge adds a point of a figure.
func (r *requested) gauge(f outputs.Record, p outputs.Point) {
	of := r.metric(p.Name, func() *metricsv1.Metric {
		return &metricsv1.Metric{Name: p.Name, Unit: p.Unit, Description: p.Help,
			Data: &metricsv1.Metric_Gauge{Gauge: &metricsv1.Gauge{}}}
	}).GetGauge()
	of.DataPoints = append(of.DataPoints, &metricsv1.NumberDataPoint{
		Attributes:        described(f, p.Metric.Labels, p.Labels),
		StartTimeUnixNano: nanoseconds(f.WindowStart), TimeUnixNano: nanoseconds(f.WindowEnd),
		Value: &metricsv1.NumberDataPoint_AsDouble{AsDouble: p.Value}})
}

// buckets adds the counts of a histogram up to each end, and all of them.
func (r *requested) buckets(f outputs.Record, d outputs.Distribution) {
	add := func(le float64, users uint64) {
		r.gauge(f, outputs.Point{Metric: outputs.Bucket(), Value: float64(users),
			Labels: []string{d.Stream, d.Group, d.Release, d.Rollup, bound(le)}})
	}
	for i, end := range d.Ends {
		add(end, d.Counts[i])
	}
	add(math.Inf(1), d.All)
}

// bound writes the end of a bucket as Prometheus does, so that counts that are pushed and counts that are pulled have
// the same label.
func bound(f float64) string {
	text := strconv.FormatFloat(f, 'g', -1, 64)
	if !math.IsInf(f, 0) && !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	return text
}

// histogram adds a histogram of OTLP with the users of one window. Their values have no known sum.
func (r *requested) histogram(f outputs.Record, d outputs.Distribution) {
	const name = "louver.distribution"
	of := r.metric(name, func() *metricsv1.Metric {
		return &metricsv1.Metric{Name: name, Description: "Users in the window of a histogram, by upper end of the bucket.",
			Data: &metricsv1.Metric_Histogram{Histogram: &metricsv1.Histogram{
				AggregationTemporality: metricsv1.AggregationTemporality_AGGREGATION_TEMPORALITY_DELTA}}}
	}).GetHistogram()
	var counts []uint64
	before := uint64(0)
	for _, upTo := range append(d.Counts[:len(d.Counts):len(d.Counts)], d.All) {
		counts, before = append(counts, upTo-before), upTo
	}
	labels := outputs.Bucket().Labels
	of.DataPoints = append(of.DataPoints, &metricsv1.HistogramDataPoint{
		Attributes:        described(f, labels[:len(labels)-1], []string{d.Stream, d.Group, d.Release, d.Rollup}),
		StartTimeUnixNano: nanoseconds(f.WindowStart), TimeUnixNano: nanoseconds(f.WindowEnd),
		Count: d.All, BucketCounts: counts, ExplicitBounds: d.Ends})
}

// described are the attributes of a point: its labels, and what only a new definition of the stream changes. What
// changes by itself, such as the quality, would begin a new series each time.
func described(f outputs.Record, names, values []string) []*commonv1.KeyValue {
	all := append(attributes(names, values), attributes([]string{"statistic", "unit"}, []string{f.Statistic, f.Unit})...)
	if f.P != nil {
		all = append(all, attributes([]string{"p"}, []string{f.P.String()})...)
	}
	return all
}

// attributes are texts with names. An empty text says nothing, and is left out.
func attributes(names, values []string) (all []*commonv1.KeyValue) {
	for i, value := range values {
		if value != "" {
			all = append(all, &commonv1.KeyValue{Key: names[i],
				Value: &commonv1.AnyValue{Value: &commonv1.AnyValue_StringValue{StringValue: value}}})
		}
	}
	return all
}

// nanoseconds is a time in OTLP.
func nanoseconds(t time.Time) uint64 { return uint64(t.UnixNano()) }
