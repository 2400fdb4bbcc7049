package form

import (
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// JSONSchema is the JSON Schema (draft 2020-12) of files of this form. It covers keys, types and ranges, and not how
// keys fit together.
func (f Form) JSONSchema(title string) map[string]any {
	s := f.schema()
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["title"] = title
	s["$defs"] = Schema{"variable": Schema{"type": "string", "pattern": `\$\{[A-Za-z_][A-Za-z0-9_]*\}`,
		"description": "A reference to an environment variable."}}
	return s
}

func (f Form) schema() Schema {
	properties, required, conditions := Schema{}, []string{}, []any{}
	for _, k := range f {
		properties[k.Name] = true
		switch {
		case k.Only.Key != "":
			then := Schema{"properties": Schema{k.Name: k.schema()}}
			if k.Required {
				then["required"] = []string{k.Name}
			}
			conditions = append(conditions, Schema{"if": k.Only.schema(), "then": then})
			continue
		case k.Unless != "":
			conditions = append(conditions, k.instead())
		case k.Required:
			required = append(required, k.Name)
		}
		properties[k.Name] = k.schema()
	}
	for _, name := range f.names() {
		if c := f.without(name); c != nil {
			conditions = append(conditions, c)
		}
	}
	s := Schema{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
	if len(conditions) > 0 {
		s["allOf"] = conditions
	}
	return s
}

// instead says that a mapping has the key or the one in place of it.
func (k Key) instead() Schema {
	s := Schema{"if": Schema{"required": []string{k.Unless}}, "then": Schema{"properties": Schema{k.Name: false}}}
	if k.Required {
		s["else"] = Schema{"required": []string{k.Name}}
	}
	return s
}

// without says when a mapping must not have a key. It is nil if the key is always allowed.
func (f Form) without(name string) Schema {
	var with []string
	on := ""
	for _, k := range f {
		if k.Name == name {
			on, with = k.Only.Key, append(with, k.Only.Is...)
		}
	}
	if on == "" {
		return nil
	}
	other := f.key(on)
	others := slices.DeleteFunc(slices.Clone(other.Value.Words), func(word string) bool {
		return slices.Contains(with, word)
	})
	c := When{on, others}.schema()
	if slices.Contains(others, other.Fallback) {
		delete(c, "required")
	}
	return Schema{"if": c, "then": Schema{"properties": Schema{name: false}}}
}

func (w When) schema() Schema {
	return Schema{"properties": Schema{w.Key: Schema{"enum": w.Is}}, "required": []string{w.Key}}
}

func (k Key) schema() Schema {
	s := maps.Clone(k.Value.Schema)
	s["description"] = sentence(k.Meaning)
	if k.Fallback != "" {
		s["default"] = plain(k.Fallback)
	}
	if !strings.Contains(k.Example, "…") {
		s["examples"] = []any{plain(k.Example)}
	}
	return s
}

// plain converts a YAML value to JSON.
func plain(text string) (v any) {
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		return text
	}
	return v
}
