package outputs

import (
	"encoding/json"

	"github.com/prometheus/client_golang/prometheus"
)

// series are the labels of a figure.
var series = []string{"stream", "group", "release"}

// metrics takes gauges.
type metrics chan<- prometheus.Metric

func (to metrics) show(d *prometheus.Desc, f float64, labels ...string) {
	to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, f, labels...)
}

// indicate shows 1 for yes and 0 for no.
func (to metrics) indicate(d *prometheus.Desc, yes bool, labels ...string) {
	f := 0.0
	if yes {
		f = 1
	}
	to.show(d, f, labels...)
}

// number shows nothing for nil.
func (to metrics) number(d *prometheus.Desc, n *json.Number, labels ...string) {
	if n == nil {
		return
	}
	if f, err := n.Float64(); err == nil {
		to.show(d, f, labels...)
	}
}
