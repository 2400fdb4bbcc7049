package parse

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/budget/privacy"
	"github.com/louver/louver/stream/codec"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/windows"
)

// right is a streams file without mistakes. Those that scripts edit differ from it in one place.
const right = `version: 1
budgets:
  - {name: shoppers, epsilon: 24, per: 24h}
streams:
  - name: checkout
    description: time to confirm an order
    input:
      topic: checkout.events
      format: json
      user: user_id
      value: latency_ms
      time: ts
      group: region
      max_future: 5m
    unit: ms
    groups: [eu, us, ap]
    max_groups: 1
    bounds: {lower: 0, upper: 60000, step: 1, prior: cells}
    expected_users: 5000
    window: {size: 15m, every: 15m, grace: 30s, start: now}
    contribution: last
    releases:
      - {name: p50, statistic: median, epsilon: 0.05}
      - {name: p90, statistic: quantile, p: 0.9, epsilon: 0.05}
      - {name: users, statistic: count, epsilon: 0.02}
      - {name: slow, statistic: count, above: 800, epsilon: 0.01}
    min_users: {count: 50, release: users}
    rejects: {topic: checkout.rejects}
    late: {topic: checkout.late}
    output: {topic: checkout.private}
    budget: shoppers
    on_exhausted: refuse
`

// p50 is the line of right that is edited most.
const p50 = "{name: p50, statistic: median, epsilon: 0.05}"

// full says everything that a stream can say.
const full = `version: 1
budgets:                              # optional: budgets that several streams share
  - {name: shoppers, epsilon: 24, per: 24h}          # per: rolling period, or forever
streams:
  - name: checkout-latency            # [a-z0-9-]+, unique
    description: time to confirm an order
    input:
      topic: checkout.events
      format: json                    # json | csv | avro | protobuf
      user: user_id                   # field path (dots), or $key for the record's key
      value: latency_ms               # field path, or $value for a bare number
      time: ts                        # field path, or $timestamp (default)
      group: region                   # optional field path
      user_partitioned: false         # true: every record of a user is in one partition
      max_future: 5m
    unit: ms                          # shown with every value
    groups: [eu, us, ap]              # public list; absent: one group, ""
    max_groups: 1                     # groups of a window in which one user counts
    max_windows: {count: 12, per: 24h, parts: 1} # windows of a period in which one user counts
    bounds: {lower: 0, upper: 60000, step: 1, prior: adaptive}
    expected_users: 5000
    window: {size: 15m, every: 5m, grace: 30s, start: 2026-11-20T08:05:00Z, end: 2026-12-20T09:00:00+01:00}
    contribution: max                 # first | last | min | max | random
    releases:
      - {name: p50, statistic: median, epsilon: 0.005}
      - {name: p99, statistic: quantile, p: 0.99, epsilon: 0.01, mechanism: margin, tilt: [1, 3]}
      - {name: typical, statistic: trimmed_mean, trim: 0.05, epsilon: 0.005, mechanism: smooth_power, calibration: tight}
      - {name: top, statistic: mode, epsilon: 0.002}
      - {name: users, statistic: count, epsilon: 0.002}
      - {name: slow, statistic: count, above: 800, epsilon: 0.001}
      - {name: out, statistic: outside, epsilon: 0.001}
    min_users: {count: 50, release: users}
    rejects: {topic: checkout.rejects}
    late: {topic: checkout.late}
    output: {topic: checkout.private, format: avro}
    budget: shoppers
    on_exhausted: refuse
    continues: old-budget
revision: 2
removed: [checkout-amount]
`

func noVariables(string) (string, bool) { return "", false }

