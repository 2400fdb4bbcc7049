package config

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/louver/louver/mechanisms"
)

// key declares one key of a mapping: how it is read and what the reference says about it. Nothing else lists the keys.
// go generate ./cmd/louver updates deploy/STREAMS.md.
type key struct {
	name string
	// meaning begins in lower case. The error for a missing key quotes it up to the first colon or full stop.
	meaning string
	// example is a sample value, as written in a file.
	example  string
	required bool
	// fallback is the default, as written in a file. If it is "", absent says what happens without the key.
	fallback, absent string
	// only limits the key to mappings in which another key has one of these values. A name may be declared several
	// times, for different values.
	only  when
	value value
}

// when is a condition on another key of the same mapping, which must be declared earlier. The zero value always holds.
type when struct {
	key string
	is  []string
}

// value reads a kind into a field of a mapping's result.
type value struct {
	spec
	read func(n node, into any)
}

// into makes a value that reads a kind and puts the result into a *T.
func into[T, V any](k kind[V], put func(*T, V)) value {
	return value{k.spec, func(n node, to any) {
		if v, ok := k.read(n); ok {
			put(to.(*T), v)
		}
	}}
}

// form declares the keys of a mapping.
type form []key

// mapping is a mapping that has been read, with the places of its keys.
type mapping struct {
	node
	values map[string]node
	bad    bool // a key is unknown or repeated, so a missing key may be a misspelt one
}

// read reads a mapping and records its faults. ok says that there were none.
func (f form) read(n node, to any) (m mapping, ok bool) {
	before := n.refused
	if m, ok = f.keys(n); !ok {
		return mapping{}, false
	}
	told := map[string]bool{} // keys that were left out, although others need them
	for _, k := range f {
		v, given := m.values[k.name]
		switch {
		case !f.applies(m, k):
			if given && f.belongs(m, k.only.key) && !f.belongs(m, k.name) && !told[k.only.key] {
				f.refuseMisplaced(m, k, v)
				_, written := m.values[k.only.key]
				told[k.only.key] = !written
			}
		case given:
			k.value.read(v, to)
		case k.required && !m.bad:
			n.source.refuse(n.yaml, n.under(k.name), "missing; %s", k.missed())
		case k.fallback != "":
			var doc yaml.Node
			_ = yaml.Unmarshal([]byte(k.fallback), &doc) // the fallback is ours and can be read
			k.value.read(node{n.source, doc.Content[0], k.name}, to)
		}
	}
	return m, n.refused == before
}

// refuseErr records an error at the key that it is about.
func (m mapping) refuseErr(err error) {
	e := (*mechanisms.Error)(nil)
	if !errors.As(err, &e) {
		m.node.refuseErr(err)
		return
	}
	if v, given := m.values[e.Parameter]; given {
		v.refuse("%s; want %s", e.Value, e.Want)
		return
	}
	m.refuse("%s", e)
}

// missed says what to write for a missing key.
func (k key) missed() string {
	if k.value.words != nil {
		return "want " + k.value.want
	}
	return fmt.Sprintf("add it, for example %s: %s (%s)", k.name, k.example, beginning.FindString(k.meaning))
}

var beginning = regexp.MustCompile(`^([^.:]|[.:][^ ])*`)

// only is the one key that must be given, or "" if there are several or none.
func (f form) only() (name string) {
	for _, k := range f {
		switch {
		case k.required && name != "":
			return ""
		case k.required:
			name = k.name
		}
	}
	return name
}

