package rules

import (
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/parse"
)

// growing has totals of a day beside the other releases.
func growing(t *testing.T) []*config.Stream {
	t.Helper()
	f, err := parse.File("streams.yaml", []byte(strings.Replace(streams, "      - {name: users,",
		"      - {name: today, statistic: count, since: midnight, epsilon: 1}\n"+
			"      - {name: heute, statistic: count, since: midnight, zone: Europe/Berlin, epsilon: 1}\n"+
			"      - {name: shift, statistic: count, since: midnight, zone: Australia/Lord_Howe, epsilon: 1}\n"+
			"      - {name: week, statistic: sum, max_total: 50, since: monday, update: 1h, epsilon: 1}\n"+
			"      - {name: hour, statistic: count, since: hour, epsilon: 0.1}\n"+
			"      - {name: month, statistic: count, since: month, update: 1h, epsilon: 1}\n"+
			"      - {name: users,", 1)), os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	return f.Streams
}

func behind(release string, ago time.Duration) Threshold {
	return Threshold{Stream: "web", Release: release, Ago: ago}
}

const week = 7 * 24 * time.Hour

// TestMarginsOfTotals: the multiple of the errors is the least of two digits with which noise alone raises the alarm
// less than once in 30 days, in all groups.
func TestMarginsOfTotals(t *testing.T) {
	s := growing(t)[0]
	for i := range config.All[*config.Total](s) {
		of := config.All[*config.Total](s)[i]
		if of.Name == "month" {
			continue
		}
		r, err := behindAlert(s, of, behind(of.Name, week))
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
	s := growing(t)[0]
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

// TestTotalsThatHaveNoPast are refused with the reason.
func TestTotalsThatHaveNoPast(t *testing.T) {
	for _, c := range []struct {
		of   Threshold
		want string
	}{
		{behind("users", week), "--behind web/users=7d: users is no running total"},
		{behind("month", 30*24*time.Hour), "--behind web/month=30d: months are not equally long"},
		{behind("week", 24*time.Hour),
			"--behind web/week=24h: the total begins anew each week; want a multiple of 7d up to 371d"},
		{behind("today", 1000*week), "want a multiple of 24h up to 371d"},
		{behind("tomorrow", week), `--behind web/tomorrow=7d: stream web has no release "tomorrow"`},
	} {
		if _, err := Write(io.Discard, growing(t), Wanted{Thresholds: []Threshold{c.of}}); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

// TestDistributionsHaveNoPast: a histogram, its figures and its sums are no totals, and no law says how often noise
// makes two distributions so far differ. Each is refused in one line with the reason, and none is taken for a threshold.
func TestDistributionsHaveNoPast(t *testing.T) {
	const so = "    releases:\n" +
		"      - {name: spread, statistic: histogram, since: midnight, buckets: [100, 400], epsilon: 1}\n" +
		"      - {name: p99_today, statistic: quantile, p: 0.99, from: spread}\n"
	text := strings.Replace(withHistogramText, "    releases:\n", so, 1)
	f, err := parse.File("streams.yaml", []byte(text), os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	const spread = " belongs to a distribution so far, and nothing bounds how often noise alone makes two of them differ " +
		"so much; want a count or a sum with since, or a count with active"
	for release, want := range map[string]string{"spread": spread, "p99_today": spread, "shape": " is no running total",
		"p99": " is no running total", "p99.1h": " is no running total", "shape.last_1h": " is no running total"} {
		_, err := Write(io.Discard, f.Streams, Wanted{Thresholds: []Threshold{behind(release, week)}})
		if err == nil || !strings.HasPrefix(err.Error(), "--behind web/"+release+"=7d: "+release+want) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v; want %q", release, err, want)
		}
	}
}

// Prometheus evaluates the alerts: see testdata/behind_test.yaml for the cases.
func TestBehindInPrometheus(t *testing.T) {
	testInPrometheus(t, growing(t), "behind_test.yaml", behind("today", week), behind("heute", week))
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

// present has a number of active users beside the other releases.
func present(t *testing.T) []*config.Stream {
	t.Helper()
	f, err := parse.File("streams.yaml", []byte(strings.Replace(streams, "      - {name: users,",
		"      - {name: now, statistic: count, active: 30m, epsilon: 1}\n      - {name: users,", 1)), os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	return f.Streams
}

// The multiple of the errors of active users is the least of two digits with which noise alone raises the alarm less
// than once in 30 days. Each of their values in these days has the same law.
func TestMarginOfActiveUsers(t *testing.T) {
	s := present(t)[0]
	of := config.All[*config.Active](s)[0]
	r, err := behindAlert(s, of, behind("now", week))
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
	testInPrometheus(t, present(t), "active_test.yaml", behind("now", week))
}

// A number of active users may have a threshold on either side, and is compared with that of whole days before.
func TestActiveUsersHaveThresholds(t *testing.T) {
	f := present(t)
	for _, c := range []struct {
		of   Threshold
		want string
	}{
		{Threshold{Stream: "web", Release: "now", Value: decimal.NewFromInt(2000)},
			`louver:release_low:newest{stream="web", release="now"} > 2000`},
		{Threshold{Stream: "web", Release: "now", Value: decimal.NewFromInt(2000), Below: true},
			`louver:release_high:newest{stream="web", release="now"} < 2000`},
		{Threshold{Stream: "web", Release: "now", Value: decimal.NewFromInt(20), Below: true}, "so its band is never below 20"},
		{behind("now", week), "alert: LouverActiveUsersBehind"},
		{behind("now", 36*time.Hour), "--behind web/now=36h: want a multiple of 24h, and of the 10m from one value to the next"},
		{behind("now", 54*week), "up to 371d"},
	} {
		var out strings.Builder
		if _, err := Write(&out, f, Wanted{Thresholds: []Threshold{c.of}}); err != nil {
			out.WriteString(err.Error())
		}
		if !strings.Contains(out.String(), c.want) {
			t.Errorf("%s: want %q", out.String(), c.want)
		}
	}
}
