package parse

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/louver/louver/stream/codec"
	"github.com/louver/louver/stream/config"
)

// typed is a stream whose input is written between the braces.
func typed(input string) string {
	return `version: 1
streams:
  - name: s
    input: {topic: in, ` + input + `}
    groups: [eu, us, ap]
    bounds: {lower: 0, upper: 100, step: 1}
    window: {size: 1h, grace: 0s}
    releases: [{name: p50, statistic: median, epsilon: 0.1}]
    output: {topic: out}
    budget: {epsilon: 24, per: 1d}
`
}

const (
	fields     = `, user: user_id, value: timing.latency_ms, time: timing.at, group: region`
	avroInput  = `format: avro, schema: {file: testdata/checkout.avsc}` + fields
	protoInput = `format: protobuf, schema: {file: testdata/checkout.proto, message: shop.Checkout}` + fields
)

// A definition holds the schema itself: it can be read back where its file is not, and it makes the same decoder.
func TestSchemaIsPartOfTheDefinition(t *testing.T) {
	streams := []*config.Stream{parsed(t, typed(avroInput)), parsed(t, typed(protoInput))}
	t.Chdir(t.TempDir())
	for _, s := range streams {
		if strings.Contains(string(s.Definition), "testdata") {
			t.Errorf("the definition depends on a file: %s", s.Definition)
		}
		again, err := Definition(s.Definition)
		if err != nil {
			t.Fatalf("%v\n%s", err, s.Definition)
		}
		if again.Input.Schema != s.Input.Schema || s.Input.Schema.Text == "" {
			t.Errorf("read back as %+v, want %+v", again.Input.Schema, s.Input.Schema)
		}
		if _, err := codec.New(again.Codec()); err != nil {
			t.Error(err)
		}
	}
}

// How a schema is laid out in its file makes no new definition; what it says does.
func TestSchemaChangesTheDefinition(t *testing.T) {
	dir := t.TempDir()
	text, err := os.ReadFile("testdata/checkout.avsc")
	if err != nil {
		t.Fatal(err)
	}
	define := func(schema string) config.Definition {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "s.avsc"), []byte(schema), 0o600); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, "streams.yaml") // schemas are looked for beside it
		if err := os.WriteFile(path, []byte(typed(strings.Replace(avroInput, "testdata/checkout.avsc", "s.avsc", 1))),
			0o600); err != nil {
			t.Fatal(err)
		}
		f, err := Load(path, noVariables)
		if err != nil {
			t.Fatal(err)
		}
		return f.Streams[0].Definition
	}
	before := define(string(text))
	if after := define(strings.ReplaceAll(string(text), "\n", "\n\n")); after != before {
		t.Errorf("line ends make another definition:\n%s\n%s", before, after)
	}
	after := define(strings.Replace(string(text), `"double"`, `"float"`, 1))
	if after == before {
		t.Error("another type makes no other definition")
	}
	changes, err := config.Changes(before, after)
	if err != nil || len(changes) != 1 || changes[0].Key != "input.schema.text" {
		t.Fatalf("%+v, %v", changes, err)
	}
	if line := changes[0].String(); len(line) > 200 {
		t.Errorf("a change of %d characters: %s", len(line), line)
	}
}
