package config_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/parse"
)

// defined is a stream with a shared budget.
const defined = `
version: 1
budgets: [{name: shoppers, epsilon: 24, per: 24h}]
streams:
  - name: s
    description: time to confirm an order
    input: {topic: in, user: user, value: v, time: ts, group: g}
    groups: [eu, "010", "a, b"]
    bounds: {lower: -5, upper: 100, step: 0.1}
    window: {size: 15m, grace: 30s, start: 2026-11-20T08:00:00Z, end: 2027-11-20T08:00:00Z}
    releases:
      - {name: p50, statistic: median, epsilon: 0.05}
    output: {topic: out}
    budget: shoppers
    on_exhausted: withhold
    fresh: true
`

// read is the first stream of a file.
func read(t *testing.T, text string) *config.Stream {
	t.Helper()
	f, err := parse.File("s.yaml", []byte(text), os.LookupEnv)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return f.Streams[0]
}

func TestChanges(t *testing.T) {
	for name, c := range map[string]struct {
		replace []string
		want    []string
	}{
		"nothing":            {nil, nil},
		"what has no effect": {[]string{"time to", "the time to", "2026-11-20T08", "2026-11-20T07"}, nil},
		"a figure":           {[]string{"size: 15m", "size: 30m"}, []string{"window.size: 15m → 30m"}},
		"a figure of a release": {[]string{"median, epsilon: 0.05", "median, epsilon: 0.1"},
			[]string{"releases[p50].epsilon: 0.05 → 0.1"}},
		"a release more": {[]string{"    output:", "      - {name: users, statistic: count, epsilon: 1}\n    output:"},
			[]string{"releases[users]: absent → {epsilon: 1, name: users, statistic: count}"}},
		"a key less": {[]string{"on_exhausted: withhold", "expected_users: 9"},
			[]string{"expected_users: absent → 9", "on_exhausted: withhold → absent"}},
		"a list": {[]string{`eu, "010"`, `us, "010"`},
			[]string{`groups: [eu, "010", 'a, b'] → [us, "010", 'a, b']`}},
		"the shared budget": {[]string{"epsilon: 24", "epsilon: 48"}, []string{"budgets[shoppers].epsilon: 24 → 48"}},
		"another budget": {[]string{"budget: shoppers", "budget: {epsilon: 9, per: forever}"},
			[]string{"budget: shoppers → {epsilon: 9, per: forever}",
				"budgets: [{epsilon: 24, name: shoppers, per: 24h}] → absent"}},
	} {
		t.Run(name, func(t *testing.T) {
			after := strings.NewReplacer(c.replace...).Replace(defined)
			changes, err := config.Changes(read(t, defined).Definition, read(t, after).Definition)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, change := range changes {
				got = append(got, change.String())
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}
