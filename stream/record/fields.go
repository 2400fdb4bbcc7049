package record

import (
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"
)

// kind is the type of a field, for schema languages that are simpler than JSON Schema.
type kind string

const (
	ofText    kind = "text" // enumerations, too
	ofTime    kind = "time"
	ofNumber  kind = "number"
	ofInteger kind = "integer"
	ofBoolean kind = "boolean"
	ofList    kind = "list" // of numbers
	ofWholes  kind = "list of integers"
	ofObject  kind = "object"
	ofObjects kind = "list of objects"
)

// field is a field of the output record, as record.schema.json describes it.
type field struct {
	name string
	kind kind
	// nullable says that it may be null, and required that it is in every record, even in those of older formats.
	nullable, required bool
	// fields are those of an object, or of each object of a list.
	fields []field
}

// recordFields returns the fields of the output record, in the order of record.schema.json.
func recordFields() ([]field, error) {
	var doc yaml.Node // keeps the order of fields; JSON is YAML
	err := yaml.Unmarshal(JSONSchema(), &doc)
	if err != nil {
		return nil, fmt.Errorf("record.schema.json: %w", err)
	}
	fields, err := objectFields(doc.Content[0])
	if err != nil {
		return nil, fmt.Errorf("record.schema.json: %w", err)
	}
	return fields, nil
}

func objectFields(object *yaml.Node) (fields []field, err error) {
	var schema struct {
		Properties yaml.Node
		Required   []string
	}
	if err := object.Decode(&schema); err != nil {
		return nil, err
	}
	for i := 0; i+1 < len(schema.Properties.Content); i += 2 {
		f, node := field{name: schema.Properties.Content[i].Value}, schema.Properties.Content[i+1]
		var p property
		err := node.Decode(&p)
		if err == nil {
			f.kind, f.nullable, err = p.kind()
		}
		if err == nil && f.kind == ofList && p.Items.Type == "integer" {
			f.kind = ofWholes
		}
		of := node
		if err == nil && f.kind == ofList && p.Items.Type == "object" {
			f.kind, of = ofObjects, item(node)
		}
		if err == nil && (f.kind == ofObject || f.kind == ofObjects) {
			f.fields, err = objectFields(of)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		f.required = slices.Contains(schema.Required, f.name)
		fields = append(fields, f)
	}
	return fields, nil
}

// item returns the schema of the items of a list.
func item(list *yaml.Node) *yaml.Node {
	at := slices.IndexFunc(list.Content, func(n *yaml.Node) bool { return n.Value == "items" })
	return list.Content[at+1]
}

// kind returns the property's type, and whether it may be null.
func (p property) kind() (k kind, null bool, err error) {
	switch {
	case p.Ref == "#/$defs/time":
		return ofTime, false, nil
	case p.Const != nil:
		return ofText, false, nil
	case p.Enum != nil:
		return ofText, slices.Contains(p.Enum, nil), nil
	}
	types, several := p.Type.([]any)
	if !several {
		types = []any{p.Type}
	}
	known := map[any]kind{"string": ofText, "number": ofNumber, "integer": ofInteger, "boolean": ofBoolean,
		"array": ofList, "object": ofObject}
	for _, t := range types {
		switch {
		case t == "null":
			null = true
		case known[t] == "" || k != "":
			return "", false, fmt.Errorf("type %v; want one type, or one and null", p.Type)
		default:
			k = known[t]
		}
	}
	return k, null, nil
}
