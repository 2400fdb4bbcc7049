package rules

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/louver/louver/stream/config"
)

// behind is an alert on what is less than a week ago.
func behind(release string) Threshold { return Threshold{Stream: "web", Release: release, Ago: week} }

const week = 7 * 24 * time.Hour

// TestMarginsOfTotals: the multiple of the errors is the least of two digits with which noise alone raises the alarm
// less than once in 30 days, in all groups.
func TestMarginsOfTotals(t *testing.T) {
	s := parsed(t, totals)[0]
	for i := range config.All[*config.Total](s) {
		of := config.All[*config.Total](s)[i]
		if of.Name == "month" {
			continue
		}
		r, err := behindAlert(s, of, behind(of.Name))
		if err != nil {
			t.Fatal(err)
		}
		times, lasts := 0.0, of.About().Since.Nominal()
		for ; behindByNoise(s, of, lasts, times) > 1; times += 0.1 {
		}
		if _, said, _ := strings.Cut(r.Expr, "> "); !strings.HasPrefix(said, fmt.Sprintf("%.1f * sqrt", times)) {
			t.Errorf("%s: the margin is %.8s…, want %.1f times", of.Name, said, times)
		}
		// The same errors, and three times the groups.
		more := *s
		more.Groups = append(append([]string{"a", "b", "c", "d"}, s.Groups...), "e", "f")
		got, one := behindByNoise(&more, of, lasts, times), behindByNoise(s, of, lasts, times)
		if got < 3.99*one || got > 4.01*one {
			t.Errorf("%s: %.3g false alarms in 8 groups, and %.3g in 2", of.Name, got, one)
		}
	}
}

// TestAgos: where clocks change, the same day of the week before began an hour more or less before, or half an hour.
func TestAgos(t *testing.T) {
	s := parsed(t, totals)[0]
	for name, want := range map[string][]time.Duration{"today": {week},
		"heute": {week - time.Hour, week, week + time.Hour},
		"shift": {week - 30*time.Minute, week, week + 30*time.Minute}, "week": {week}, "hour": {week}} {
		for i := range config.All[*config.Total](s) {
			if of := config.All[*config.Total](s)[i]; of.Name == name {
				got := agos(s, of, week)
				if len(got) != len(want) || got[0] != want[0] || got[len(got)-1] != want[len(want)-1] {
					t.Errorf("%s: %v, want %v", name, got, want)
				}
			}
		}
	}
}

// Prometheus evaluates the alerts: see testdata/behind_test.yaml for the cases.
func TestBehindInPrometheus(t *testing.T) {
	testInPrometheus(t, parsed(t, totals), "behind_test.yaml", behind("today"), behind("heute"))
}

// testInPrometheus writes alerts, and lets promtool test them with the cases of a file.
func testInPrometheus(t *testing.T, streams []*config.Stream, file string, of ...Threshold) {
	t.Helper()
	dir := t.TempDir()
	var b strings.Builder
	if _, err := Write(&b, streams, Wanted{Thresholds: of, Runbook: "https://wiki/louver"}); err != nil {
		t.Fatal(err)
	}
	cases, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	_, bound, _ := strings.Cut(b.String(), "false_alarms_30d: ")
	bound, _, _ = strings.Cut(bound, "\n")
	hourly := strings.ReplaceAll(b.String(), "interval: 1m", "interval: 1h") // a week of minutes takes minutes
	for name, text := range map[string]string{"rules.yaml": hourly,
		file: strings.ReplaceAll(string(cases), "BOUND", strings.Trim(bound, `"`))} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	promtool(t, "check", "rules", "--lint-fatal", filepath.Join(dir, "rules.yaml"))
	promtool(t, "test", "rules", filepath.Join(dir, file))
}

// The multiple of the errors of active users is the least of two digits with which noise alone raises the alarm less
// than once in 30 days. Each of their values in these days has the same law.
func TestMarginOfActiveUsers(t *testing.T) {
	s := parsed(t, active)[0]
	of := config.All[*config.Active](s)[0]
	r, err := behindAlert(s, of, behind("now"))
	if err != nil {
		t.Fatal(err)
	}
	alarms := func(times float64) float64 {
		margin := int64(times * math.Sqrt2 * float64(of.Mechanism.Error95(1)))
		return of.Mechanism.Apart(1, margin) * float64(30*24*time.Hour/of.Update) * float64(len(s.Groups))
	}
	times := 1.0
	for ; alarms(times) > 1; times += 0.1 {
	}
	_, said, _ := strings.Cut(r.Expr, "> ")
	if want := fmt.Sprintf("%.1f * sqrt", times); times < 1.2 || !strings.HasPrefix(said, want) {
		t.Errorf("the margin is %.12s…, want %s", said, want)
	}
}

// Prometheus evaluates the alert of active users: see testdata/active_test.yaml for the cases.
func TestActiveUsersBehindInPrometheus(t *testing.T) {
	testInPrometheus(t, parsed(t, active), "active_test.yaml", behind("now"))
}
