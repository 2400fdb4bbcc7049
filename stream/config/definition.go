package config

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Definition is a stream and its budget, written as a streams file of one line: variables are replaced, keys are
// sorted, and comments are gone. Keys that do not change a window are left out: the description, the start,
// user_partitioned, fresh and continues. So two definitions are equal if their windows would be the same.
type Definition string

// Fingerprint is a short name for a definition.
func (d Definition) Fingerprint() string {
	sum := sha256.Sum256([]byte(d))
	return hex.EncodeToString(sum[:6])
}

// Stream reads the definition back. Its start is "now", because a definition does not hold the real one.
func (d Definition) Stream() (*Stream, error) {
	var one parser
	// Variables were replaced when the definition was made.
	one.read("definition", []byte(d), func(name string) (string, bool) { return "${" + name + "}", true })
	f, err := one.resolve()
	if err != nil {
		return nil, err
	}
	return f.Streams[0], nil
}

// define writes a stream and the shared budget that it names, if any, as a definition.
func define(stream node, shared *node) Definition {
	var b strings.Builder
	b.WriteString(`{version: 1, `)
	if shared != nil {
		b.WriteString(`budgets: [`)
		shared.flow(&b)
		b.WriteString(`], `)
	}
	b.WriteString(`streams: [`)
	stream.flow(&b, "description", "fresh", "continues", "window.start", "input.user_partitioned")
	b.WriteString(`]}`)
	return Definition(b.String())
}

// flow writes the node in one line, without some paths, which begin at the node.
func (n node) flow(b *strings.Builder, without ...string) {
	switch n.yaml.Kind {
	case yaml.AliasNode:
		node{n.source, n.yaml.Alias, n.path}.flow(b, without...)
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
			b.WriteString(key + ": ")
			var below []string
			for _, path := range without {
				if rest, ok := strings.CutPrefix(path, key+"."); ok {
					below = append(below, rest)
				}
			}
			n.child(values[key], key).flow(b, below...)
		}
		b.WriteByte('}')
	case yaml.SequenceNode:
		b.WriteByte('[')
		for i, item := range n.yaml.Content {
			if i > 0 {
				b.WriteString(", ")
			}
			n.child(item, "").flow(b)
		}
		b.WriteByte(']')
	default:
		text, _ := n.expand()
		plain := n.yaml.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) == 0
		if plain && (figure.MatchString(text) && !strings.ContainsAny(text, ",:{}[]#&*!|>'\"%@`") || text == "true" || text == "false") {
			b.WriteString(text)
			return
		}
		quoted, _ := json.Marshal(text) // of a string: never fails
		b.Write(quoted)
	}
}
