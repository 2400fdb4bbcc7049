package main

import (
	"testing"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/cmd/louver/internal/clitest"
)

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
