package codec_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"

	"github.com/louver/louver/stream/codec"
)

// sums is a request with a gauge, and with sums that say in different ways whether their points are differences. Each
// has one point, the number of its place.
func sums() *metricspb.MetricsData {
	point := func(n int) []*metricspb.NumberDataPoint {
		return []*metricspb.NumberDataPoint{{TimeUnixNano: uint64(recordTime),
			Value: &metricspb.NumberDataPoint_AsInt{AsInt: int64(n)}, Attributes: []*commonpb.KeyValue{{Key: "user.id",
				Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: "u"}}}}}}
	}
	metrics := []*metricspb.Metric{{Name: "n", Data: &metricspb.Metric_Gauge{Gauge: &metricspb.Gauge{DataPoints: point(0)}}}}
	for i, temporality := range []metricspb.AggregationTemporality{0, 1, 2, 3, math.MinInt32, -1} {
		metrics = append(metrics, &metricspb.Metric{Name: "n", Data: &metricspb.Metric_Sum{Sum: &metricspb.Sum{
			DataPoints: point(i + 1), AggregationTemporality: temporality, IsMonotonic: i != 1}}})
	}
	// What a sum says is not said of the gauge after it.
	metrics = append(metrics, &metricspb.Metric{Name: "n", Data: &metricspb.Metric_Gauge{
		Gauge: &metricspb.Gauge{DataPoints: point(7)}}})
	return &metricspb.MetricsData{ResourceMetrics: []*metricspb.ResourceMetrics{{
		ScopeMetrics: []*metricspb.ScopeMetrics{{Metrics: metrics}}}}}
}

// A point of a sum counts only if the sum says that its points are differences: totals so far would count all that was
// before again. Whoever asks for them by name gets them. What an item lies in is kept by Cut, so a copy says the same.
func TestTotalsAreNoEvents(t *testing.T) {
	of := func(is ...string) []codec.Condition {
		return []codec.Condition{{Field: "metric.aggregation_temporality", Is: words(is...)}}
	}
	const gauge, only, no = "", "where", "no_delta"
	for name, c := range map[string]struct {
		where []codec.Condition
		want  []string // "": it counts
	}{
		"nobody asks":       {nil, []string{gauge, no, "", no, no, no, no, gauge}},
		"differences":       {of("delta"), []string{only, only, "", only, only, only, only, only}},
		"totals":            {of("cumulative"), []string{only, only, only, "", only, only, only, only}},
		"either":            {of("cumulative", "delta"), []string{only, only, "", "", only, only, only, only}},
		"sums that say not": {of("unspecified"), []string{only, "", only, only, "", "", "", only}},
		"gauges": {[]codec.Condition{{Field: "metric.aggregation_temporality", Missing: true}},
			[]string{gauge, only, only, only, only, only, only, gauge}},
	} {
		s := codec.Spec{Format: "otlp_metrics", User: "user.id", Value: "datapoint.value",
			Time: "datapoint.time_unix_nano", MaxFuture: time.Hour,
			Where: append([]codec.Condition{{Field: "metric.name", Is: words("n")}}, c.where...)}
		for encoding, record := range encodings(t, sums()) {
			d := batch(t, s)
			got, broken := answers(d, record)
			if d := cmp.Diff(c.want, reasonsOf(got)); d != "" || broken != "" {
				t.Errorf("%s, %s: %s%s", name, encoding, broken, d)
			}
			d.Begin(codec.Record{Value: record, Key: []byte("k"), Time: recordTime})
			for reason, more := d.Next(new(codec.Event)); more; reason, more = d.Next(new(codec.Event)) {
				if at := d.Skipped().Condition; reason == codec.Unwanted && at != 1 {
					t.Errorf("%s, %s: condition %d is not met; want that of the temporality", name, encoding, at)
				}
			}
			for i, want := range got {
				alone, broken := answers(batch(t, s), d.Cut(record, []int{i}))
				if len(alone) != 1 || broken != "" || fmt.Sprint(alone[0]) != fmt.Sprint(want) {
					t.Errorf("%s, %s: point %d alone: %v %s; want %v", name, encoding, i, alone, broken, want)
				}
			}
		}
	}
}

func reasonsOf(all []answer) (reasons []string) {
	for _, a := range all {
		reasons = append(reasons, a.Reason.String())
	}
	return reasons
}
