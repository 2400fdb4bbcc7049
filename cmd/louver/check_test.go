package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/segmentio/kafka-go"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/cmd/louver/internal/clitest"
	"github.com/louver/louver/stream/config/configtest"
	"github.com/louver/louver/stream/kafka/kafkatest"
)

func TestCheckText(t *testing.T) {
	t.Setenv("COLUMNS", "200")
	path := clitest.File(t, "s.yaml", clitest.StreamsFile)
	got := commandLine(t, "", "check", path)
	if got.code != cli.ExitDone {
		t.Fatalf("%+v", got)
	}
	for _, want := range []string{
		"stream checkout (" + path + ":6)\n",
		"windows of 15m, drawn 30s after they end\n",
		"one user counts in 2 of 3 groups and can lose ε 0.14 in a window; budget shoppers pays\n",
		"    of 100 guesses whether you were in that window, at most 54 are right\n",
		"│ p50     │ median    │ margin    │ 0.05 │ 0.1               │ percentiles 41.4 to 55.7 │ useful",
		"│ users   │ count     │ geometric │ 0.02 │ 0.04              │ ± 150 users              │ useful",
		"  5,000 users expected in a window and group\n",
		"budget shoppers (" + path + ":3)\n  windows that end in any 24h cost one user at most ε 24; the schedule " +
			"needs ε 13.44\n  with delta: 0.000000001 in the budget, the schedule would need ε 2.700069\n" +
			"  one person loses at most ε 13.44 in any 24 h, counting the windows that end in it\n" +
			"    of 100 guesses whether you were there, all may be right\n  what one user does in any 24h falls into " +
			"up to 97 windows, costing at most ε 13.86\n" +
			"    a window or period that also holds other things of that user counts up to twice\n  lasts for ever\n",
		"louver check --rights also lists the topics and rights that these streams need, and asks the brokers for them\n",
	} {
		if !strings.Contains(got.out, want) {
			t.Errorf("%q is not in\n%s", want, got.out)
		}
	}
	want := path + ":3: warning: budgets[shoppers]: one person can lose ε 13.44 in any 24 h: of 100 guesses whether " +
		"somebody was there, all may be right; want ε 4.59 or less: fewer or cheaper windows, or max_windows, " +
		"or delta: 0.000000001 in the budget, which makes it ε 2.7\n" +
		path + ":4: warning: budgets[spare]: no stream uses it\n"
	if got.err != want {
		t.Errorf("warnings %q, want %q", got.err, want)
	}
}

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

// alone is the streams file without the budget that no stream uses.
var alone = strings.Replace(clitest.StreamsFile, "  - {name: spare, epsilon: 1, per: forever}\n", "", 1)

