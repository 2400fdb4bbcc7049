package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/jedib0t/go-pretty/v6/table"
	"go.yaml.in/yaml/v3"
)

// Schema is the JSON Schema (draft 2020-12) of streams files. It covers keys, types and ranges. Only [Parse] checks how
// keys fit together.
func Schema() map[string]any {
	s := fileForm.schema()
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["title"] = "Louver streams file"
	s["$defs"] = schema{"variable": schema{"type": "string", "pattern": `\$\{[A-Za-z_][A-Za-z0-9_]*\}`, "description": "A reference to an environment variable."}}
	return s
}

func (f form) schema() schema {
	properties, required, conditions := schema{}, []string{}, []any{}
	for _, k := range f {
		properties[k.name] = true
		switch {
		case k.only.key != "":
			then := schema{"properties": schema{k.name: k.schema()}}
			if k.required {
				then["required"] = []string{k.name}
			}
			conditions = append(conditions, schema{"if": k.only.schema(), "then": then})
			continue
		case k.required:
			required = append(required, k.name)
		}
		properties[k.name] = k.schema()
	}
	for _, name := range f.names() {
		if c := f.without(name); c != nil {
			conditions = append(conditions, c)
		}
	}
	s := schema{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
	if len(conditions) > 0 {
		s["allOf"] = conditions
	}
	return s
}

// without says when a mapping must not have a key. It is nil if the key is always allowed.
func (f form) without(name string) schema {
	var with []string
	on := ""
	for _, k := range f {
		if k.name == name {
			on, with = k.only.key, append(with, k.only.is...)
		}
	}
	i := slices.IndexFunc(f, func(k key) bool { return k.name == on })
	if i < 0 {
		return nil
	}
	others := slices.DeleteFunc(slices.Clone(f[i].value.words), func(word string) bool { return slices.Contains(with, word) })
	c := when{on, others}.schema()
	if slices.Contains(others, f[i].fallback) {
		delete(c, "required")
	}
	return schema{"if": c, "then": schema{"properties": schema{name: false}}}
}

func (w when) schema() schema {
	return schema{"properties": schema{w.key: schema{"enum": w.is}}, "required": []string{w.key}}
}

func (k key) schema() schema {
	s := maps.Clone(k.value.schema)
	s["description"] = sentence(k.meaning)
	if k.fallback != "" {
		s["default"] = plain(k.fallback)
	}
	if !strings.Contains(k.example, "…") {
		s["examples"] = []any{plain(k.example)}
	}
	return s
}

// variableOr also allows a reference to a variable.
func variableOr(s schema) schema {
	return schema{"anyOf": []any{s, schema{"$ref": "#/$defs/variable"}}}
}

// plain converts a YAML value to JSON.
func plain(text string) (v any) {
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		return text
	}
	return v
}

// Reference returns the reference of streams files, in Markdown.
func Reference() string {
	var b strings.Builder
	fileForm.reference(&b, "", "The file")
	return strings.TrimSpace(b.String()) + "\n"
}

// reference writes the table of a mapping's keys and the tables of the mappings in it.
func (f form) reference(b *strings.Builder, path, title string) {
	t := table.NewWriter()
	t.AppendHeader(table.Row{"key", "type", "default", "meaning", "example"})
	for _, k := range f {
		t.AppendRow(table.Row{code(k.name), strings.ReplaceAll(k.value.name, "|", "\\|"), k.otherwise(), k.told(), code(k.example)})
	}
	fmt.Fprintf(b, "## %s\n\n%s\n\n", title, t.RenderMarkdown())
	for _, k := range f {
		if k.value.keys == nil {
			continue
		}
		at := strings.TrimPrefix(path+"."+k.name, ".")
		if k.value.schema["type"] == "array" {
			at += "[]"
		}
		k.value.keys.reference(b, at, code(at))
	}
}

// otherwise says what happens without the key.
func (k key) otherwise() string {
	switch {
	case k.required:
		return "required"
	case k.fallback != "":
		return code(k.fallback)
	}
	return k.absent
}

func (k key) told() string {
	text := sentence(k.meaning)
	if k.only.key != "" {
		var words []string
		for _, w := range k.only.is {
			words = append(words, code(w))
		}
		text = fmt.Sprintf("Only with %s %s. %s", code(k.only.key), list(words, "or"), text)
	}
	return text
}

// sentence turns a meaning into sentences.
func sentence(meaning string) string {
	r, size := utf8.DecodeRuneInString(meaning)
	return string(unicode.ToUpper(r)) + meaning[size:] + "."
}

func code(text string) string { return "`" + text + "`" }
