package outputs

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms/histogram"
)

// listedJSON is a list of JSON.
func listedJSON(t *testing.T, list any) string {
	t.Helper()
	text, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Prometheus takes the counts as those of a histogram, and its histogram_quantile gives our quantile: both go through a
// bucket in proportion. Ours is rounded up to a point of the grid, and Prometheus has counts that are rounded to users:
// it may be off by a step, and by half of what one user takes up of the bucket.
func TestDistributionInPrometheus(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed; Debian's package prometheus has it")
	}
	b, err := histogram.New([]int64{10, 50, 100, 250, 800}, 1000, false, 2)
	if err != nil {
		t.Fatal(err)
	}
	raw, coarse := []int64{-3, 41, 160, 300, 122, 30, 4}, make([]int64, b.Groups())
	for g := range coarse {
		coarse[g] = int64(200 + 10*g)
	}
	e := b.Estimate(raw, coarse, histogram.Laplace(0.1), 1)
	shown := strings.NewReplacer(`"median"`, `"histogram"`, `"p50"`, `"latency"`, "/p50", "/latency", `"budget":`,
		fmt.Sprintf(
			`"buckets":{"le":[10,50,100,250,800,1000,null],"raw":%s,"coarse":%s,"groups":%d,"count":%s},"budget":`,
			listedJSON(t, raw), listedJSON(t, coarse), b.Groups(), listedJSON(t, e.Counts()))).Replace(published)
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(gauges(t, "2026-11-20T08:16:00Z", shown))
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var text, series strings.Builder
	for _, f := range families {
		if _, err := expfmt.MetricFamilyToText(&text, f); err != nil {
			t.Fatal(err)
		}
	}
	check := exec.CommandContext(t.Context(), promtool, "check", "metrics")
	check.Stdin = strings.NewReader(text.String())
	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("promtool check metrics: %v\n%s", err, out)
	}
	for line := range strings.Lines(text.String()) {
		if name, value, _ := strings.Cut(strings.TrimSpace(line), "} "); strings.HasPrefix(line,
			"louver_distribution_bucket{") {
			fmt.Fprintf(&series, "      - {series: '%s}', values: '%s'}\n", name, value)
		}
	}
	cases := "rule_files: []\ntests:\n  - interval: 1m\n    input_series:\n" + series.String() +
		"    promql_expr_test:\n"
	ends, counts := b.Ends(), e.Counts()
	for _, p := range []string{"0.1", "0.5", "0.9", "0.97"} {
		q, ok := e.Quantile(decimal.RequireFromString(p))
		j := b.Of(q.Index)
		if !ok || j == 0 || j >= len(ends) {
			t.Fatalf("p%s is %+v, in bucket %d", p, q, j)
		}
		user := float64(ends[j]-ends[j-1]) / float64(counts[j])
		cases += fmt.Sprintf("      - {expr: 'max(abs(%d - histogram_quantile(%s, "+
			"louver_distribution_bucket{rollup=\"\"}))) <= bool %g', eval_time: 0m, exp_samples: [{labels: '{}', "+
			"value: 1}]}\n", q.Index, p, 1+user/2)
	}
	path := filepath.Join(t.TempDir(), "quantiles.yaml")
	if err := os.WriteFile(path, []byte(cases), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), promtool, "test", "rules", path).CombinedOutput(); err != nil {
		t.Errorf("promtool test rules: %v\n%s\n%s", err, out, cases)
	}
}
