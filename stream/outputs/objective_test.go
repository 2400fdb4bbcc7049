package outputs

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/parse"
	"github.com/louver/louver/stream/record"
)

const withObjective = `version: 1
streams:
  - name: s
    input: {topic: s.events, user: u, value: ms, time: t, group: g}
    groups: [eu]
    bounds: {lower: 0, upper: 1000, step: 1}
    window: {size: 15m, grace: 30s, start: now}
    releases:
      - {name: latency, statistic: histogram, buckets: [100, 800], epsilon: 0.1}
      - {name: slow, statistic: share, above: 800, from: latency, objective: 0.99}
    output: {topic: s.private}
    budget: {epsilon: 24, per: 24h}
`

func objectives(t *testing.T, edits ...string) []config.Objective {
	t.Helper()
	file, err := parse.File("s.yaml", []byte(strings.NewReplacer(edits...).Replace(withObjective)), os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	return file.Streams[0].Objectives()
}

// midnight begins the windows of these tests.
var midnight = time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)

// inWindow is the record of the share in the i-th window, with sums over an hour and over three days. It may be
// changed.
func inWindow(t *testing.T, i int, change ...func(*Record)) Record {
	t.Helper()
	start := midnight.Add(time.Duration(i) * 15 * time.Minute)
	end := start.Add(15 * time.Minute)
	text := fmt.Sprintf(`{"schema":"louver.release.v1","stream":"s","group":"eu","release":"slow","statistic":"share",
"mechanism":"histogram","window_start":%q,"window_end":%q,"due_at":%q,"value":0.5,"status":"ok","reason":null,"epsilon":0,
"delta":0,"budget":"s","budget_epsilon_limit":24,"from":"latency",
"over":[{"over":"1h","of":4,"windows":%d,"above":-13.25,"users":%d},{"over":"3d","of":288,"windows":200,"above":7,"users":9}]}`,
		start.Format(time.RFC3339), end.Format(time.RFC3339), end.Add(30*time.Second).Format(time.RFC3339), min(i, 4), 14*i)
	r, ok, err := Decode([]byte(text))
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	for _, f := range change {
		f(&r)
	}
	return r
}

// sumsAfter are gauges with some records, at the end of the window of the last one.
func sumsAfter(t *testing.T, of []config.Objective, records ...Record) *Gauges {
	t.Helper()
	g := NewGauges(time.Now)
	g.Objectives(of)
	for _, r := range records {
		g.Update(r)
	}
	g.now = func() time.Time { return records[len(records)-1].DueAt }
	return g
}

// sum is what the gauges show for a stretch of time; NaN if nothing.
type sum struct{ bad, users, windows float64 }

// sumOfHour is what the gauges show for an hour.
func sumOfHour(t *testing.T, g *Gauges) sum {
	t.Helper()
	shown := map[string]float64{}
	for _, name := range []string{"louver_slo_bad_users", "louver_slo_users", "louver_slo_windows"} {
		shown[name] = math.NaN()
	}
	for _, m := range gathered(t, g) {
		if _, wanted := shown[m.name]; wanted && m.labels["over"] == "1h" && m.labels["group"] == "eu" {
			shown[m.name] = m.value
		}
	}
	return sum{shown["louver_slo_bad_users"], shown["louver_slo_users"], shown["louver_slo_windows"]}
}

type shownMetric struct {
	name   string
	labels map[string]string
	value  float64
}

func gathered(t *testing.T, g *Gauges) (all []shownMetric) {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(g)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			labels := map[string]string{}
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			all = append(all, shownMetric{f.GetName(), labels, m.GetGauge().GetValue()})
		}
	}
	return all
}

func same(a, b sum) bool {
	equal := func(x, y float64) bool { return x == y || math.IsNaN(x) && math.IsNaN(y) }
	return equal(a.bad, b.bad) && equal(a.users, b.users) && equal(a.windows, b.windows)
}

// The gauges show what the newest record says, and nothing of a record that is old or has no sums. That nothing is
// added up is said.
func TestSumsOfObjectives(t *testing.T) {
	none := sum{math.NaN(), math.NaN(), 0}
	for _, c := range []struct {
		name    string
		records []Record
		hour    sum
	}{
		{"one", []Record{inWindow(t, 1)}, sum{-13.25, 14, 1}},
		{"the newest", []Record{inWindow(t, 1), inWindow(t, 5)}, sum{-13.25, 70, 4}},
		{"an older one comes again", []Record{inWindow(t, 5), inWindow(t, 1)}, sum{-13.25, 70, 4}},
		{"no window counts", []Record{inWindow(t, 4), inWindow(t, 5, func(r *Record) {
			r.Over = []record.Over{{Over: "1h", Of: 4}}
		})}, none},
		{"of an earlier release", []Record{inWindow(t, 5, func(r *Record) { r.Over = nil })}, none},
		{"all groups together", []Record{inWindow(t, 5, func(r *Record) { r.Group = "all" })}, none},
	} {
		if got := sumOfHour(t, sumsAfter(t, objectives(t), c.records...)); !same(got, c.hour) {
			t.Errorf("%s: %v; want %v", c.name, got, c.hour)
		}
	}
	g := sumsAfter(t, objectives(t), inWindow(t, 4))
	for after, want := range map[time.Duration]sum{45 * time.Minute: {-13.25, 56, 4}, 46 * time.Minute: none} {
		g.now = func() time.Time { return inWindow(t, 4).DueAt.Add(after) }
		if got := sumOfHour(t, g); !same(got, want) {
			t.Errorf("%s after the window was due: %v; want %v", after, got, want)
		}
	}
	empty := NewGauges(time.Now)
	empty.Objectives(objectives(t))
	if got := sumOfHour(t, empty); !same(got, none) {
		t.Errorf("without records: %v", got)
	}
}

// An edit of the objective or of the histogram says that rules have to be written anew.
func TestEditsOfAnObjective(t *testing.T) {
	seen := map[string]bool{}
	for _, of := range [][]config.Objective{objectives(t), objectives(t, "0.99", "0.999"),
		objectives(t, "epsilon: 0.1", "epsilon: 0.2")} {
		for _, m := range gathered(t, sumsAfter(t, of, inWindow(t, 4))) {
			if m.name == "louver_slo_objective" {
				seen[m.labels["definition"]] = true
			}
		}
	}
	if len(seen) != 3 {
		t.Errorf("the definitions are %v; want three", seen)
	}
}

// The whole page, as Prometheus' own lint wants it. Windows of 15 minutes have short stretches of one window at least.
func TestPageOfAnObjective(t *testing.T) {
	g := sumsAfter(t, objectives(t), inWindow(t, 3), inWindow(t, 4))
	var lines []string
	for _, m := range gathered(t, g) {
		if m.name == "louver_slo_windows" {
			lines = append(lines, fmt.Sprintf("%s %v", m.labels["over"], m.value))
		}
	}
	if got, want := strings.Join(lines, ", "), "15m 0, 1d 0, 1h 4, 2h 0, 30m 0, 3d 200, 6h 0"; got != want {
		t.Errorf("the windows are %s; want %s", got, want)
	}
	if problems, err := testutil.CollectAndLint(g); err != nil || len(problems) > 0 {
		t.Errorf("%v %v", problems, err)
	}
}