func parse(t *testing.T, text string) *config.File {
	t.Helper()
	f, err := File("s.yaml", []byte(text), noVariables)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestEverything(t *testing.T) {
	f := parse(t, full)
	if len(f.Streams) != 1 || len(f.Budgets) != 1 {
		t.Fatalf("%d streams and %d budgets; want one each", len(f.Streams), len(f.Budgets))
	}
	got := *f.Streams[0]
	if g := got.Grid; g.Value(0).String() != "0" || g.Value(g.Last()).String() != "60000" || g.Last() != 60000 {
		t.Errorf("grid from %s to %s with %d steps", g.Value(0), g.Value(g.Last()), g.Last())
	}
	var releases []string
	for _, r := range config.All[*config.Release](&got) {
		q := r.Query
		if q.Grid != got.Grid || q.Prior != "adaptive" || q.ExpectedUsers != 5000 || r.Mechanism == nil {
			t.Errorf("release %s lacks what the stream says: %+v", r.Name, q)
		}
		releases = append(releases, fmt.Sprintf("%s %s %s %s %d %v %s %s", r.Name, q.Statistic, q.P, q.Epsilon, q.Tilt,
			q.Above, r.Mechanism.Name(), r.Where))
	}
	wantReleases := []string{
		"p50 median [] 0.005 [0 0] <nil> margin s.yaml:25",
		"p99 quantile [0.99] 0.01 [1 3] <nil> margin s.yaml:26",
		"typical trimmed_mean [] 0.005 [0 0] <nil> smooth_power s.yaml:27",
		"top mode [] 0.002 [0 0] <nil> exponential s.yaml:28",
		"users count [] 0.002 [0 0] <nil> geometric s.yaml:29",
		"slow count [] 0.001 [0 0] 800 geometric s.yaml:30",
		"out outside [] 0.001 [0 0] <nil> geometric s.yaml:31",
	}
	if d := cmp.Diff(wantReleases, releases); d != "" {
		t.Error(d)
	}
	if trim := config.All[*config.Release](&got)[2].Query.Trim.String(); trim != "0.05" {
		t.Errorf("trim %s", trim)
	}
	if by := got.MaxWindows.By; by.Most != 6 || by.Windows != 288 || by.Block <= 288 {
		t.Errorf("users count by the rule %+v; want 6 of each more than 288, so that no block keeps its time of day",
			by)
	}
	got.MaxWindows.By = windows.CapRule{}
	got.Grid, got.Figures, got.Definition = nil, nil, ""
	want := config.Stream{
		Name: "checkout-latency", Description: "time to confirm an order",
		Input: config.Input{Topic: "checkout.events", Spec: codec.Spec{Format: "json", User: "user_id",
			Value: "latency_ms", Time: "ts", Group: "region", MaxFuture: 5 * time.Minute}},
		Unit: "ms", Groups: []string{"eu", "us", "ap"}, MaxGroups: 1, Prior: "adaptive", ExpectedUsers: 5000,
		MaxWindows: &config.MaxWindows{CapSpec: windows.CapSpec{Count: 12, Per: 24 * time.Hour, Parts: 1}},
		Window: config.Window{Size: 15 * time.Minute, Every: 5 * time.Minute, Grace: 30 * time.Second,
			Start: time.Date(2026, 11, 20, 8, 5, 0, 0, time.UTC).UnixNano(),
			End:   time.Date(2026, 12, 20, 8, 0, 0, 0, time.UTC).UnixNano()},
		Contribution: windows.Max, MinUsers: &config.MinUsers{Count: 50, Release: "users"}, Rejects: "checkout.rejects",
		Late: "checkout.late", Output: "checkout.private", OutputFormat: "avro",
		Budget: &config.Budget{Name: "shoppers", Limit: budget.Limit{Epsilon: decimal.NewFromInt(24),
			Per: 24 * time.Hour}, Where: "s.yaml:3"},
		Continues: "old-budget", Where: "s.yaml:5",
	}
	if d := cmp.Diff(want, got, cmpopts.IgnoreUnexported(windows.CapRule{})); d != "" {
		t.Error(d)
	}
	if got.Budget != f.Budgets[0] {
		t.Error("the stream's budget is not the file's")
	}
}

const least = `version: 1
streams:
  - name: s
    input: {topic: in, user: $key, value: $value}
    bounds: {lower: -1.5, upper: 1.5, step: 0.1}
    window: {size: 1d, grace: 0s}
    releases: [{name: mid, statistic: median, epsilon: 0.1}]
    output: {topic: out}
    budget: {epsilon: 1, per: 7d}
`

func TestDefaults(t *testing.T) {
	got := *parse(t, least).Streams[0]
	got.Grid, got.Figures, got.Definition = nil, nil, ""
	want := config.Stream{
		Name: "s",
		Input: config.Input{Topic: "in", Spec: codec.Spec{Format: "json", User: codec.KeyField, Value: codec.ValueField,
			Time: codec.TimestampField, MaxFuture: 5 * time.Minute}},
		Groups: []string{""}, MaxGroups: 1, Prior: "adaptive", Unsaid: true,
		Window:       config.Window{Size: 24 * time.Hour, Every: 24 * time.Hour, StartNow: true},
		Contribution: windows.Last, Output: "out", OutputFormat: "json",
		Budget: &config.Budget{Name: "s", Limit: budget.Limit{Epsilon: decimal.NewFromInt(1), Per: 7 * 24 * time.Hour},
			Where: "s.yaml:9"},
		Where: "s.yaml:3",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// edited is least with one line of the stream replaced.
func edited(t *testing.T, old, new string) *config.Stream {
	t.Helper()
	if strings.Count(least, old) != 1 {
		t.Fatalf("%q is not there once", old)
	}
	return parse(t, strings.Replace(least, old, new, 1)).Streams[0]
}

func TestCSV(t *testing.T) {
	for _, tab := range []string{`"\t"`, `'\t'`, `\t`, "\"\t\""} {
		testTabs(t, tab)
	}
}

// testTabs reads a stream whose columns are separated by tabs, written in one of the ways of YAML.
func testTabs(t *testing.T, tab string) {
	s := edited(t, "{topic: in, user: $key, value: $value}",
		`{topic: in, format: csv, user: who, value: v.x, time: at, columns: [at, who, v.x], delimiter: `+tab+`, `+
			`user_partitioned: true, max_future: 0s}`)
	want := config.Input{Topic: "in", Spec: codec.Spec{Format: "csv", User: "who", Value: "v.x", Time: "at",
		Columns: []string{"at", "who", "v.x"}, Delimiter: '\t'}, UserPartitioned: true}
	if d := cmp.Diff(want, s.Input); d != "" {
		t.Error(d)
	}
}

// Conditions are read in the order of their fields, and the definition holds them: it says the same when it is read
// again.
func TestWhere(t *testing.T) {
	text := func(texts ...string) (all []codec.Operand) {
		for _, x := range texts {
			all = append(all, codec.Operand{Text: x})
		}
		return all
	}
	number := func(x string) codec.Operand { return codec.Operand{Text: x, Number: true} }
	s := edited(t, "{topic: in, user: $key, value: $value}", `{topic: in, user: u, value: v, where: {type: checkout, `+
		`status: [200, 2.50e2, "201"], total: {above: -0.5, below: 1e3}, tenant: {not: test}, "a \"b\" [c]: d": {exists: true}, `+
		`gone: {exists: false}, day: 2026-01-02, new: true}}`)
	want := []codec.Condition{{Field: `a "b" [c]: d`, Exists: true}, {Field: "day", Is: text("2026-01-02")},
		{Field: "gone", Missing: true}, {Field: "new", Is: text("true")},
		{Field: "status", Is: append([]codec.Operand{number("200"), number("250")}, text("201")...)},
		{Field: "tenant", Not: text("test")}, {Field: "total", Above: number("-0.5"), Below: number("1000")},
		{Field: "type", Is: text("checkout")}}
	if d := cmp.Diff(want, s.Input.Where); d != "" {
		t.Error(d)
	}
	// A command line has the same conditions, one by one.
	flags, err := Where([]string{`a "b" [c]: d={exists: true}`, "day=2026-01-02", "gone={exists: false}",
		"new=true", `status=[200, 250.0, "201"]`, "tenant={not: test}", "total={above: -0.5, below: 1000}", "type=checkout"})
	if d := cmp.Diff(want, flags); d != "" || err != nil {
		t.Errorf("%v\n%s", err, d)
	}
	again := parse(t, string(s.Definition)).Streams[0]
	if d := cmp.Diff(want, again.Input.Where); d != "" || again.Definition != s.Definition {
		t.Errorf("%s\n%s\n%s", d, s.Definition, again.Definition)
	}
	for flag, wrong := range map[string]string{
		"status":       `"status"; want a field and what it must be, such as status=200`,
		"=200":         `"=200"; want a field and what it must be, such as status=200`,
		"status=":      "status: empty; want " + wantCondition,
		"$key=a":       `$key: "$key" is no field; want a field of the event`,
		"a={above: x}": `a.above: "x" is not a number; want a number`,
		"a=1\nb: 2":    `"a=1\nb: 2"; want a field and what it must be, such as status=200`,
		"a=[1":         "",
	} {
		if got, err := Where([]string{flag}); err == nil || !strings.Contains(err.Error(), wrong) {
			t.Errorf("%s: %v, %v; want %s", flag, got, err, wrong)
		}
	}
	if _, err := Where([]string{"a=1", "a=2"}); err == nil || !strings.Contains(err.Error(), "already set on line 1") {
		t.Error(err)
	}
	// What is too long for a number is a text, and no error repeats it.
	long := strings.Repeat("0", 61)
	s = edited(t, "{topic: in, user: $key, value: $value}", "{topic: in, user: u, value: v, where: {n: "+long+"}}")
	if d := cmp.Diff([]codec.Condition{{Field: "n", Is: text(long)}}, s.Input.Where); d != "" {
		t.Error(d)
	}
	if none := edited(t, "value: $value}", "value: $value, where: {}}"); len(none.Input.Where) != 0 {
		t.Errorf("%v", none.Input.Where)
	}
}

// Telemetry needs only the user. The rest has defaults, which are not in the definition.
func TestTelemetry(t *testing.T) {
	for input, want := range map[string]codec.Spec{
		"format: otlp_traces": {Value: "span.duration_ms", Time: "span.end_time_unix_nano",
			Where: []codec.Condition{{Field: "span.kind", Is: []codec.Operand{{Text: "server"}}}}},
		"format: otlp_traces, where: {}":               {Value: "span.duration_ms", Time: "span.end_time_unix_nano"},
		"format: otlp_logs, value: 'log.body[\"ms\"]'": {Value: `log.body["ms"]`, Time: "log.time_unix_nano"},
		"format: otlp_metrics, time: observed.at, where: {metric.name: steps}": {Value: "datapoint.value", Time: "observed.at",
			Where: []codec.Condition{{Field: "metric.name", Is: []codec.Operand{{Text: "steps"}}}}},
	} {
		s := edited(t, "{topic: in, user: $key, value: $value}", "{topic: in, user: user.id, "+input+"}")
		want.Format, want.User, want.MaxFuture = s.Input.Format, "user.id", 5*time.Minute
		if d := cmp.Diff(want, s.Input.Spec); d != "" {
			t.Error(d)
		}
		if strings.Contains(string(s.Definition), "span.") {
			t.Errorf("the definition has defaults: %s", s.Definition)
		}
	}
}

func TestVariables(t *testing.T) {
	text := strings.NewReplacer(
		"version: 1", "version: 1 # ${NOT_SET}, but in a comment",
		"topic: in", `topic: "${ENV}.in"`,
		"upper: 1.5", "upper: ${UPPER}", // within braces, which are YAML's too
		"output:", "description: ${TEXT}\n    output:",
		"topic: out", "topic: ${ENV}.${ENV}",
	).Replace(least)
	variables := map[string]string{"ENV": "prod", "UPPER": "2.5", "TEXT": "a: [b}\n# c"}
	f, err := File("s.yaml", []byte(text), func(name string) (string, bool) { v, ok := variables[name]; return v, ok })
	if err != nil {
		t.Fatal(err)
	}
	s := f.Streams[0]
	got := []string{s.Input.Topic, s.Output, s.Grid.Upper().String(), s.Description}
	if want := []string{"prod.in", "prod.prod", "2.5", "a: [b}\n# c"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAliases(t *testing.T) {
	text := strings.Replace(least, "window: {", "window: &daily {", 1)
	_, second, _ := strings.Cut(text, "streams:\n")
	second = strings.NewReplacer("name: s\n", "name: s2\n", "&daily {size: 1d, grace: 0s}", "*daily").Replace(second)
	f := parse(t, text+second)
	if d := cmp.Diff(f.Streams[0].Window, f.Streams[1].Window); d != "" {
		t.Error(d)
	}
}

func TestSeveralMistakes(t *testing.T) {
	text := strings.NewReplacer("size: 1d", "size: 1x", "epsilon: 0.1", "epsilon: 0", "topic: out",
		"topic: o/t").Replace(least)
	_, err := File("s.yaml", []byte(text), noVariables)
	want := []string{
		`s.yaml:6: streams[s].window.size: 1x is not a duration; want a duration of whole seconds, for example 15m`,
		`s.yaml:7: streams[s].releases[mid].epsilon: 0; want a number greater than 0`,
		`s.yaml:8: streams[s].output.topic: "o/t"; want the name of a topic: 1–249 of the characters a–z, A–Z, 0–9, ., _ ` +
			`and -`,
	}
	if err == nil || err.Error() != strings.Join(want, "\n") {
		t.Errorf("got\n%v\nwant\n%s", err, strings.Join(want, "\n"))
	}
}

// A budget with a δ sums up ρ, of which bounded-range mechanisms cost less: they are the defaults there.
func TestBudgetsWithDeltaTakeBoundedRange(t *testing.T) {
	const text = `
version: 1
budgets:
  - {name: shoppers, epsilon: 24, per: 24h%s}
streams:
  - name: s
    input: {topic: in, user: user, value: value, time: time}
    bounds: {lower: 0, upper: 1000, step: 1, prior: tapered}
    window: {size: 15m, grace: 1s, start: now}
    contribution: last
    releases:
      - {name: p50, statistic: median, epsilon: 0.05}
      - {name: p99, statistic: quantile, p: 0.99, epsilon: 0.05}
    output: {topic: out}
    budget: shoppers
`
	for delta, want := range map[string]string{"": "permute_and_flip permute_and_flip/above_threshold",
		", delta: 0.000001": "margin margin"} {
		f, err := File("s.yaml", []byte(fmt.Sprintf(text, delta)), os.LookupEnv)
		if err != nil {
			t.Fatal(err)
		}
		r := config.All[*config.Release](f.Streams[0])
		if got := r[0].Mechanism.Name() + " " + r[1].Mechanism.Name(); got != want {
			t.Errorf("budget%s: %s, want %s", delta, got, want)
		}
		if bounded := r[1].Mechanism.Promise().Kind == privacy.BoundedRange; bounded != (delta != "") {
			t.Errorf("budget%s: bounded range %v", delta, bounded)
		}
	}
}

// In a budget with a δ counts have Gaussian noise, unless another mechanism is named. The definition says which budget
// it is: so the mechanism is the same when the definition is read again, and a change of the δ is a change of the
// definition.
func TestBudgetsWithDeltaTakeGaussianCounts(t *testing.T) {
	const releases = `
      - {name: users, statistic: count, epsilon: 0.02}
      - {name: slow, statistic: count, above: 1, epsilon: 0.02}
      - {name: beyond, statistic: outside, epsilon: 0.02}
      - {name: named, statistic: count, mechanism: geometric, epsilon: 0.02}`
	own := strings.Replace(least, "releases: [{name: mid, statistic: median, epsilon: 0.1}]", "releases:"+releases, 1)
	shared := strings.NewReplacer("version: 1", "version: 1\nbudgets: [{name: both, epsilon: 1, per: 7d}]",
		"budget: {epsilon: 1, per: 7d}", "budget: both").Replace(own)
	for _, text := range []string{own, shared} {
		seen := map[config.Definition]bool{}
		for delta, want := range map[string]string{"": "geometric geometric geometric geometric",
			", delta: 0.000000001": "gaussian gaussian gaussian geometric"} {
			s := parse(t, strings.Replace(text, "per: 7d", "per: 7d"+delta, 1)).Streams[0]
			again, err := Definition(s.Definition)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range []*config.Stream{s, again} {
				var got []string
				for _, r := range config.All[*config.Release](s) {
					got = append(got, r.Mechanism.Name())
				}
				if got := strings.Join(got, " "); got != want {
					t.Errorf("budget%s: %s, want %s", delta, got, want)
				}
			}
			seen[s.Definition] = true
		}
		if len(seen) != 2 {
			t.Error("the definition is the same with and without a δ")
		}
	}
}
