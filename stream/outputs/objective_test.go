package outputs

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/shopspring/decimal"

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

// inWindow is the record of the histogram in the i-th window: 1, i, 10 and 3 users. It may be changed.
func inWindow(t *testing.T, i int, change ...func(*Record)) Record {
	t.Helper()
	start := midnight.Add(time.Duration(i) * 15 * time.Minute)
	end := start.Add(15 * time.Minute)
	text := fmt.Sprintf(`{"schema":"louver.release.v1","stream":"s","group":"eu","release":"latency","statistic":"histogram",
"mechanism":"histogram","window_start":%q,"window_end":%q,"due_at":%q,"value":14,"status":"ok","reason":null,"epsilon":0.1,
"delta":0,"budget":"s","budget_epsilon_limit":24,
"buckets":{"le":[100,800,1000,null],"raw":[1,%d,10,3],"coarse":[],"groups":0,"count":[1,0,10,3]}}`,
		start.Format(time.RFC3339), end.Format(time.RFC3339), end.Add(30*time.Second).Format(time.RFC3339), i)
	r, ok, err := Decode([]byte(text))
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	for _, f := range change {
		f(&r)
	}
	return r
}

// withheldWindow takes away what was drawn.
func withheldWindow(r *Record) {
	reason := "budget_exhausted"
	r.Value, r.Buckets, r.Status, r.Reason = nil, nil, "withheld", &reason
}

