package outputs

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/louver/louver/stream/record/recordtest"
)

const published = `{"schema":"louver.release.v1","id":"s/eu/2026-11-20T08:00:00Z/p50",
"stream":"s","group":"eu","release":"p50",
"window_start":"2026-11-20T08:00:00Z","window_end":"2026-11-20T08:15:00Z","due_at":"2026-11-20T08:15:30Z",
"incomplete":false,"statistic":"median","p":0.5,"mechanism":"margin","unit":"ms",
"value":812,"status":"ok","reason":null,"epsilon":0.1,"delta":0,"rank_error_95":554.2,
"users":10412,"p_low":0.4,"p_high":0.6,"interval":null,"smoothed":{"value":815,"low":790,"high":840},
"stream_epsilon_spent":12.5,
"budget":"b","budget_epsilon_spent":12.5,"budget_epsilon_limit":24,"budget_windows_left":46}`

// They move a record by one window.
var (
	later   = strings.NewReplacer("T08:00:00", "T08:15:00", "T08:15:00", "T08:30:00", "T08:15:30", "T08:30:30")
	earlier = strings.NewReplacer("T08:00:00", "T07:45:00", "T08:15:00", "T08:00:00", "T08:15:30", "T08:00:30")
)

func gauges(t *testing.T, now string, values ...string) *Gauges {
	t.Helper()
	g := NewGauges(time.Now)
	at, err := time.Parse(time.RFC3339, now)
	if err != nil {
		t.Fatal(err)
	}
	g.now = func() time.Time { return at }
	for _, v := range values {
		r, ok, err := Decode([]byte(v))
		if err != nil || !ok {
			t.Fatalf("%v %v", ok, err)
		}
		g.Update(r)
	}
	return g
}

func TestGauges(t *testing.T) {
	next := later.Replace(published)
	withheld := strings.NewReplacer(`"value":812,"status":"ok","reason":null`,
		`"value":null,"status":"withheld","reason":"too_few_users"`).Replace(next)
	const value = "louver_release_value"
	for _, c := range []struct {
		name, now string
		values    []string
		want      string
	}{
		{"fresh", "2026-11-20T08:16:00Z", []string{published}, "812"},
		{"newest wins, whatever the order", "2026-11-20T08:31:00Z",
			[]string{strings.Replace(next, "812", "900", 1), published}, "900"},
		{"stale after three windows", "2026-11-20T09:01:00Z", []string{published}, ""},
		{"absent while withheld", "2026-11-20T08:31:00Z", []string{published, withheld}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			g, want := gauges(t, c.now, c.values...), ""
			if c.want != "" {
				want = head(t, g, value) + value + `{group="eu",release="p50",stream="s"} ` + c.want + "\n"
			}
			if err := testutil.CollectAndCompare(g, strings.NewReader(want), value); err != nil {
				t.Error(err)
			}
		})
	}
	g := gauges(t, "2026-11-20T08:31:00Z", withheld)
	if err := testutil.CollectAndCompare(g, strings.NewReader(head(t, g, "louver_release_withheld")+`
louver_release_withheld{group="eu",reason="budget_exhausted",release="p50",stream="s"} 0
louver_release_withheld{group="eu",reason="too_few_users",release="p50",stream="s"} 1
`), "louver_release_withheld"); err != nil {
		t.Error(err)
	}
	if problems, err := testutil.CollectAndLint(g); err != nil || len(problems) > 0 {
		t.Errorf("%v %v", problems, err)
	}
	useful := strings.NewReplacer(`"rank_error_95":554.2`, `"rank_error_95":554.2,"error_95":null,"quality":"useful"`,
		`"smoothed":{"value":815,"low":790,"high":840}`, `"smoothed":null`).Replace(published)
	count := strings.NewReplacer("/p50", "/users", `"p50"`, `"users"`, `"median"`, `"count"`, `"value":812`,
		`"value":100`,
		`"error_95":null,"quality":"useful"`, `"error_95":150,"low":0,"high":250,"level":0.95,"basis":"noise","quality":"noise"`).Replace(useful)
	g = gauges(t, "2026-11-20T08:16:00Z", useful, count)
	want := head(t, g, "louver_release_high") + `
louver_release_high{group="eu",release="users",stream="s"} 250
` + head(t, g, "louver_release_low") + `
louver_release_low{group="eu",release="users",stream="s"} 0
` + head(t, g, "louver_release_quality") + `
louver_release_quality{group="eu",quality="noise",release="p50",stream="s"} 0
louver_release_quality{group="eu",quality="noise",release="users",stream="s"} 1
louver_release_quality{group="eu",quality="rough",release="p50",stream="s"} 0
louver_release_quality{group="eu",quality="rough",release="users",stream="s"} 0
louver_release_quality{group="eu",quality="useful",release="p50",stream="s"} 1
louver_release_quality{group="eu",quality="useful",release="users",stream="s"} 0
`
	err := testutil.CollectAndCompare(g, strings.NewReader(want),
		"louver_release_high", "louver_release_low", "louver_release_quality")
	if err != nil {
		t.Error(err)
	}
}

