package main

import (
	"strings"
	"testing"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/cmd/louver/internal/clitest"
)

// withoutDays leaves out the warnings of what a day costs.
func withoutDays(warnings string) (others string) {
	for line := range strings.Lines(warnings) {
		if !strings.Contains(line, " in any 24 h: ") {
			others += line
		}
	}
	return others
}

// A day in which all of 100 guesses may be right is warned of, and one in which only 99 may be is not. ln 99 is 4.5951,
// and an hour costs each of two groups ε and 0.02.
func TestCheckWarnsOfADay(t *testing.T) {
	const limit = "epsilon: 24, per: 24h"
	for _, c := range []struct{ name, size, epsilon, budget, want string }{
		{"hardly below", "1h", "0.0757", limit, ""}, // 24 · 2 · 0.0957 = 4.5936
		{"hardly above", "1h", "0.0758", limit, "one person can lose ε 4.5984 in any 24 h: of 100 guesses"},
		{"another period", "15m", "0.05", "epsilon: 1, per: 1h", "one person can lose ε 13.44 in any 24 h: of 100 " +
			"guesses"},
		{"a δ with room", "15m", "0.05", "epsilon: 24, delta: 0.000000001, per: 24h", ""}, // ε 2.7
		{"a δ", "15m", "0.05", "epsilon: 3, delta: 0.000000001, per: 24h", ""},
	} {
		text := strings.NewReplacer("size: 15m", "size: "+c.size, "epsilon: 0.05", "epsilon: "+c.epsilon, limit,
			c.budget).Replace(alone)
		got := commandLine(t, "", "check", clitest.File(t, "s.yaml", text))
		if got.code != cli.ExitDone || !strings.Contains(got.err, c.want) || (c.want == "") != (got.err == "") {
			t.Errorf("%s: %d, %q, want %q", c.name, got.code, got.err, c.want)
		}
	}
}

func TestCheckWarnings(t *testing.T) {
	for edit, want := range map[string]string{
		"epsilon: 0.05": "",
		"epsilon: 11":   `:13: warning: streams[checkout].releases[p50].epsilon: ε 11 hardly protects anyone; want 1 or less`,
		"epsilon: 5.1": `:5: warning: streams[checkout]: one window costs a user ε 10.24, which hardly protects anyone; ` +
			`want fewer or cheaper releases, or max_groups below 2, which multiplies their cost`,
		"epsilon: 0.001": `:13: warning: streams[checkout].releases[p50]: the error can reach `,
	} {
		text := strings.NewReplacer("epsilon: 0.05", edit, "epsilon: 24, per", "epsilon: 100000, per").Replace(alone)
		got := commandLine(t, "", "check", clitest.File(t, "s.yaml", text))
		others := withoutDays(got.err)
		if got.code != cli.ExitDone || !strings.Contains(others, want) || (want == "") != (others == "") {
			t.Errorf("%s: %+v", edit, got)
		}
	}
}

// Points of a cumulative sum are skipped, so a stream of metrics needs no warning. One that asks for them and adds them
// up does.
func TestCheckWarnsOfTotalsThatAreAddedUp(t *testing.T) {
	const asks, said = ", metric.aggregation_temporality: ", "adds up points of a cumulative sum, each of which is a total"
	for _, c := range []struct{ where, adds, want string }{
		{"", "", ""},
		{"", "sum", ""},
		{asks + "cumulative", "", ""},
		{asks + "delta", "sum", ""},
		{asks + "cumulative", "sum", said},
		{asks + "[delta, cumulative]", "sum", said},
	} {
		text := strings.NewReplacer("size: 15m", "size: 1h", "user: user_id, value: latency_ms", "format: otlp_metrics, "+
			"user: user.id, where: {metric.name: steps"+c.where+"}").Replace(alone)
		if c.adds != "" {
			text = strings.Replace(text, "    bounds:", "    contribution: "+c.adds+"\n    bounds:", 1)
		}
		got := commandLine(t, "", "check", "--strict", clitest.File(t, "s.yaml", text))
		if (got.code == cli.ExitDone) != (c.want == "") || !strings.Contains(got.err, c.want) ||
			c.want == "" && got.err != "" {
			t.Errorf("%+v: %+v", c, got)
		}
	}
}

