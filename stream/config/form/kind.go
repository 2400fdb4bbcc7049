package form

import (
	"errors"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Kind is a type of value: its description in the reference and in errors, and how it is read. Read records all
// mistakes. ok says whether the value can be used anyway.
type Kind[V any] struct {
	Spec
	Read func(n Node) (v V, ok bool)
	// parse reads the text of a scalar. It is nil for lists and mappings.
	parse func(text string) (V, error)
}

// Spec describes a kind.
type Spec struct {
	// Name is the type in the reference. Want is the end of an error: "want a duration, for example 15m".
	Name, Want string
	Schema     Schema
	// Words are all possible values, or nil if there are others.
	Words []string
	// Keys are the keys of a mapping, or of the mappings in a list.
	Keys Form
}

// Schema is a JSON Schema.
type Schema map[string]any

// ErrUnwanted is a mistake that needs no explanation beyond the value and what is wanted.
var ErrUnwanted = errors.New("")

// Scalar makes a kind for values that are written as one text. An error of parse continues a sentence that begins with
// the value: "is not a number; write 0.05". If it has no semicolon, the kind's Want is added.
func Scalar[V any](s Spec, parse func(text string) (V, error)) Kind[V] {
	bare := slices.Contains([]any{"number", "integer", "boolean"}, s.Schema["type"])
	s.Schema = orVariable(s.Schema)
	return Kind[V]{s, func(n Node) (v V, ok bool) {
		if !n.IsText() {
			n.Refuse("%s; want %s", n.Shown(), s.Want)
			return v, false
		}
		text, ok := n.expand()
		if !ok {
			return v, false
		}
		v, err := parse(text)
		quoted := n.yaml.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 && text == n.yaml.Value
		switch {
		case err == nil && quoted && bare:
			n.Refuse("%q is text because of the quotes; write %s", text, text)
		case err == nil:
			return v, true
		case tooLong(text):
			n.Refuse("%s; want %s", show(text), s.Want)
		case strings.Contains(err.Error(), "; "):
			n.Refuse("%s %s", show(text), err)
		default:
			n.Refuse("%s; want %s", strings.TrimSpace(show(text)+" "+err.Error()), s.Want)
		}
		return v, false
	}, parse}
}

// orVariable also allows a reference to a variable.
func orVariable(s Schema) Schema {
	return Schema{"anyOf": []any{s, Schema{"$ref": "#/$defs/variable"}}}
}
