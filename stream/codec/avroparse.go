package codec

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/avro"
)

// avro compiles a schema and those that it refers to.
func (r Registered) avro() (s avroSchema, err error) {
	var all avro.SchemaCache
	for _, ref := range r.References {
		if _, err := parseAvro(&all, ref.Text); err != nil {
			return s, fmt.Errorf("%s: %w", ref.Name, err)
		}
	}
	parsed, err := parseAvro(&all, r.Text)
	if err != nil {
		return s, fmt.Errorf("not an Avro schema: %w", err)
	}
	return avroSchema{parsed}, nil
}

// parseAvro compiles a schema. It ignores logical types that are invalid, as the specification demands ("Logical
// Types": implementations must ignore an invalid logical type and use the underlying type). The parser does so with
// unknown ones, and refuses a decimal whose scale is greater than its precision.
func parseAvro(all *avro.SchemaCache, text string) (*avro.Schema, error) {
	parsed, err := all.Parse(text)
	if err == nil {
		return parsed, nil
	}
	var tree any
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if d.Decode(&tree) != nil || !dropInvalid(tree) {
		return nil, err
	}
	if text, dropErr := json.Marshal(tree); dropErr == nil {
		return all.Parse(string(text))
	}
	return nil, err
}

// dropInvalid removes invalid logical types from a schema in JSON, and reports whether there were any. An invalid one
// is one without which the type is right.
func dropInvalid(tree any) (dropped bool) {
	switch tree := tree.(type) {
	case []any:
		for _, within := range tree {
			dropped = dropInvalid(within) || dropped
		}
	case map[string]any:
		for _, within := range []string{"type", "fields", "items", "values"} {
			dropped = dropInvalid(tree[within]) || dropped
		}
		kind, _ := tree["type"].(string)
		logical, has := tree["logicalType"]
		if !has || !slices.Contains(avroSimple, kind) || parses(tree) {
			return dropped
		}
		delete(tree, "logicalType")
		if parses(tree) {
			return true
		}
		tree["logicalType"] = logical
	}
	return dropped
}

// avroSimple are the types that carry logical types.
var avroSimple = []string{"int", "long", "bytes", "string", "fixed", "float", "double", "boolean"}

// parses reports whether a type is right with its logical type.
func parses(tree map[string]any) bool {
	alone := map[string]any{}
	for _, name := range []string{"type", "name", "namespace", "size", "logicalType", "precision", "scale"} {
		if v, ok := tree[name]; ok {
			alone[name] = v
		}
	}
	text, err := json.Marshal(alone)
	if err != nil {
		return false
	}
	_, err = avro.Parse(string(text))
	return err == nil
}
