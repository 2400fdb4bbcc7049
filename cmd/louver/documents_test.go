package main

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/cmd/louver/internal/clitest"
	"github.com/louver/louver/cmd/louver/internal/service"
	"github.com/louver/louver/stream/metrics"
	"github.com/louver/louver/stream/outputs"
	"github.com/louver/louver/stream/web"
)

//go:generate go test -run "^Test(Documents|Readme)" -update .

var update = flag.Bool("update", false, "write the documents under deploy anew")

// The documents say what the code says. After a change of the code, go generate ./cmd/louver makes them.
func TestDocuments(t *testing.T) {
	documents := map[string]string{"STREAMS.md": reference(t, "streams"), "RECORD.md": reference(t, "release"),
		"CHECK.md":   reference(t, "check"),
		"METRICS.md": metricsReference(t)}
	for name, want := range documents {
		path := filepath.Join("..", "..", "deploy", name)
		if *update {
			if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(strings.Split(string(got), "\n"), strings.Split(want, "\n")); d != "" {
			t.Errorf("%s differs from the code (-, +); go generate ./cmd/louver writes it anew:\n%s", path, d)
		}
	}
}

// reference returns what louver schema prints to read.
func reference(t *testing.T, of string) string {
	t.Helper()
	got := commandLine(t, "", "schema", of, "--format", "markdown")
	if got.code != cli.ExitDone {
		t.Fatalf("%+v", got)
	}
	return got.out
}

// Every field of the JSON of check and plan is in its reference.
func TestReferenceOfCheckIsComplete(t *testing.T) {
	t.Parallel()
	const besides = "      - {name: calm, statistic: median, epsilon: 0.05, publish: on_change, tolerance: 0.03, " +
		"watch_epsilon: 0.1, at_most: 4}\n      - {name: shape, statistic: histogram, buckets: [800], epsilon: " +
		"0.05}\n      - {name: good, statistic: share, above: 800, from: shape, objective: 0.99}\n" +
		"      - {name: spread, statistic: histogram, since: midnight, buckets: [800], epsilon: 0.05}\n" +
		"      - {name: p9, statistic: quantile, p: 0.9, from: spread}\n" +
		"    watches: [{name: slow, above: 2000, more_than: 0.01, epsilon: 0.5, false_alarms: {at_most: 0.05, per: " +
		"30d}, hold: 4h, at_most: 1}]\n    max_windows: {count: 8, per: 24h}\n    output:"
	_, second, _ := strings.Cut(clitest.StreamsFile, "streams:\n")
	past := strings.NewReplacer("    output:", besides, "grace: 30s", "grace: 30s, start: 2020-01-01T00:00:00Z")
	other := strings.NewReplacer("name: checkout\n", "name: again\n", "budget: shoppers",
		"budget: {epsilon: 20, delta: 0.000000001, per: 24h}")
	text := past.Replace(clitest.StreamsFile) + other.Replace(second)
	sound := clitest.File(t, "s.yaml", text)
	broken := clitest.File(t, "b.yaml", strings.Replace(text, "size: 15m", "size: 15x", 1))
	known := reference(t, "check")
	fields := 0
	total := clitest.File(t, "t.yaml", strings.Replace(clitest.StreamsFile, "    output:",
		"      - {name: today, statistic: count, since: midnight, epsilon: 1, max_total: 5}\n    output:", 1))
	finds := clitest.File(t, "f.yaml", strings.NewReplacer("    groups: [eu, us, ap]\n", "    groups:\n      "+
		"discover: [{name: daily, every: 24h, epsilon: 0.5, delta: 0.00000001, max_windows: {count: 2, per: 48h, "+
		"parts: 1}}]\n", "epsilon: 24, per: 24h",
		"epsilon: 24, delta: 0.000001, per: 24h").Replace(clitest.StreamsFile))
	for _, args := range [][]string{{"check", "--json", sound}, {"check", "--json", broken},
		{"check", "--json", total}, {"check", "--json", finds},
		{"plan", "--json", sound, "--shape", "lognormal:120,0.6", "--error", "5%"},
		{"plan", "--json", "--since", "midnight", "--window", "15m"},
		{"plan", "--json", "--statistic", "groups", "--delta", "0.000001", "--found", "0.9"},
		{"plan", "--json", "--statistic", "groups", "--delta", "0.000001", "--users", "20"},
		{"plan", "--json", "--watch", "users_below: 500", "--users", "1000"}} {
		got := commandLine(t, "", args...)
		if (got.code == cli.ExitDone) == slices.Contains(args, broken) {
			t.Errorf("%q: %+v", args, got)
		}
		for _, m := range regexp.MustCompile(`(?m)^ +"([A-Za-z0-9_]+)":`).FindAllStringSubmatch(got.out, -1) {
			if fields++; !strings.Contains(known, "`"+m[1]+"`") {
				t.Errorf("%s prints %s, which the reference does not explain", args[0], m[1])
			}
		}
	}
	if fields < 200 {
		t.Errorf("only %d fields were found", fields)
	}
}

const metricsIntroduction = `# Metrics and exit codes

Louver serves Prometheus metrics on two addresses. This document is generated from the metrics that the program registers.

`

// metricsReference is the document of metrics.
func metricsReference(t *testing.T) string {
	var operators, public registered
	service.OperatorMetrics(&operators, nil, "")
	metrics.NewExport(&operators, nil, nil, nil)
	public.MustRegister(outputs.NewGauges(time.Now), web.NewExhausts(web.Config{}))
	var b strings.Builder
	b.WriteString(metricsIntroduction)
	fmt.Fprintf(&b, "## Operators' address, `LOUVER_METRICS_ADDR`\n\nExact counts of what people sent, for operators "+
		"only. Go's own `go_*` and `process_*` are there too. A `louver dashboard` has this address if it is set, and "+
		"there only these and `louver_build_info`. So has a `louver export`, with `louver_export_*`, "+
		"`louver_consumer_lag_*` and `louver_rebalances_total`.\n\n%s\n\n", operators.table(t, nil))
	exported := map[string]string{"louver_distribution": "`" + outputs.Bucket().Name + "`"}
	for _, m := range outputs.Metrics() {
		exported[m.Prometheus()] = "`" + m.Name + "`"
	}
	fmt.Fprintf(&b, "## Public address, `LOUVER_HTTP_ADDR`\n\nWhat has been published, and nothing else. `louver "+
		"export` sends some of it by OpenTelemetry, under the names in the fourth column.\n\n%s\n\n",
		public.table(t, exported))
	codes := table.NewWriter()
	codes.AppendHeader(table.Row{"code", "meaning"})
	for code, meaning := range cli.ExitMeanings {
		codes.AppendRow(table.Row{code, meaning})
	}
	fmt.Fprintf(&b, "## Exit codes\n\n%s\n", codes.RenderMarkdown())
	return b.String()
}

// registered takes note of collectors.
type registered []prometheus.Collector

func (r *registered) MustRegister(cs ...prometheus.Collector)     { *r = append(*r, cs...) }
func (r *registered) Register(c prometheus.Collector) error       { r.MustRegister(c); return nil }
func (r *registered) Unregister(prometheus.Collector) (gone bool) { return false }

var descText = regexp.MustCompile(
	`^Desc\{fqName: ("(?:[^"\\]|\\.)*"), help: ("(?:[^"\\]|\\.)*"), (?:unit: "", )?constLabels: \{\}, variableLabels: \{(.*)\}\}$`)

// table lists louver's own metrics by name. exported, if not nil, has the names under which some are exported too.
func (r registered) table(t *testing.T, exported map[string]string) string {
	t.Helper()
	rows := map[string]table.Row{}
	for _, c := range r {
		descs := make(chan *prometheus.Desc)
		go func() { c.Describe(descs); close(descs) }()
		for d := range descs {
			if !strings.Contains(d.String(), `"louver_`) {
				continue
			}
			m := descText.FindStringSubmatch(d.String())
			if m == nil {
				t.Fatalf("%s is not written as expected", d)
			}
			name, _ := strconv.Unquote(m[1])
			help, _ := strconv.Unquote(m[2])
			if _, twice := rows[name]; twice {
				t.Errorf("%s occurs twice", name)
			}
			labels := "none"
			if m[3] != "" {
				labels = "`" + strings.ReplaceAll(m[3], ",", "`, `") + "`"
			}
			kind := kindOf(t, c)
			if name == "louver_distribution" { // one of the gauges, which has buckets
				kind = "histogram"
			}
			rows[name] = table.Row{"`" + name + "`", kind, labels, strings.ReplaceAll(help, "|", `\|`)}
		}
	}
	w := table.NewWriter()
	head := table.Row{"metric", "type", "labels", "meaning"}
	if exported != nil {
		head = slices.Insert(head, 3, any("OpenTelemetry"))
	}
	w.AppendHeader(head)
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		row := rows[name]
		if exported != nil {
			row = slices.Insert(row, 3, any(exported[name]))
		}
		w.AppendRow(row)
	}
	return w.RenderMarkdown()
}

