package parse

import (
	"strings"
	"testing"

	"github.com/louver/louver/stream/codec"
	"github.com/louver/louver/windows"
)

// adding is a file with a stream whose users count with all their events.
func adding(input, bounds, more string) string {
	return `version: 1
streams:
  - name: spent
    input: {topic: in, user: u` + input + `}
    bounds: {` + bounds + `}
    window: {size: 1h, grace: 10s}
    releases: [{name: total, statistic: sum, epsilon: 1}]
    output: {topic: out}
    budget: {epsilon: 100, per: 24h}
` + more
}

func TestContributionsThatAddUp(t *testing.T) {
	for _, c := range []struct {
		name, file string
		unit       string
		adding     windows.Adding
		values     bool // the decoder reads values
	}{
		{"sum of cents", adding(", value: v", "lower: 0, upper: 500, step: 0.01", "    contribution: sum\n    unit: EUR\n"),
			"EUR", windows.Adding{Step: 1000, Last: 50_000}, true},
		{"mean below zero", adding(", value: v", "lower: -5, upper: 5, step: 1", "    contribution: mean\n"), "",
			windows.Adding{Lower: -5000, Step: 1000, Last: 10}, true},
		{"number of events", adding("", "lower: 0, upper: 200, step: 2", "    contribution: count\n"), "events",
			windows.Adding{Step: 2, Last: 100}, false},
		{"number of requests", adding("", "lower: 1, upper: 200, step: 1", "    contribution: count\n    unit: requests\n"),
			"requests", windows.Adding{Lower: 1, Step: 1, Last: 199}, false},
		{"one value", adding(", value: v", "lower: 0, upper: 500, step: 1", "    contribution: max\n"), "",
			windows.Adding{}, true},
	} {
		file, err := File("streams.yaml", []byte(c.file), noVariables)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		s := file.Streams[0]
		if s.Unit != c.unit || s.Adding() != c.adding {
			t.Errorf("%s: unit %q, %+v; want %q, %+v", c.name, s.Unit, s.Adding(), c.unit, c.adding)
		}
		spec := s.Codec()
		if _, err := codec.New(spec); err != nil || c.values != (spec.Grid != nil) {
			t.Errorf("%s: %v, reads values: %t; want %t", c.name, err, spec.Grid != nil, c.values)
		}
	}
}

func TestContributionsRefused(t *testing.T) {
	for _, c := range []struct{ file, want string }{
		{adding("", "lower: 0, upper: 5, step: 1", ""),
			"input.value: missing; add it, for example value: latency_ms"},
		{adding("", "lower: 0, upper: 5, step: 1", "    contribution: sum\n"), "or contribution: count, which needs none"},
		{adding(", value: v", "lower: 0, upper: 5, step: 1", "    contribution: count\n"),
			`input.value: "v", but contribution is count: events are counted, whatever their values; want it removed`},
		{adding("", "lower: 0, upper: 5, step: 0.5", "    contribution: count\n"),
			"bounds.step: 0.5, but contribution is count; want a whole number of events, at least 0"},
		{adding("", "lower: -1, upper: 5, step: 1", "    contribution: count\n"), "bounds.lower: -1, but"},
		{adding(", value: v", "lower: 0, upper: 2000000000000000, step: 1", "    contribution: sum\n"),
			"upper 2000000000000000; want a number from -1125899906842624"},
		{adding(", value: v", "lower: 0, upper: 5, step: 1", "    contribution: total\n"),
			`contribution: "total"; want first, last, min, max, random, sum, count or mean`},
	} {
		_, err := File("streams.yaml", []byte(c.file), noVariables)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v does not say %q", err, c.want)
		}
	}
}
