package form

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Flow writes the node in one line. It leaves out the paths in without, which begin at the node. The items of a list
// have the path of the list.
func (n Node) Flow(b *strings.Builder, without ...string) {
	switch n.yaml.Kind {
	case yaml.AliasNode:
		Node{n.source, n.yaml.Alias, n.path}.Flow(b, without...)
	case yaml.MappingNode:
		var keys []string
		values := map[string]*yaml.Node{}
		for i := 0; i+1 < len(n.yaml.Content); i += 2 {
			key := n.yaml.Content[i].Value
			if !slices.Contains(without, key) {
				keys, values[key] = append(keys, key), n.yaml.Content[i+1]
			}
		}
		slices.Sort(keys)
		b.WriteByte('{')
		for i, key := range keys {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(keyOf(key) + ": ")
			var below []string
			for _, path := range without {
				if rest, ok := strings.CutPrefix(path, key+"."); ok {
					below = append(below, rest)
				}
			}
			n.child(values[key], key).Flow(b, below...)
		}
		b.WriteByte('}')
	case yaml.SequenceNode:
		b.WriteByte('[')
		for i, item := range n.yaml.Content {
			if i > 0 {
				b.WriteString(", ")
			}
			n.child(item, "").Flow(b, without...)
		}
		b.WriteByte(']')
	default:
		text, _ := n.expand()
		plain := n.yaml.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) == 0
		number := figure.MatchString(text) && !strings.ContainsAny(text, ",:{}[]#&*!|>'\"%@`") &&
			strings.TrimSpace(text) == text // spaces of a variable at the end would be lost
		if plain && (number || text == "true" || text == "false") {
			b.WriteString(text)
			return
		}
		quoted, _ := json.Marshal(text) // of a string: never fails
		b.Write(quoted)
	}
}

var simpleKey = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*$`)

// keyOf writes a key of a mapping: in quotes, unless it is a simple name.
func keyOf(key string) string {
	if simpleKey.MatchString(key) {
		return key
	}
	quoted, _ := json.Marshal(key) // of a string: never fails
	return string(quoted)
}

// Put gives a key of the mapping at the node the value at another node, so that the stream's definition holds it.
func (n Node) Put(key string, value Node) { n.put(key, value.yaml) }

// PutText does the same with a text.
func (n Node) PutText(key, text string) {
	n.put(key, &yaml.Node{Kind: yaml.ScalarNode, Value: text, Line: n.yaml.Line})
}

func (n Node) put(key string, value *yaml.Node) {
	for i := 0; i+1 < len(n.yaml.Content); i += 2 {
		if n.yaml.Content[i].Value == key {
			n.yaml.Content[i+1] = value
			return
		}
	}
	n.yaml.Content = append(n.yaml.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: key, Line: n.yaml.Line}, value)
}

// Embed replaces a reference to a text by the text itself, so that the stream's definition holds it.
func (n Node) Embed(reference, key, text string) {
	for i := 0; i+1 < len(n.yaml.Content); i += 2 {
		if k := n.yaml.Content[i]; k.Value == reference {
			k.Value = key
			line := n.yaml.Content[i+1].Line
			n.yaml.Content[i+1] = &yaml.Node{Kind: yaml.ScalarNode, Style: yaml.DoubleQuotedStyle,
				Value: text, Line: line}
		}
	}
}
