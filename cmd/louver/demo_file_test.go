package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/cmd/louver/internal/clitest"
)

// A file without numbers can be tried, and what try then says to do works: its events can be sent, and a stream of them
// counts them.
func TestAFileWithoutNumbers(t *testing.T) {
	var text strings.Builder
	text.WriteString("ts,user_id\n")
	first := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	for i := range 5000 {
		fmt.Fprintf(&text, "%s,u%d\n", first.Add(time.Duration(i)*time.Minute).Format(time.RFC3339), i%200)
	}
	path := clitest.File(t, "visits.csv", text.String())
	tried := commandLine(t, "", "try", path, "--out", filepath.Join(t.TempDir(), "streams.yaml"))
	said := tried.out + tried.err
	_, command, found := strings.Cut(said, "  louver replay ")
	command, _, _ = strings.Cut(command, "\n  louver run")
	if tried.code != cli.ExitDone || !found {
		t.Fatalf("%+v", tried)
	}
	args := append([]string{"replay"}, strings.Fields(strings.ReplaceAll(command, "\\\n", " "))...)
	got := commandLine(t, "", append(args, "--dry-run")...)
	if want := "# Would send 5000 events to visits.events. This input, in a stream of a streams file, reads them:\n" +
		"input:\n  topic: visits.events\n  format: json\n  user: user_id\n  time: ts\n" +
		"# contribution: count   the events have no value, so a user counts with how many they send.\n"; got.err != "" ||
		got.code != cli.ExitDone || !strings.HasPrefix(got.out, want) {
		t.Errorf("louver %s: %+v; want %s", args, got, want)
	}
}

// What is wrong is said in one line.
func TestDemoFileMistakes(t *testing.T) {
	people := clitest.File(t, "people.csv", "who,what,when\na,x,2015-05-17\nb,y,2015-05-18\n")
	sound := []string{"--csv", clitest.File(t, "sound.csv", "who,what,when\na,1,2015-05-17\nb,2,2015-05-18\n"),
		"--user", "who", "--value", "what", "--time", "when"}
	for _, c := range []struct {
		code int
		want string
		args []string
	}{
		{cli.ExitUsage, "louver: --csv " + people + " without --time; want the column of times, because a demo shows " +
			"windows. For a file without times: louver release " + people + " ", []string{"--csv", people}},
		{cli.ExitUsage, "louver: --user, --value missing", []string{"--csv", people, "--time", "when"}},
		{cli.ExitUsage, `louver: --user "who" without --csv`, []string{"--user", "who"}},
		{cli.ExitUsage, `louver: --contribution "sum" without --csv`, []string{"--contribution", "sum"}},
		{cli.ExitUsage, "louver: --value what with --contribution count, which counts events whatever their values; " +
			"want --contribution sum, or no --value", append(sound[:len(sound):len(sound)], "--contribution", "count")},
		{cli.ExitUsage, "louver: --window 1.5s; want whole seconds", []string{"--csv", people, "--user", "who",
			"--value", "what", "--time", "when", "--window", "1.5s"}},
		{cli.ExitInvalid, "louver: " + people +
			":2: what is missing or not a number such as 12 or -3.5, and no other line can be used either",
			[]string{"--csv", people, "--user", "who", "--value", "what", "--time", "when"}},
		{cli.ExitInvalid, "louver: " + people + `:1: time "day" is not in the header; want one of who, what, when`,
			[]string{"--csv", people, "--user", "who", "--value", "what", "--time", "day"}},
		{cli.ExitUsage, "louver: --upper 5; want more than lower, which is 10", append(sound[:len(sound):len(sound)],
			"--lower", "10", "--upper", "5")},
		{cli.ExitUsage, "louver: --epsilon 0; want a number greater than 0", append(sound[:len(sound):len(sound)],
			"--epsilon", "0")},
		{cli.ExitInvalid, "louver: --csv none.csv: no such file; want a CSV or JSON-lines file",
			[]string{"--csv", "none.csv", "--user", "who", "--value", "what", "--time", "when"}},
	} {
		commandLine(t, "", append([]string{"demo"}, c.args...)...).wants(t, c.code, c.want)
	}
}
