package form

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Document parses YAML and returns the root of its only document.
func (s *Source) Document(data []byte) (Node, bool) {
	decoder := yaml.NewDecoder(strings.NewReader(mark(string(data))))
	var doc, next yaml.Node
	if err := decoder.Decode(&doc); err != nil {
		s.refuseYAML(data, err)
		return Node{}, false
	}
	if err := decoder.Decode(&next); !errors.Is(err, io.EOF) {
		s.refuse(&yaml.Node{Line: max(1, next.Line)}, "",
			"a second YAML document; want a streams file, which is one document")
		return Node{}, false
	}
	return Node{source: s}.child(doc.Content[0], ""), true
}

var tabbed = regexp.MustCompile(`(?m)^[ -]*\t+[^\s]`)

func (s *Source) refuseYAML(data []byte, err error) {
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
	aboutTabs := strings.Contains(text, "tab") || strings.Contains(text, "cannot start any token")
	if tab := tabbed.FindIndex(data); tab != nil && aboutTabs {
		line, text, want = 1+strings.Count(string(data[:tab[0]]), "\n"), "a tab", "indent YAML with spaces"
	}
	s.refuse(&yaml.Node{Line: line}, "", "%s; %s", text, want)
}

// longestProbed limits the files that [misfit] reads again and again.
const longestProbed = 32 << 10

// misfit returns the line after the longest beginning of the file that is sound YAML, or 0. The parser reports the line
// where the list or mapping with the mistake begins, which may be far above the mistake.
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

// A reference to a variable contains characters that have a meaning in YAML. So before parsing, each ${NAME} becomes
// NAME between two private-use characters. Its value is inserted after parsing. So the content of a variable is never
// read as YAML, and variables in comments need not exist.
const (
	markOpen  = "\uE000"
	markClose = "\uE001"
)

var (
	reference = regexp.MustCompile(`\$\{([^{}\n]*)\}`)
	marked    = regexp.MustCompile(markOpen + `([^` + markOpen + markClose + `]*)` + markClose)
	variable  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

func mark(text string) string { return reference.ReplaceAllString(text, markOpen+"$1"+markClose) }

func unmark(text string) string {
	if !strings.Contains(text, markOpen) {
		return text
	}
	return marked.ReplaceAllString(text, "$${$1}")
}
