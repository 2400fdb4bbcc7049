package parse

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"github.com/louver/louver/stream/config/form"
)

// rest has the keys that full has not.
const rest = `version: 1
budgets: [{name: spare, epsilon: 1, delta: 0.000001, order: 24, per: 1d}]
streams:
  - name: rest
    input: {topic: in, format: csv, delimiter: ";", columns: [at, who, how_much, clock], user: who, value: how_much,
            time: at, time_of_day: clock, zone: Europe/Berlin, user_partitioned: true}
    bounds: {lower: -1.5, upper: 1.5, step: 0.1}
    window: {size: 1d, grace: 0s}
    releases:
      - {name: tails, statistic: quantiles, p: [0.05, 0.95], epsilon: 0.1}
      - {name: mid, statistic: median, epsilon: 0.1, interval: 0.95}
      - {name: low, statistic: count, below: 0, epsilon: 0.1}
      - {name: mean, statistic: mean, mechanism: smooth_laplace, epsilon: 0.1, delta: 0.0000001, beta: 0.002}
      - {name: cut, statistic: trimmed_mean, trim: 0.1, mechanism: smooth_cauchy, epsilon: 0.1, gamma: 3}
      - {name: all, statistic: sum, clip: none, epsilon: 0.1}
    output: {topic: out}
    budget: {epsilon: 20, per: forever, delta: 0.001, order: 1.5}
    on_exhausted: withhold
    fresh: true
  - name: typed
    input: {topic: typed, format: protobuf, schema: {file: testdata/checkout.proto, message: shop.Checkout},
            user: user_id, value: timing.latency_ms, time: timing.at}
    bounds: {lower: 0, upper: 1, step: 0.1}
    window: {size: 1d, grace: 0s}
    releases: [{name: all, statistic: sum, epsilon: 0.1}]
    output: {topic: out-typed}
    budget: {epsilon: 20, per: 1d}
  - name: inline
    input: {topic: inline, format: avro, user: $key, value: v,
            schema: {text: '{"type": "record", "name": "r", "fields": [{"name": "v", "type": "long"}]}'}}
    bounds: {lower: 0, upper: 1, step: 0.1}
    window: {size: 1d, grace: 0s}
    releases: [{name: all, statistic: sum, epsilon: 0.1}]
    output: {topic: out-inline}
    budget: {epsilon: 20, per: 1d}
`

func compiled(t *testing.T, s map[string]any) *jsonschema.Schema {
	t.Helper()
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("streams.json", doc); err != nil {
		t.Fatal(err)
	}
	one, err := c.Compile("streams.json") // which checks it against draft 2020-12
	if err != nil {
		t.Fatal(err)
	}
	return one
}

// asEditorsSee reads YAML as version 1.2 has it, with times as texts.
func asEditorsSee(t *testing.T, text string) any {
	t.Helper()
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	var see func(n *yaml.Node) any
	see = func(n *yaml.Node) any {
		switch {
		case n.Kind == yaml.AliasNode:
			return see(n.Alias)
		case n.Kind == yaml.MappingNode:
			m := map[string]any{}
			for i := 0; i < len(n.Content); i += 2 {
				m[n.Content[i].Value] = see(n.Content[i+1])
			}
			return m
		case n.Kind == yaml.SequenceNode:
			list := []any{}
			for _, c := range n.Content {
				list = append(list, see(c))
			}
			return list
		case n.Tag == "!!null":
			return nil
		case n.Tag == "!!int" || n.Tag == "!!float":
			if _, err := strconv.ParseFloat(n.Value, 64); err == nil {
				return json.Number(n.Value)
			}
		case n.Tag == "!!bool":
			return n.Value == "true"
		}
		return n.Value
	}
	return see(doc.Content[0])
}

func rightFiles(t *testing.T) map[string]string {
	t.Helper()
	deployed, err := os.ReadFile("../../../deploy/streams.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return map[string]string{"right": right, "full": full, "least": least, "rest": rest,
		"watches": withWatches(fire, calm, many, gone), "on change": withOnChange(steady), "totals": withTotals(today,
			revenue), "active": withTotals(now), "found": withFound(found),
		"found by another": withFollower(found),
		"histogram":        withHistogram(shape, ofShape...), "levels": withHistogram(listed),
		"last":      withLast(),
		"objective": withHistogram(shape, strings.Replace(ofShape[1], "from", "objective: 0.999, from", 1)),
		"conditions": strings.Replace(right, "      group: region\n", "      group: region\n      where: {type: checkout, "+
			"status: [200, done], total: {above: 0, below: 9}, tenant: {not: [test, 0]}, coupon: {exists: true}}\n", 1),
		"count": strings.NewReplacer("contribution: last", "contribution: count", "      value: latency_ms\n", "").
			Replace(right),
		"deploy/streams.yaml": string(deployed)}
}

