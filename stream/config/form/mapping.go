package form

import (
	"slices"

	"go.yaml.in/yaml/v3"
)

// Mapping is a mapping that has been read.
type Mapping struct {
	Node
	// Values are the places of the keys that are given.
	Values map[string]Node
	bad    bool // a key is unknown or repeated, so a missing key may be a misspelt one
}

// MappingOf is a mapping that is read into a T. check, if not nil, checks the result; ok says that there are no faults
// so far.
func MappingOf[T any](f Form, check func(m Mapping, t *T, ok bool)) Kind[T] {
	s := Spec{Name: "mapping", Want: f.want(), Keys: f, Schema: f.schema()}
	return Kind[T]{Spec: s, Read: func(n Node) (t T, ok bool) {
		m, ok := f.read(n, &t)
		if check != nil && m.Values != nil {
			check(m, &t, ok)
		}
		return t, m.Values != nil
	}}
}

// read reads a mapping and records its faults. ok says that there were none.
func (f Form) read(n Node, to any) (m Mapping, ok bool) {
	before := n.source.refused
	if m, ok = f.places(n); !ok {
		return Mapping{}, false
	}
	told := map[string]bool{} // keys that were left out, although others need them
	for _, k := range f {
		v, given := m.Values[k.Name]
		switch {
		case !f.applies(m, k):
			if given && f.belongs(m, k.Only.Key) && !f.belongs(m, k.Name) && !told[k.Only.Key] {
				f.refuseMisplaced(m, k, v)
				_, written := m.Values[k.Only.Key]
				told[k.Only.Key] = !written
			}
		case m.has(k.Unless):
			if given {
				v.Refuse("it has no place beside %s; remove it", k.Unless)
			}
		case given:
			k.Value.read(v, to)
		case k.Required && !m.bad:
			n.Under(k.Name).Refuse("missing; %s", k.missed())
		case k.Fallback != "":
			var doc yaml.Node
			_ = yaml.Unmarshal([]byte(k.Fallback), &doc) // the fallback is ours and can be read
			k.Value.read(Node{n.source, doc.Content[0], k.Name}, to)
		}
	}
	return m, n.source.refused == before
}

// has reports whether a key is given.
func (m Mapping) has(key string) bool {
	_, given := m.Values[key]
	return given
}

// places finds the places of a mapping's keys.
func (f Form) places(n Node) (m Mapping, ok bool) {
	m = Mapping{Node: n, Values: map[string]Node{}}
	if !n.IsMapping() {
		if text, ok := n.Text(); n.path == "" {
			n.Refuse(foreign)
		} else if ok && f.sole() != "" && !tooLong(text) {
			n.Refuse("%s is not a mapping; write {%s: %s}", show(text), f.sole(), text)
		} else {
			n.Refuse("%s; want %s", n.Shown(), f.want())
		}
		return m, false
	}
	if n.path == "" && !f.resembles(n.yaml) {
		n.Refuse(foreign)
		return m, false
	}
	content, lines := n.yaml.Content, map[string]int{}
	for i := 0; i+1 < len(content); i += 2 {
		k := content[i]
		name := unmark(k.Value)
		v := n.child(content[i+1], n.under(name))
		for i+3 < len(content) && commaFollows(v.yaml, content[i+2], content[i+3]) {
			v.yaml = &yaml.Node{Kind: yaml.ScalarNode, Value: v.yaml.Value + "," + content[i+2].Value,
				Line: v.yaml.Line}
			i += 2
		}
		first, repeated := lines[name]
		switch {
		case k.Kind != yaml.ScalarNode || !slices.Contains(f.names(), name):
			m.bad = true
			if tooLong(name) {
				v.path = n.under("…")
			}
			n.source.refuse(k, v.path, "unknown key; %s", Instead(name, f.names(), ""))
		case repeated:
			m.bad = true
			n.source.refuse(k, v.path, "already set on line %d; remove one of the two", first)
		default:
			m.Values[name], lines[name] = v, k.Line
		}
	}
	return m, true
}

// foreign is the error for a file that is nothing like a streams file. It may hold people's data, so the error repeats
// nothing of it.
const foreign = "not a streams file; want YAML that begins with version: 1"

// resembles reports whether any key of a mapping is known, or nearly so.
func (f Form) resembles(y *yaml.Node) bool {
	for i := 0; i+1 < len(y.Content); i += 2 {
		if Nearest(unmark(y.Content[i].Value), f.names()) != "" {
			return true
		}
	}
	return false
}

// commaFollows reports whether YAML split a number at its decimal comma: it reads {epsilon: 0,05} as epsilon: 0 and a
// key 05.
func commaFollows(v, key, value *yaml.Node) bool {
	return value.Tag == "!!null" && value.Value == "" && digits.MatchString(key.Value) && figure.MatchString(v.Value)
}

// applies reports whether a key belongs in this mapping.
func (f Form) applies(m Mapping, k Key) bool {
	return k.Only.Key == "" || slices.Contains(k.Only.Is, f.word(m, k.Only.Key)) && f.belongs(m, k.Only.Key)
}

// belongs reports whether some key of this name belongs in this mapping.
func (f Form) belongs(m Mapping, name string) bool {
	return slices.ContainsFunc(f, func(k Key) bool { return k.Name == name && f.applies(m, k) })
}

// word returns the value of another key of the mapping, or its default; "" if a key takes its place.
func (f Form) word(m Mapping, name string) string {
	if m.has(f.key(name).Unless) {
		return ""
	}
	if v, ok := m.Values[name]; ok {
		text, _ := v.Text()
		return text
	}
	return f.key(name).Fallback
}

// refuseMisplaced refuses a key that belongs to other mappings, unless the key it depends on is wrong itself.
func (f Form) refuseMisplaced(m Mapping, k Key, v Node) {
	var others []string
	for _, o := range f {
		if o.Name == k.Name {
			others = append(others, o.Only.Is...)
		}
	}
	on, word := k.Only.Key, f.word(m, k.Only.Key)
	switch _, written := m.Values[on]; {
	case !slices.Contains(f.key(on).Value.Words, word) && (written || f.key(on).Required):
	case !written:
		v.Refuse("it means nothing without %s: %s; add that, or remove it", on, List(others, "or"))
	default:
		v.Refuse("%s has no %s; remove it, or use %s: %s", word, k.Name, on, List(others, "or"))
	}
}
