package main

import (
	"strings"
	"testing"

	"github.com/louver/louver/cmd/louver/internal/clitest"
)

// TestPlanOfTotals forecasts totals from flags alone: a day of quarters of an hour is off by 24 users at ε 1.
func TestPlanOfTotals(t *testing.T) {
	t.Parallel()
	bounds := []string{"--lower", "0", "--upper", "100", "--step", "1"}
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"--window", "15m", "--epsilon", "1"}, []string{"counts users, each once, since midnight",
			"usually 96 each day", "± 15 users", "± 21 users", "± 24 users", "± 25 users"}},
		// What it costs: with max_groups, and of a mechanism without any pure ε with a δ.
		{[]string{"--window", "15m", "--epsilon", "1", "--max-groups", "2"}, []string{"a user loses", "│ 1 │ ε 2 "}},
		{[]string{"--window", "15m", "--epsilon", "1", "--mechanism", "square_root"}, []string{"│ 1 │ ε 6.491248 ",
			"It is not ε-private. It costs ρ = ε²/2", "a δ of 0.000000001"}},
		{[]string{"--window", "15m", "--epsilon", "1", "--mechanism", "square_root", "--json"}, []string{
			`"kind": "zcdp"`, `"rho": 0.5`, `"epsilon_lost": 6.491248`, `"delta_lost": 0.000000001`}},
		{[]string{"--window", "15m", "--error", "20"}, []string{" 1.3 ", "± 18 users", "± 19 users",
			"more than 20 users"}},
		{[]string{"--window", "15m", "--update", "1h", "--epsilon", "1", "--max-total", "5"},
			[]string{"counts visits, of each user in at most 5 windows", "usually 24 each day", "± 74 visits"}},
		{append(bounds, "--above", "80", "--window", "15m", "--epsilon", "1"), []string{"value above 80", "± 24 users"}},
		{append(bounds, "--statistic", "sum", "--max-total", "500", "--epsilon", "1"),
			[]string{"adds up values", "± 7,345"}},
		// Of a distribution also how many users its quantiles need, which check says as well.
		{append(bounds, "--statistic", "histogram", "--buckets", "10,20,50", "--window", "15m", "--epsilon", "1",
			"--users", "5000"), []string{"counts users in 5 buckets by their first value, each once, since midnight",
			"the number of all users", "of the day, quantiles from it are rough / useful", "users on, and what they are with 5,000:",
			"180 / 830: useful", "600 / 3,000: useful", "6,000 / 30,000: noise"}},
		{append(bounds, "--statistic", "histogram", "--buckets", "10,20,50", "--window", "15m", "--epsilon", "1",
			"--json"), []string{`"statistic": "histogram"`, `"release": "p99"`, `"rough_from": 6000`,
			`"useful_from": 30000`}},
		{append(bounds, "--statistic", "histogram", "--buckets", "10,20,50", "--window", "15m", "--epsilon", "1",
			"--max-total", "5"), []string{"counts visits in 5 buckets, of each user in at most 5 windows", "the number of all visits",
			"910 / 4,200"}},
	} {
		got := commandLine(t, "", append([]string{"plan", "--since", "midnight"}, c.args...)...)
		for _, want := range c.want {
			if got.code != 0 || !strings.Contains(got.out, want) {
				t.Errorf("%s: %q is missing in\n%s%s", c.args, want, got.out, got.err)
			}
		}
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--since", "noon"}, "--since noon; want hour, midnight, monday or month"},
		{[]string{"--since", "hour", "--window", "7m", "--update", "15m"}, "want at least 1s, and a multiple of " +
			"--window up to 1h"},
		{[]string{"--since", "midnight", "--error", "0.1"}, "--error 0.1 is out of reach"},
		{[]string{"--since", "midnight", "--error", "2%"},
			"--error 2% with --since; want a number of users, such as 20"},
		{[]string{"--since", "midnight", "--statistic", "median"}, "--statistic median; want --statistic count, sum or histogram"},
		{[]string{"--since", "midnight", "--statistic", "sum"}, "--since without --lower, --upper and --step"},
		{[]string{"--since", "midnight", "--watch", "users_below: 5"}, "--since with --watch"},
		{[]string{"--since", "midnight", "--statistic", "histogram"}, "--statistic histogram without --buckets; want"},
		{[]string{"--since", "midnight", "--statistic", "histogram", "--buckets", "1,2"},
			"--since without --lower, --upper and --step"},
		{[]string{"--since", "midnight", "--buckets", "1,2"}, "--buckets with --statistic count; want it with histogram"},
		{append(bounds, "--since", "midnight", "--statistic", "histogram", "--buckets", "10", "--users", "-1"),
			"--users -1; want at least 1"},
		{[]string{"--update", "1h"}, "--max-total or --update without --since"},
	} {
		if got := commandLine(t, "", append([]string{"plan"}, c.args...)...); got.code != 2 ||
			!strings.Contains(got.err, c.want) {
			t.Errorf("%s: code %d, %s; want %q", c.args, got.code, got.err, c.want)
		}
	}
}

