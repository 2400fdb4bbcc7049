package rules

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/shopspring/decimal"
	"go.yaml.in/yaml/v3"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/parse"
	"github.com/louver/louver/windows/period"
)

// TestAlerts runs the scripts in testdata/alerts: what alerts are wanted, and what comes of it.
//
//	alerts of=web   each line is what somebody asks louver rules for, of the streams in a file (see files): a threshold
//	                with its flags, or "watches" for the alerts of the watches alone
//	file of=web     the whole rule file for one such line
//
// Under ---- each line stands again. Below it is the alert: its name and summary, how long its condition has to hold,
// the condition in one line, and what it says of false alarms; or why there is none.
//
// go test ./stream/rules -run Alerts -rewrite writes what came of each line into the scripts. Then nothing checks it but
// the one who reads the difference. A number of false alarms follows from the law of the noise, as comments derive.
func TestAlerts(t *testing.T) {
	datadriven.Walk(t, "testdata/alerts", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var of string
			d.ScanArgs(t, "of", &of)
			streams := parsed(t, files[of])
			var told strings.Builder
			for _, line := range strings.Split(d.Input, "\n") {
				var text strings.Builder
				warnings, err := Write(&text, streams, asked(t, line))
				switch {
				case err != nil && text.Len() > 0:
					d.Fatalf(t, "%s is refused, and a part of the file is written", line)
				case err != nil:
					fmt.Fprintf(&told, "%s\n  refused: %v\n", line, err)
				case d.Cmd == "file":
					return text.String()
				default:
					fmt.Fprintf(&told, "%s\n%s", line, alerts(t, text.String(), line == "watches"))
				}
				for _, warning := range warnings {
					fmt.Fprintf(&told, "  warning: %s\n", warning)
				}
			}
			return told.String()
		})
	})
}

// asked reads what a line asks for.
func asked(t *testing.T, line string) (want Wanted) {
	t.Helper()
	var of Threshold
	words := strings.Fields(line)
	for i := 0; i+1 < len(words); i++ {
		name, value, _ := strings.Cut(words[i+1], "=")
		stream, release, _ := strings.Cut(name, "/")
		var err error
		switch words[i] {
		case "--above", "--below":
			of.Stream, of.Release, of.Below = stream, release, words[i] == "--below"
			of.Value, err = decimal.NewFromString(value)
		case "--behind":
			of.Stream, of.Release = stream, release
			of.Ago, err = period.Parse(value)
		case "--slo":
			want.Objectives = append(want.Objectives, Objective{stream, release, config.FalsePages})
		case "--windows":
			of.Windows, err = strconv.Atoi(words[i+1])
		case "--runbook":
			want.Runbook = words[i+1]
		}
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
	}
	if of.Noisy = strings.HasSuffix(line, "--noisy"); of.Stream != "" {
		want.Thresholds = []Threshold{of}
	}
	return want
}

// alerts writes the alerts of a rule file in a few lines each, and what the file says of alerts that are left out.
func alerts(t *testing.T, text string, ofWatches bool) string {
	t.Helper()
	var written file
	if err := yaml.Unmarshal([]byte(text), &written); err != nil {
		t.Fatal(err)
	}
	var told strings.Builder
	for _, g := range written.Groups {
		for _, r := range g.Rules {
			if r.Alert == "" || strings.HasPrefix(r.Alert, "LouverWatch") != ofWatches {
				continue
			}
			fmt.Fprintf(&told, "  %s: %s\n", r.Alert, r.Annotations["summary"])
			if r.For != "" {
				fmt.Fprintf(&told, "  for %s: ", r.For)
			} else {
				fmt.Fprint(&told, "  at once: ")
			}
			fmt.Fprintf(&told, "%s\n  %s\n", strings.Join(strings.Fields(r.Expr), " "), r.Annotations["description"])
			for _, name := range []string{"false_alarms_30d", "runbook_url"} {
				if r.Annotations[name] != "" {
					fmt.Fprintf(&told, "  %s: %s\n", name, r.Annotations[name])
				}
			}
		}
	}
	for _, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(line, "# ") && strings.Contains(line, "/slow has") {
			fmt.Fprintf(&told, "  %s\n", line)
		}
	}
	return told.String()
}

// parsed reads the streams of a file.
func parsed(t *testing.T, text string) []*config.Stream {
	t.Helper()
	f, err := parse.File("streams.yaml", []byte(text), os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	return f.Streams
}

// files are the files that scripts ask for alerts of.
var files = map[string]string{
	"web": web, "histogram": histogramOf(web), "totals": totals, "active": active, "shop": shopFile,
	"gaussian": strings.Replace(web, "epsilon: 200, per: 24h", "epsilon: 200, delta: 0.000000001, per: 24h", 1),
	"found": strings.NewReplacer(
		"groups: [eu, us]", "groups: {discover: [{name: daily, every: 24h, epsilon: 0.5, delta: 0.00000001}], "+
			"max: 100, always: [eu, us], other: rest}",
		"    output: {topic: web.private}\n    budget: {", `    watches:
      - {name: slow, above: 500, more_than: 0.01, epsilon: 1, false_alarms: {at_most: 0.05, per: 15d}, hold: 15m, at_most: 3}
      - {name: gone, users_below: 200, epsilon: 1, false_alarms: {at_most: 0.05, per: 15d}, hold: 15m, at_most: 3}
    output: {topic: web.private}
    budget: {delta: 0.000001, `).Replace(web),
	"together": strings.Replace(histogramOf(web), "groups: [eu, us]", "groups: [eu, us]\n    together: all", 1),
	"so_far": strings.Replace(histogramOf(web), "    releases:\n", `    releases:
      - {name: spread, statistic: histogram, since: midnight, buckets: [100, 400], epsilon: 1}
      - {name: p99_today, statistic: quantile, p: 0.99, from: spread}
`, 1),
	"hours":    strings.Replace(shopFile, "size: 1m", "size: 1h", 1),
	"generous": strings.Replace(shopFile, "objective: 0.999", "objective: 0.8", 1),
}

// web has two groups and windows of ten minutes; alone has one and a watch.
const web = `
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

// histogramOf has a histogram in place of the mean.
func histogramOf(text string) string {
	return strings.Replace(text, "{name: avg, statistic: mean, epsilon: 0.1}",
		`{name: shape, statistic: histogram, buckets: [100, 400], epsilon: 0.1, rollup: [1h], last: [1h]}
      - {name: p99, statistic: quantile, p: 0.99, from: shape}
      - {name: slow, statistic: share, above: 400, from: shape}
      - {name: many, statistic: count, above: 400, from: shape}
      - {name: peak, statistic: mode, from: shape}`, 1)
}

// totals has totals beside the other releases, and active a number of active users.
var (
	totals = strings.Replace(web, "      - {name: users,", `      - {name: today, statistic: count, since: midnight, epsilon: 1}
      - {name: halves, statistic: count, since: midnight, update: 30m, epsilon: 1}
      - {name: heute, statistic: count, since: midnight, zone: Europe/Berlin, epsilon: 1}
      - {name: shift, statistic: count, since: midnight, zone: Australia/Lord_Howe, epsilon: 1}
      - {name: week, statistic: sum, max_total: 50, since: monday, update: 1h, epsilon: 1}
      - {name: hour, statistic: count, since: hour, epsilon: 0.1}
      - {name: month, statistic: count, since: month, update: 1h, epsilon: 1}
      - {name: users,`, 1)
	active = strings.Replace(web, "      - {name: users,",
		"      - {name: now, statistic: count, active: 30m, epsilon: 1}\n      - {name: users,", 1)
)
