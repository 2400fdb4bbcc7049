package record

import (
	_ "embed" // the schema
	"encoding/json"
	"fmt"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"go.yaml.in/yaml/v3"

	"github.com/louver/louver/mechanisms"
)

//go:embed record.schema.json
var schemaText string

// JSONSchema is the JSON Schema (draft 2020-12) of the output records' values.
func JSONSchema() []byte {
	var statistics []string
	for _, s := range mechanisms.Statistics() {
		if s.Each() == s { // each of several quantiles is a quantile
			statistics = append(statistics, `"`+string(s)+`"`)
		}
	}
	statistics = append(statistics, `"`+StatisticWatch+`"`, `"`+StatisticGroups+`"`)
	return []byte(strings.Replace(schemaText, `"STATISTICS"`, strings.Join(statistics, ", "), 1))
}

// Reference describes the fields of an output record in tables of Markdown, from [JSONSchema].
func Reference() (string, error) {
	var doc yaml.Node // keeps the order of fields; JSON is YAML
	if err := yaml.Unmarshal(JSONSchema(), &doc); err != nil {
		return "", fmt.Errorf("record.schema.json: %w", err)
	}
	t := table.NewWriter()
	t.AppendHeader(table.Row{"field", "type", "meaning"})
	if err := describe(t, "", doc.Content[0]); err != nil {
		return "", err
	}
	return t.RenderMarkdown() + "\n", nil
}

// property describes a field in the reference.
type property struct {
	Description string
	Type        any
	Enum        []any
	Const       any
	Ref         string `yaml:"$ref"`
	Items       yaml.Node
}

// describe appends a row for each property of an object's schema.
func describe(t table.Writer, path string, object *yaml.Node) error {
	var schema struct{ Properties yaml.Node }
	if err := object.Decode(&schema); err != nil {
		return fmt.Errorf("record.schema.json: %w", err)
	}
	for i := 0; i+1 < len(schema.Properties.Content); i += 2 {
		name, node := path+schema.Properties.Content[i].Value, schema.Properties.Content[i+1]
		var p property
		if err := node.Decode(&p); err != nil {
			return fmt.Errorf("record.schema.json: %s: %w", name, err)
		}
		t.AppendRow(table.Row{"`" + name + "`", p.values(), p.Description})
		if err := describe(t, name+".", node); err != nil {
			return err
		}
	}
	return nil
}

// values describes what a field may hold.
func (p property) values() string {
	var words []string
	switch kinds, several := p.Type.([]any); {
	case p.Ref != "":
		return strings.TrimPrefix(p.Ref, "#/$defs/")
	case p.Const != nil:
		p.Enum = []any{p.Const}
	case several:
		for _, k := range kinds {
			words = append(words, fmt.Sprint(k))
		}
	case p.Type != nil:
		words = append(words, fmt.Sprint(p.Type))
	}
	for _, v := range p.Enum {
		word, err := json.Marshal(v)
		if err != nil {
			word = []byte(fmt.Sprint(v))
		}
		words = append(words, "`"+string(word)+"`")
	}
	return strings.Join(words, ", ")
}
