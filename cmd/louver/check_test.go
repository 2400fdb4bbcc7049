package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/segmentio/kafka-go"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/cmd/louver/internal/clitest"
	"github.com/louver/louver/stream/config/configtest"
	"github.com/louver/louver/stream/kafka/kafkatest"
)

// With --rights come the topics and rights, and what the brokers say of them. TestEveryRightIsNeeded has those that are
// missing.
func TestCheckRights(t *testing.T) {
	b := kafkatest.Fake(t)
	input, output := b.Topic(t, 1, nil), b.Topic(t, 1, nil)
	path := clitest.File(t, "s.yaml", configtest.File(configtest.Stream("a", configtest.Topics(input, output))))
	args := []string{"check", path, "--rights", "--kafka-brokers", strings.Join(b.Conn.Brokers, ",")}
	t.Setenv("COLUMNS", "200")
	got := commandLine(t, "", args...)
	for _, want := range []string{input, "louver.ledger", "│ transactional-id │ louver.… ",
		"The brokers grant these rights.",
		"only the right to create them was asked for: louver.control, louver.partials, louver.progress and louver.ledger"} {
		if got.code != cli.ExitDone || !strings.Contains(got.out, want) {
			t.Errorf("%q is not in %+v", want, got)
		}
	}
	if strings.Contains(got.out, "louver check --rights") {
		t.Errorf("it recommends what was done:\n%s", got.out)
	}
	if got := commandLine(t, "", append(args, "--json")...); !strings.Contains(got.out, `"rights_missing": []`) {
		t.Errorf("%+v", got)
	}
	names, err := b.Conn.Client.Metadata(kafkatest.Context(t), &kafka.MetadataRequest{})
	if err != nil || slices.ContainsFunc(names.Topics, func(t kafka.Topic) bool { return t.Name == "louver.ledger" }) {
		t.Errorf("%v; asking has created topics: %v", err, names.Topics)
	}
}

func TestCheckJSON(t *testing.T) {
	path := clitest.File(t, "s.yaml", strings.Replace(clitest.StreamsFile, "budget: shoppers",
		"budget: {epsilon: 0.3, per: forever}\n    on_exhausted: withhold", 1))
	t.Setenv("LOUVER_STREAMS", path)
	got := commandLine(t, "", "check", "--format", "json", "--app-id", "shop")
	var report struct {
		Streams []struct {
			Stream   string
			Epsilon  float64 `json:"epsilon_per_window"`
			Releases []struct {
				Mechanism string
				Epsilon   float64
				Charge    float64 `json:"epsilon_per_window"`
				Values    []struct {
					Release    string
					RankError  *float64 `json:"rank_error_95"`
					CountError *int64   `json:"count_error_95"`
				}
			}
		}
		Budgets []struct {
			Budget, Per, Lasts string
			Pays               bool
			Windows            int64
			Limit              float64 `json:"epsilon_limit"`
			Period, Day        struct {
				Epsilon float64
				Right   int64 `json:"right_of_100"`
			}
		}
		Topics []struct{ Topic string }
	}
	if err := json.Unmarshal([]byte(got.out), &report); err != nil || got.code != cli.ExitDone || got.err != "" {
		t.Fatalf("%v in %+v", err, got)
	}
	s := report.Streams[0]
	if r := s.Releases[0]; s.Stream != "checkout" || s.Epsilon != 0.14 || r.Charge != 0.1 || r.Epsilon != 0.05 ||
		r.Mechanism != "margin" {
		t.Errorf("%+v", s)
	}
	if v := s.Releases[0].Values[0]; v.RankError == nil || *v.RankError < 10 || *v.RankError > 2500 ||
		v.CountError != nil {
		t.Errorf("error of a median: %+v", v)
	}
	if v := s.Releases[1].Values[0]; v.RankError != nil || v.CountError == nil || *v.CountError != 150 {
		t.Errorf("error of a count: %+v", v)
	}
	b := report.Budgets[2]
	if b.Budget != "checkout" || b.Limit != 0.3 || b.Pays || b.Windows != 2 || b.Per != "forever" ||
		b.Lasts == "for ever" ||
		b.Period.Epsilon != 0.3 || b.Period.Right != 58 || b.Day.Epsilon != 0.3 {
		t.Errorf("%+v", b)
	}
	if report.Topics[0].Topic != "shop.control" {
		t.Errorf("topics %+v", report.Topics)
	}
}

// Whoever computes figures from a histogram learns beforehand with how many users they are good for something.
func TestCheckForecastsFiguresOfAHistogram(t *testing.T) {
	of := func(expected string) string {
		return clitest.File(t, "s.yaml", `version: 1
streams:
  - name: web
    input: {topic: web.events, user: u, value: ms, time: t}
    bounds: {lower: 0, upper: 60000, step: 1}
`+expected+`    window: {size: 1h, grace: 30s, start: now}
    releases:
      - {name: latency, statistic: histogram, buckets: {scale: 3}, epsilon: 0.1}
      - {name: p50, statistic: median, from: latency}
      - {name: p99, statistic: quantile, p: 0.99, from: latency}
      - {name: top, statistic: mode, from: latency}
    output: {topic: web.private}
    budget: {epsilon: 3, per: 24h}
`)
	}
	unknown := commandLine(t, "", "check", of(""))
	known := commandLine(t, "", "check", of("    expected_users: 1000\n"))
	for _, c := range []struct {
		in   string
		want string
	}{
		{unknown.out, "    p50: noise below 500 users; plan --shape says from how many on it is useful\n" +
			"    p99: noise below 25,000 users; plan --shape says from how many on it is useful\n"},
		{known.out, "    p50: noise below 500 users; plan --shape says from how many on it is useful\n" +
			"    p99: noise with 1,000 users\n"},
		{known.err, "releases[p99]: with 1,000 expected users and ε 0.1 of latency the value is mostly noise; want at " +
			"least 25,000: longer windows, or a larger epsilon\n"},
	} {
		if !strings.Contains(c.in, c.want) {
			t.Errorf("%s is not in\n%s", c.want, c.in)
		}
	}
	if strings.Contains(known.out, "top:") || strings.Contains(known.err, "p50") ||
		strings.Contains(unknown.err, "p99") {
		t.Errorf("%s%s%s", known.out, known.err, unknown.err)
	}
	var report struct {
		Streams []struct {
			Free []struct {
				Release, Quality string
				NoiseBelow       *int64 `json:"noise_below"`
				UsefulFrom       *int64 `json:"useful_from"`
			}
		}
	}
	shaped := commandLine(t, "", "plan", of(""), "--users", "20000", "--shape", "lognormal:120,0.6", "--json")
	if err := json.Unmarshal([]byte(shaped.out), &report); err != nil {
		t.Fatal(err)
	}
	free := report.Streams[0].Free
	if p99 := free[1]; p99.Quality != "noise" || *p99.NoiseBelow != 25000 || p99.UsefulFrom != nil ||
		free[0].Quality != "useful" || free[2].Quality != "" || free[2].NoiseBelow != nil {
		t.Errorf("%+v", free)
	}
}