// A sum of one value of each user, or of their means, is not what most people want who add up. Who writes last means it.
func TestCheckWarnsOfSumsThatAreNoTotals(t *testing.T) {
	for _, c := range []struct{ contribution, want string }{
		{"", "contribution: missing, so x adds up only the last value of each user; want sum to add up all values, or last " +
			"if that is meant"},
		{"last", ""},
		{"sum", ""},
		{"mean", "contribution: mean, so x adds up the users' means, however many values they have; want sum to add up all values, or " +
			"statistic: mean"},
	} {
		for _, release := range []string{"clip: none", "since: midnight, max_total: 60000"} {
			text := strings.Replace(alone, "{name: p50, statistic: median, epsilon: 0.05}",
				"{name: x, statistic: sum, "+release+", epsilon: 0.1}", 1)
			if c.contribution != "" {
				text = strings.Replace(text, "    bounds:", "    contribution: "+c.contribution+"\n    bounds:", 1)
			}
			others := withoutDays(commandLine(t, "", "check", clitest.File(t, "s.yaml", text)).err)
			if strings.Contains(others, "contribution: ") != (c.want != "") || !strings.Contains(others, c.want) {
				t.Errorf("%q, %s: %q, want %q", c.contribution, release, others, c.want)
			}
		}
	}
}

// Windows and roll-ups of whole weeks begin on Thursdays, which few people expect.
func TestCheckWarnsOfWeeks(t *testing.T) {
	const drawn = "      - {name: p50, statistic: median, epsilon: 0.05}\n"
	const histogram = "      - {name: h, statistic: histogram, epsilon: 0.05, buckets: [100, 1000], rollup: [1d, 7d]"
	for _, c := range []struct{ old, edit, want string }{
		{"size: 15m", "size: 1d", ""},
		{"size: 15m", "size: 7d", "streams[checkout].window: windows of whole weeks begin on Thursdays at 00:00 UTC, as 1 " +
			"January 1970 did; for weeks from Monday, want a running total with since: monday"},
		{drawn, drawn + histogram + "}\n", "streams[checkout].releases[h].rollup: 7d begins on Thursdays at 00:00 UTC, " +
			"as 1 January 1970 did; for weeks from Monday, want a running total with since: monday, or add up 1d yourself"},
		{drawn, drawn + histogram + ", zone: Europe/Berlin}\n", "streams[checkout].releases[h].rollup: 7d begins on " +
			"Thursdays at 00:00 Europe/Berlin, as 1 January 1970 did; for weeks from Monday, want a running total with " +
			"since: monday, or add up 1d yourself"},
	} {
		text := strings.NewReplacer(c.old, c.edit, "epsilon: 24, per: 24h", "epsilon: 100000, per: 30d").Replace(alone)
		got := commandLine(t, "", "check", clitest.File(t, "s.yaml", text))
		if got.code != cli.ExitDone || strings.Count(got.err, "Thursdays") != min(1, len(c.want)) ||
			!strings.Contains(got.err, c.want) {
			t.Errorf("%s: %+v, want %q", c.edit, got, c.want)
		}
	}
}

