package form

import (
	"maps"
	"slices"

	"go.yaml.in/yaml/v3"
)

// Entry is a key of an open mapping and its value.
type Entry[V any] struct {
	Key   string
	Value V
	Node
}

// OpenOf is a mapping whose keys are free, in contrast to those of a Form. It has at most limit entries, which are
// returned in the order of their keys. check says what is wrong with a key: it continues a sentence that begins with
// the key.
func OpenOf[V any](item Kind[V], what string, limit int, check func(key string) error) Kind[[]Entry[V]] {
	s := Spec{Name: "mapping", Want: what, Keys: item.Keys,
		Schema: Schema{"type": "object", "additionalProperties": item.Schema, "maxProperties": limit}}
	return Kind[[]Entry[V]]{Spec: s, Read: func(n Node) (all []Entry[V], ok bool) {
		if !n.IsMapping() {
			n.Refuse("%s; want %s", n.Shown(), s.Want)
			return nil, false
		}
		if length := len(n.yaml.Content) / 2; length > limit {
			n.Refuse("%s; want at most %d", Plural(length, "key"), limit)
			return nil, false
		}
		lines := map[string]int{}
		values := map[string]Entry[V]{}
		for i := 0; i+1 < len(n.yaml.Content); i += 2 {
			k := n.yaml.Content[i]
			name := unmark(k.Value)
			v := n.child(n.yaml.Content[i+1], n.under(name))
			if tooLong(name) {
				v.path = n.under("…")
			}
			first, repeated := lines[name]
			switch err := check(name); {
			case k.Kind != yaml.ScalarNode:
				n.source.refuse(k, n.path, "a key is no text; want %s", s.Want)
				continue
			case name != k.Value:
				n.source.refuse(k, v.path, "a variable in a key; want the key itself")
				continue
			case repeated:
				n.source.refuse(k, v.path, "already set on line %d; remove one of the two", first)
				continue
			case err != nil:
				n.source.refuse(k, v.path, "%s %s", show(name), err)
				continue
			}
			lines[name] = k.Line
			if read, ok := item.Read(v); ok {
				values[name] = Entry[V]{name, read, v}
			}
		}
		for _, name := range slices.Sorted(maps.Keys(values)) {
			all = append(all, values[name])
		}
		return all, true
	}}
}

// Literal is a text or a number as it is written: with quotes it is a text.
type Literal struct {
	Text   string
	Number bool // the text is a number in JSON's notation
}

// AnyLiteral is a text, a number, or true or false, which are texts.
func AnyLiteral() Kind[Literal] {
	s := Spec{Name: "text or number", Want: "a text or a number", Schema: Schema{"type": textTypes}}
	return Kind[Literal]{Spec: s, Read: func(n Node) (l Literal, ok bool) {
		if !n.IsText() {
			n.Refuse("%s; want %s", n.Shown(), s.Want)
			return l, false
		}
		if l.Text, ok = n.expand(); !ok {
			return l, false
		}
		if n.yaml.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0 ||
			!figure.MatchString(l.Text) || tooLong(l.Text) {
			return l, true
		}
		d, err := parseNumber(l.Text)
		switch {
		case err == nil:
			return Literal{d.String(), true}, true
		case leading.MatchString(l.Text) && digits.MatchString(l.Text):
			n.Refuse("%s %s, or '%s' for a text", l.Text, err, l.Text)
			return l, false
		}
		return l, true // such as a date
	}}
}
