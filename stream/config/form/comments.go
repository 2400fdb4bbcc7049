package form

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// Commented returns the values that have a comment on their line which begins with these words, with what follows the
// words. Aliases are not followed: their values stand elsewhere.
func (n Node) Commented(words string) (all []Commented) {
	visit := func(key *yaml.Node, value Node) {
		if value.yaml.Kind == yaml.AliasNode {
			return
		}
		for _, at := range []*yaml.Node{key, value.yaml} {
			if at == nil {
				continue
			}
			comment := strings.TrimSpace(strings.TrimLeft(at.LineComment, "# "))
			if rest, begins := strings.CutPrefix(comment, words); begins {
				all = append(all, Commented{value, strings.Trim(rest, ": ")})
				break
			}
		}
		all = append(all, value.Commented(words)...)
	}
	switch n.yaml.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.yaml.Content); i += 2 {
			key, value := n.yaml.Content[i], n.yaml.Content[i+1]
			visit(key, Node{n.source, value, n.under(unmark(key.Value))})
		}
	case yaml.SequenceNode:
		for i := range n.yaml.Content {
			at := n.Item(i)
			at.yaml, at.path = n.yaml.Content[i], at.named(n.path)
			visit(nil, at)
		}
	}
	return all
}

// Commented is a value with a comment.
type Commented struct {
	Node
	// Rest is the comment without the words that were asked for.
	Rest string
}

// Says reports whether the value is this text, as it is written in the file.
func (c Commented) Says(text string) bool {
	return c.yaml.Kind == yaml.ScalarNode && unmark(c.yaml.Value) == text
}

// Path is the path of the key, such as streams[checkout].window.size.
func (c Commented) Path() string { return c.path }
