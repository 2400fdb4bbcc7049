package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/cmd/louver/internal/clitest"
	"github.com/louver/louver/cmd/louver/internal/generate"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/parse"
)

// The operators' alerts fire when they should and are silent otherwise: deploy/prometheus/alerts_test.yaml has the
// cases.
func TestAlertsInPromtool(t *testing.T) {
	t.Parallel()
	promtool := clitest.Debian(t, "promtool", "prometheus")
	for _, args := range [][]string{{"check", "rules", "--lint-fatal", clitest.Deployed(t, "prometheus/alerts.yaml")},
		{"test", "rules", clitest.Deployed(t, "prometheus/alerts_test.yaml")}} {
		if out, err := exec.CommandContext(t.Context(), promtool, args...).CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}

// Alerts and boards use metrics that there are.
func TestDeployedMetricsExist(t *testing.T) {
	known := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `(louver_[a-z_]+)` \\| ([a-z]+)").FindAllStringSubmatch(
		clitest.DeployedText(t, "METRICS.md"), -1) {
		known[m[1]] = true
		if m[2] == "histogram" {
			known[m[1]+"_bucket"], known[m[1]+"_sum"], known[m[1]+"_count"] = true, true, true
		}
	}
	generated := commandLine(t, "", "rules", clitest.Deployed(t, "streams.yaml"), "--above", "checkout-latency/p50=800")
	if generated.code != cli.ExitDone {
		t.Fatalf("%+v", generated)
	}
	for name, text := range map[string]string{"louver rules": generated.out, "alerts.yaml": clitest.DeployedText(t,
		"prometheus/alerts.yaml"),
		"louver.json": clitest.DeployedText(t, "grafana/louver.json"), "operators.json": clitest.DeployedText(t,
			"grafana/operators.json")} {
		used := regexp.MustCompile(`\blouver_[a-z_]+`).FindAllString(text, -1)
		if len(used) == 0 {
			t.Errorf("%s uses no metric", name)
		}
		for _, m := range used {
			if !known[m] {
				t.Errorf("%s uses %s, which is not in METRICS.md", name, m)
			}
		}
	}
}

// Where one Prometheus scrapes several apps, a board shows those that are chosen: each metric is of the chosen jobs and
// instances.
func TestBoardsAreOfAnApp(t *testing.T) {
	metric := regexp.MustCompile(
		`\blouver_[a-z_]+(\{job=~"\$job", instance=~"\$instance"|\{job=~"\$job"}, instance\)|, job\))?`)
	for _, name := range []string{"grafana/louver.json", "grafana/operators.json"} {
		var board struct {
			Templating struct {
				List []struct{ Query json.RawMessage }
			}
			Panels []struct{ Targets []struct{ Expr string } }
		}
		if err := json.Unmarshal([]byte(clitest.DeployedText(t, name)), &board); err != nil {
			t.Fatal(err)
		}
		var queries []string
		for _, v := range board.Templating.List {
			var q struct{ Query string }
			if json.Unmarshal(v.Query, &q) == nil { // that of the data source is a text
				queries = append(queries, q.Query)
			}
		}
		for _, p := range board.Panels {
			for _, target := range p.Targets {
				queries = append(queries, target.Expr)
			}
		}
		for _, q := range queries {
			found := metric.FindAllStringSubmatch(q, -1)
			if len(found) == 0 || slices.ContainsFunc(found, func(m []string) bool { return m[1] == "" }) {
				t.Errorf("%s: %s; want job and instance at every metric", name, q)
			}
		}
	}
}

// Every alert has what an operator needs, and a section of the runbook.
func TestRunbookHasEveryAlert(t *testing.T) {
	var rules struct {
		Groups []struct {
			Rules []struct {
				Alert, For          string
				Labels, Annotations map[string]string
			}
		}
	}
	if err := yaml.Unmarshal([]byte(clitest.DeployedText(t, "prometheus/alerts.yaml")), &rules); err != nil {
		t.Fatal(err)
	}
	// of louver rules
	alerts := []string{"LouverFigureAbove", "LouverFigureBelow", "LouverTotalBehind", "LouverActiveUsersBehind",
		"LouverWatchFiring", "LouverWatchBlind", "LouverObjectivePage", "LouverObjectiveTicket", "LouverObjectiveBlind",
		"LouverObjectiveEdited"}
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			alerts = append(alerts, r.Alert)
			if r.For == "" || r.Labels["severity"] == "" || r.Annotations["summary"] == "" ||
				r.Annotations["description"] == "" || r.Annotations["runbook"] != "deploy/RUNBOOK.md#"+
				strings.ToLower(r.Alert) || r.Annotations["runbook_url"] != generate.Runbook+"#"+
				strings.ToLower(r.Alert) {
				t.Errorf("%s: %+v", r.Alert, r)
			}
		}
	}
	var sections []string
	for _, m := range regexp.MustCompile(`(?m)^## (.*)$`).FindAllStringSubmatch(clitest.DeployedText(t, "RUNBOOK.md"),
		-1) {
		sections = append(sections, m[1])
	}
	if slices.Sort(alerts); !slices.Equal(alerts, slices.Sorted(slices.Values(sections))) || len(alerts) < 13 {
		t.Errorf("the alerts are %q, the sections of the runbook %q", alerts, sections)
	}
}