// sumsAfter are gauges with some records, at the end of the window of the last one.
func sumsAfter(t *testing.T, of []config.Objective, records ...Record) *Gauges {
	t.Helper()
	g := NewGauges(time.Now)
	g.Objectives(of)
	g.Complete()
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

func TestSumsOfObjectives(t *testing.T) {
	none := sum{math.NaN(), math.NaN(), 0}
	for _, c := range []struct {
		name    string
		records []Record
		hour    sum
	}{
		{"four windows of an hour", []Record{inWindow(t, 1), inWindow(t, 2), inWindow(t, 3), inWindow(t, 4)},
			sum{4 * 13, 4*14 + 10, 4}},
		{"only the newest four", []Record{inWindow(t, 0), inWindow(t, 1), inWindow(t, 2), inWindow(t, 3),
			inWindow(t, 4)}, sum{4 * 13, 4*14 + 10, 4}},
		{"again, and in another order", []Record{inWindow(t, 3), inWindow(t, 1), inWindow(t, 3), inWindow(t, 0),
			inWindow(t, 2), inWindow(t, 4), inWindow(t, 4)}, sum{4 * 13, 4*14 + 10, 4}},
		{"one of three days before comes late", []Record{inWindow(t, 3), inWindow(t, 4), inWindow(t, 3-288),
			inWindow(t, 4)}, sum{2 * 13, 2*14 + 7, 2}},
		{"one is missing", []Record{inWindow(t, 1), inWindow(t, 2), inWindow(t, 4)}, sum{3 * 13, 3*14 + 7, 3}},
		{"one is withheld", []Record{inWindow(t, 1), inWindow(t, 2, withheldWindow), inWindow(t, 3), inWindow(t, 4)},
			sum{3 * 13, 3*14 + 8, 3}},
		{"the newest is withheld", []Record{inWindow(t, 1), inWindow(t, 2), inWindow(t, 3),
			inWindow(t, 4, withheldWindow)}, sum{3 * 13, 3*14 + 6, 3}},
		{"all are withheld", []Record{inWindow(t, 3, withheldWindow), inWindow(t, 4, withheldWindow)}, none},
		{"after a week off", []Record{inWindow(t, 1), inWindow(t, 2), inWindow(t, 674)}, sum{13, 14 + 674, 1}},
		{"another epsilon", []Record{inWindow(t, 3, func(r *Record) { r.Epsilon = "0.2" }), inWindow(t, 4)},
			sum{13, 18, 1}},
		{"another mechanism", []Record{inWindow(t, 3, func(r *Record) { r.Mechanism = "gaussian_histogram" }),
			inWindow(t, 4)}, sum{13, 18, 1}},
		{"other buckets", []Record{inWindow(t, 3, func(r *Record) { r.Buckets.Ends[1] = number("700") }),
			inWindow(t, 4)}, sum{13, 18, 1}},
		{"longer windows", []Record{inWindow(t, 3, func(r *Record) { r.WindowStart = r.WindowStart.Add(-time.Hour) }),
			inWindow(t, 4)}, sum{13, 18, 1}},
		{"another histogram", []Record{inWindow(t, 3, func(r *Record) { r.Release = "other" }), inWindow(t, 4)},
			sum{13, 18, 1}},
		{"a roll-up", []Record{inWindow(t, 3, func(r *Record) { r.Windows = &record.Windows{Of: 4, Released: 4} }),
			inWindow(t, 4)}, sum{13, 18, 1}},
		{"damaged numbers", []Record{inWindow(t, 3, func(r *Record) { r.Buckets.Raw = r.Buckets.Raw[:2] }),
			inWindow(t, 4)}, sum{13, 18, 1}},
	} {
		if got := sumOfHour(t, sumsAfter(t, objectives(t), c.records...)); !same(got, c.hour) {
			t.Errorf("%s: %v; want %v", c.name, got, c.hour)
		}
	}
}

// Sums are absent while a part of them could be taken for all, and once they are old. That nothing is added up is said.
func TestSumsThatAreNotShown(t *testing.T) {
	none := sum{math.NaN(), math.NaN(), 0}
	g := sumsAfter(t, objectives(t), inWindow(t, 4))
	g.objectives.complete = false
	if got := sumOfHour(t, g); !same(got, none) {
		t.Errorf("before all is read: %v", got)
	}
	g.Complete()
	for after, want := range map[time.Duration]sum{45 * time.Minute: {13, 18, 1}, 46 * time.Minute: none} {
		g.now = func() time.Time { return inWindow(t, 4).DueAt.Add(after) }
		if got := sumOfHour(t, g); !same(got, want) {
			t.Errorf("%s after the window was due: %v; want %v", after, got, want)
		}
	}
	empty := NewGauges(time.Now)
	empty.Objectives(objectives(t))
	empty.Complete()
	if got := sumOfHour(t, empty); !same(got, none) {
		t.Errorf("without records: %v", got)
	}
}

// An edit of the objective changes no sum, and says that rules have to be written anew. So does one of the histogram,
// which ends the sums too.
func TestEditsOfAnObjective(t *testing.T) {
	records := []Record{inWindow(t, 3), inWindow(t, 4)}
	before := sumsAfter(t, objectives(t), records...)
	after := sumsAfter(t, objectives(t, "0.99", "0.999"), records...)
	if a, b := sumOfHour(t, before), sumOfHour(t, after); !same(a, b) || a.windows != 2 {
		t.Errorf("%v, and with another objective %v", a, b)
	}
	cheaper := sumsAfter(t, objectives(t, "epsilon: 0.1", "epsilon: 0.2"), records...)
	if got := sumOfHour(t, cheaper); got.windows != 0 {
		t.Errorf("%v of windows with another epsilon", got)
	}
	seen := map[string]bool{}
	for _, g := range []*Gauges{before, after, cheaper} {
		for _, m := range gathered(t, g) {
			if m.name == "louver_slo_objective" {
				seen[m.labels["definition"]] = true
			}
		}
	}
	if len(seen) != 3 {
		t.Errorf("the definitions are %v; want three", seen)
	}
}

// What is added from the ledger is what records give, on two levels too.
func TestSumsFromTheLedger(t *testing.T) {
	of := objectives(t, "buckets: [100, 800], epsilon", "buckets: [100, 800], levels: 2, epsilon")
	one := inWindow(t, 4, func(r *Record) { r.Buckets.Coarse, r.Buckets.Groups = []int64{9, 20}, 2 })
	want := sumOfHour(t, sumsAfter(t, of, one))
	if want.windows != 1 || want.bad == 13 {
		t.Fatalf("the record gives %v", want)
	}
	withheld := inWindow(t, 4, withheldWindow) // tells which window is the newest, and nothing else
	g := sumsAfter(t, of, withheld)
	g.Add(Drawn{Stream: "s", Group: "eu", Release: "latency", Start: one.WindowStart, End: one.WindowEnd,
		Mechanism: "histogram", Epsilon: decimal.RequireFromString("0.10"), Raw: one.Buckets.Raw,
		Coarse: one.Buckets.Coarse, Ends: []decimal.Decimal{decimal.NewFromInt(100), decimal.NewFromInt(800),
			decimal.NewFromInt(1000)}})
	if got := sumOfHour(t, g); !same(got, want) {
		t.Errorf("the ledger gives %v, and the record %v", got, want)
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
	if got, want := strings.Join(lines, ", "), "15m 1, 1d 2, 1h 2, 2h 2, 30m 2, 3d 2, 6h 2"; got != want {
		t.Errorf("the windows are %s; want %s", got, want)
	}
	if problems, err := testutil.CollectAndLint(g); err != nil || len(problems) > 0 {
		t.Errorf("%v %v", problems, err)
	}
}

func number(text string) *json.Number { return new(json.Number(text)) }
