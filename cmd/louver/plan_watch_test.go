package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/cmd/louver/internal/clitest"
)

func TestPlanWatch(t *testing.T) {
	bounds := []string{"plan", "--lower", "0", "--upper", "60000", "--step", "1", "--window", "1m", "--watch",
		"above: 2000, more_than: 0.01"}
	got := commandLine(t, "", bounds...)
	if got.code != 0 || got.err != "" {
		t.Fatalf("%+v", got)
	}
	for _, want := range []string{"above: 2000, more_than: 0.01, in windows of 1m; a false alarm in 30d has a " +
		"probability of at most 5 %\n", "│ 0.1              │ 180.6 users │ 265 users too many   │",
		"│ 1                │ 18.1 users  │ 26.5 users too many  │"} {
		if !strings.Contains(got.out, want) {
			t.Errorf("%s\nwithout %q", got.out, want)
		}
	}
	var planned struct {
		Plans []struct {
			Excess       float64 `json:"excess_95"`
			Most, Missed *float64
		}
	}
	got = commandLine(t, "", append(bounds, "--users", "20", "--epsilon", "1", "--json")...)
	if err := json.Unmarshal([]byte(got.out), &planned); err != nil || len(planned.Plans) != 1 {
		t.Fatalf("%+v: %v", got, err)
	}
	// Of 20 users 19.8 can be too many at most, which is less than what is seen with 95 %.
	if p := planned.Plans[0]; p.Excess != 26.51 || *p.Most != 19.8 || *p.Missed < 0.05 || *p.Missed > 0.6 {
		t.Errorf("%s", got.out)
	}
	// Without a threshold there are no values, and no bounds.
	if got := commandLine(t, "", "plan", "--watch", "users_below: 500", "--users", "500"); got.code != 0 ||
		!strings.Contains(got.out, "500 users") {
		t.Errorf("%+v", got)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"plan", "--watch", "above: 500, users: 3"},
			"louver: --watch without --lower, --upper and --step; want the public bounds"},
		{append(bounds, "--error", "3"), "louver: --watch with --error; want one of the two"},
		{append(bounds, "streams.yaml"), "louver: --watch with a streams file; want one of the two"},
		{append(bounds, "--epsilon", "0"), "louver: --epsilon 0; want a number greater than 0"},
		{append(bounds, "--per", "1s"), "louver: --window 1m0s, --per 1s"},
		{append(bounds, "--watch", "above: 5"), `louver: --watch "above: 5"; want above or below with`},
	} {
		commandLine(t, "", c.args...).wants(t, cli.ExitUsage, c.want)
	}
}

// TestPlanOfAFileWithWatches: they are forecast for the number of users that is asked for.
func TestPlanOfAFileWithWatches(t *testing.T) {
	text := strings.Replace(clitest.StreamsFile, "    output:",
		"    watches:\n      - {name: slow, above: 2000, more_than: 0.01, "+
			"epsilon: 1, false_alarms: {at_most: 0.05, per: 30d}, hold: 15m, at_most: 3}\n    output:", 1)
	got := commandLine(t, "", "plan", "--users", "10", clitest.File(t, "s.yaml", text))
	for _, want := range []string{
		"\n  watch slow fires if more than 1 % of the users have a value above 2000\n" +
			"    costs one user ε 1 until it fires, at most 3 times in a period of the budget\n",
		"    of 10 expected users at most 9.9 can be too many: it misses even these with a probability of 99.",
		"one person loses at most ε 16.44 in any 24 h",
	} {
		if got.code != cli.ExitDone || !strings.Contains(got.out, want) {
			t.Errorf("%q is not in\n%s%s", want, got.out, got.err)
		}
	}
}
