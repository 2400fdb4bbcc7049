package main

import (
	"strings"
	"testing"

	"github.com/louver/louver/cmd/louver/internal/cli"
)

// TestPlanOfGroups: users needed are those of the table in the documents; where a user has 8 names, a name needs about
// 8 times as many.
func TestPlanOfGroups(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"--epsilon", "0.5", "--delta", "0.00000001"}, []string{"for at most 1 name", " 36 ", " 41 ", " 71 ",
			"± 6 users", "a million names for which only 1 user counted, at most 0.00615 would be found"}},
		{[]string{"--delta", "0.000001"}, []string{" 204 ", " 250 ", " 110 ", " 133 ", " 48 ", " 57 ", " 26 ", " 31 ",
			" 15 ", " 17 "}},
		{[]string{"--epsilon", "0.5", "--delta", "1e-8", "--found", "0.35"}, []string{" 35 "}},
		{[]string{"--epsilon", "0.1", "--delta", "1e-8", "--found", "0.35"}, []string{" 152 "}},
		{[]string{"--epsilon", "0.5", "--delta", "1e-8", "--users", "36"}, []string{"62.2 %"}},
		{[]string{"--epsilon", "0.5", "--delta", "1e-8", "--users", "100"}, []string{"practically 100 %"}},
		{[]string{"--epsilon", "0.5", "--delta", "1e-8", "--names-per-user", "8"},
			[]string{"8 names that are not found yet", "counts for 1 of them", " 285 ", " 375 ", "never"}},
		{[]string{"--epsilon", "0.5", "--delta", "1e-8", "--max-groups", "2"},
			[]string{"one user loses at most 2 × ε and 2 × δ"}},
	} {
		got := commandLine(t, "", append([]string{"plan", "--statistic", "groups"}, c.args...)...)
		text := strings.Join(strings.Fields(got.out), " ")
		for _, want := range c.want {
			if got.code != cli.ExitDone || !strings.Contains(text, strings.TrimSpace(want)) {
				t.Errorf("%s: %q is missing in\n%s%s", c.args, want, got.out, got.err)
			}
		}
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--statistic", "groups"}, "--statistic groups without --delta"},
		{[]string{"--statistic", "groups", "--delta", "1e-8", "--found", "1"},
			"--found 1; want more than 0, and at most 0.999999"},
		{[]string{"--statistic", "groups", "--delta", "1e-8", "--found", "0.9", "--users", "5"},
			"--found with --users; want one"},
		{[]string{"--statistic", "groups", "--delta", "1e-8", "--names-per-user", "2", "--max-groups", "3"},
			"--names-per-user 2; want from 3, which is --max-groups"},
		{[]string{"--statistic", "groups", "--delta", "1e-8", "--watch", "users_below: 5"},
			"--statistic groups with --watch"},
		{[]string{"--statistic", "groups", "--delta", "1e-8", "--active", "15m"}, "--statistic groups with --active"},
		{[]string{"--statistic", "groups", "--delta", "1e-8", "--error", "5"}, "--statistic groups with --error"},
		{[]string{"--names-per-user", "8"}, "--names-per-user without --statistic groups"},
	} {
		if got := commandLine(t, "", append([]string{"plan"}, c.args...)...); got.code != cli.ExitUsage ||
			!strings.Contains(got.err, c.want) {
			t.Errorf("%s: code %d, %s; want %q", c.args, got.code, got.err, c.want)
		}
	}
}
