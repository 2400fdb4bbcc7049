package rules

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shopspring/decimal"
	"go.yaml.in/yaml/v3"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/parse"
)

const streams = `
version: 1
streams:
  - name: web
    input: {topic: web.events, user: u, value: ms, time: t, group: region}
    unit: ms
    groups: [eu, us]
    bounds: {lower: 0, upper: 1000, step: 1}
    window: {size: 10m, grace: 10s, start: now}
    contribution: last
    releases:
      - {name: p50, statistic: median, epsilon: 0.05}
      - {name: p95, statistic: quantile, p: 0.95, epsilon: 0.1}
      - {name: sure, statistic: median, epsilon: 0.1, interval: 0.9}
      - {name: tail, statistic: quantiles, p: [0.9, 0.99], epsilon: 0.1}
      - {name: avg, statistic: mean, epsilon: 0.1}
      - {name: total, statistic: sum, epsilon: 0.1}
      - {name: core, statistic: trimmed_mean, trim: 0.1, epsilon: 0.1}
      - {name: users, statistic: count, epsilon: 0.02}
    output: {topic: web.private}
    budget: {epsilon: 200, per: 24h}
  - name: alone
    input: {topic: alone.events, user: u, value: ms, time: t}
    bounds: {lower: 0, upper: 1000, step: 1}
    window: {size: 10m, grace: 10s, start: now}
    contribution: last
    releases:
      - {name: p50, statistic: median, epsilon: 0.05}
    watches:
      - {name: slow, above: 500, more_than: 0.01, epsilon: 1, false_alarms: {at_most: 0.05, per: 15d}, hold: 15m, at_most: 3}
    output: {topic: alone.private}
    budget: {epsilon: 200, per: 24h}
`

