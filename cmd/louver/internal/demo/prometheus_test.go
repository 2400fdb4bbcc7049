package demo

import (
	"bytes"
	"context"
	_ "embed" // the streams file
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/louver/louver/cmd/louver/internal/clitest"
	"github.com/louver/louver/stream/config/parse"
	"github.com/louver/louver/stream/kafka/kafkatest"
	"github.com/louver/louver/stream/rules"
	"github.com/louver/louver/stream/simulate"
)

// rehearsed returns a simulation in real time whose next incident is known: after a calm time, and long enough for two
// whole windows.
//
// There is one incident in each three minutes, of half a minute or more. The last one was over before the demo's past
// begins, so that the watch has not fired. The next one begins soon after the first half minute and is short, with two
// quiet minutes after it, in which a busy machine may be late. It begins within the next three seconds, unless the
// three minutes end then: at any moment of them there are seeds for which it begins within 75 s.
func rehearsed() (s *simulation, incident simulate.Incident) {
	now := time.Now()
	s = &simulation{file: live, before: time.Minute, begins: now, clock: newOwnClock(now, 24*time.Hour, 10*time.Second)}
	soonest := 75 * time.Second
	for seed := uint64(1); soonest > 33*time.Second && (seed < 100_000 || incident.Region == ""); seed++ {
		tried := simulate.New(simulate.Config{Seed: seed})
		last, next := tried.Incident(now), tried.Incident(now.Add(3*time.Minute))
		if last.Start.After(now) {
			last, next = tried.Before(last), last
		}
		calm, after := next.Start.Sub(now), tried.Incident(next.Start.Add(3*time.Minute))
		quiet := after.Start.Sub(next.End) > 2*time.Minute
		if quiet && last.End.Before(now.Add(-s.before-10*time.Second)) && calm > 30*time.Second && calm < soonest &&
			next.End.Sub(next.Start) < mostIncident {
			s.service, incident, soonest = tried, next, calm
		}
	}
	return s, incident
}

// mostIncident is longer than the incident. The watch holds for longer from the end of its first slow window on, so
// that it fires once.
const mostIncident = 34 * time.Second

// live is the streams file of a service that is watched in real time. It has a histogram with an objective and a
// running total, for the boards.
//
//go:embed testdata/live.yaml
var live []byte

// unseen is a display that nobody looks at.
type unseen struct{ addresses chan []string }

func (unseen) say(string)                     {}
func (unseen) show(picture)                   {}
func (unseen) over()                          {}
func (unseen) kafka(string)                   {}
func (u unseen) listening(addresses []string) { u.addresses <- addresses }
func (unseen) run(ctx context.Context) error  { <-ctx.Done(); return nil }

// until waits for a condition, for minutes if need be.
func until(t *testing.T, what string, met func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	late := time.After(5 * time.Minute)
	for !met() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("five minutes have passed without this: %s", what)
		}
	}
}

// started runs a program until the test ends.
func started(t *testing.T, path string, args ...string) {
	t.Helper()
	log := &bytes.Buffer{} // read once the program has ended
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("%s:\n%s", filepath.Base(path), log)
		}
	})
}

// answer reads JSON from an address. It leaves into as it is while there is no answer yet.
func answer(t *testing.T, address string, into any) {
	t.Helper()
	res, err := http.Get(address)
	if err != nil {
		return
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode == http.StatusServiceUnavailable {
		return
	}
	if err := json.NewDecoder(res.Body).Decode(into); err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v, %+v", address, res.Status, err, into)
	}
}

// monitoring is a Prometheus and an Alertmanager.
type monitoring struct {
	t                        *testing.T
	prometheus, alertmanager string
}

// sample is one series of an answer.
type sample struct {
	Metric map[string]string
	Value  [2]any
	Values [][2]any
}

// number is the sample's value.
func (s sample) number() float64 {
	text, _ := s.Value[1].(string)
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return math.NaN()
	}
	return v
}

// query asks Prometheus; empty until it answers.
func (m monitoring) query(expr string) []sample {
	m.t.Helper()
	var a struct{ Data struct{ Result []sample } }
	answer(m.t, "http://"+m.prometheus+"/api/v1/query?query="+url.QueryEscape(expr), &a)
	return a.Data.Result
}