func TestSchemaTakesRightFiles(t *testing.T) {
	s := compiled(t, Schema())
	for name, text := range rightFiles(t) {
		parse(t, text)
		if err := s.Validate(asEditorsSee(t, text)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, edit := range [][2]string{
		{"lower: 0,", `lower: "${LOWER}",`}, {"groups: [eu, us, ap]", "groups: [no, 2, on]"},
		{"size: 15m, every: 15m", "size: 1h30m"},
		{"start: now", "start: 2026-11-20T09:00:00+01:00"}, {"max_groups: 1", `max_groups: "${GROUPS}"`},
	} {
		if err := s.Validate(asEditorsSee(t, strings.Replace(right, edit[0], edit[1], 1))); err != nil {
			t.Errorf("%s: %v", edit[1], err)
		}
	}
}

// Every key that the parser takes is in the schema and in the reference, and no other: right files have all of them.
func TestReferenceIsComplete(t *testing.T) {
	used := map[string]bool{}
	var use func(path string, v any)
	use = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for name, v := range v {
				if path == "streams.input.where." { // its keys are free
					test, _ := v.(map[string]any)
					for key := range test {
						used[path+key] = true
					}
					continue
				}
				used[path+name] = true
				use(path+name+".", v)
			}
		case []any:
			for _, v := range v {
				use(path, v)
			}
		}
	}
	for _, text := range rightFiles(t) {
		use("", asEditorsSee(t, text))
	}
	referenced, heading := map[string]bool{}, ""
	for line := range strings.Lines(Reference()) {
		if title, ok := strings.CutPrefix(line, "## "); ok {
			heading = strings.NewReplacer("`", "", "[]", "").Replace(strings.TrimSpace(title)) + "."
			if heading == "The file." {
				heading = ""
			}
		} else if name, ok := strings.CutPrefix(line, "| `"); ok {
			name, _, _ = strings.Cut(name, "`")
			referenced[heading+name] = true
			cells := strings.Split(strings.ReplaceAll(strings.Trim(line, "| \n"), `\|`, ""), " | ")
			if len(cells) != 5 || slices.Contains(cells, "") || slices.Contains(cells, "``") {
				t.Errorf("%s%s: a cell is empty: %q", heading, name, cells)
			}
		}
	}
	if d := cmp.Diff(slices.Sorted(maps.Keys(used)), slices.Sorted(maps.Keys(referenced))); d != "" {
		t.Errorf("keys of right files and of the reference (-, +):\n%s", d)
	}
	inSchema := map[string]bool{}
	var walk func(path string, s any)
	walk = func(path string, s any) {
		switch s := s.(type) {
		case []any:
			for _, part := range s {
				walk(path, part)
			}
		case form.Schema:
			for name, sub := range asSchema(s["properties"]) {
				if sub != false {
					inSchema[path+name] = true
				}
				walk(path+name+".", sub)
			}
			for _, key := range []string{"items", "anyOf", "allOf", "then", "additionalProperties"} {
				walk(path, s[key])
			}
		}
	}
	walk("", form.Schema(Schema()))
	if d := cmp.Diff(slices.Sorted(maps.Keys(referenced)), slices.Sorted(maps.Keys(inSchema))); d != "" {
		t.Errorf("keys of the reference and of the schema (-, +):\n%s", d)
	}
}

func asSchema(v any) form.Schema { s, _ := v.(form.Schema); return s }

// The examples and defaults of the reference are values that the schema takes for their keys.
func TestExamples(t *testing.T) {
	var check func(path string, f form.Form)
	check = func(path string, f form.Form) {
		for _, k := range f {
			at := path + k.Name
			for _, text := range []string{k.Example, k.Fallback} {
				if text == "" || strings.Contains(text, "…") {
					continue
				}
				one := compiled(t, map[string]any{"$defs": Schema()["$defs"], "allOf": []any{k.Value.Schema}})
				if err := one.Validate(asEditorsSee(t, text)); err != nil {
					t.Errorf("%s: %s: %v", at, text, err)
				}
			}
			check(at+".", k.Value.Keys)
		}
	}
	check("", fileForm)
}
