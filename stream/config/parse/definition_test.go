package parse

import (
	"strings"
	"testing"

	"github.com/louver/louver/stream/config"
)

const defined = `
version: 1
budgets: [{name: shoppers, epsilon: 24, per: 24h}]
streams:
  - name: s # a comment
    description: "what: it is"
    input: {topic: in, user: "user", value: 'v', time: ts, group: g}
    unit: "1"
    max_windows: {count: 8, per: 24h}
    groups: [eu, "010", "a, b"]
    bounds: {lower: -5, upper: ${UPPER}, step: 0.1}
    window: {size: 15m, grace: 30s, start: 2026-11-20T08:00:00Z, end: 2027-11-20T08:00:00Z}
    releases:
      - {name: p50, statistic: median, epsilon: 0.05}
      - {name: tail, statistic: quantiles, p: [0.9, 0.99], epsilon: 1e-1}
    output: {topic: out}
    budget: shoppers
    on_exhausted: withhold
    fresh: true
`

func environment(name string) (string, bool) {
	return map[string]string{"UPPER": "100"}[name], name == "UPPER"
}

func parsed(t *testing.T, text string) *config.Stream {
	t.Helper()
	f, err := File("streams.yaml", []byte(text), environment)
	if err != nil {
		t.Fatal(err)
	}
	return f.Streams[0]
}

func TestDefinitionReadsBackAsTheSame(t *testing.T) {
	s := parsed(t, defined)
	again, err := Definition(s.Definition)
	if err != nil {
		t.Fatalf("%v\n%s", err, s.Definition)
	}
	one := *again
	// What a definition leaves out.
	one.Description, one.Fresh, one.Window.Start, one.Window.StartNow = s.Description, s.Fresh, s.Window.Start,
		s.Window.StartNow
	if got, want := one.Groups[2], "a, b"; got != want {
		t.Errorf("group %q, want %q", got, want)
	}
	if *one.MaxWindows != *s.MaxWindows || one.MaxWindows.By.Block == 0 || one.Window != s.Window ||
		one.Input.User != s.Input.User || one.Grid.Value(1).String() != s.Grid.Value(1).String() ||
		one.Budget.Name != "shoppers" ||
		!one.Budget.Equal(s.Budget.Limit) || len(config.All[*config.Release](&one)) != 2 ||
		config.All[*config.Release](&one)[1].Query.Epsilon.String() != config.All[*config.Release](s)[1].Query.Epsilon.String() || one.Withhold != s.Withhold ||
		one.Unit != "1" {
		t.Errorf("read back as %+v, want %+v", one, *s)
	}
}

// What a variable holds is in the definition to the last space, also where it looks like a number.
func TestDefinitionKeepsWhatVariablesHold(t *testing.T) {
	for _, unit := range []string{"ms", "5 m", "5 m ", " 5", "true ", "0.5\n", "~", "1: 2"} {
		f, err := File("s.yaml", []byte(strings.Replace(least, "output:", "unit: ${UNIT}\n    output:", 1)),
			func(string) (string, bool) { return unit, true })
		if err != nil {
			t.Fatal(err)
		}
		if again, err := Definition(f.Streams[0].Definition); err != nil || again.Unit != unit {
			t.Errorf("%q is read back as %+v, %v", unit, again, err)
		}
	}
}

func TestDefinitionChangesWithTheWindows(t *testing.T) {
	before := parsed(t, defined).Definition
	for change, differs := range map[string]bool{
		"a comment->another":                             false,
		`description: "what: it is"->description: other`: false,
		"time: ts->time: ts, user_partitioned: true":     false,
		"fresh: true->continues: old":                    false,
		"start: 2026-11-20T08:00:00Z->start: now":        false,
		"{name: p50, statistic: median, epsilon: 0.05}->{statistic: median, epsilon: 0.05, name: p50}": false,
		"epsilon: 0.05->epsilon: 0.06":                      true,
		"step: 0.1->step: 0.5":                              true,
		"size: 15m->size: 30m":                              true,
		"per: 24h->per: 48h":                                true,
		"budget: shoppers->budget: {epsilon: 24, per: 24h}": true,
		"epsilon: 24, per: 24h->epsilon: 24, per: 24h, delta: 0.000001, order: 12": true,
		"upper: ${UPPER}->upper: 101": true,
		"upper: ${UPPER}->upper: 100": false,
	} {
		old, new, _ := strings.Cut(change, "->")
		if !strings.Contains(defined, old) {
			t.Fatal(old)
		}
		after := parsed(t, strings.Replace(defined, old, new, 1)).Definition
		if (after != before) != differs || (after.Fingerprint() != before.Fingerprint()) != differs {
			t.Errorf("%s: differs %v, want %v\n%s\n%s", change, after != before, differs, before, after)
		}
	}
}

// edit is a change of a file, and whether instances go on after it.
type edit struct {
	old, new string
	same     bool
}

// checkDefinitions checks after which edits the definition of the first figure of a kind is the same.
func checkDefinitions[F config.Figure](t *testing.T, text string, edits []edit) {
	t.Helper()
	definition := func(text string) string {
		return config.All[F](parse(t, text).Streams[0])[0].Heading().Definition
	}
	before := definition(text)
	for _, e := range edits {
		text := strings.Replace(text, e.old, e.new, 1)
		if text = strings.Replace(text, "on_exhausted: refuse", "on_exhausted: withhold", 1); !strings.Contains(text,
			e.new) {
			t.Fatalf("%s is not there", e.old)
		}
		if after := definition(text); (after == before) != e.same {
			t.Errorf("%s → %s: the definition is the same: %v, want %v", e.old, e.new, after == before, e.same)
		}
	}
}
