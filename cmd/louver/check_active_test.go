package main

import (
	"strings"
	"testing"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/cmd/louver/internal/clitest"
)

// What check says of a number of active users. Where there are groups, users are remembered until they have been away
// from one for 24 hours, which is 288 windows: 1,000 users of 291 windows in two groups take 50 bytes each, and a quarter
// more until those who are gone are forgotten.
func TestCheckOfActiveUsers(t *testing.T) {
	t.Setenv("COLUMNS", "200")
	const file = `version: 1
streams:
  - name: web
    input: {topic: web.events, user: u, value: ms, time: t, group: g}
    groups: [eu, us]
    unit: ms
    bounds: {lower: 0, upper: 60000, step: 1}
    expected_users: 1000
    window: {size: 5m, grace: 10s, start: now}
    releases:
      - {name: now, statistic: count, epsilon: 1, active: 15m}
    output: {topic: web.private}
    budget: {epsilon: 4, per: 72h}
`
	alone := strings.NewReplacer(", group: g}", "}", "    groups: [eu, us]\n", "").Replace(file)
	for name, c := range map[string]struct {
		file string
		says []string
	}{
		"alone": {alone, []string{
			"active now counts users seen in the last 15m, a value every 5m, drawn by centred: ± 483 users at any time; " +
				"one by one at the same cost it would be ± 863 users\n",
			"costs one user ε 1 in any 24 h, whenever these begin; a budget of 3d holds 3 of these: at most ε 3\n",
			"one person loses at most ε 3 in any 3d, counting", "one person loses at most ε 1 in any 24 h, counting",
			"remembering who was seen takes up to 146.5 KiB if each window has 1,000 users of its own\n"}},
		"in groups": {file, []string{"a user keeps a group until 24 h without it",
			"remembering who was seen takes up to 34.6 MiB if each window has 1,000 users of its own\n"}},
	} {
		got := commandLine(t, "", "check", clitest.File(t, "s.yaml", c.file))
		if got.code != cli.ExitDone {
			t.Fatalf("%s: %+v", name, got)
		}
		for _, want := range c.says {
			if !strings.Contains(got.out, want) {
				t.Errorf("%s: %q is not in\n%s", name, want, got.out)
			}
		}
	}
}
