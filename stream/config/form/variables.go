package form

import (
	"regexp"
	"strings"
)

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
