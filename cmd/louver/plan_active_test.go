package main

import (
	"strings"
	"testing"
)

func TestPlanOfActiveUsers(t *testing.T) {
	for _, c := range []struct {
		args, says []string
	}{
		{[]string{"--epsilon", "1"}, []string{"users seen in the last 15m, with a value every 5m, drawn by centred",
			"± 483 users", "± 863 users"}},
		{[]string{"--epsilon", "1", "--mechanism", "centred_gaussian"}, []string{"± 20 users", "± 34 users", "not ε-private"}},
		{[]string{"--epsilon", "1", "--delta", "0.000001"}, []string{"± 20 users", "for a δ of 0.000001"}},
		{[]string{"--error", "100"}, []string{"4.9", "± 99 users"}},
		{nil, []string{"0.1", "± 4,823 users"}},
	} {
		got := commandLine(t, "", append([]string{"plan", "--active", "15m", "--window", "5m"}, c.args...)...)
		for _, want := range c.says {
			if !strings.Contains(got.out, want) {
				t.Errorf("%q: %s%s\nwant %q", c.args, got.out, got.err, want)
			}
		}
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--active", "7m", "--window", "5m"}, "want whole seconds, and a multiple of --window up to 24h"},
		{[]string{"--active", "15m", "--window", "5m", "--update", "7m"}, "--update 7m; want a multiple of --window, 5m"},
		{[]string{"--active", "15m", "--window", "5m", "--statistic", "sum"}, "--statistic sum; want count"},
		{[]string{"--active", "15m", "--window", "5m", "--error", "2%"}, "want a number of users, such as 100"},
		{[]string{"--active", "15m", "--window", "5m", "--mechanism", "tree", "--epsilon", "1"}, "centred or centred_gaussian"},
		{[]string{"--active", "15m", "--window", "5m", "--p", "0.5"}, "--active with --p; want it without"},
		{[]string{"--active", "15m", "--since", "midnight"}, "want it without them"},
	} {
		if got := commandLine(t, "", append([]string{"plan"}, c.args...)...); got.code != 2 ||
			!strings.Contains(strings.ReplaceAll(got.err, "\n", " "), c.want) {
			t.Errorf("%q: %d %s\nwant %q", c.args, got.code, got.err, c.want)
		}
	}
}
