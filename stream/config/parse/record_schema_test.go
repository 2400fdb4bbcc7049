package parse

import (
	"encoding/base64"
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

func TestSchemaMistakes(t *testing.T) {
	set := base64.StdEncoding.EncodeToString([]byte("no set"))
	for _, c := range []struct{ input, want string }{
		{`format: avro, schema: checkout.avsc` + fields,
			`4: streams[s].input.schema: "checkout.avsc"; want registry, or {file: …}`},
		{`format: avro, schema: registry, user: user_id, value: $value`,
			`4: streams[s].input.value: "$value"; $value is for json; want a field of the schema`},
		{`format: json, schema: registry` + fields,
			`4: streams[s].input.schema: json has no schema; remove it, or use format: avro or protobuf`},
		{`format: avro, schema: {}` + fields,
			`4: streams[s].input.schema: want either file or text, for example {file: checkout.avsc}`},
		{`format: avro, schema: {file: a, text: b}` + fields,
			`4: streams[s].input.schema: want either file or text, for example {file: checkout.avsc}`},
		{`format: avro, schema: {file: none.avsc}` + fields,
			`4: streams[s].input.schema: open none.avsc: no such file or ` +
				`directory; want the name of a schema's file, from the folder of the streams file`},
		{`format: avro, schema: {text: "{}"}` + fields, `4: streams[s].input.schema: not an Avro schema: …`},
		{`format: avro, schema: {file: testdata/checkout.proto, message: shop.Checkout}` + fields,
			`4: streams[s].input.schema: avro has no message; remove it`},
		{`format: avro, schema: {file: testdata/checkout.avsc}, user: user_id, value: latency_ms`,
			`4: streams[s].input.value: "latency_ms"; the schema has no such field; want one of user_id, region, timing`},
		{`format: avro, schema: {file: testdata/checkout.avsc}, user: user_id, value: timing.latency`,
			`4: streams[s].input.value: "timing.latency"; the schema has no such field; want one of latency_ms, day, at`},
		{`format: avro, schema: {file: testdata/checkout.avsc}, user: user_id.x, value: timing.latency_ms`,
			`4: streams[s].input.user: "user_id.x"; type string has no fields; want a path into records`},
		{`format: avro, schema: {file: testdata/checkout.avsc}, user: user_id, value: timing.latency_ms, time: timing.day`,
			`4: streams[s].input.time: "timing.day"; the schema says date; want timestamp-millis, timestamp-micros or ` +
				`timestamp-nanos, or a long, double or string`},
		{`format: avro, schema: {file: testdata/checkout.avsc}, user: timing.latency_ms, value: $value`,
			"4: streams[s].input.value: \"$value\"; $value is for json; want a field of the schema\n" +
				"4: streams[s].input.user: \"timing.latency_ms\"; the schema says double; want string, enum, " +
				"int or long"},
		{`format: protobuf, schema: {file: testdata/checkout.proto}` + fields,
			`4: streams[s].input.schema: message is missing; want one such as shop.Checkout, shop.Timing`},
		{`format: protobuf, schema: {file: testdata/checkout.proto, message: shop.Cart}` + fields,
			`4: streams[s].input.schema: no message "shop.Cart" in it; want one such as shop.Checkout, shop.Timing`},
		{`format: protobuf, schema: {file: testdata/checkout.avsc, message: a.B}` + fields,
			`4: streams[s].input.schema: not base64; want a set of file descriptors, or a .proto file`},
		{`format: protobuf, schema: {text: ` + set + `, message: a.B}` + fields,
			`4: streams[s].input.schema: not a set of file descriptors; want what protoc --include_imports ` +
				`--descriptor_set_out writes, or a .proto file`},
		{`format: protobuf, schema: {file: testdata/none.proto, message: a.B}` + fields,
			`4: streams[s].input.schema: …`},
		{`format: protobuf, schema: {file: testdata/checkout.proto, message: shop.Checkout}, user: items, value: ` +
			`timing.latency`,
			"4: streams[s].input.value: \"timing.latency\"; message shop.Timing has no such field; want one of " +
				"latency_ms, at\n4: streams[s].input.user: \"items\"; shop.Checkout.items is repeated; want a field " +
				"that occurs once"},
		{`format: protobuf, schema: {file: testdata/checkout.proto, message: shop.Checkout}, user: user_id, value: timing, ` +
			`time: timing`,
			"4: streams[s].input.value: \"timing\"; the message says shop.Timing; want a number, " +
				"google.protobuf.Duration, confluent.type.Decimal or a string that holds a number\n" +
				"4: streams[s].input.time: \"timing\"; the message says shop.Timing; want google.protobuf.Timestamp, " +
				"an integer, a double or a string"},
	} {
		_, err := File("s.yaml",
			[]byte(strings.Replace(typed(c.input), "    groups: [eu, us, ap]\n", groupsIf(c.input), 1)), noVariables)
		if err == nil {
			t.Errorf("%s: accepted; want %s", c.input, c.want)
			continue
		}
		got := strings.TrimPrefix(strings.ReplaceAll(err.Error(), "\ns.yaml:", "\n"), "s.yaml:")
		if want, open := strings.CutSuffix(c.want, "…"); got != want && (!open || !strings.HasPrefix(got, want)) {
			t.Errorf("%s:\n got %s\nwant %s", c.input, got, c.want)
		}
	}
}

// groupsIf is the list of groups, where the input has a group.
func groupsIf(input string) string {
	if strings.Contains(input, "group:") {
		return "    groups: [eu, us, ap]\n"
	}
	return ""
}