// The examples of streams files are sound, and nothing in them is worth a warning.
func TestExamplesAreSound(t *testing.T) {
	for _, name := range []string{"streams.yaml", "streams-minutes.yaml"} {
		if got := commandLine(t, "", "check", clitest.Deployed(t, name)); got.code != cli.ExitDone || got.err != "" {
			t.Errorf("%s: %d, %s", name, got.code, got.err)
		}
	}
	file, err := parse.Load(clitest.Deployed(t, "streams-minutes.yaml"), os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	if s := file.Streams[0]; s.MaxWindows == nil || len(config.All[*config.Watch](s)) != 1 ||
		len(config.All[*config.Change](s)) != 1 {
		t.Errorf("%+v, want a stream with max_windows, a watch and a figure on change", s)
	}
}

// The budget of the minutes has the order that suits it. Without it, check says which one that is and what it saves.
func TestOrderOfTheMinutes(t *testing.T) {
	minutes := clitest.DeployedText(t, "streams-minutes.yaml")
	const budget = "{epsilon: 3.7, delta: 0.000000001, order: 30.22, per: 24h}"
	type figures struct {
		Wanted    float64                         `json:"epsilon_wanted"`
		Order     float64                         `json:"order"`
		WithDelta *struct{ Order, Delta float64 } `json:"with_delta"`
		WithOrder *struct {
			Wanted float64 `json:"epsilon_wanted"`
			Order  float64 `json:"order"`
		} `json:"with_order"`
		Pays bool
	}
	check := func(of string) (f figures, text string) {
		if !strings.Contains(minutes, budget) {
			t.Fatalf("no budget %s", budget)
		}
		path := clitest.File(t, "s.yaml", strings.Replace(minutes, budget, of, 1))
		var report struct{ Budgets []figures }
		got := commandLine(t, "", "check", "--json", path)
		if err := json.Unmarshal([]byte(got.out), &report); err != nil || len(report.Budgets) != 1 {
			t.Fatalf("%s: %v, %s", of, err, got.err)
		}
		return report.Budgets[0], commandLine(t, "", "check", path).out
	}
	if f, _ := check(budget); f.Wanted != 3.697343 || f.Order != 30.22 || f.WithOrder != nil || !f.Pays {
		t.Errorf("%+v, want ε 3.697343 at the order 30.22", f)
	}
	const said = "order: 30.22 in the budget, the schedule would need ε 3.697343\n"
	f, text := check("{epsilon: 5, delta: 0.000000001, per: 24h}")
	if f.Wanted != 4.150003 || f.WithOrder == nil || f.WithOrder.Order != 30.22 || f.WithOrder.Wanted != 3.697343 ||
		!strings.Contains(text, "\n  with "+said) {
		t.Errorf("%+v, %s\nwant the order 30.22, which saves ε 0.452660", f, text)
	}
	f, text = check("{epsilon: 5, per: 24h}")
	if f.Wanted != 4.15 || f.WithDelta == nil || f.WithDelta.Order != 30.22 ||
		!strings.Contains(text, "\n  with delta: 0.000000001 and "+said) {
		t.Errorf("%+v, %s\nwant a δ and the order 30.22", f, text)
	}
	// It suits all of this, which a smaller budget does not pay for.
	f, _ = check("{epsilon: 3, delta: 0.000000001, per: 24h}\n    on_exhausted: withhold")
	if f.Wanted != 4.150003 || f.WithOrder != nil || f.Pays {
		t.Errorf("%+v, want no order", f)
	}
	path := clitest.File(t, "s.yaml", strings.Replace(minutes, "order: 30.22, ", "", 1))
	const want = "want an epsilon of at least 4.150003, an order of 30.22, with which the schedule needs ε 3.697343"
	if got := commandLine(t, "", "check", path); got.code != cli.ExitInvalid || !strings.Contains(got.err, want) {
		t.Errorf("%+v, want %q", got, want)
	}
}

// What compose.yaml mounts is there, and the streams of its Louver are sound.
func TestCompose(t *testing.T) {
	var compose struct {
		Services map[string]struct {
			Image     string
			Build     string
			DependsOn yaml.Node `yaml:"depends_on"`
			Volumes   []string
		}
	}
	if err := yaml.Unmarshal([]byte(clitest.DeployedText(t, "compose.yaml")), &compose); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"kafka", "generator", "louver", "prometheus", "grafana"} {
		s, ok := compose.Services[name]
		if !ok || (s.Image == "") == (s.Build == "") {
			t.Errorf("service %s: %+v", name, s)
		}
		if s.Build != "" {
			if _, err := os.Stat(clitest.Deployed(t, s.Build+"/Dockerfile")); err != nil {
				t.Error(err)
			}
		}
		for _, v := range s.Volumes {
			from, _, _ := strings.Cut(v, ":")
			if info, err := os.Stat(clitest.Deployed(t, from)); err != nil || info.IsDir() {
				t.Errorf("service %s mounts %s: %v", name, from, err)
			}
		}
	}
	file, err := parse.Load(clitest.Deployed(t, "compose/streams.yaml"), os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	// The generator's events have the fields that the streams read.
	cmd := exec.CommandContext(t.Context(), "bash", "-c",
		"bash "+clitest.Deployed(t, "compose/generate.sh")+" | head -n 20")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	in := file.Streams[0].Input
	for line := range strings.Lines(string(out)) {
		var event map[string]any
		if err := json.Unmarshal([]byte(line), &event); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if group, _ := event[in.Group].(string); event[in.User] == nil || event[in.Value] == nil ||
			event[in.Time] == nil || !slices.Contains(file.Streams[0].Groups, group) {
			t.Errorf("the streams cannot use %s", line)
		}
	}
	if n := strings.Count(string(out), "\n"); n != 20 {
		t.Errorf("%d events, want 20", n)
	}
	for _, name := range []string{"prometheus/prometheus.yaml", "grafana/provisioning/datasource.yaml",
		"grafana/provisioning/boards.yaml"} {
		var any map[string]any
		if err := yaml.Unmarshal([]byte(clitest.DeployedText(t, name)), &any); err != nil || len(any) == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}
