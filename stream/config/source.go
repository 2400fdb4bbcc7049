package config

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// source is a file that is being read, and its faults.
type source struct {
	file   string
	getenv func(string) (string, bool)
	faults []fault
	noted  map[fault]bool // by the last part of their paths
	// refused counts all faults, including repeated ones.
	refused int
}

// fault is a mistake and its place. Its text says what was found; what would be right.
type fault struct {
	at         *yaml.Node
	path, text string
}

// refuse records a fault. If aliases repeat a place, its faults are recorded only once.
func (s *source) refuse(at *yaml.Node, path, format string, args ...any) {
	f := fault{at, strings.Map(oneLine, path), strings.Map(oneLine, fmt.Sprintf(format, args...))}
	key := fault{at, path[strings.LastIndexByte(path, '.')+1:], f.text}
	if s.noted == nil {
		s.noted = map[fault]bool{}
	}
	s.refused++
	if !s.noted[key] {
		s.noted[key] = true
		s.faults = append(s.faults, f)
	}
}

// errors returns the faults, sorted by line.
func (s *source) errors() []error {
	slices.SortStableFunc(s.faults, func(a, b fault) int { return cmp.Compare(a.at.Line, b.at.Line) })
	errs := make([]error, len(s.faults))
	for i, f := range s.faults {
		if f.path != "" {
			f.path += ": "
		}
		errs[i] = fmt.Errorf("%s:%d: %s%s", s.file, f.at.Line, f.path, f.text)
	}
	return errs
}

// oneLine replaces line ends in names and values, so that an error stays on one line.
func oneLine(r rune) rune {
	if unicode.IsControl(r) {
		return ' '
	}
	return r
}

// node is a place in a file. Functions that read it record mistakes in the source and return ok = false.
type node struct {
	*source
	yaml *yaml.Node
	path string
}

func (n node) refuse(format string, args ...any) {
	n.source.refuse(n.yaml, n.path, format, args...)
}

// refuseErr records an error of package windows.
func (n node) refuseErr(err error) {
	n.refuse("%s", err)
}

func (n node) where() string { return fmt.Sprintf("%s:%d", n.file, n.yaml.Line) }

func (n node) child(y *yaml.Node, path string) node {
	if y.Kind == yaml.AliasNode {
		y = y.Alias
	}
	return node{n.source, y, path}
}

// under returns the path of a key in the mapping at the node.
func (n node) under(key string) string { return strings.TrimPrefix(n.path+"."+key, ".") }

func (n node) isMapping() bool { return n.yaml.Kind == yaml.MappingNode }
func (n node) isNull() bool    { return n.yaml.Kind == yaml.ScalarNode && n.yaml.Tag == "!!null" }

// shown describes what is at the node, for an error.
func (n node) shown() string {
	switch {
	case n.isMapping():
		return "a mapping"
	case n.yaml.Kind == yaml.SequenceNode:
		return "a list"
	case n.isNull():
		return "empty"
	}
	return show(unmark(n.yaml.Value))
}

// longestShown is how long a text may be that an error repeats.
const longestShown = 60

// tooLong reports whether an error may not repeat a text. A file of people's data that somebody took for a streams file is one
// long text to YAML, and must not end up in a log.
func tooLong(text string) bool { return utf8.RuneCountInString(text) > longestShown }

// show quotes words but not figures: "medium" and 0,05.
func show(text string) string {
	if tooLong(text) {
		return fmt.Sprintf("a text of %d characters", utf8.RuneCountInString(text))
	}
	if figure.MatchString(text) {
		return text
	}
	return fmt.Sprintf("%q", text)
}

var figure = regexp.MustCompile(`^[-+.]?[0-9][^"\pC]*$`)

// document parses YAML and returns the root of its only document.
func (s *source) document(data []byte) (node, bool) {
	decoder := yaml.NewDecoder(strings.NewReader(mark(string(data))))
	var doc, next yaml.Node
	if err := decoder.Decode(&doc); err != nil {
		s.refuseYAML(data, err)
		return node{}, false
	}
	if err := decoder.Decode(&next); !errors.Is(err, io.EOF) {
		s.refuse(&yaml.Node{Line: max(1, next.Line)}, "", "a second YAML document; want one per file")
		return node{}, false
	}
	return node{source: s}.child(doc.Content[0], ""), true
}

var tabbed = regexp.MustCompile(`(?m)^[ -]*\t+[^\s]`)

func (s *source) refuseYAML(data []byte, err error) {
	line := 1
	text := unmark(strings.TrimPrefix(err.Error(), "yaml: "))
	if text == "EOF" {
		text = "the file is empty"
	} else if _, e := fmt.Sscanf(text, "line %d:", &line); e == nil {
		_, text, _ = strings.Cut(text, ": ")
	}
	want := "want a streams file in YAML"
	if at := misfit(data, line); at > 0 {
		line, text = at, "this line does not fit those before it: "+text
		want = "check its indentation, its brackets and its quotes"
	}
	switch {
	case strings.Contains(text, "mapping values"):
		want = "quote a text that holds a colon and a space, and check the indentation"
	case strings.Contains(text, "unexpected end of stream"):
		text, want = "a quote is not closed", "close it"
	}
	if tab := tabbed.FindIndex(data); tab != nil && (strings.Contains(text, "tab") || strings.Contains(text, "cannot start any token")) {
		line, text, want = 1+strings.Count(string(data[:tab[0]]), "\n"), "a tab", "indent YAML with spaces"
	}
	s.refuse(&yaml.Node{Line: line}, "", "%s; %s", text, want)
}

// longestProbed limits the files that [misfit] reads again and again.
const longestProbed = 32 << 10

// misfit returns the line after the longest beginning of a file that is sound YAML, or 0. The parser names the line where the
// list or mapping with the mistake begins, which may be far above it.
func misfit(data []byte, reported int) int {
	lines := strings.SplitAfter(mark(string(data)), "\n")
	if len(data) > longestProbed || reported > len(lines) {
		return 0
	}
	for n := len(lines) - 1; n >= reported; n-- {
		if yaml.Unmarshal([]byte(strings.Join(lines[:n], "")), new(yaml.Node)) == nil {
			return n + 1
		}
	}
	return 0
}