// TestCheckWarningsOfKeys: what is allowed in max_windows, watches and releases on change, and seldom intended.
func TestCheckWarningsOfKeys(t *testing.T) {
	const watch = "    watches:\n      - {name: slow, above: 2000, more_than: 0.01, epsilon: 1, " +
		"false_alarms: {at_most: 0.05, per: 30d}, hold: 15m, at_most: 3}\n"
	const calm = "      - {name: calm, statistic: median, epsilon: 0.05, publish: on_change, tolerance: 0.03, " +
		"watch_epsilon: 0.1, at_most: 24}\n"
	const drawn = "      - {name: p50, statistic: median, epsilon: 0.05}\n      - {name: users, statistic: count, " +
		"epsilon: 0.02}\n"
	text := strings.NewReplacer(drawn, drawn+calm, "    output:",
		watch+"    max_windows: {count: 8, per: 24h}\n    output:").Replace(alone)
	const condition = "above: 2000, more_than: 0.01"
	const own = ", or a stream of its own: a watch looks at everybody, and with max_windows expected_users is only " +
		"those who still count"
	for _, c := range []struct{ old, edit, key, want string }{
		{"", "", "", ""},
		{condition, "users_below: 5001", "watches[slow].users_below",
			"5,001 is more than the 5,000 expected users, so the watch fires without cause; want a smaller number" + own},
		{condition, "above: 2000, users: 6000", "watches[slow]",
			"it can never fire, because 5,000 users are expected; want a condition that fewer users can meet" + own},
		{"per: 30d}, hold", "per: 30s}, hold", "watches[slow].false_alarms",
			"noise alone may raise this alarm 144 times in 30 days, and each time costs ε 1; want a longer per, " +
				"for example 30d, or a smaller at_most"},
		{"hold: 15m", "hold: 5m", "watches[slow].hold",
			"5m is less than the 15m from one window to the next, so a cause that " +
				"lasts soon uses up at_most (3); want 15m or more"},
		{"tolerance: 0.03", "tolerance: 0.3", "releases[calm].tolerance",
			"with 0.3 a value holds from the quantile 0.2 to 0.8, so hardly any change is seen; want at most 0.25"},
		{"{count: 8,", "{count: 400,", "max_windows",
			"has no effect, because a user counts in every window of a part of 8h15m; " +
				"want a smaller count, or a longer per"},
		{drawn, "", "max_windows", "has no effect, because watches and releases on change count everybody, and no " +
			"release is drawn in every window; leave it out"},
	} {
		if !strings.Contains(text, c.old) {
			t.Fatalf("%q is not in\n%s", c.old, text)
		}
		got := commandLine(t, "", "check", clitest.File(t, "s.yaml", strings.Replace(text, c.old, c.edit, 1)))
		others := withoutDays(got.err)
		if want := "warning: streams[checkout]." + c.key + ": " + c.want + "\n"; got.code != cli.ExitDone ||
			!strings.Contains(others, want) && c.want != "" || strings.Count(others, "\n") != min(1, len(c.want)) {
			t.Errorf("%s: %d, %s", c.edit, got.code, got.err)
		}
	}
}

// A span's duration is a field in milliseconds and another in seconds. A unit that is not the field's is told.
func TestCheckWarnsOfTheUnitOfADuration(t *testing.T) {
	for _, c := range []struct{ value, unit, adds, want string }{
		{"", "ms", "last", ""},
		{"", "tickets", "last", ""},
		{"", "s", "count", ""},
		{"", "s", "last", "streams[checkout].unit: is s, but span.duration_ms is in ms; want ms, or value: " +
			"span.duration_s for seconds"},
		{"", "ns", "last", "unit: is ns, but span.duration_ms is in ms"},
		{", value: span.duration_s", "seconds", "last", ""},
		{", value: span.duration_s", "ms", "last", "unit: is ms, but span.duration_s is in s; want s, or value: " +
			"span.duration_ms for milliseconds"},
	} {
		text := strings.NewReplacer("size: 15m", "size: 1h", "user: user_id, value: latency_ms",
			"format: otlp_traces, user: user.id"+c.value, "    bounds:", "    unit: "+c.unit+"\n    contribution: "+c.adds+
				"\n    bounds:").Replace(alone)
		got := commandLine(t, "", "check", clitest.File(t, "s.yaml", text))
		if got.code != cli.ExitDone || !strings.Contains(got.err, c.want) ||
			strings.Contains(got.err, "].unit:") != (c.want != "") {
			t.Errorf("%s in %s: %d, %q, want %q", c.value, c.unit, got.code, got.err, c.want)
		}
	}
}

func TestCheckTellsOfAKeyWithoutEffect(t *testing.T) {
	path := clitest.File(t, "s.yaml", strings.Replace(alone, "user: user_id", "user: user_id, user_partitioned: true",
		1))
	got := commandLine(t, "", "check", path)
	want := path + ":5: warning: streams[checkout].input.user_partitioned: has no effect: users are always compared " +
		"across " +
		"partitions, because adding partitions moves users; leave it out\n"
	if got.code != cli.ExitDone || withoutDays(got.err) != want {
		t.Errorf("exit code %d, warnings %q; want %q", got.code, got.err, want)
	}
}

