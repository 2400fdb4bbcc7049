package config

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/windows"
)

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
    output: {topic: checkout.private}
    budget: shoppers
    on_exhausted: refuse
    continues: old-budget
`

func parse(t *testing.T, text string) *File {
	t.Helper()
	f, err := Parse("s.yaml", []byte(text), noVariables)
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
	if g := got.Grid; g.Text(0) != "0" || g.Text(g.Last()) != "60000" || g.Last() != 60000 {
		t.Errorf("grid from %s to %s with %d steps", g.Text(0), g.Text(g.Last()), g.Last())
	}
	var releases []string
	for _, r := range got.Releases {
		q := r.Query
		if q.Grid != got.Grid || q.Prior != "adaptive" || q.ExpectedUsers != 5000 || r.Mechanism == nil {
			t.Errorf("release %s lacks what the stream says: %+v", r.Name, q)
		}
		releases = append(releases, fmt.Sprintf("%s %s %s %s %d %v %s %s", r.Name, q.Statistic, q.P, q.Epsilon, q.Tilt, q.Above, r.Mechanism.Name(), r.Where))
	}
	wantReleases := []string{
		"p50 median [] 0.005 [0 0] <nil> margin s.yaml:24",
		"p99 quantile [0.99] 0.01 [1 3] <nil> margin s.yaml:25",
		"typical trimmed_mean [] 0.005 [0 0] <nil> smooth_power s.yaml:26",
		"top mode [] 0.002 [0 0] <nil> duff s.yaml:27",
		"users count [] 0.002 [0 0] <nil> geometric s.yaml:28",
		"slow count [] 0.001 [0 0] 800 geometric s.yaml:29",
		"out outside [] 0.001 [0 0] <nil> geometric s.yaml:30",
	}
	if d := cmp.Diff(wantReleases, releases); d != "" {
		t.Error(d)
	}
	if trim := got.Releases[2].Query.Trim.String(); trim != "0.05" {
		t.Errorf("trim %s", trim)
	}
	got.Grid, got.Releases = nil, nil
	want := Stream{
		Name: "checkout-latency", Description: "time to confirm an order",
		Input: Input{Topic: "checkout.events", Format: "json", User: "user_id", Value: "latency_ms", Time: "ts", Group: "region",
			Delimiter: ',', MaxFuture: 5 * time.Minute},
		Unit: "ms", Groups: []string{"eu", "us", "ap"}, MaxGroups: 1, Prior: "adaptive", ExpectedUsers: 5000,
		Window: Window{Size: 15 * time.Minute, Every: 5 * time.Minute, Grace: 30 * time.Second,
			Start: time.Date(2026, 11, 20, 8, 5, 0, 0, time.UTC).UnixNano(), End: time.Date(2026, 12, 20, 8, 0, 0, 0, time.UTC).UnixNano()},
		Contribution: windows.Max, MinUsers: &MinUsers{50, "users"}, Rejects: "checkout.rejects", Late: "checkout.late", Output: "checkout.private",
		Budget:    &Budget{Name: "shoppers", Limit: budget.Limit{Epsilon: decimal.NewFromInt(24), Per: 24 * time.Hour}, Shared: true, Where: "s.yaml:3"},
		Continues: "old-budget", Where: "s.yaml:5",
	}
	if d := cmp.Diff(want, got); d != "" {
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
	got.Grid, got.Releases = nil, nil
	want := Stream{
		Name:   "s",
		Input:  Input{Topic: "in", Format: "json", User: KeyField, Value: ValueField, Time: TimestampField, Delimiter: ',', MaxFuture: 5 * time.Minute},
		Groups: []string{""}, MaxGroups: 1, Prior: "adaptive",
		Window:       Window{Size: 24 * time.Hour, Every: 24 * time.Hour, StartNow: true},
		Contribution: windows.Last, Output: "out",
		Budget: &Budget{Name: "s", Limit: budget.Limit{Epsilon: decimal.NewFromInt(1), Per: 7 * 24 * time.Hour}, Where: "s.yaml:9"},
		Where:  "s.yaml:3",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// edited is least with one line of the stream replaced.
func edited(t *testing.T, old, new string) *Stream {
	t.Helper()
	if strings.Count(least, old) != 1 {
		t.Fatalf("%q is not there once", old)
	}
	return parse(t, strings.Replace(least, old, new, 1)).Streams[0]
}

func TestCSV(t *testing.T) {
	s := edited(t, "{topic: in, user: $key, value: $value}",
		`{topic: in, format: csv, user: who, value: v.x, time: at, columns: [at, who, v.x], delimiter: "\t", user_partitioned: true, max_future: 0s}`)
	want := Input{Topic: "in", Format: "csv", User: "who", Value: "v.x", Time: "at", Columns: []string{"at", "who", "v.x"}, Delimiter: '\t', UserPartitioned: true}
	if d := cmp.Diff(want, s.Input); d != "" {
		t.Error(d)
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
	f, err := Parse("s.yaml", []byte(text), func(name string) (string, bool) { v, ok := variables[name]; return v, ok })
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
	text := strings.NewReplacer("size: 1d", "size: 1x", "epsilon: 0.1", "epsilon: 0", "topic: out", "topic: o/t").Replace(least)
	_, err := Parse("s.yaml", []byte(text), noVariables)
	want := []string{
		`s.yaml:6: streams[s].window.size: "1x"; want a duration of whole seconds, such as 15m`,
		`s.yaml:7: streams[s].releases[mid].epsilon: "0"; want a number greater than 0: what a user loses by one window`,
		`s.yaml:8: streams[s].output.topic: "o/t"; want the name of a topic: 1–249 of the characters a–z, A–Z, 0–9, ., _ and -`,
	}
	if err == nil || err.Error() != strings.Join(want, "\n") {
		t.Errorf("got\n%v\nwant\n%s", err, strings.Join(want, "\n"))
	}
}

func TestNames(t *testing.T) {
	p := func(texts ...string) (ps []decimal.Decimal) {
		for _, s := range texts {
			ps = append(ps, decimal.RequireFromString(s))
		}
		return ps
	}
	r := Release{Name: "tail", Query: mechanisms.Query{Statistic: mechanisms.Quantiles, P: p("0.001", "0.05", "0.10", "0.5", "0.9", "0.99", "0.999")}}
	want := []string{"tail.p001", "tail.p05", "tail.p10", "tail.p50", "tail.p90", "tail.p99", "tail.p999"}
	if got := r.Names(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	r.Query = mechanisms.Query{Statistic: mechanisms.Quantile, P: p("0.9")}
	if got := r.Names(); !slices.Equal(got, []string{"tail"}) {
		t.Errorf("a single quantile is released as %q", got)
	}
}

// A user who may be in two of three groups pays for two; how many groups there are does not matter.
func TestPrice(t *testing.T) {
	text := strings.NewReplacer("user: $key, value: $value", "user: u, value: v, group: g",
		"releases: [", "groups: [a, b, c]\n    max_groups: 2\n    releases: [{name: n, statistic: count, epsilon: 0.03}, ", "epsilon: 1, per", "epsilon: 9, per").Replace(least)
	s := parse(t, text).Streams[0]
	want := []budget.Item{
		{Cost: budget.Cost{Kind: budget.Pure, Epsilon: decimal.RequireFromString("0.03")}, Times: 2},
		{Cost: budget.Cost{Kind: budget.BoundedRange, Epsilon: decimal.RequireFromString("0.1")}, Times: 2},
	}
	if d := cmp.Diff(want, s.Price()); d != "" {
		t.Error(d)
	}
	if lost := (budget.Limit{}).Compose(s.Price()); lost.Epsilon.String() != "0.26" {
		t.Errorf("a window costs ε %s, want 0.26", lost.Epsilon)
	}
}

// What a budget must hold for its streams, just enough and a little less.
func TestPayable(t *testing.T) {
	two := strings.Replace(least, "version: 1", "version: 1\nbudgets: [{name: both, BUDGET}]", 1)
	two = strings.Replace(two, "budget: {epsilon: 1, per: 7d}", "budget: both", 1)
	_, second, _ := strings.Cut(two, "streams:\n")
	two += strings.Replace(second, "name: s\n", "name: s2\n", 1)
	ends := strings.NewReplacer("grace: 0s", "grace: 0s, start: 2026-11-20T00:00:00Z, end: 2026-11-25T00:00:00Z")
	for _, c := range []struct {
		name, text, budget, want string
	}{
		{"7 windows a week of 2 streams at 0.1", two, "epsilon: 1.4, per: 7d", ""},
		{"a little less", two, "epsilon: 1.39, per: 7d", `s.yaml:10: streams[s].budget: budget "both" (ε 1.39 per 7d) pays for 13 windows of the schedule; want epsilon of at least 1.4, fewer or cheaper releases, or on_exhausted: withhold`},
		{"a period of less than a window", two, "epsilon: 0.2, per: 1s", ""},
		{"forever, but with an end", ends.Replace(two), "epsilon: 1, per: forever", ""},
		{"forever, with an end too late", ends.Replace(two), "epsilon: 0.9, per: forever", `s.yaml:10: streams[s].budget: budget "both" (ε 0.9 forever) pays for 9 windows of the schedule; want epsilon of at least 1, fewer or cheaper releases, or on_exhausted: withhold`},
		{"forever without an end", two, "epsilon: 1, per: forever", `s.yaml:10: streams[s].budget: budget "both" (ε 1 forever) pays for 10 windows of the schedule, which is endless; want window.end, a budget per rolling period, or on_exhausted: withhold`},
		{"one of them would rather withhold", strings.Replace(two, "budget: both", "budget: both\n    on_exhausted: withhold", 1), "epsilon: 0.1, per: 7d", `s.yaml:18: streams[s2].budget: budget "both" (ε 0.1 per 7d) pays for 1 window of the schedule; want epsilon of at least 1.4, fewer or cheaper releases, or on_exhausted: withhold`},
		{"nothing can be paid", strings.ReplaceAll(two, "budget: both", "budget: both\n    on_exhausted: withhold"), "epsilon: 0.09, per: 7d", `s.yaml:10: streams[s].budget: budget "both" (ε 0.09) cannot pay a single window, which costs ε 0.1; want a larger budget, or fewer or cheaper releases