// A histogram has the type of one, with the counts that are shown. A roll-up has a label.
func TestHistogramGauges(t *testing.T) {
	one := strings.NewReplacer(`"median"`, `"histogram"`, `"p50"`, `"latency"`, "/p50", "/latency", `"budget":`,
		`"buckets":{"le":[100,800,null],"raw":[7,-3,2],"coarse":[],"groups":0,"count":[5,0,1]},"budget":`).Replace(
		published)
	hour := strings.NewReplacer(`"latency"`, `"latency.1h"`, `"buckets":`,
		`"windows":{"of":4,"released":4,"incomplete":0},"buckets":`).Replace(one)
	g := gauges(t, "2026-11-20T08:16:00Z", one, hour)
	const name = "louver_distribution"
	want := "# HELP " + name + " Users in the newest window of a histogram, by upper end of the bucket. Of one " +
		"window: not a counter, use no rate().\n# TYPE " + name + " histogram\n"
	for _, rollup := range []string{"", "1h"} {
		labels := `group="eu",release="latency",rollup="` + rollup + `",stream="s"`
		for _, line := range []string{`_bucket{` + labels + `,le="100"} 5`, `_bucket{` + labels + `,le="800"} 5`,
			`_bucket{` + labels + `,le="+Inf"} 6`, `_sum{` + labels + `} NaN`, `_count{` + labels + `} 6`} {
			want += name + line + "\n"
		}
	}
	if err := testutil.CollectAndCompare(g, strings.NewReader(want), name); err != nil {
		t.Error(err)
	}
	if n := testutil.CollectAndCount(gauges(t, "2026-11-20T09:01:00Z", one), name); n != 0 {
		t.Errorf("%d distributions that are stale", n)
	}
	if problems, err := testutil.CollectAndLint(g); err != nil || len(problems) > 0 {
		t.Errorf("%v %v", problems, err)
	}
}