// kindOf is the type of a collector's metrics.
func kindOf(t *testing.T, c prometheus.Collector) string {
	t.Helper()
	switch c.(type) {
	case *prometheus.CounterVec:
		return "counter"
	case *prometheus.GaugeVec, prometheus.Gauge, *outputs.Gauges, *web.Exhausts:
		return "gauge"
	case *prometheus.HistogramVec, prometheus.Histogram:
		return "histogram"
	case prometheus.Counter: // after Gauge, which has its methods too
		return "counter"
	case prometheus.GaugeFunc: // after all others, which have its methods too
		return "gauge"
	}
	t.Fatalf("%T: a collector of an unknown type", c)
	return ""
}

func TestSchemaCommand(t *testing.T) {
	for _, of := range []string{"streams", "release"} {
		got := commandLine(t, "", "schema", of)
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(got.out)))
		if err != nil || got.code != cli.ExitDone || got.err != "" {
			t.Fatalf("%s: %v in %+v", of, err, got)
		}
		c := jsonschema.NewCompiler()
		if err := c.AddResource(of, doc); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Compile(of); err != nil {
			t.Errorf("%s: %v", of, err)
		}
		if got := commandLine(t, "", "schema", of, "--format", "markdown"); got.code != cli.ExitDone ||
			!strings.HasPrefix(got.out, "# The ") {
			t.Errorf("%s: %+v", of, got)
		}
	}
	for _, of := range []string{"openapi", "asyncapi"} {
		if got := commandLine(t, "", "schema", of); got.code != cli.ExitDone ||
			!strings.Contains(got.out, `"`+of+`": "3.`) || !strings.Contains(got.out, `"rank_error_95"`) {
			t.Errorf("%s: %+v", of, got)
		}
	}
	if got := commandLine(t, "", "schema", "check"); got.code != cli.ExitDone || !strings.HasPrefix(got.out, "# ") {
		t.Errorf("schema check: %+v", got)
	}
	commandLine(t, "", "schema", "check", "--format", "json").wants(t, cli.ExitUsage,
		"louver: --format json: there is no JSON Schema of check; want markdown\n")
	commandLine(t, "", "schema", "openapi", "--format", "markdown").wants(t, cli.ExitUsage,
		"louver: --format markdown: there is no reference of openapi; want json")
	if got := commandLine(t, "", "schema", "release", "--format", "avro"); got.code != cli.ExitDone ||
		!strings.Contains(got.out, `"timestamp-millis"`) {
		t.Errorf("%+v", got)
	}
	commandLine(t, "", "schema", "streams", "--format", "avro").wants(t, cli.ExitUsage,
		"louver: --format avro: there is no schema of streams in Avro; want release, or json")
	commandLine(t, "", "schema", "avro").wants(t, cli.ExitUsage,
		"louver: schema avro; want streams, release, check, openapi or asyncapi")
}

func TestExitCodesAreInHelp(t *testing.T) {
	got := commandLine(t, "", "--help")
	for code, meaning := range cli.ExitMeanings {
		if want := fmt.Sprintf("%d %s", code, meaning); !strings.Contains(strings.Join(strings.Fields(got.out), " "),
			want) {
			t.Errorf("%q is not in\n%s", want, got.out)
		}
	}
}
