package export

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	commonv1 "go.opentelemetry.io/proto/otlp/common/v1"
	metricsv1 "go.opentelemetry.io/proto/otlp/metrics/v1"

	"github.com/louver/louver/stream/outputs"
)

const quantile = `{"schema":"louver.release.v1","id":"s/eu/2026-11-20T08:00:00Z/p50","stream":"s","group":"eu",
"release":"p50","window_start":"2026-11-20T08:00:00Z","window_end":"2026-11-20T08:15:00Z",
"due_at":"2026-11-20T08:15:30Z","statistic":"median","p":0.5,"unit":"ms","value":812,"status":"ok","reason":null,
"epsilon":0.1,"quality":"rough"}`

const histogram = `{"schema":"louver.release.v1","id":"s//2026-11-20T08:00:00Z/latency.1h","stream":"s","group":"",
"release":"latency.1h","window_start":"2026-11-20T08:00:00Z","window_end":"2026-11-20T09:00:00Z",
"due_at":"2026-11-20T09:00:30Z","statistic":"histogram","p":null,"unit":"ms","value":1010,"status":"ok","reason":null,
"epsilon":0,"quality":null,"windows":{"of":4,"released":4,"incomplete":0},
"buckets":{"le":[0.5,100,1000000,null],"raw":[-2,700,300,11],"coarse":[],"groups":0,"count":[0,700,300,10]}}`

func decoded(t *testing.T, texts ...string) (all []outputs.Record) {
	t.Helper()
	for _, text := range texts {
		r, ok, err := outputs.Decode([]byte(text))
		if err != nil || !ok {
			t.Fatalf("%v, %v: %s", ok, err, text)
		}
		all = append(all, r)
	}
	return all
}

// attributesOf are attributes as people read them.
func attributesOf(all []*commonv1.KeyValue) string {
	var words []string
	for _, a := range all {
		words = append(words, a.Key+"="+a.Value.GetStringValue())
	}
	return strings.Join(words, " ")
}

// lines are the points of a request as people read them. Times are minutes since the start of 20 November 2026.
func lines(request *metricsv1.MetricsData) (all []string) {
	if request == nil {
		return nil
	}
	const day, minute = 1_795_132_800, 60_000_000_000
	minutes := func(from, to uint64) string {
		return fmt.Sprintf("%d–%d", from/minute-day/60, to/minute-day/60)
	}
	resource := request.ResourceMetrics[0]
	all = append(all, attributesOf(resource.Resource.Attributes))
	for _, m := range resource.ScopeMetrics[0].Metrics {
		for _, p := range m.GetGauge().GetDataPoints() {
			all = append(all, fmt.Sprintf("%s{%s} %v %s", m.Name+m.Unit, attributesOf(p.Attributes), p.GetAsDouble(),
				minutes(p.StartTimeUnixNano, p.TimeUnixNano)))
		}
		for _, p := range m.GetHistogram().GetDataPoints() {
			all = append(all, fmt.Sprintf("%s{%s} %v %v of %d, sum %v, %s %v", m.Name, attributesOf(p.Attributes),
				p.ExplicitBounds, p.BucketCounts, p.Count, p.Sum, minutes(p.StartTimeUnixNano, p.TimeUnixNano),
				m.GetHistogram().AggregationTemporality))
		}
	}
	return all
}

func TestRequest(t *testing.T) {
	const of = "service.name=louver service.instance.id=g"
	figure := "stream=s group=eu release=p50 %sstatistic=median unit=ms p=0.5} %v 480–495"
	point := func(name, more string, value any) string {
		return "louver.release." + name + "{" + fmt.Sprintf(figure, more, value)
	}
	figures := []string{point("window_end.timestamps", "", 1.7951625e+09),
		point("withheld", "reason=budget_exhausted ", 0), point("withheld", "reason=too_few_users ", 0),
		point("quality", "quality=useful ", 0), point("quality", "quality=rough ", 1), point("quality", "quality=noise ", 0),
		point("epsilon", "", 0.1), point("value", "", 812)}
	const hour = "stream=s release=latency rollup=1h %sstatistic=histogram unit=ms} "
	bucket := func(le string, users int) string {
		return "louver.distribution.bucket{" + fmt.Sprintf(hour, "le="+le+" ") + fmt.Sprint(users) + " 480–540"
	}
	all := decoded(t, quantile, histogram)
	for _, c := range []struct {
		name    string
		of      Histograms
		figures []outputs.Record
		want    [][]string
	}{
		{"a quantile", Gauges, all[:1], [][]string{append([]string{of}, figures...)}},
		{"a quantile, without histograms", None, all[:1], [][]string{append([]string{of}, figures...)}},
		{"a quantile, beside histograms of OTLP", Delta, all[:1], [][]string{append([]string{of}, figures...), nil}},
	} {
		var got [][]string
		for _, as := range c.of.forms() {
			got = append(got, lines(as.request(c.figures, "g")))
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
	buckets := func(of Histograms) (got []string) {
		for _, as := range of.forms() {
			for _, line := range lines(as.request(all, "g")) {
				if strings.HasPrefix(line, "louver.distribution") {
					got = append(got, line)
				}
			}
		}
		return got
	}
	for of, want := range map[Histograms][]string{
		None:   nil,
		Gauges: {bucket("0.5", 0), bucket("100.0", 700), bucket("1e+06", 1000), bucket("+Inf", 1010)},
		Delta: {"louver.distribution{" + fmt.Sprintf(hour, "") + "[0.5 100 1e+06] [0 700 300 10] of 1010, sum <nil>, " +
			"480–540 AGGREGATION_TEMPORALITY_DELTA"},
	} {
		if diff := cmp.Diff(want, buckets(of)); diff != "" {
			t.Errorf("histograms as %s (-want +got):\n%s", of, diff)
		}
	}
}

// The points of a series stay in the order of its windows, in one metric.
func TestRequestKeepsTheOrder(t *testing.T) {
	later := strings.NewReplacer("T08:15", "T08:30", "T08:00", "T08:15", "812", "813").Replace(quantile)
	other := strings.ReplaceAll(quantile, "p50", "p99")
	request := form{points: true}.request(decoded(t, quantile, other, later), "g")
	var got []float64
	for _, m := range request.ResourceMetrics[0].ScopeMetrics[0].Metrics {
		if m.Name == "louver.release.value" {
			for _, p := range m.GetGauge().DataPoints {
				got = append(got, p.GetAsDouble())
			}
		}
	}
	if diff := cmp.Diff([]float64{812, 812, 813}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A request is full at 512 figures, or earlier if they have many buckets. One figure always fits.
func TestBatch(t *testing.T) {
	long := strings.Replace(histogram, `"count":[0,700,300,10]`,
		`"count":[`+strings.Repeat("1,", mostPoints-1)+`1]`, 1)
	for _, c := range []struct {
		figure string
		want   int
	}{{quantile, mostFigures}, {histogram, mostFigures}, {long, 1}} {
		r, b, n := decoded(t, c.figure)[0], batch{}, 0
		for ; !b.full(r); n++ {
			b.add(r)
		}
		if n != c.want {
			t.Errorf("%d figures fit, want %d", n, c.want)
		}
	}
}

// Bounds are written as Prometheus writes those of the histograms that it pulls.
func TestBound(t *testing.T) {
	for f, want := range map[float64]string{0: "0.0", 0.25: "0.25", 60000: "60000.0", 1e6: "1e+06", -3: "-3.0",
		1e-7: "1e-07", math.Inf(1): "+Inf"} {
		if got := bound(f); got != want {
			t.Errorf("%v is written %s, want %s", f, got, want)
		}
	}
}
