package config

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

// expand replaces references to variables in a scalar with their values.
func (n node) expand() (text string, ok bool) {
	ok = true
	text = marked.ReplaceAllStringFunc(n.yaml.Value, func(m string) string {
		name := marked.FindStringSubmatch(m)[1]
		value, set := n.getenv(name)
		switch {
		case !variable.MatchString(name):
			n.refuse("${%s} is not the name of a variable; want ${NAME} of letters, digits and _", name)
			ok = false
		case !set:
			n.refuse("the environment variable %s is not set; set it, or write the value instead of ${%s}", name, name)
			ok = false
		}
		return value
	})
	return text, ok
}
