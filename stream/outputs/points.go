package outputs

import (
	"encoding/json"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/louver/louver/stream/record"
)

// Metric is a metric of figures under both of its names. Name and Unit are those of OpenTelemetry, under which figures
// are exported. Prometheus makes its own name of them, and the public address shows the metric under that name.
type Metric struct {
	Name, Unit, Help string
	// Labels are the names of what tells its series apart.
	Labels []string

	desc *prometheus.Desc
}

// Prometheus is the name that Prometheus makes of the metric when it takes it by OTLP: dots become underscores, and the
// unit becomes a suffix.
func (m *Metric) Prometheus() string {
	name := strings.ReplaceAll(m.Name, ".", "_")
	if m.Unit == seconds {
		name += "_seconds"
	}
	return name
}

// seconds is the unit of moments, which are counted since 1970.
const seconds = "s"

// series are the labels of a figure.
var series = []string{"stream", "group", "release"}

var (
	value = metric("louver.release.value", "",
		"Newest published value. Absent while it is withheld, or once it is older than three windows, or than three "+
			"times update for a running total or a number of active users.", series)
	low = metric("louver.release.low", "",
		"Lower end of the band: low of the record.", series)
	high = metric("louver.release.high", "",
		"Upper end of the band: high of the record.", series)
	smoothed = metric("louver.release.smoothed", "",
		"Estimate from this and earlier values of the series.", series)
	withheld = metric("louver.release.withheld", "",
		"1 while the newest value is withheld for this reason, else 0.", series, "reason")
	quality = metric("louver.release.quality", "",
		"1 for the quality of the newest value, from public figures alone. All are 0 while the value is withheld or "+
			"stale, or if no public figure bounds its error.", series, "quality")
	epsilon = metric("louver.release.epsilon", "",
		"ε of the newest draw: epsilon of the record. 0 if nothing was drawn. For a figure on change, a running total "+
			"or a number of active users, it is paid once for many windows. For what one user can have lost, see "+
			"louver_budget_epsilon_lost.", series)
	since = metric("louver.release.since.timestamp", seconds,
		"From when on the newest value of a running total counts, in seconds since 1970.", series)
	ended = metric("louver.release.window_end.timestamp", seconds,
		"End of the newest window, in seconds since 1970.", series)
	firing = metric("louver.watch.firing", "",
		"1 from the window in which the watch fired until it is armed again, else 0. Absent while it does not look at "+
			"the group, or once the newest record is older than three windows. The group is empty if the one in which "+
			"it fired is found, and has left the list since.", []string{"stream", "group", "watch"})
)

func metric(name, unit, help string, labels []string, more ...string) *Metric {
	m := &Metric{Name: name, Unit: unit, Help: help, Labels: append(labels[:len(labels):len(labels)], more...)}
	m.desc = prometheus.NewDesc(m.Prometheus(), help, m.Labels, nil)
	return m
}

// Metrics lists the metrics of [Points].
func Metrics() []*Metric {
	return []*Metric{value, low, high, smoothed, withheld, quality, epsilon, since, ended, firing}
}

// Point is a number that a record says. Labels has a value for each of the metric's.
type Point struct {
	*Metric
	Value  float64
	Labels []string
}

// Points lists what a record says of its series at the end of its window, without the counts of a histogram: see
// [DistributionOf]. fresh says that the record is not too old. If it is, its value is no longer what the series is,
// and is left out.
func Points(r Record, fresh bool) []Point {
	p := points{of: []string{r.Stream, r.Group, r.Release}}
	switch {
	case r.Statistic == record.StatisticWatch:
		if fresh {
			p.number(firing, r.Value)
		}
		return p.all
	case r.Statistic == record.StatisticGroups && r.Group != "": // what a discovery says about a name
		return nil
	}
	if !r.WindowEnd.IsZero() {
		p.add(ended, float64(r.WindowEnd.Unix()))
	}
	for _, reason := range []string{record.BudgetExhausted, record.TooFewUsers} {
		p.indicate(withheld, r.Reason != nil && *r.Reason == reason, reason)
	}
	shown := r.Value != nil && fresh
	for _, q := range []record.Quality{"useful", "rough", "noise"} {
		p.indicate(quality, shown && r.Quality == q, string(q))
	}
	p.number(epsilon, &r.Epsilon)
	if !shown {
		return p.all
	}
	p.number(value, r.Value)
	if r.Final != nil && r.Since != nil {
		p.add(since, float64(r.Since.Unix()))
	}
	if band, ok := r.Band(); ok {
		p.add(low, band.Low)
		p.add(high, band.High)
	}
	if r.Smoothed != nil {
		p.number(smoothed, &r.Smoothed.Value)
	}
	return p.all
}

// points collects the points of a series.
type points struct {
	of  []string
	all []Point
}

func (p *points) add(m *Metric, f float64, labels ...string) {
	p.all = append(p.all, Point{m, f, append(p.of[:len(p.of):len(p.of)], labels...)})
}

// indicate adds 1 for yes and 0 for no.
func (p *points) indicate(m *Metric, yes bool, labels ...string) {
	f := 0.0
	if yes {
		f = 1
	}
	p.add(m, f, labels...)
}

// number adds nothing for nil.
func (p *points) number(m *Metric, n *json.Number) {
	if f, ok := float(n); ok {
		p.add(m, f)
	}
}

// float returns a published number. ok is false for nil, and for what is not written as a number.
func float(n *json.Number) (f float64, ok bool) {
	if n == nil {
		return 0, false
	}
	f, err := n.Float64()
	return f, err == nil
}