// TestCheckOfTotals says of a total what it costs and how exact it is.
func TestCheckOfTotals(t *testing.T) {
	t.Parallel()
	file := clitest.File(t, "streams.yaml", `version: 1
streams:
  - name: s
    input: {topic: in, user: user, value: ms}
    bounds: {lower: 0, upper: 60000, step: 1}
    expected_users: 2000
    window: {size: 15m, grace: 10s}
    releases: [{name: today, statistic: count, above: 800, since: midnight, zone: Europe/Berlin, epsilon: 1}]
    output: {topic: out}
    budget: {epsilon: 3, per: 24h}
`)
	got := commandLine(t, "", "check", file)
	for _, want := range []string{"total today counts users with a value above 800, each once, since midnight " +
		"(Europe/Berlin)", "usually 96 each day, drawn by tree", "± 15 users after a quarter",
		"± 24 users at the end; never more than ± 25 users", "costs one user ε 1 in each day",
		"any 24h touches up to 2 days, or 3 where one is shorter", "at most ε 3", "97.7 KiB if the same 2,000 users"} {
		if !strings.Contains(got.out, want) {
			t.Errorf("%q is missing in\n%s%s", want, got.out, got.err)
		}
	}
}

// TestCheckOfVisits: where a user may count in several windows, numbers are of visits, and so are those that quantiles
// need.
func TestCheckOfVisits(t *testing.T) {
	t.Parallel()
	for unit, most := range map[string]string{"users": "", "visits": "max_total: 5, "} {
		file := clitest.File(t, "streams.yaml", strings.NewReplacer("SIZE", "15m", "RELEASE", "name: today, statistic: "+
			"histogram, since: midnight, "+most+"buckets: [10, 50], epsilon: 1}\n      - {name: p99, statistic: quantile, "+
			"p: 0.99, from: today", "EPSILON", "3").Replace(oneTotal))
		got := commandLine(t, "", "check", file)
		for _, want := range []string{"counts " + unit + " in 4 buckets", "of the number of all " + unit,
			" " + unit + " so far, and useful from about "} {
			if got.code != 0 || !strings.Contains(got.out, want) {
				t.Errorf("%s: %q is missing in\n%s%s", unit, want, got.out, got.err)
			}
		}
	}
}

// TestCheckWithHardlyAnyNoise: an ε without privacy is allowed, as for a test of one's own. Then one user is enough.
func TestCheckWithHardlyAnyNoise(t *testing.T) {
	t.Parallel()
	file := clitest.File(t, "streams.yaml", strings.NewReplacer("SIZE", "15m", "RELEASE", "name: today, statistic: "+
		"histogram, since: midnight, buckets: [10, 50], epsilon: 1000000}\n      - {name: p99, statistic: quantile, "+
		"p: 0.99, from: today", "EPSILON", "3000000").Replace(oneTotal))
	got := commandLine(t, "", "check", file)
	if want := "p99 is useful from the first of the users on"; got.code != 0 || !strings.Contains(got.out, want) {
		t.Errorf("%q is missing in\n%s%s", want, got.out, got.err)
	}
}

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

// TestCheckOfTotalsThatAreWithheld: a budget that may withhold pays for some periods. How many, check says.
func TestCheckOfTotalsThatAreWithheld(t *testing.T) {
	t.Parallel()
	hourly := strings.NewReplacer("SIZE", "10s", "RELEASE", "name: hourly, statistic: count, since: hour, epsilon: 0.4",
		"EPSILON", "1", "    budget:", "    on_exhausted: withhold\n    budget:").Replace(oneTotal)
	const watch = "    watches: [{name: few, users_below: 500, epsilon: 0.2, false_alarms: {at_most: 0.05, per: " +
		"30d}, hold: 1h, at_most: 7}]\n    output:"
	for _, c := range []struct{ old, new, want string }{
		{"", "", "  pays for 2 of 25 periods of hourly in any 24h, and withholds what it cannot pay for\n"},
		{"0.4}", "0.4}\n      - {name: users, statistic: count, epsilon: 0.001}",
			"  pays for 2 of 25 periods of hourly in any 24h, if nothing else is charged, and withholds"},
		{"    output:", watch, "  pays for 2 of 25 periods of hourly and 5 of 7 instances of few in any 24h, if " +
			"nothing else is"},
		{"24h", "forever", "  pays for 2 periods of hourly in all, and withholds what it cannot pay for\n"},
		{"epsilon: 0.4", "epsilon: 0.04", "  lasts for ever\n"},
		{"0.4}", "0.04}\n      - {name: users, statistic: count, epsilon: 0.001}",
			"  pays for no window besides the running totals at their most, and withholds what it cannot pay for\n"},
		{"0.4}", "0.038}\n      - {name: users, statistic: count, epsilon: 0.001}",
			"  lasts 8m30s: it pays for 50 windows besides the running totals at their most and withholds those"},
	} {
		file := clitest.File(t, "s.yaml", strings.Replace(hourly, c.old, c.new, 1))
		if got := commandLine(t, "", "check", file); !strings.Contains(got.out, c.want) {
			t.Errorf("%s → %s: %q is missing in\n%s%s", c.old, c.new, c.want, got.out, got.err)
		}
	}
}

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
