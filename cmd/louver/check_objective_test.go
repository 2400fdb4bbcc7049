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