func TestCheckWarnsOfNoise(t *testing.T) {
	const median = "{name: p50, statistic: median, epsilon: 0.05}"
	const smooth = "statistic: trimmed_mean, trim: 0.1, mechanism: smooth_laplace, epsilon: 0.1, delta: "
	for _, c := range []struct{ release, edit, want string }{
		{"statistic: count, above: 800, epsilon: 0.0003", "",
			"[x]: the noise can reach 6,533 users, but only 5,000 are expected; want"},
		{"statistic: count, above: 800, mechanism: geometric, epsilon: 0.0005", "",
			"[x]: the noise can reach 5,991 users, but only 5,000 are expected; want"},
		{"statistic: mode, epsilon: 0.002", "",
			"[x]: the mode is found only if it leads by 6,974 users, but only 5,000 are expected; want"},
		{"statistic: mode, epsilon: 0.00000000000000001", "",
			"[x]: the mode is found only if it leads by more users than can be counted, "},
		{"statistic: mode, epsilon: 0.1", "", ""},
		{"statistic: quantiles, p: [0.5, 0.99], epsilon: 0.1", "", "[x.p99]: the error can reach "},
		{"statistic: quantiles, p: [0.5, 0.75], epsilon: 0.1", "", ""},
		{"statistic: mean, clip: none, epsilon: 0.0007", "", "[x]: the error can reach "},
		{"statistic: mean, clip: none, epsilon: 0.1", "", ""},
		{"statistic: mean, epsilon: 0.0139", "", "[x]: ε 0.0139 times 5,000 expected users is 69.5, too little to " +
			"find an interval to clip values to; want at least 340"},
		{"statistic: mean, epsilon: 0.014", "", "[x]: ε 0.014 times 5,000 expected users is 70, so the value is rough at " +
			"best: "},
		{"statistic: sum, epsilon: 0.0679", "", "so the value is rough at best"},
		{"statistic: mean, epsilon: 0.068", "", ""},
		{"statistic: variance, epsilon: 0.014", "", ""},
		// the noise is beyond upper·ln(20)/ε in one case of 20, and half of the sum is at most 2500·upper
		{"statistic: sum, clip: none, epsilon: 0.001", "", "but the sum of 5,000 expected users is "},
		{"statistic: sum, clip: none, epsilon: 0.002", "", ""},
		{"statistic: sum, epsilon: 0.0139", "", "too little to find an interval"},
		{smooth + "0.0002", "", "[x].delta: with δ 0.0002, every window may reveal one of the 5,000 expected users; " +
			"want far less than 1/5,000"},
		{smooth + "0.00000001", "", ""},
		{"statistic: mode, epsilon: 0.1", "min_users: {count: 98, release: users}",
			"min_users.count: 98 is within the noise of " +
				"release users (± 98 users), so even an empty window may pass; want more than 98, or a larger epsilon"},
		{"statistic: mode, epsilon: 0.1", "min_users: {count: 99, release: users}", ""},
	} {
		limit := "epsilon: 24, delta: 0.00001, per: 2h"
		if strings.Contains(c.release, "delta: 0.0002") {
			limit = "epsilon: 24, delta: 0.09, per: 2h"
		}
		text := strings.NewReplacer(median, "{name: x, "+c.release+"}", "epsilon: 24, per: 24h", limit,
			"    output:", "    contribution: last\n    "+c.edit+"\n    output:").Replace(alone)
		got := commandLine(t, "", "check", clitest.File(t, "s.yaml", text))
		others := withoutDays(got.err)
		if got.code != cli.ExitDone || !strings.Contains(others, c.want) || (c.want == "") != (others == "") {
			t.Errorf("%s %s: exit code %d, %q, want %q", c.release, c.edit, got.code, got.err, c.want)
		}
	}
}

// Two budgets for one topic do not bound what its users lose.
func TestCheckWarnsOfTwoBudgets(t *testing.T) {
	_, second, _ := strings.Cut(clitest.StreamsFile, "streams:\n")
	edits := strings.NewReplacer("name: checkout\n", "name: again\n", "budget: shoppers",
		"budget: {epsilon: 20, per: 24h}")
	path := clitest.File(t, "s.yaml", alone+edits.Replace(second))
	want := path + ":17: warning: streams[again]: reads topic checkout.events, as stream checkout does, but another " +
		"budget pays, so users of the topic can lose the sum of both; louver run refuses it; want one budget for " +
		"both, or fresh: true if that is intended\n"
	if got := commandLine(t, "", "check", path); got.code != cli.ExitDone || withoutDays(got.err) != want {
		t.Errorf("%+v\nwant %s", got, want)
	}
}
