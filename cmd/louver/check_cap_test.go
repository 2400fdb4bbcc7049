package main

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/cmd/louver/internal/clitest"
)

const cappedFile = `version: 1
streams:
  - name: visits
    input: {topic: visits, user: user, value: ms}
    max_windows: {count: 9, per: 24h}
    bounds: {lower: 0, upper: 60000, step: 1}
    expected_users: 400
    window: {size: 1m, grace: 10s}
    releases:
      - {name: users, statistic: count, epsilon: 0.25}
    output: {topic: visits.private}
    budget: {epsilon: 2, per: 24h}
`

// A budget of eight windows pays for all minutes, since nobody counts in more. The ninth that the file allows is in no
// block.
func TestCheckUnderACap(t *testing.T) {
	t.Setenv("COLUMNS", "200")
	path := clitest.File(t, "s.yaml", cappedFile)
	got := commandLine(t, "", "check", path)
	if got.code != cli.ExitDone || got.err != "" {
		t.Fatalf("%+v", got)
	}
	for _, want := range []string{
		"400 users expected to count in a window and group\n",
		"  one user counts in the one group and can lose ε 0.25 in a window; budget visits pays\n" +
			"  what one user sends in one window changes up to 2, because without it they may count in a later one: " +
			"at most ε 0.5\n    of 100 guesses whether you were in that window, at most 63 are right\n",
		"one user counts in at most 8 windows of any 24h: in each stretch of 8h1m, the first 2 in which they appear\n",
		"of the users who are there in every window, one in 241 counts in each; those who come rarely all count\n",
		"cost one user at most ε 2; the schedule needs ε 2\n",
		"one person loses at most ε 2 in any 24 h, counting the windows that end in it\n",
		"  lasts for ever\n",
	} {
		if !strings.Contains(got.out, want) {
			t.Errorf("%q is not in\n%s", want, got.out)
		}
	}
	uneven := strings.NewReplacer("per: 24h}\n    bounds", "per: 10h}\n    bounds", "epsilon: 2, per",
		"epsilon: 6, per").Replace(cappedFile)
	// three periods of 10 h
	if got, want := commandLine(t, "", "check", clitest.File(t, "uneven.yaml", uneven)), "the schedule needs ε 6\n"+
		// nine blocks of a third of it
		"  one person loses at most ε 4.5 in any 24 h, counting the windows that end in it\n"+
		"    of 100 guesses whether you were there, at most 99 are right\n"+
		"  what one user does in any 24h falls into up to 1,441 windows, together with later ones in which that "+
		"user counts instead, costing at most ε 5\n  the schedule needs more than that because the budget counts "+
		"max_windows in whole periods, and rounds up\n"; !strings.Contains(got.out, want) {
		t.Errorf("%q is not in %+v", want, got)
	}
	var report struct {
		Streams []struct {
			MaxWindows struct {
				Count, Each int64
				Per, Block  string
				Share       float64
			} `json:"max_windows"`
		}
	}
	if err := json.Unmarshal([]byte(commandLine(t, "", "check", "--format", "json", path).out), &report); err != nil {
		t.Fatal(err)
	}
	if m := report.Streams[0].MaxWindows; m.Count != 8 || m.Per != "24h" || m.Each != 2 || m.Block != "8h1m" ||
		m.Share != 2.0/481 {
		t.Errorf("max_windows %+v", m)
	}
	once := strings.Replace(cappedFile, "count: 9", "count: 4", 1)
	if got, want := commandLine(t, "", "check", clitest.File(t, "once.yaml", once)),
		"of any 24h: in each stretch of 8h1m, the first one in which they appear\n"; !strings.Contains(got.out, want) {
		t.Errorf("%q is not in\n%s", want, got.out)
	}
	all := strings.Replace(cappedFile, "    max_windows: {count: 9, per: 24h}\n", "", 1)
	if got := commandLine(t, "", "check", clitest.File(t, "all.yaml", all)); got.code != cli.ExitInvalid ||
		!strings.Contains(got.err, "pays for only 8 windows of the schedule; want an epsilon of at least 360") {
		t.Errorf("without the cap: %+v", got)
	}
}

// Watches and figures on change look at everybody, but expected_users says who still counts.
func TestCheckWhoIsExpected(t *testing.T) {
	t.Setenv("COLUMNS", "200")
	const watch = "    watches: [{name: gone, users_below: 250, epsilon: 0.1, false_alarms: {at_most: 0.05, per: " +
		"30d}, hold: 1h, at_most: 1}]\n    output"
	const steady = "      - {name: p50, statistic: median, epsilon: 0.1, publish: on_change, tolerance: 0.03, " +
		"watch_epsilon: 0.1, at_most: 2}\n    output"
	larger := strings.Replace(cappedFile, "epsilon: 2, per", "epsilon: 900, per", 1)
	for _, c := range []struct{ what, line, warning string }{
		{watch, "the watch looks at everybody, so it sees more\n", ", or a stream of its own: a watch looks at " +
			"everybody, and with max_windows expected_users is only those who still count\n"},
		{steady, "", "or longer windows, or a stream of its own without max_windows, whose expected_users are " +
			"everybody\n"},
	} {
		capped := strings.Replace(larger, "    output", c.what, 1)
		for _, everybody := range []bool{false, true} {
			text := capped
			if everybody {
				text = strings.Replace(capped, "    max_windows: {count: 9, per: 24h}\n", "", 1)
			}
			got := commandLine(t, "", "check", clitest.File(t, "s.yaml", text))
			if strings.Contains(got.out, c.line) == everybody && c.line != "" ||
				strings.Contains(got.err, c.warning) == everybody {
				t.Errorf("everybody counts %v: %+v\nwant %q and %q", everybody, got, c.line, c.warning)
			}
		}
	}
}

func TestPlanUnderACap(t *testing.T) {
	got := commandLine(t, "", "plan", clitest.File(t, "s.yaml", cappedFile))
	if want := "one person loses at most ε 2 in any 24 h, counting the windows that end in it\n    of 100 guesses " +
		"whether you were there, at most 89 are right\n"; !strings.Contains(got.out, want) {
		t.Errorf("%q is not in %+v", want, got)
	}
}

// With a margin larger than the number of users, a watch for few users is silent even if nobody is there.
func TestCheckRefusesABlindWatch(t *testing.T) {
	t.Setenv("COLUMNS", "200")
	watching := func(users string) outcome {
		text := strings.NewReplacer("epsilon: 2, per", "epsilon: 900, per", "    output",
			"    watches: [{name: gone, users_below: "+users+", epsilon: 0.5, false_alarms: {at_most: 0.05, per: "+
				"30d}, hold: 1h, at_most: 1}]\n    output").Replace(cappedFile)
		return commandLine(t, "", "check", clitest.File(t, "s.yaml", text))
	}
	got := watching("20")
	_, least, found := strings.Cut(got.err, "so the watch stays silent even if nobody is there; want at least ")
	if least, _, _ = strings.Cut(least, ","); got.code != cli.ExitInvalid || !found ||
		!strings.Contains(got.err, "streams[visits].watches[gone].users_below: 20 is less than the margin of") {
		t.Fatalf("%+v", got)
	}
	n, err := strconv.Atoi(least)
	if err != nil {
		t.Fatal(err)
	}
	if got := watching(least); got.code != cli.ExitDone {
		t.Errorf("%d: %+v", n, got)
	}
	if got := watching(strconv.Itoa(n - 1)); got.code != cli.ExitInvalid {
		t.Errorf("%d: %+v", n-1, got)
	}
}
