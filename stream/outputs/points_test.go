package outputs

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/louver/louver/stream/record/recordtest"
)

// said are points as people read them, without the series.
func said(points []Point) (all []string) {
	for _, p := range points {
		all = append(all, fmt.Sprintf("%s%v %v", strings.TrimPrefix(p.Name, "louver.release."), p.Labels[3:], p.Value))
	}
	return all
}

func decoded(t *testing.T, text string) Record {
	t.Helper()
	r, ok, err := Decode([]byte(text))
	if err != nil || !ok {
		t.Fatalf("%v, %v: %s", ok, err, text)
	}
	return r
}

func TestPoints(t *testing.T) {
	banded := strings.Replace(published, `"status":"ok"`, `"low":700,"high":900,"level":0.95,"status":"ok"`, 1)
	withheld := strings.NewReplacer(`"value":812,"status":"ok","reason":null,"epsilon":0.1`,
		`"value":null,"status":"withheld","reason":"budget_exhausted","epsilon":0`).Replace(published)
	total := strings.Replace(published, `"status":"ok"`, `"since":"2026-11-20T00:00:00Z","final":false,"status":"ok"`, 1)
	watch := strings.NewReplacer(`"statistic":"median"`, `"statistic":"watch"`, `"value":812`, `"value":1`).
		Replace(published)
	discovery := strings.Replace(published, `"statistic":"median"`, `"statistic":"groups"`, 1)
	rough := strings.Replace(published, `"status":"ok"`, `"quality":"rough","status":"ok"`, 1)
	const end = "window_end.timestamp[] 1.7951625e+09"
	state := func(exhausted, rough int, epsilon string) []string {
		return []string{end, fmt.Sprintf("withheld[budget_exhausted] %d", exhausted), "withheld[too_few_users] 0",
			"quality[useful] 0", fmt.Sprintf("quality[rough] %d", rough), "quality[noise] 0", "epsilon[] " + epsilon}
	}
	for _, c := range []struct {
		name, record string
		fresh        bool
		want         []string
	}{
		{"a figure", published, true, append(state(0, 0, "0.1"), "value[] 812", "smoothed[] 815")},
		{"one that is too old", rough, false, state(0, 0, "0.1")},
		{"its quality", rough, true, append(state(0, 1, "0.1"), "value[] 812", "smoothed[] 815")},
		{"its band", banded, true, append(state(0, 0, "0.1"), "value[] 812", "low[] 700", "high[] 900",
			"smoothed[] 815")},
		{"one that is withheld", withheld, true, state(1, 0, "0")},
		{"a running total", total, true, append(state(0, 0, "0.1"), "value[] 812", "since.timestamp[] 1.7951328e+09",
			"smoothed[] 815")},
		{"a watch", watch, true, []string{"louver.watch.firing[] 1"}},
		{"a watch that is too old", watch, false, nil},
		{"a name that a discovery counts", discovery, true, nil},
	} {
		points := Points(decoded(t, c.record), c.fresh)
		if diff := cmp.Diff(c.want, said(points)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
		for _, p := range points {
			if of := p.Labels[:3]; !slices.Equal(of, []string{"s", "eu", "p50"}) {
				t.Errorf("%s: %s is of %q", c.name, p.Name, of)
			}
			if len(p.Labels) != len(p.Metric.Labels) {
				t.Errorf("%s: %s has %d values for the labels %q", c.name, p.Name, len(p.Labels), p.Metric.Labels)
			}
		}
	}
}

// What the gauges show of a series is what its newest record says. There is no second list.
func TestGaugesShowThePoints(t *testing.T) {
	for _, c := range recordtest.AllBanded(t) {
		r := decoded(t, c.Record)
		g := gauges(t, r.DueAt.Format("2006-01-02T15:04:05Z"), c.Record)
		registry := prometheus.NewPedanticRegistry()
		registry.MustRegister(g)
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		shown := map[string]float64{}
		for _, f := range families {
			for _, m := range f.GetMetric() {
				shown[labelled(f.GetName(), m)] = m.GetGauge().GetValue()
			}
		}
		points := Points(r, true)
		for _, p := range points {
			want := &dto.Metric{}
			for i, name := range p.Metric.Labels {
				want.Label = append(want.Label, &dto.LabelPair{Name: &name, Value: &p.Labels[i]})
			}
			key := labelled(p.Prometheus(), want)
			if got, ok := shown[key]; !ok || got != p.Value {
				t.Errorf("%s: %s is %v, %v; want %v", c.Name, key, got, ok, p.Value)
			}
		}
		if len(points) == 0 {
			t.Errorf("%s: the record says nothing", c.Name)
		}
	}
}

// labelled is a series as one text.
func labelled(name string, m *dto.Metric) string {
	var labels []string
	for _, l := range m.GetLabel() {
		labels = append(labels, l.GetName()+"="+l.GetValue())
	}
	slices.Sort(labels)
	return name + fmt.Sprint(labels)
}

// The names on the public address are those that Prometheus makes of what is exported.
func TestNamesInPrometheus(t *testing.T) {
	for _, c := range []struct{ name, unit, want string }{
		{"louver.release.value", "", "louver_release_value"},
		{"louver.release.since.timestamp", "s", "louver_release_since_timestamp_seconds"},
	} {
		if got := (&Metric{Name: c.name, Unit: c.unit}).Prometheus(); got != c.want {
			t.Errorf("%s becomes %s, want %s", c.name, got, c.want)
		}
	}
}
