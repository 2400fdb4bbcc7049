package config

import (
	"regexp"
	"strings"
)

// A reference to a variable holds characters that YAML reads as its own. So the text gets each ${NAME} as NAME between
// two private characters before it is parsed, and the value that they stand for only after: a variable's content never
// acts as YAML, and a commented line needs no variable.
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

// expand replaces the references in a scalar by the variables' values.
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