// active returns the labels of the alerts that the Alertmanager would send.
func (m monitoring) active() (alerts []map[string]string) {
	m.t.Helper()
	var a []struct{ Labels map[string]string }
	answer(m.t, "http://"+m.alertmanager+"/api/v2/alerts?active=true", &a)
	for _, alert := range a {
		alerts = append(alerts, alert.Labels)
	}
	return alerts
}

// monitor starts both, with the alerts of deploy and those of louver rules for the demo.
func monitor(t *testing.T, public, operators string) monitoring {
	t.Helper()
	dir := t.TempDir()
	m := monitoring{t, kafkatest.Address(t), kafkatest.Address(t)}
	prometheus, alertmanager := clitest.Debian(t, "prometheus", "prometheus"),
		clitest.Debian(t, "prometheus-alertmanager", "prometheus-alertmanager")
	file, err := parse.File("live.yaml", live, os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	var written strings.Builder
	// Usually some 80 to 170 of a region's users are above 300 ms, and half of all above 120 ms. In an incident it is
	// 60 % of 1300 to 2700, and 360 ms.
	thresholds := []rules.Threshold{
		{Stream: file.Streams[0].Name, Release: "slow", Value: decimal.NewFromInt(400), Windows: 2, Noisy: true},
		{Stream: file.Streams[0].Name, Release: "p50", Value: decimal.NewFromInt(220), Windows: 2, Noisy: true},
	}
	if _, err := rules.Write(&written, file.Streams, rules.Wanted{Thresholds: thresholds}); err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("rules.yaml", written.String())
	write("alerts.yaml", clitest.DeployedText(t, "prometheus/alerts.yaml"))
	started(t, prometheus, "--web.listen-address="+m.prometheus, "--storage.tsdb.path="+filepath.Join(dir, "data"), "--config.file="+write("prometheus.yaml", fmt.Sprintf(`
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [rules.yaml, alerts.yaml]
alerting: {alertmanagers: [{static_configs: [{targets: [%q]}]}]}
scrape_configs:
  - {job_name: louver-public, static_configs: [{targets: [%q]}]}
  - {job_name: louver, static_configs: [{targets: [%q]}]}
`, m.alertmanager, public, operators)))
	started(t, alertmanager, "--web.listen-address="+m.alertmanager, "--cluster.listen-address=",
		"--storage.path="+filepath.Join(dir, "alerts"),
		"--config.file="+write("alertmanager.yaml", "route: {receiver: nobody}\nreceivers: [{name: nobody}]\n"))
	return m
}

// A real Prometheus and Alertmanager watch a demo. No alert fires while nothing happens; in an incident those on
// published figures do, for the region that is slow and no other; and then they end. Every query of the boards finds
// data.
func TestAlertsAndBoardsOfADemo(t *testing.T) {
	clitest.Debian(t, "prometheus", "prometheus")
	clitest.Debian(t, "prometheus-alertmanager", "prometheus-alertmanager")
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	display := unseen{make(chan []string, 1)}
	public, operators := kafkatest.Address(t), kafkatest.Address(t)
	m := monitor(t, public, operators) // first, so that it is ready before the incident
	until(t, "Prometheus answers", func() bool { return len(m.query("vector(1)")) > 0 })
	scene, incident := rehearsed()
	demo, ctx := errgroup.WithContext(ctx)
	demo.Go(func() error { return command(public, operators).play(ctx, "", scene, display, zap.NewNop()) })
	t.Cleanup(func() {
		cancel()
		if err := demo.Wait(); err != nil && ctx.Err() == nil {
			t.Error(err)
		}
	})
	addresses := kafkatest.Receive(t, "the demo serves its page", display.addresses)
	if !slices.Equal(addresses, []string{public, operators}) {
		t.Fatalf("the demo listens on %q, and %s and %s are watched", addresses, public, operators)
	}

	until(t, "the incident begins", func() bool {
		if now := time.Now(); now.Before(incident.Start) {
			if active := m.active(); len(active) > 0 {
				t.Fatalf("%s before the incident there are alerts: %v", incident.Start.Sub(now), active)
			}
			return false
		}
		return true
	})
	t.Logf("%s: no alert up to now. The incident in %s begins, for %s.", time.Now().UTC().Format(time.TimeOnly),
		incident.Region, incident.End.Sub(incident.Start).Round(time.Second))
	fired := func() (releases []string) {
		for _, a := range m.active() {
			if known := a["alertname"] == "LouverFigureAbove" || a["alertname"] == "LouverWatchFiring"; !known ||
				a["group"] != incident.Region {
				t.Errorf("in an incident in %s there is the alert %v", incident.Region, a)
			}
			releases = append(releases, a["release"]+a["watch"])
		}
		slices.Sort(releases)
		return releases
	}
	until(t, "the alert of the watch is there", func() bool { return slices.Contains(fired(), "outage") })
	t.Logf("%s: %d s after its begin, the alert of the watch is there.", time.Now().UTC().Format(time.TimeOnly),
		int(time.Since(incident.Start).Seconds()))
	until(t, "all alerts are there", func() bool { return slices.Equal(fired(), []string{"outage", "p50", "slow"}) })
	t.Logf("%s: %d s after its begin, those on p50 and slow are there.", time.Now().UTC().Format(time.TimeOnly),
		int(time.Since(incident.Start).Seconds()))
	until(t, "the alerts are over", func() bool { return len(fired()) == 0 })
	t.Logf("%s: %d s after its end, they are over.", time.Now().UTC().Format(time.TimeOnly),
		int(time.Since(incident.End).Seconds()))
	boards(t, m) // after the incident: it comes at its time, and the queries may take longer than until then
	var bands []string
	for _, s := range m.query("count by (release) (louver_release_low)") {
		bands = append(bands, s.Metric["release"])
	}
	if slices.Sort(bands); !slices.Equal(bands, []string{"late", "p50", "p90", "shape", "slow", "today", "users"}) {
		t.Errorf("%q have bands", bands) // louver rules says so beforehand: see TestThresholdsThatCannotBeWatched
	}
	for _, s := range m.query(`max_over_time(ALERTS{alertstate="firing"}[30m])`) {
		if name := s.Metric["alertname"]; name != "LouverFigureAbove" && name != "LouverWatchFiring" ||
			s.Metric["group"] != incident.Region {
			t.Errorf("%v has fired", s.Metric)
		}
	}
}

// boards runs every query of the boards.
func boards(t *testing.T, m monitoring) {
	t.Helper()
	fill := strings.NewReplacer("$__rate_interval", "1m", "$stream", ".*", "$group", ".*", "$release", ".*",
		"$job", ".*", "$instance", ".*", "$lookback", "1m", "${series:raw}", `stream=~".*"`,
		"${histogram:raw}", `stream=~".*"`, "${total:raw}", `stream=~".*", release="today"`,
		" offset 1d", "", " offset 7d", "") // there is no day before
	values := regexp.MustCompile(`^(?:label_values\((.*), (\w+)\)|query_result\((.*)\))$`)
	for _, name := range []string{"louver.json", "operators.json"} {
		var board struct {
			Templating struct {
				List []struct {
					Name, Type string
					Query      json.RawMessage
				}
			}
			Panels []struct {
				Title   string
				Targets []struct{ Expr string }
			}
		}
		if err := json.Unmarshal([]byte(clitest.DeployedText(t, "grafana/"+name)), &board); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		queries := map[string]string{}
		for _, v := range board.Templating.List {
			var q struct{ Query string }
			if v.Type != "query" {
				continue
			}
			if err := json.Unmarshal(v.Query, &q); err != nil {
				t.Fatal(err)
			}
			parts := values.FindStringSubmatch(q.Query)
			if parts == nil {
				t.Fatalf("%s: variable %s: %s", name, v.Name, q.Query)
			}
			if queries["variable "+v.Name] = parts[3]; parts[3] == "" {
				queries["variable "+v.Name] = fmt.Sprintf("count by (%s) (%s)", parts[2], parts[1])
			}
		}
		for _, p := range board.Panels {
			for i, target := range p.Targets {
				queries[fmt.Sprintf("%s, query %d", p.Title, i+1)] = target.Expr
			}
		}
		if len(queries) < 15 {
			t.Errorf("%s has %d queries", name, len(queries))
		}
		for title, expr := range queries {
			// A rate needs two scrapes, which may not be over yet.
			until(t, fmt.Sprintf("%s: %s finds data: %s", name, title, expr), func() bool {
				return slices.ContainsFunc(m.query(fill.Replace(expr)),
					func(s sample) bool { return !math.IsNaN(s.number()) })
			})
		}
		t.Logf("%s: each of %d queries finds data", name, len(queries))
	}
}