// keys finds the places of a mapping's keys.
func (f form) keys(n node) (m mapping, ok bool) {
	m = mapping{node: n, values: map[string]node{}}
	if !n.isMapping() {
		if text, ok := n.text(); n.path == "" {
			n.refuse(foreign)
		} else if ok && f.only() != "" && !tooLong(text) {
			n.refuse("%s is not a mapping; write {%s: %s}", show(text), f.only(), text)
		} else {
			n.refuse("%s; want %s", n.shown(), f.want())
		}
		return m, false
	}
	if n.path == "" && !f.resembles(n.yaml) {
		n.refuse(foreign)
		return m, false
	}
	lines := map[string]int{}
	for i := 0; i+1 < len(n.yaml.Content); i += 2 {
		k := n.yaml.Content[i]
		name := unmark(k.Value)
		v := n.child(n.yaml.Content[i+1], n.under(name))
		for i+3 < len(n.yaml.Content) && commaFollows(v.yaml, n.yaml.Content[i+2], n.yaml.Content[i+3]) {
			v.yaml = &yaml.Node{Kind: yaml.ScalarNode, Value: v.yaml.Value + "," + n.yaml.Content[i+2].Value, Line: v.yaml.Line}
			i += 2
		}
		first, repeated := lines[name]
		switch {
		case k.Kind != yaml.ScalarNode || !slices.Contains(f.names(), name):
			m.bad = true
			if tooLong(name) {
				v.path = n.under("…")
			}
			n.source.refuse(k, v.path, "unknown key; %s", f.meant(name))
		case repeated:
			m.bad = true
			n.source.refuse(k, v.path, "already set on line %d; remove one of the two", first)
		default:
			m.values[name], lines[name] = v, k.Line
		}
	}
	return m, true
}

// foreign is what a file is that has nothing of a streams file. It may hold people's data, so nothing of it is repeated.
const foreign = "not a streams file; want YAML that begins with version: 1"

// resembles reports whether any key of a mapping is known, or nearly.
func (f form) resembles(y *yaml.Node) bool {
	for i := 0; i+1 < len(y.Content); i += 2 {
		if nearest(unmark(y.Content[i].Value), f.names()) != "" {
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

// meant suggests the key that a misspelt one was meant to be.
func (f form) meant(name string) string {
	if near := nearest(name, f.names()); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return "want " + list(f.names(), "or")
}

// applies reports whether a key belongs in this mapping.
func (f form) applies(m mapping, k key) bool {
	return k.only.key == "" || slices.Contains(k.only.is, f.word(m, k.only.key)) && f.belongs(m, k.only.key)
}

// belongs reports whether some key of this name belongs in this mapping.
func (f form) belongs(m mapping, name string) bool {
	return slices.ContainsFunc(f, func(k key) bool { return k.name == name && f.applies(m, k) })
}

// word returns the value of another key of the mapping, or its default.
func (f form) word(m mapping, name string) string {
	if v, ok := m.values[name]; ok {
		text, _ := v.text()
		return text
	}
	return f[slices.IndexFunc(f, func(k key) bool { return k.name == name })].fallback
}

// refuseMisplaced refuses a key that belongs to other mappings, unless the key it depends on is wrong itself.
func (f form) refuseMisplaced(m mapping, k key, v node) {
	var others []string
	for _, o := range f {
		if o.name == k.name {
			others = append(others, o.only.is...)
		}
	}
	at := slices.IndexFunc(f, func(o key) bool { return o.name == k.only.key })
	word := f.word(m, k.only.key)
	switch _, written := m.values[k.only.key]; {
	case !slices.Contains(f[at].value.words, word):
	case !written:
		v.refuse("it means nothing without %s: %s; add that, or remove it", k.only.key, list(others, "or"))
	default:
		v.refuse("%s has no %s; remove it, or use %s: %s", word, k.name, k.only.key, list(others, "or"))
	}
}

// names returns the keys that a mapping may have.
func (f form) names() (names []string) {
	for _, k := range f {
		if !slices.Contains(names, k.name) {
			names = append(names, k.name)
		}
	}
	return names
}

// want shows the keys that a mapping must have.
func (f form) want() string {
	var keys []string
	for _, k := range f {
		if k.required && k.only.key == "" {
			keys = append(keys, k.name+": …")
		}
	}
	return "{" + strings.Join(keys, ", ") + "}"
}