// TestCheckOverlap: a person acts at moments and in days, and each of these lies in more than one window.
func TestCheckOverlap(t *testing.T) {
	t.Setenv("COLUMNS", "200")
	for window, want := range map[string][2]string{
		"size: 24h": {"", "2 windows, costing at most ε 0.56\n"},
		"size: 24h, every: 1h": {"24 windows, which cost that user at most ε 3.36\n",
			"48 windows, costing at most ε 13.44\n"},
		"size: 20h, every: 10m": {"120 windows, which cost that user at most ε 16.8\n",
			"264 windows, costing at most ε 70.56\n"},
		"size: 1h, every: 5m": {"12 windows, which cost that user at most ε 1.68\n",
			"300 windows, costing at most ε 45.36\n"},
		// twice the limit of two periods
		"size: 20h, every: 5m": {"240 windows, which cost that user at most ε 33.6\n",
			"528 windows, costing at most ε 96\n"},
		"size: 1h, every: 4m": {"15 windows, which cost that user at most ε 2.1\n",
			"375 windows, costing at most ε 56.7\n"},
	} {
		text := strings.Replace(clitest.StreamsFile, "size: 15m", window, 1) + "    on_exhausted: withhold\n"
		got := commandLine(t, "", "check", clitest.File(t, "s.yaml", text))
		event := "one event puts its user into up to " + want[0]
		if got.code != cli.ExitDone || !strings.Contains(got.out, "falls into up to "+want[1]) ||
			strings.Contains(got.out, event) != (want[0] != "") {
			t.Errorf("%s: want %q in %+v", window, want, got)
		}
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

func TestCheckMistakes(t *testing.T) {
	edits := strings.NewReplacer("size: 15m", "size: 15x", "statistic: median", "statistic: medium")
	path := clitest.File(t, "s.yaml", edits.Replace(clitest.StreamsFile))
	want := []string{
		path + `:12: streams[checkout].window.size: 15x is not a duration; want a duration of whole seconds, for example 15m`,
		path + `:14: streams[checkout].releases[p50].statistic: "medium" is not a statistic; did you mean median?`,
	}
	refused := outcome{code: cli.ExitInvalid, err: strings.Join(want, "\n") + "\n"}
	if got := commandLine(t, "", "check", path); got != refused {
		t.Errorf("%+v", got)
	}
	got := commandLine(t, "", "check", "--format", "json", path)
	var report struct {
		Errors  []string
		Details []struct {
			File, Key, Message string
			Line               int
		} `json:"error_details"`
	}
	err := json.Unmarshal([]byte(got.out), &report)
	if err != nil || got.code != cli.ExitInvalid || got.err != "" || !slices.Equal(report.Errors, want) ||
		len(report.Details) != 2 {
		t.Fatalf("%v in %+v", err, got)
	}
	for i, d := range report.Details {
		if line := fmt.Sprintf("%s:%d: %s: %s", d.File, d.Line, d.Key, d.Message); line != want[i] {
			t.Errorf("the details are %s, want %s", line, want[i])
		}
	}
	commandLine(t, "", "check", "none.yaml").wants(t, cli.ExitInvalid,
		"none.yaml: no such streams file; want a file, a directory or a glob")
}

// GitHub shows errors and warnings beside the lines of a file, and a workflow stops at warnings if it wants to.
func TestCheckForGitHub(t *testing.T) {
	broken := clitest.File(t, "a,b.yaml", strings.Replace(alone, "epsilon: 0.05", "epsilon: 100%", 1))
	want := "::error file=" + strings.Replace(broken, ",", "%2C", 1) +
		",line=13::streams[checkout].releases[p50].epsilon: " +
		"100%25 is not a number; write 1\n"
	if got := commandLine(t, "", "check", "--format", "github",
		broken); got != (outcome{code: cli.ExitInvalid, out: want}) {
		t.Errorf("%+v, want %s", got, want)
	}
	calm := strings.Replace(clitest.StreamsFile, "size: 15m", "size: 1h", 1)
	path := clitest.File(t, "s.yaml", calm)
	want = "::warning file=" + path + ",line=4::budgets[spare]: no stream uses it\n"
	if got := commandLine(t, "", "check", "--format", "github", path); got != (outcome{out: want}) {
		t.Errorf("%+v, want %s", got, want)
	}
	for _, format := range []string{"text", "json", "github"} {
		if got := commandLine(t, "", "check", "--strict", "--format", format, path); got.code != cli.ExitInvalid ||
			got.out == "" {
			t.Errorf("%s: %+v", format, got)
		}
		fine := clitest.File(t, "s.yaml", strings.Replace(alone, "size: 15m", "size: 1h", 1))
		if got := commandLine(t, "", "check", "--strict", "--format", format, fine); got.code != cli.ExitDone ||
			got.err != "" {
			t.Errorf("%s: %+v", format, got)
		}
	}
	// A warning hides no error of the cluster.
	lost := commandLine(t, "", "check", "--strict", "--connect", "--kafka-brokers", "a:99999", path)
	if lost.code != cli.ExitInvalid || !strings.Contains(lost.err, "99999 is not a port") {
		t.Errorf("%+v", lost)
	}
	var report struct {
		Warnings []string
		Details  []struct{ Key, Message string } `json:"warning_details"`
	}
	got := commandLine(t, "", "check", "--json", path)
	if err := json.Unmarshal([]byte(got.out), &report); err != nil || len(report.Warnings) != 1 ||
		len(report.Details) != 1 ||
		report.Details[0].Key != "budgets[spare]" || report.Details[0].Message != "no stream uses it" {
		t.Errorf("%v in %+v", err, report)
	}
}

// TestCheckOnChange: what a release on change costs and sees. A stream may have nothing else.
func TestCheckOnChange(t *testing.T) {
	t.Setenv("COLUMNS", "200")
	text := strings.NewReplacer("- {name: p50, statistic: median, epsilon: 0.05}", "- {name: calm, statistic: median, "+
		"epsilon: 0.05, publish: on_change, tolerance: 0.03, watch_epsilon: 0.1, at_most: 24}",
		"      - {name: users, statistic: count, epsilon: 0.02}\n", "").Replace(clitest.StreamsFile)
	path := clitest.File(t, "s.yaml", text)
	got := commandLine(t, "", "check", path)
	for _, want := range []string{
		"one user counts in 2 of 3 groups; budget shoppers pays\n",
		"its releases on change cost one user at most ε 3.7 in a period of the budget, besides the windows\n",
		"release calm (median) is redrawn in a group once its last value is no longer between the quantiles 0.47 and " +
			"0.53\n",
		"costs one user ε 0.15 until then: ε 0.1 for the test, ε 0.05 for the draw by margin\n",
		"this happens at most 24 times in a period of the budget: at most ε 3.7, with the first values\n",
		"error of a draw, 95 %: percentiles 41.7 to 55.5\n",
		" users of 5,000 expected are beyond the tolerance, the test sees it in the first window with a probability " +
			"of 95 %\n",
		"one person loses at most ε 3.7 in any 24 h, counting the windows that end in it\n",
	} {
		if got.code != cli.ExitDone || !strings.Contains(got.out, want) {
			t.Errorf("%q is not in\n%s%s", want, got.out, got.err)
		}
	}
	if got := commandLine(t, "", "plan", path); got.code != cli.ExitDone ||
		!strings.Contains(got.out, "release calm (median) is redrawn") ||
		strings.Contains(got.out, "you were in that window") {
		t.Errorf("plan says %s%s", got.out, got.err)
	}
	got = commandLine(t, "", "rules", path, "--above", "checkout/calm=5")
	if got.code == cli.ExitDone || !strings.Contains(got.err, "published on change and has no band") {
		t.Errorf("rules says %+v", got)
	}
	much := strings.Replace(text, "watch_epsilon: 0.1, at_most: 24", "watch_epsilon: 10.5, at_most: 2", 1)
	got = commandLine(t, "", "check", clitest.File(t, "s.yaml", much))
	if !strings.Contains(got.err, "streams[checkout].releases[calm].watch_epsilon: ε 10.5 hardly protects anyone") {
		t.Errorf("check warns of %s", got.err)
	}
}

// TestCheckWatches: what watches cost and see, and a warning of one that sees nothing.
func TestCheckWatches(t *testing.T) {
	const rarely = "false_alarms: {at_most: 0.05, per: 30d}, hold: 15m"
	watches := "    watches:\n      - {name: slow, above: 2000, more_than: 0.01, epsilon: 1, " + rarely +
		", at_most: 3}\n" +
		"      - {name: blind, below: 10, less_than: 0.005, epsilon: 0.5, " + rarely + ", at_most: 2}\n    output:"
	path := clitest.File(t, "s.yaml", strings.Replace(alone, "    output:", watches, 1))
	got := commandLine(t, "", "check", path)
	for _, want := range []string{
		"  its watches cost one user at most ε 4 in a period of the budget, besides the windows\n",
		"  watch slow fires if more than 1 % of the users have a value above 2000\n" +
			"    costs one user ε 1 until it fires, at most 3 times in a period of the budget\n",
		"    its margin of ", " keeps the probability of a false alarm in 30d at 5 % or less\n",
		" more users than that in one group, it fires in the first window with a probability of 95 %\n",
		" fewer users than that in one group, it fires in the first window with a probability of 95 %\n",
		"    of 5,000 expected users at most 4,950 can be too many: it misses even these with a probability of less " +
			"than 0.1 %\n",
		"the schedule needs ε 17.44\n  with delta: 0.000000001 and order: 13.87 in the budget, the schedule would need ε 6.557342\n" +
			"  one person loses at most ε 17.44 in any 24 h",
		// 97 windows and two of them again; eight times ε 1 for six instances and two of them again, and six times 0.5
		"falls into up to 97 windows, costing at most ε 24.86, with the watches that it touches\n",
	} {
		if got.code != cli.ExitDone || !strings.Contains(got.out, want) {
			t.Errorf("%q is not in\n%s%s", want, got.out, got.err)
		}
	}
	want := "streams[checkout].watches[blind]: at most 25 of 5,000 expected users can be too few, but "
	if others := withoutDays(got.err); !strings.Contains(others, want) || strings.Count(others, "\n") != 1 {
		t.Errorf("warnings %q, want one with %q", got.err, want)
	}
	var found struct {
		Streams []struct {
			Epsilon json.Number `json:"epsilon_of_watches"`
			Watches []struct {
				Watch  string   `json:"watch"`
				Excess float64  `json:"excess_95"`
				Missed *float64 `json:"missed"`
			} `json:"watches"`
		} `json:"streams"`
	}
	if err := json.Unmarshal([]byte(commandLine(t, "", "check", "--format", "json", path).out), &found); err != nil {
		t.Fatal(err)
	}
	s := found.Streams[0]
	if w := s.Watches[0]; s.Epsilon != "4" || len(s.Watches) != 2 || w.Watch != "slow" || w.Excess < 20 ||
		w.Missed == nil {
		t.Errorf("%+v", s)
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
