package main

import (
	"strings"
	"testing"

	"github.com/louver/louver/cmd/louver/internal/clitest"
)

// oneTotal is a streams file with one release.
const oneTotal = `version: 1
streams:
  - name: s
    input: {topic: in, user: user, value: ms}
    bounds: {lower: 0, upper: 60000, step: 1}
    window: {size: SIZE, grace: 2s}
    releases:
      - {RELEASE}
    output: {topic: out}
    budget: {epsilon: EPSILON, per: 24h}
`

// TestCheckWarnsOfTotals whose periods begin where no window does, also only after clocks have changed, and of those
// that protect hardly anyone.
func TestCheckWarnsOfTotals(t *testing.T) {
	t.Parallel()
	hourly := strings.NewReplacer("SIZE", "1h", "RELEASE", "name: today, statistic: count, since: midnight, zone: "+
		"ZONE, epsilon: 1", "EPSILON", "40").Replace(oneTotal)
	for _, c := range []struct{ zone, epsilon, want string }{
		{"Asia/Kolkata", "1", "releases[today].since: the day begins at 00:00 in Asia/Kolkata, and no window does, " +
			"so the total counts from 00:30 on; want windows of 30m or less, or another zone"},
		{"Australia/Lord_Howe", "1", "the day begins at 00:00 in Australia/Lord_Howe, and no window does"},
		{"Europe/Berlin", "11", "releases[today].epsilon: ε 11 hardly protects anyone"},
		{"Europe/Berlin", "1", ""},
		{"America/Havana", "1", ""}, // one day a year begins at 01:00
	} {
		file := clitest.File(t, "s.yaml", strings.NewReplacer("ZONE", c.zone, "epsilon: 1}", "epsilon: "+c.epsilon+"}").
			Replace(hourly))
		got := commandLine(t, "", "check", file)
		if of := strings.Contains(got.err, "releases[today]"); got.code != 0 || !strings.Contains(got.err, c.want) ||
			of != (c.want != "") {
			t.Errorf("%s: %d, %s; want %q", c.zone, got.code, got.err, c.want)
		}
	}
}