func parsed(t *testing.T) []*config.Stream {
	t.Helper()
	f, err := parse.File("streams.yaml", []byte(streams), os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	return f.Streams
}

// A Gaussian count of ε 0.02 has the band ± 98: P(Z > 98) = P(N(0, 1) > 1.97) = 0.0244 for 50²; two groups of 4320
// windows: 0.12 alarms of three in a row begin there, and 206 of one.
func TestGaussianCountsHaveTheirOwnTail(t *testing.T) {
	f, err := parse.File("streams.yaml", []byte(strings.Replace(streams, "epsilon: 200, per: 24h",
		"epsilon: 200, delta: 0.000000001, per: 24h", 1)), os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		threshold Threshold
		want      string
	}{
		{above("web", "users", "500", 0),
			"noise alone raises this alarm about 0.12 times in 30 days in all 2 groups together"},
		{noisy(below("users", "500", 1)), "noise alone raises this alarm about 206 times in 30 days"},
		{noisy(below("users", "99", 1)), "for 1 window."},
		{noisy(below("users", "99", 1)), "runbook_url: https://wiki/louver#louverfigurebelow"},
	} {
		var b strings.Builder
		if _, err := Write(&b, f.Streams,
			Wanted{Thresholds: []Threshold{c.threshold}, Runbook: "https://wiki/louver"}); err != nil {
			t.Errorf("%s: %v", c.threshold, err)
		} else if !strings.Contains(b.String(), c.want) {
			t.Errorf("%s: %q is not in\n%s", c.threshold, c.want, b.String())
		}
	}
	if _, err := Write(io.Discard, f.Streams, Wanted{Thresholds: []Threshold{below("users", "98", 1)}}); err == nil ||
		!strings.Contains(err.Error(), "this count is off by up to 98 users") {
		t.Errorf("below 98: %v", err)
	}
}

func above(stream, release, value string, windows int) Threshold {
	return Threshold{Stream: stream, Release: release, Value: decimal.RequireFromString(value), Windows: windows}
}

func below(release, value string, windows int) Threshold {
	t := above("web", release, value, windows)
	t.Below = true
	return t
}

func noisy(t Threshold) Threshold {
	t.Noisy = true
	return t
}

// What an alert says of its false alarms follows from the figure's noise.
func TestWhatIsKnownOfABand(t *testing.T) {
	for _, c := range []struct {
		threshold Threshold
		want      string
	}{
		// q = e^{−0.02·151}/(1+e^{−0.02}) = 0.02465; two groups of 4320 windows: 0.126 alarms of three in a row.
		{above("web", "users", "500", 0),
			"for 3 windows in a row. Its nearest end is now {{ $value }}. If the truth stays exactly at the " +
				"threshold, noise alone raises this alarm about 0.13 times in 30 days in all 2 groups together"},
		{noisy(below("users", "500", 1)),
			"for 1 window. Its nearest end is now {{ $value }}. If the truth stays exactly at the threshold, noise " +
				"alone raises this alarm about 208 times in 30 days"},
		// (1−0.9)/2 on each side: 2·4317·0.05⁴ = 0.054.
		{above("web", "sure", "500", 0),
			"for 4 windows in a row. Its nearest end is now {{ $value }}. If the truth stays exactly at the " +
				"threshold, noise alone raises this alarm at most 0.054 times"},
		{above("web", "avg", "500", 0),
			"the published error of the noise with ε 0.1, which does not include what the mechanism's clip cuts off."},
		{below("total", "50000", 0),
			"the published error of the noise with ε 0.1, which does not include what the mechanism's clip cuts off."},
		// 2·4320·0.025/3; if misses were independent, three in a row would come 2·0.025³·(1 + 4317·0.975) = 0.13 times,
		// two 5 times.
		{above("web", "p50", "500", 0),
			"falsely at most 72 times in 30 days in all 2 groups together; further away, less often. This goes by " +
				"the 95 % band, from the scatter of earlier figures, ε 0.05 (with fewer than 200 users there is none, and the " +
				"alert is silent)"},
		{above("web", "p95", "500", 0), "with fewer than 1600 users there is none, and the alert is silent"},
	} {
		var b strings.Builder
		if _, err := Write(&b, parsed(t), Wanted{Thresholds: []Threshold{c.threshold}}); err != nil {
			t.Errorf("%s: %v", c.threshold, err)
		} else if !strings.Contains(b.String(), c.want) {
			t.Errorf("%s: %q is not in\n%s", c.threshold, c.want, b.String())
		}
	}
}

// An alert that noise may raise more than three times in 30 days is written with a warning.
func TestNoisyAlertsAreWarnedOf(t *testing.T) {
	for _, c := range []struct {
		threshold Threshold
		want      string
	}{
		{above("web", "sure", "500", 0), ""},
		{above("web", "users", "500", 0), ""},
		{above("web", "users", "500", 2),
			"--above web/users=500: noise alone may raise this alarm 5.1 times in 30 days while the truth is at the " +
				"threshold. Better: more windows in a row (--windows), a release with an interval"},
		{above("web", "p50", "500", 2), "--above web/p50=500: noise alone may raise this alarm 108 times in 30 days"},
		{noisy(above("web", "p50", "500", 1)),
			"--above web/p50=500: noise alone may raise this alarm 216 times in 30 days"},
	} {
		warnings, err := Write(io.Discard, parsed(t), Wanted{Thresholds: []Threshold{c.threshold}})
		if err != nil {
			t.Errorf("%s: %v", c.threshold, err)
		} else if got := strings.Join(warnings, "\n"); !strings.HasPrefix(got, c.want) ||
			(got == "") != (c.want == "") ||
			len(warnings) > 1 {
			t.Errorf("%s: %q, want %q", c.threshold, got, c.want)
		}
	}
}

func TestThresholdsThatCannotBeWatched(t *testing.T) {
	for _, c := range []struct {
		threshold Threshold
		want      string
	}{
		{above("shop", "p50", "500", 0), `--above shop/p50=500: there is no stream "shop" in the files`},
		{above("web", "p99", "500", 0),
			`--above web/p99=500: stream web has no release "p99"; it has p50, p95, sure, tail.p90, tail.p99, avg, total, core, users`},
		{above("web", "tail.p90", "500", 0),
			"--above web/tail.p90=500: nothing public bounds the error of this quantiles"},
		{above("web", "core", "500", 0), "--above web/core=500: nothing public bounds the error of this trimmed_mean"},
		{above("alone", "p50", "500", 0), "--above alone/p50=500: nothing public bounds the error of this median"},
		{above("web", "p50", "1000", 0),
			"--above web/p50=1000: values lie within the bounds of the stream, 0 to 1000; want a threshold " +
				"between them"},
		{below("p50", "0", 0), "--below web/p50=0: values lie within the bounds of the stream"},
		{below("users", "150", 0),
			"--below web/users=150: this count is off by up to 150 users, so its band is never below 150; want " +
				"more than 150"},
		{above("web", "users", "-1", 0), "--above web/users=-1: a count is never below 0; want 0 or more"},
		{below("users", "500", 1),
			"--below web/users=500: noise alone raises this alarm about 208 times in 30 days while the truth is at " +
				"the threshold; want more windows in a row (--windows)"},
		// 2·0.025·(1 + 4319·0.975) = 210.6, and figures are rounded up.
		{above("web", "p50", "500", 1),
			"--above web/p50=500: noise alone raises this alarm about 211 times in 30 days"},
	} {
		var b strings.Builder
		if _, err := Write(&b, parsed(t), Wanted{Thresholds: []Threshold{c.threshold}}); err == nil ||
			!strings.HasPrefix(err.Error(), c.want) || b.Len() > 0 {
			t.Errorf("%s: %v, want %q; written: %q", c.threshold, err, c.want, b.String())
		}
	}
}

// promtool runs Prometheus' own checks on files.
func promtool(t *testing.T, args ...string) {
	t.Helper()
	path, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed; Debian's package prometheus has it")
	}
	if out, err := exec.CommandContext(t.Context(), path, args...).CombinedOutput(); err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// Prometheus evaluates the rules: see testdata/rules_test.yaml for the cases.
func TestRulesInPrometheus(t *testing.T) {
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "rules.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	thresholds := []Threshold{above("web", "users", "500", 2), below("users", "400", 2),
		noisy(above("web", "p50", "500", 1)), above("web", "total", "5000000", 0), above("web", "avg", "10.5", 0)}
	want := Wanted{Thresholds: thresholds, Objectives: []Objective{slow}}
	if _, err := Write(f, append(parsed(t), shop(t)), want); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	promtool(t, "check", "rules", "--lint-fatal", f.Name())
	cases, err := os.ReadFile(filepath.Join("testdata", "rules_test.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "rules_test.yaml")
	text := strings.ReplaceAll(string(cases), "DEFINITION", shop(t).Objectives()[0].Definition())
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	promtool(t, "test", "rules", path)
}

// Where groups are found, an alarm may be false in as many of them as a list can have. A watch for few users looks at
// those that are always listed.
func TestAlertsOfFoundGroups(t *testing.T) {
	f, err := parse.File("streams.yaml",
		[]byte(strings.NewReplacer(
			"groups: [eu, us]", "groups: {discover: [{name: daily, every: 24h, epsilon: 0.5, delta: 0.00000001}], "+
				"max: 100, always: [eu, us], other: rest}",
			"    output: {topic: web.private}\n    budget: {", "    watches:\n"+
				"      - {name: slow, above: 500, more_than: 0.01, epsilon: 1, "+
				"false_alarms: {at_most: 0.05, per: 15d}, hold: 15m, at_most: 3}\n"+
				"      - {name: gone, users_below: 200, epsilon: 1, "+
				"false_alarms: {at_most: 0.05, per: 15d}, hold: 15m, at_most: 3}\n"+
				"    output: {topic: web.private}\n    budget: {delta: 0.000001, ",
		).Replace(streams)), os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if _, err := Write(&b, f.Streams[:1],
		Wanted{Thresholds: []Threshold{above("web", "users", "500", 0)}}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"in 30 days in all 103 groups together",
		"in all 103 groups together. It stays for 15m",
		"in all 2 groups together. It stays for 15m"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
}

// However many streams there are, each recording rule is in the file once, and each stream with alerts has a group.
func TestRecordingRulesAreThereOnce(t *testing.T) {
	var b strings.Builder
	if _, err := Write(&b, parsed(t), Wanted{Thresholds: []Threshold{noisy(below("users", "500", 0))}}); err != nil {
		t.Fatal(err)
	}
	var written file
	if err := yaml.Unmarshal([]byte(b.String()), &written); err != nil {
		t.Fatal(err)
	}
	records, names := map[string]int{}, []string(nil)
	for _, g := range written.Groups {
		names = append(names, g.Name)
		for _, r := range g.Rules {
			if r.Record != "" {
				records[r.Record]++
				if !strings.Contains(r.Expr, `{stream=~"web|alone"}`) {
					t.Errorf("%s is not of both streams: %s", r.Record, r.Expr)
				}
			}
		}
	}
	if !slices.Equal(names, []string{"louver-newest", "louver-web", "louver-alone"}) ||
		written.Groups[0].Interval != "1m" {
		t.Errorf("the groups are %v, the first every %s", names, written.Groups[0].Interval)
	}
	for _, metric := range []string{"value", "low", "high", "window_end_timestamp_seconds"} {
		if n := records["louver:release_"+metric+":newest"]; n != 1 {
			t.Errorf("%s is recorded %d times", metric, n)
		}
	}
	if len(records) != 4 {
		t.Errorf("there are records of %v", records)
	}
	b.Reset()
	if _, err := Write(&b, parsed(t)[:1], Wanted{}); err != nil || strings.Count(b.String(), "- name:") != 1 {
		t.Errorf("%v; without alerts there is one group:\n%s", err, b.String())
	}
}
