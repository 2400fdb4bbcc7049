package form

import "fmt"

// Most is the length limit of lists that have no limit of their own.
const Most = 1 << 20

// ListOf is a list of least to limit values. No text may appear twice.
func ListOf[V any](item Kind[V], what string, least, limit int) Kind[[]V] {
	s := Spec{Name: "list", Want: "a list of " + what, Keys: item.Keys,
		Schema: Schema{"type": "array", "items": item.Schema, "minItems": least}}
	if limit < Most {
		s.Schema["maxItems"] = limit
	}
	return Kind[[]V]{Spec: s, Read: func(n Node) ([]V, bool) {
		text, isText := n.Text()
		switch length := len(n.yaml.Content); {
		case isText && item.Keys == nil && !tooLong(text):
			n.Refuse("%s is not a list; write [%s]", show(text), text)
			return nil, false
		case !n.IsList():
			n.Refuse("%s; want %s", n.Shown(), s.Want)
			return nil, false
		case length == 0 && least > 0:
			n.Refuse("an empty list; want %s", s.Want)
			return nil, false
		case length < least:
			n.Refuse("a list of %s; want %s", Plural(length, "item"), s.Want)
			return nil, false
		case length > limit:
			n.Refuse("a list of %s; want at most %d", Plural(length, "item"), limit)
			return nil, false
		}
		var values []V
		seen := map[any]bool{}
		for i := range n.yaml.Content {
			at := n.Item(i)
			at.path = at.named(n.path)
			v, ok := item.Read(at)
			if text, isText := any(v).(string); ok && isText {
				if seen[text] {
					at.Refuse("%q is in the list twice; remove one", text)
				}
				seen[text] = true
			}
			if ok {
				values = append(values, v)
			}
		}
		return values, true
	}}
}

// named returns the path of a list's item with its name in place of its number.
func (n Node) named(list string) string {
	if !n.IsMapping() {
		return n.path
	}
	for i := 0; i+1 < len(n.yaml.Content); i += 2 {
		if v := n.yaml.Content[i+1]; n.yaml.Content[i].Value == "name" && v.Value != "" {
			return fmt.Sprintf("%s[%s]", list, unmark(v.Value))
		}
	}
	return n.path
}