// A watch has gauges of its own, and none of a release.
func TestWatchGauges(t *testing.T) {
	record := func(group, value, more string) string {
		return strings.NewReplacer(`"group":"eu"`, `"group":"`+group+`"`, "p50", "slow", `"median"`, `"watch"`,
			`"margin"`, `"sparse_vector"`, `"value":812,"status":"ok","reason":null`, `"value":`+value+`,`+more,
			`"smoothed":{"value":815,"low":790,"high":840}`, `"smoothed":null`).Replace(published)
	}
	const ok, notArmed = `"status":"ok","reason":null`, `"status":"withheld","reason":"not_armed"`
	firing := func(group, value string) string {
		return `louver_watch_firing{group="` + group + `",stream="s",watch="slow"} ` + value + "\n"
	}
	for name, c := range map[string]struct {
		now           string
		values        []string
		firing, armed string
	}{
		"silent": {"2026-11-20T08:16:00Z", []string{record("eu", "0", ok), record("us", "0", ok)},
			firing("eu", "0") + firing("us", "0"), "1"},
		"fires": {"2026-11-20T08:16:00Z",
			[]string{record("eu", "0", ok), record("us", "1", ok), record("ap", "null", notArmed)},
			firing("eu", "0") + firing("us", "1"), "0"},
		"stale": {"2026-11-20T09:16:00Z", []string{record("eu", "1", ok)}, "", "0"},
	} {
		g := gauges(t, c.now, c.values...)
		want := head(t, g, "louver_watch_armed") + `louver_watch_armed{stream="s",watch="slow"} ` + c.armed + "\n"
		if c.firing != "" {
			want += head(t, g, "louver_watch_firing") + c.firing
		}
		err := testutil.CollectAndCompare(g, strings.NewReader(want),
			"louver_watch_firing", "louver_watch_armed", "louver_release_value", "louver_release_info")
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What is shown of several groups or streams at once does not depend on chance.
func TestGaugesAgreeOnOneFigure(t *testing.T) {
	other := strings.NewReplacer(`"group":"eu"`, `"group":"us"`, `"margin"`, `"above_threshold"`).Replace(published)
	older := strings.NewReplacer(`"group":"eu"`, `"group":"ap"`, `"margin"`,
		`"duff"`).Replace(earlier.Replace(published))
	shared := strings.NewReplacer(`"stream":"s"`, `"stream":"u"`,
		`"budget_epsilon_spent":12.5`, `"budget_epsilon_spent":13`,
		`"budget_windows_left":46`, `"budget_windows_left":5`).Replace(published)
	for range 50 { // a map is gone through in another order each time
		g := gauges(t, "2026-11-20T08:16:00Z", published, other, older, shared)
		want := head(t, g, "louver_budget_epsilon_spent") + `
louver_budget_epsilon_spent{budget="b"} 13
` + head(t, g, "louver_budget_windows_left") + `
louver_budget_windows_left{budget="b"} 5
` + head(t, g, "louver_release_info") + `
louver_release_info{mechanism="margin",p="0.5",release="p50",statistic="median",stream="s",unit="ms"} 1
louver_release_info{mechanism="margin",p="0.5",release="p50",statistic="median",stream="u",unit="ms"} 1
`
		err := testutil.CollectAndCompare(g, strings.NewReader(want),
			"louver_budget_epsilon_spent", "louver_budget_windows_left", "louver_release_info")
		if err != nil {
			t.Fatal(err)
		}
	}
}

// A stream whose windows cost nothing says that there is no end of them. That does not hide what its budget can pay of
// another stream, whichever was decided last. Only a record that is too old says nothing any more.
func TestGaugeOfWindowsLeft(t *testing.T) {
	const endless = "9007199254740992"
	free := strings.NewReplacer(`"stream":"s"`, `"stream":"u"`,
		`"budget_windows_left":46`, `"budget_windows_left":`+endless).Replace(published)
	for _, c := range []struct {
		now     string
		records []string
		want    string
	}{
		{"2026-11-20T08:31:00Z", []string{published, free}, "46"},
		{"2026-11-20T08:31:00Z", []string{published, later.Replace(free)}, "46"},
		{"2026-11-20T08:31:00Z", []string{published, earlier.Replace(free)}, "46"},
		{"2026-11-20T08:31:00Z", []string{free}, endless},
		{"2026-11-20T09:05:00Z", []string{published, later.Replace(free)}, endless}, // the stream s has ended
		{"2026-11-20T19:05:00Z", []string{published, later.Replace(free)}, "46"},    // nothing comes from either
	} {
		for range 20 { // a map is gone through in another order each time
			g := gauges(t, c.now, c.records...)
			const name = "louver_budget_windows_left"
			want := strings.Replace(c.want, endless, "9.007199254740992e+15", 1)
			want = head(t, g, name) + name + `{budget="b"} ` + want + "\n"
			if err := testutil.CollectAndCompare(g, strings.NewReader(want), name); err != nil {
				t.Fatalf("%s: %v", c.now, err)
			}
		}
	}
}

// head is what comes before the values of a gauge. The words of its help are not tested here.
func head(t *testing.T, c prometheus.Collector, name string) string {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(c)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			return "# HELP " + name + " " + f.GetHelp() + "\n# TYPE " + name + " gauge\n"
		}
	}
	t.Fatalf("no metric %s", name)
	return ""
}

func TestForeignRecordsArePassedOver(t *testing.T) {
	if _, ok, err := Decode([]byte(`{"hello":"world"}`)); ok || err != nil {
		t.Errorf("a foreign record gives %v, %v", ok, err)
	}
	if _, _, err := Decode([]byte(`not JSON`)); err == nil {
		t.Error("what is not JSON gives no error")
	}
}

// The gauges are the band of the record, for figures of every kind. A figure without one has none.
func TestGaugesOfTheBand(t *testing.T) {
	var values []string
	all := recordtest.AllBanded(t)
	for _, c := range all {
		values = append(values, c.Record)
	}
	g := gauges(t, "2026-11-20T08:31:00Z", values...)
	got := map[string]map[string]float64{}
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(g)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		got[f.GetName()] = map[string]float64{}
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if l.GetName() == "release" {
					got[f.GetName()][l.GetValue()] = m.GetGauge().GetValue()
				}
			}
		}
	}
	for _, c := range all {
		for metric, want := range map[string]string{"louver_release_low": c.Low, "louver_release_high": c.High} {
			is, there := got[metric][c.Name]
			if there != (want != "") || there && fmt.Sprint(is) != want {
				t.Errorf("%s of %s: %v, %v; want %q", metric, c.Name, is, there, want)
			}
		}
	}
}
