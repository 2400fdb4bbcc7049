// Package recordtest helps tests that make output records.
package recordtest

import (
	"bytes"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/louver/louver/stream/record"
)

// Schema is the compiled JSON Schema of output records.
type Schema struct {
	*jsonschema.Schema
	// Fields are the descriptions of the fields, by name.
	Fields map[string]any
}

// Compile compiles the schema.
func Compile(t testing.TB) Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(record.JSONSchema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("record.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("record.json")
	if err != nil {
		t.Fatal(err)
	}
	return Schema{s, doc.(map[string]any)["properties"].(map[string]any)}
}

// Follows fails the test if a record breaks the schema. It returns the record's fields.
func (s Schema) Follows(t testing.TB, name string, value []byte) map[string]any {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
	if err != nil {
		t.Fatalf("%s: %s: %v", name, value, err)
	}
	if err := s.Validate(v); err != nil {
		t.Errorf("%s: %s: %v", name, value, err)
	}
	return v.(map[string]any)
}
