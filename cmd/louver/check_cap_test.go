package main

import (
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
