package config

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
)

// source is a file that is being read, and what was wrong with it.
type source struct {
	file   string
	getenv func(string) (string, bool)
	errs   []error
}

func (s *source) refuse(line int, path, format string, args ...any) {
	if path != "" {
		path += ": "
	}
	text := strings.Map(oneLine, path+fmt.Sprintf(format, args...))
	s.errs = append(s.errs, fmt.Errorf("%s:%d: %s", s.file, line, text))
}

// oneLine keeps names and values that hold line ends from making two lines of an error.
func oneLine(r rune) rune {
	if unicode.IsControl(r) {
		return ' '
	}
	return r
}

// node is a place in a file. A reader of it that finds a mistake notes it in the source and returns ok = false.
type node struct {
	*source
	yaml *yaml.Node
	path string
}

func (n node) refuse(format string, args ...any) {
	n.source.refuse(n.yaml.Line, n.path, format, args...)
}

// refuseErr passes on what another package found, without that package's name in front.
func (n node) refuseErr(err error) {
	text := err.Error()
	if before, after, ok := strings.Cut(text, ": "); ok && slices.Contains([]string{"grid", "mechanisms", "windows", "budget"}, before) {
		text = after
	}
	n.refuse("%s", text)
}

func (n node) where() string { return fmt.Sprintf("%s:%d", n.file, n.yaml.Line) }

func (n node) child(y *yaml.Node, path string) node {
	if y.Kind == yaml.AliasNode {
		y = y.Alias
	}
	return node{n.source, y, path}
}

// mapping is a node's keys and values.
type mapping struct {
	node
	values map[string]node
	bad    bool // a key is unknown or there twice: a missing key may be the misspelt one
}

// mapping reads a mapping that may have these keys. It is ok with unknown keys too, which are noted, so that the rest
// is checked.
func (n node) mapping(known ...string) (m mapping, ok bool) {
	m = mapping{node: n, values: map[string]node{}}
	if n.yaml.Kind != yaml.MappingNode {
		n.refuse("%s; want a mapping of %s", n.shown(), list(known, "and"))
		return m, false
	}
	for i := 0; i+1 < len(n.yaml.Content); i += 2 {
		k := n.yaml.Content[i]
		key := unmark(k.Value)
		path := strings.TrimPrefix(n.path+"."+key, ".")
		v := n.child(n.yaml.Content[i+1], path)
		switch _, twice := m.values[key]; {
		case k.Kind != yaml.ScalarNode || !slices.Contains(known, key):
			m.bad = true
			hint := "want " + list(known, "or")
			if near := nearest(key, known); near != "" {
				hint = fmt.Sprintf("did you mean %q?", near)
			}
			n.source.refuse(k.Line, path, "unknown key; %s", hint)
		case twice:
			m.bad = true
			n.source.refuse(k.Line, path, "the key is there twice; want it once")
		default:
			m.values[key] = v
		}
	}
	return m, true
}

func (m mapping) get(key string) (node, bool) {
	n, ok := m.values[key]
	return n, ok
}

// require notes a missing key; want says what its value is.
func (m mapping) require(key, want string) (node, bool) {
	n, ok := m.values[key]
	if !ok && !m.bad {
		m.source.refuse(m.yaml.Line, strings.TrimPrefix(m.path+"."+key, "."), "missing; want %s", want)
	}
	return n, ok
}

// items reads a list.
func (n node) items(want string) ([]node, bool) {
	if n.yaml.Kind != yaml.SequenceNode {
		n.refuse("%s; want a list of %s", n.shown(), want)
		return nil, false
	}
	items := make([]node, len(n.yaml.Content))
	for i, y := range n.yaml.Content {
		items[i] = n.child(y, fmt.Sprintf("%s[%d]", n.path, i))
	}
	return items, true
}

// shown says what stands at the node, for an error.
func (n node) shown() string {
	switch {
	case n.yaml.Kind == yaml.MappingNode:
		return "is a mapping"
	case n.yaml.Kind == yaml.SequenceNode:
		return "is a list"
	case n.yaml.Tag == "!!null":
		return "is empty"
	}
	return fmt.Sprintf("%q", unmark(n.yaml.Value))
}

// document parses YAML to the one document's root.
func (s *source) document(data []byte) (node, bool) {
	decoder := yaml.NewDecoder(strings.NewReader(mark(string(data))))
	var doc, next yaml.Node
	if err := decoder.Decode(&doc); err != nil {
		s.refuseYAML(err)
		return node{}, false
	}
	if err := decoder.Decode(&next); !errors.Is(err, io.EOF) {
		s.refuse(max(1, next.Line), "", "a second YAML document; want one a file")
		return node{}, false
	}
	return node{source: s}.child(doc.Content[0], ""), true
}

func (s *source) refuseYAML(err error) {
	line := 1
	text := unmark(strings.TrimPrefix(err.Error(), "yaml: "))
	if text == "EOF" {
		text = "the file is empty"
	} else if _, e := fmt.Sscanf(text, "line %d:", &line); e == nil {
		_, text, _ = strings.Cut(text, ": ")
	}
	s.refuse(line, "", "%s; want a streams file, in YAML", text)
}
