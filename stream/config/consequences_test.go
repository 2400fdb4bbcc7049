package config_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/louver/louver/stream/config"
)

// changed is a stream with everything that a new definition may begin anew. Its budget pays for eight windows and the
// rest.
const changed = `version: 1
streams:
  - name: s
    input: {topic: in, user: user, value: ms}
    max_windows: {count: 8, per: 24h}
    bounds: {lower: 0, upper: 60000, step: 1}
    expected_users: 10000
    window: {size: 1m, grace: 10s}
    releases:
      - {name: users, statistic: count, epsilon: 0.25}
      - {name: calm, statistic: median, epsilon: 0.05, publish: on_change, tolerance: 0.03, watch_epsilon: 0.1, at_most: 3}
    watches:
      - {name: slow, above: 2000, more_than: 0.01, epsilon: 1, false_alarms: {at_most: 0.05, per: 30d}, hold: 15m, at_most: 1}
    output: {topic: out}
    budget: {epsilon: 4, per: 24h}
    on_exhausted: withhold
`

func TestConsequences(t *testing.T) {
	const (
		anew  = "max_windows counts anew: what a person loses by the new windows adds to what they lost by the old ones"
		twice = anew + ". In the first 24h a person may count in 8 windows of the old ones and in 8 of the new ones, " +
			"for at most ε 4"
		slow    = "watch slow begins anew: the old instance ends, and the next one costs ε 1"
		calm    = "release calm begins anew: the old instance ends, and the next one costs ε 0.2"
		day     = "budget: {epsilon: 4, per: 24h}"
		forever = "budget: {epsilon: 4, per: forever}"
	)
	for name, c := range map[string]struct {
		both, change []string
		want         []string
	}{
		"another hold": {nil, []string{"hold: 15m", "hold: 5m"}, []string{twice}},
		"another threshold": {nil, []string{"above: 2000", "above: 3000"},
			[]string{twice, slow +
				". Its at_most of 1 counts the old one too: the next one begins 24h after the old one has looked for " +
				"the last time"}},
		"without end": {[]string{day, forever}, []string{"above: 2000", "above: 3000"},
			[]string{anew, slow + ". Its at_most of 1 counts the old one too: if there was one, there is no next one"}},
		"another tolerance": {nil, []string{"tolerance: 0.03", "tolerance: 0.05"}, []string{twice,
			calm + ". Its at_most of 3 counts the old ones too, for 24h after they have looked for the last time"}},
		"more of both": {[]string{day, forever}, []string{"tolerance: 0.03", "tolerance: 0.05"},
			[]string{anew, calm + ". Its at_most of 3 counts the old ones too"}},
		"dearer windows": {nil, []string{"epsilon: 0.25", "epsilon: 0.3"},
			[]string{strings.Replace(twice, "ε 4", "ε 4.4", 1) + "; budget s withholds what passes its ε 4"}},
		"no watch any more": {nil, []string{"name: slow", "name: late"}, []string{twice}},
		"no cap any more":   {nil, []string{"    max_windows: {count: 8, per: 24h}\n", ""}, nil},
		"the first cap": {[]string{"    max_windows: {count: 8, per: 24h}\n", ""},
			[]string{"    bounds", "    max_windows: {count: 8, per: 24h}\n    bounds"}, nil},
		"another budget": {nil, []string{"version: 1", "version: 1\nbudgets: [{name: b, epsilon: 4, per: 24h}]", day,
			"budget: b"}, []string{twice, slow + " of budget b", calm + " of budget b"}},
		"only figures, capped": {[]string{"      - {name: users, statistic: count, epsilon: 0.25}\n", ""},
			[]string{"hold: 15m", "hold: 5m"}, []string{anew}},
	} {
		old := strings.NewReplacer(c.both...).Replace(changed)
		text := strings.NewReplacer(c.change...).Replace(old)
		if text == old {
			t.Fatalf("%s: nothing changes", name)
		}
		if got := config.Consequences(read(t, old), read(t, text)); !slices.Equal(got, c.want) {
			t.Errorf("%s:\n%q, want\n%q", name, got, c.want)
		}
	}
}

// A discovery with max_windows counts anew too, by its own price, and only if it still has its name.
func TestConsequencesOfDiscoveries(t *testing.T) {
	found := strings.NewReplacer("value: ms}", "value: ms, group: page}", "    max_windows: {count: 8, per: 24h}\n",
		"    groups:\n      discover:\n        - {name: often, every: 15m, epsilon: 0.25, delta: 0.0000000001, "+
			"max_windows: {count: 2, per: 24h, parts: 1}}\n        - {name: daily, every: 24h, epsilon: 0.5, delta: "+
			"0.0000000001}\n",
		"{epsilon: 4, per: 24h}", "{epsilon: 4, delta: 0.00001, per: 24h}").Replace(changed)
	before, _, _ := strings.Cut(found, "      - {name: calm")
	_, output, _ := strings.Cut(found, "    output")
	found = before + "    output" + output
	const anew = "discovery often: max_windows counts anew: what a person loses by the new periods adds to what they " +
		"lost by the old ones. In the first 24h a person may count in 2 periods of the old ones and in 2 of the new " +
		"ones, for at most ε 1"
	for name, c := range map[string]struct {
		old, new string
		want     int
	}{
		"another grace":     {"grace: 10s", "grace: 20s", 1},
		"another name":      {"name: often", "name: frequent", 0},
		"no cap any more":   {", max_windows: {count: 2, per: 24h, parts: 1}", "", 0},
		"another discovery": {"name: daily", "name: nightly", 1},
	} {
		text := strings.Replace(found, c.old, c.new, 1)
		if text == found {
			t.Fatalf("%s: nothing changes", name)
		}
		got := config.Consequences(read(t, found), read(t, text))
		if len(got) != c.want || len(got) > 0 && !strings.HasPrefix(got[0], anew) {
			t.Errorf("%s: %q, want %d consequences: %s", name, got, c.want, anew)
		}
	}
}
