package form

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Node is a place in a file. Functions that read it record mistakes in the source and return ok = false.
type Node struct {
	source *Source
	yaml   *yaml.Node
	path   string
}

// Refuse records a fault at the node. The text says what was found; what would be right.
func (n Node) Refuse(format string, args ...any) {
	n.source.refuse(n.yaml, n.path, format, args...)
}

// Where returns the node's place as "file:line".
func (n Node) Where() string { return fmt.Sprintf("%s:%d", n.source.file, n.yaml.Line) }

// Beside returns the path of a file whose name is relative to the folder of the file that is read.
func (n Node) Beside(name string) string { return filepath.Join(filepath.Dir(n.source.file), name) }

func (n Node) child(y *yaml.Node, path string) Node {
	if y.Kind == yaml.AliasNode {
		y = y.Alias
	}
	return Node{n.source, y, path}
}

// Item is the place of a list's item, which is named by its number.
func (n Node) Item(i int) Node { return n.child(n.yaml.Content[i], fmt.Sprintf("%s[%d]", n.path, i)) }

// Under is the place of a key that the mapping at the node lacks: its path, and the mapping's line.
func (n Node) Under(key string) Node { return Node{n.source, n.yaml, n.under(key)} }

// under returns the path of a key in the mapping at the node.
func (n Node) under(key string) string { return strings.TrimPrefix(n.path+"."+key, ".") }

// IsMapping says whether a mapping is at the node. A value that is empty is neither that nor a list nor a text.
func (n Node) IsMapping() bool { return n.yaml.Kind == yaml.MappingNode }

// IsList says whether a list is at the node.
func (n Node) IsList() bool { return n.yaml.Kind == yaml.SequenceNode }

// IsText says whether a text, a number or a truth value is at the node.
func (n Node) IsText() bool { return n.yaml.Kind == yaml.ScalarNode && !n.isNull() }

func (n Node) isNull() bool { return n.yaml.Kind == yaml.ScalarNode && n.yaml.Tag == "!!null" }

// Text reads a scalar, with the variables in it replaced.
func (n Node) Text() (string, bool) {
	if !n.IsText() {
		return "", false
	}
	return n.expand()
}

// expand replaces references to variables in a scalar with their values.
func (n Node) expand() (text string, ok bool) {
	ok = true
	text = marked.ReplaceAllStringFunc(n.yaml.Value, func(m string) string {
		name := marked.FindStringSubmatch(m)[1]
		value, set := n.source.getenv(name)
		switch {
		case !variable.MatchString(name):
			n.Refuse("${%s} is not the name of a variable; want ${NAME} of letters, digits and _", name)
			ok = false
		case !set:
			n.Refuse("the environment variable %s is not set; set it, or write the value instead of ${%s}", name, name)
			ok = false
		}
		return value
	})
	return text, ok
}

// Shown describes what is at the node, for an error.
func (n Node) Shown() string {
	switch {
	case n.IsMapping():
		return "a mapping"
	case n.IsList():
		return "a list"
	case n.isNull():
		return "empty"
	}
	return show(unmark(n.yaml.Value))
}

// longestShown is how long a text may be that an error repeats.
const longestShown = 60

// tooLong reports whether an error may not repeat a text. A file of people's data that somebody took for a streams file
// is one long text to YAML, and must not end up in a log.
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

// Commented returns the values that have a comment on their line which begins with these words, with what follows the
// words. Aliases are not followed: their values stand elsewhere.
func (n Node) Commented(words string) (all []Commented) {
	visit := func(key *yaml.Node, value Node) {
		if value.yaml.Kind == yaml.AliasNode {
			return
		}
		for _, at := range []*yaml.Node{key, value.yaml} {
			if at == nil {
				continue
			}
			comment := strings.TrimSpace(strings.TrimLeft(at.LineComment, "# "))
			if rest, begins := strings.CutPrefix(comment, words); begins {
				all = append(all, Commented{value, strings.Trim(rest, ": ")})
				break
			}
		}
		all = append(all, value.Commented(words)...)
	}
	switch n.yaml.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.yaml.Content); i += 2 {
			key, value := n.yaml.Content[i], n.yaml.Content[i+1]
			visit(key, Node{n.source, value, n.under(unmark(key.Value))})
		}
	case yaml.SequenceNode:
		for i := range n.yaml.Content {
			at := n.Item(i)
			at.yaml, at.path = n.yaml.Content[i], at.named(n.path)
			visit(nil, at)
		}
	}
	return all
}

// Commented is a value with a comment.
type Commented struct {
	Node
	// Rest is the comment without the words that were asked for.
	Rest string
}

// Says reports whether the value is this text, as it is written in the file.
func (c Commented) Says(text string) bool {
	return c.yaml.Kind == yaml.ScalarNode && unmark(c.yaml.Value) == text
}

// Path is the path of the key, such as streams[checkout].window.size.
func (c Commented) Path() string { return c.path }