s.yaml:18: streams[s2].budget: budget "both" (ε 0.09) cannot pay a single window, which costs ε 0.1; want a larger budget, or fewer or cheaper releases`},
		{"all of them would", strings.ReplaceAll(two, "budget: both", "budget: both\n    on_exhausted: withhold"), "epsilon: 0.1, per: 7d", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Parse("s.yaml", []byte(strings.Replace(c.text, "BUDGET", c.budget, 1)), noVariables)
			if got := fmt.Sprint(err); err == nil && c.want != "" || err != nil && got != c.want {
				t.Errorf("\n got %s\nwant %s", got, c.want)
			}
		})
	}
}

// What is promised in ρ, or with a δ, needs a budget with a δ.
func TestPayableDelta(t *testing.T) {
	for _, release := range []string{
		"{name: mid, statistic: trimmed_mean, trim: 0.05, epsilon: 0.1, mechanism: smooth_lln}",
		"{name: mid, statistic: mean, epsilon: 0.1, delta: 0.0000001, mechanism: smooth_laplace}",
	} {
		text := strings.NewReplacer("{name: mid, statistic: median, epsilon: 0.1}", release, "epsilon: 1, per", "epsilon: 20, per").Replace(least)
		_, err := Parse("s.yaml", []byte(text), noVariables)
		if want := `s.yaml:9: streams[s].budget: budget "s" (ε 20) cannot pay a single window, which needs a larger delta; want delta in the budget, such as 0.000001, or mechanisms without`; err == nil || err.Error() != want {
			t.Errorf("\n got %v\nwant %s", err, want)
		}
		parse(t, strings.Replace(text, "per: 7d", "per: 7d, delta: 0.000001", 1))
	}
}

// A stream that starts now pays for the windows from now to its end.
func TestPayableFromNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // begins at 2000-01-01T00:00:00Z
		text := strings.NewReplacer("grace: 0s", "grace: 0s, end: 2000-01-06T00:00:00Z", "epsilon: 1, per: 7d", "epsilon: 0.5, per: forever").Replace(least)
		parse(t, text)
		if _, err := Parse("s.yaml", []byte(strings.Replace(text, "epsilon: 0.5,", "epsilon: 0.4,", 1)), noVariables); err == nil {
			t.Error("ε 0.4 pays for five windows of 0.1")
		}
		time.Sleep(time.Nanosecond) // of the test's own clock: the first window is lost
		parse(t, strings.Replace(text, "epsilon: 0.5,", "epsilon: 0.4,", 1))
	})
}

// Streams of one budget can take over one former budget only.
func TestContinues(t *testing.T) {
	two := strings.NewReplacer("version: 1", "version: 1\nbudgets: [{name: both, epsilon: 9, per: 1d}]", "budget: {epsilon: 1, per: 7d}", "continues: old\n    budget: both").Replace(least)
	_, second, _ := strings.Cut(two, "streams:\n")
	second = strings.Replace(second, "name: s\n", "name: s2\n", 1)
	parse(t, two+second)
	_, err := Parse("s.yaml", []byte(two+strings.Replace(second, "continues: old", "continues: other", 1)), noVariables)
	if want := `s.yaml:18: streams[s2].continues: "other", but stream s says that budget "both" continues "old"; want one and the same`; err == nil || err.Error() != want {
		t.Errorf("\n got %v\nwant %s", err, want)
	}
}

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 90 * time.Second: "1m30s", 15 * time.Minute: "15m", time.Hour: "1h", 90 * time.Minute: "1h30m", 24 * time.Hour: "24h",
		48 * time.Hour: "2d", 49 * time.Hour: "49h", 7 * 24 * time.Hour: "7d", 30 * time.Second: "30s", time.Hour + time.Second: "1h0m1s",
	} {
		if got := Duration(d); got != want {
			t.Errorf("%d is %q, want %q", d, got, want)
		}
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("a.yaml", strings.Replace(least, "budget: {epsilon: 1, per: 7d}", "budget: shared", 1))
	write("b.yml", strings.Replace(strings.Replace(least, "version: 1", "version: 1\nbudgets: [{name: shared, epsilon: 2, per: 1d}]", 1), "name: s\n", "name: b\n", 1))
	write("notes.txt", "not a streams file")
	names := func(f *File) (names []string) {
		for _, s := range f.Streams {
			names = append(names, s.Name+" "+s.Budget.Name)
		}
		for _, b := range f.Budgets {
			names = append(names, b.Name)
		}
		return names
	}
	want := []string{"s shared", "b b", "shared", "b"}
	for _, pattern := range []string{dir, filepath.Join(dir, "*.y*ml"), filepath.Join(dir, "[ab].*")} {
		f, err := Load(pattern, noVariables)
		if err != nil {
			t.Fatalf("%s: %v", pattern, err)
		}
		if got := names(f); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", pattern, got, want)
		}
	}
	both, err := LoadAll([]string{filepath.Join(dir, "a.yaml"), dir}, noVariables)
	if err != nil || !slices.Equal(names(both), want) {
		t.Errorf("a file named twice: %v, %v", err, both)
	}
	write("c.yaml", least)
	_, err = Load(dir, noVariables)
	if want := fmt.Sprintf(`%s/c.yaml:3: streams[s]: the name "s" is taken by the stream at %s/a.yaml:3; want another name`, dir, dir); err == nil || err.Error() != want {
		t.Errorf("the same name in two files:\n got %v\nwant %s", err, want)
	}
	for pattern, want := range map[string]string{
		"":                      "no streams file is given",
		dir + "/none.yaml":      "no such streams file",
		dir + "/*.json":         "no such streams file",
		dir + "/[":              "syntax error in pattern",
		filepath.Dir(dir) + "/": "no streams file in this directory",
	} {
		if _, err := Load(pattern, noVariables); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: got %v, want %q", pattern, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(full))
	f.Add([]byte(least))
	f.Add([]byte(right))
	for _, c := range wrongEdits {
		f.Add([]byte(strings.Replace(right, c.old, c.new, 1)))
	}
	for _, s := range []string{"", "#", "---\n---", "a: &a [*a]", "streams: &s [*s]", "version: 1\nstreams: [{name: &n s, input: *n}]", "? [a]\n: b", "${", "\ufeffversion: 1"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Parse("f.yaml", data, func(name string) (string, bool) { return "1", name != "NONE" })
		if (file == nil) != (err != nil) {
			t.Fatalf("file %v, error %v", file, err)
		}
		if err == nil {
			return
		}
		for line := range strings.Lines(err.Error()) {
			var n int
			if _, e := fmt.Sscanf(line, "f.yaml:%d: ", &n); e != nil || n < 1 {
				t.Fatalf("error %q does not begin with a line", line)
			}
		}
	})
}
