package main

import (
	"strings"
	"testing"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/cmd/louver/internal/clitest"
)

// withObjective has a histogram of its own for an objective, and one for all that also has one.
const withObjective = `version: 1
streams:
  - name: web
    input: {topic: web.events, user: u, value: ms, time: t}
    unit: ms
    bounds: {lower: 0, upper: 60000, step: 1}
    expected_users: 1000
    window: {size: 1m, grace: 10s, start: now}
    releases:
      - {name: latency, statistic: histogram, buckets: {scale: 3}, epsilon: 0.1, rollup: [1h]}
      - {name: good, statistic: share, above: 800, from: latency, objective: 0.99}
      - {name: own, statistic: histogram, buckets: [800], epsilon: 0.1}
      - {name: slow, statistic: share, above: 800, from: own, objective: 0.999}
    output: {topic: web.private}
    budget: {epsilon: 400, per: 24h}
`

// What check says of an objective. The margins are about √2 times those of the vectors, 635 and 5102, because nothing
// is above 60000 but the bucket +Inf has its noise.
func TestCheckOfObjectives(t *testing.T) {
	t.Setenv("COLUMNS", "200")
	got := commandLine(t, "", "check", clitest.File(t, "s.yaml", withObjective))
	if got.code != cli.ExitDone {
		t.Fatalf("%+v", got)
	}
	good, slow, found := strings.Cut(got.out, "\n  objective web/slow: ")
	_, good, other := strings.Cut(good, "\n  objective web/good: ")
	if !found || !other {
		t.Fatalf("no objectives in\n%s", got.out)
	}
	for _, want := range []string{"at most 0.1 % of the users above 800 ms. louver rules --slo web/slow writes its " +
		"alerts:\n", "│ page   │ 1h, 5m  │ 1.44 %       │ 875 users                │ 3.32 %    │\n",
		"│ ticket │ 3d, 6h  │ 0.1 %        │ 7,207 users              │ 0.332 %   │\n", "    as long as none of the " +
			"longer stretches has more than 0.1 %, noise alone raises any of them in 30 days with a probability of at " +
			"most 5 %\n", "with 1,000 users in each window\n", "    its histogram serves nothing else"} {
		if !strings.Contains(slow, want) {
			t.Errorf("%q is not in\n%s", want, slow)
		}
	}
	for of, want := range map[string]bool{
		"a histogram of its own, with buckets: [800], would have 34 % of that noise": true,
		"serves nothing else": false} {
		if strings.Contains(good, of) != want {
			t.Errorf("%q: want %v in\n%s", of, want, good)
		}
	}
	for _, c := range []struct{ old, new, want string }{
		{"objective: 0.999", "objective: 0.001", "releases[slow].objective: with 0.001, up to 99.9 % of the users " +
			"may be above 800 ms; did you mean 0.999?"},
		{"expected_users: 1000", "expected_users: 2", "releases[slow].objective: with 2 expected users no alert can " +
			"be seen: the noise is larger than all of them; want more users, longer windows, a larger epsilon or " +
			"fewer buckets"},
	} {
		got := commandLine(t, "", "check", clitest.File(t, "s.yaml", strings.Replace(withObjective, c.old, c.new, 1)))
		if !strings.Contains(got.err, c.want) {
			t.Errorf("%q is not in\n%s", c.want, got.err)
		}
	}
	if !strings.Contains(commandLine(t, "", "check", clitest.File(t, "s.yaml", strings.Replace(withObjective,
		"expected_users: 1000", "expected_users: 10", 1))).out, "not visible") {
		t.Error("with 10 users everything is visible")
	}
}

func TestRulesOfObjectives(t *testing.T) {
	path := clitest.File(t, "s.yaml", withObjective)
	got := commandLine(t, "", "rules", path, "--slo", "web/slow", "--slo", "web/good", "--slo", "web/slow",
		"--false-pages", "0.01")
	if got.code != cli.ExitDone || got.err != "" || strings.Count(got.out, "alert: LouverObjectivePage") != 4 ||
		!strings.Contains(got.out, "with a probability of at most 1 %. This follows from the law of the noise.") {
		t.Errorf("%+v", got)
	}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--slo", "web"}, cli.ExitUsage, "louver: --slo web names no release; want STREAM/RELEASE"},
		{[]string{"--slo", "web/fast"}, cli.ExitInvalid,
			`louver: --slo web/fast: stream web has no objective "fast"; it has ` + "good, slow"},
		{[]string{"--slo", "web/slow", "--false-pages", "5"}, cli.ExitUsage,
			"louver: --false-pages 5; want a probability greater than 0 and less than 1, for example 0.05"},
	} {
		commandLine(t, "", append([]string{"rules", path}, c.args...)...).wants(t, c.code, c.want)
	}
}

// What check says of sums: the noise of twelve windows is √12 times that of one, and that of three groups √3 times.
func TestCheckOfSums(t *testing.T) {
	text := strings.NewReplacer("rollup: [1h]", "last: [12m]", "time: t}", "time: t, group: g}\n    groups: [eu, us, ap]\n"+
		"    together: all\n    max_groups: 2", "epsilon: 400", "epsilon: 800").Replace(withObjective)
	file := clitest.File(t, "s.yaml", text)
	for _, args := range [][]string{{"check", file}, {"plan", file}} {
		got := commandLine(t, "", args...)
		for _, want := range []string{
			"  latency.last_12m adds up the newest 12 windows, with every window and at no cost. Its noise is 3.5 times " +
				"that of one.\n",
			"  all adds up what was drawn for 3 groups, at no cost. Its noise is 1.7 times that of a stream without groups. " +
				"A user who is in several groups counts in each.\n"} {
			if !strings.Contains(got.out, want) {
				t.Errorf("%s: %q is not in\n%s%s", args[0], want, got.out, got.err)
			}
		}
	}
}
