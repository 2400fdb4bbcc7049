package rules

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shopspring/decimal"
)

func above(release, value string, windows int) Threshold {
	return Threshold{Stream: "web", Release: release, Value: decimal.RequireFromString(value), Windows: windows}
}

func below(release, value string, windows int) Threshold {
	t := above(release, value, windows)
	t.Below = true
	return t
}

func noisy(t Threshold) Threshold {
	t.Noisy = true
	return t
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
	thresholds := []Threshold{above("users", "500", 2), below("users", "400", 2),
		noisy(above("p50", "500", 1)), above("total", "5000000", 0), above("avg", "10.5", 0)}
	want := Wanted{Thresholds: thresholds, Objectives: []Objective{slow}}
	if _, err := Write(f, append(parsed(t, web), shop(t)), want); err != nil {
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

// Prometheus takes the rules of figures from a histogram.
func TestRulesOfHistogramsInPrometheus(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "rules.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	thresholds := []Threshold{above("p99.1h", "500", 0), above("slow", "0.05", 0),
		below("shape", "500", 0)}
	if _, err := Write(f, parsed(t, files["histogram"]), Wanted{Thresholds: thresholds}); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	promtool(t, "check", "rules", "--lint-fatal", f.Name())
}
