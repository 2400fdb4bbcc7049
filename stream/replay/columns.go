package replay

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/louver/louver/stream/codec"
)

// Columns names the columns that hold the parts of an event. For JSON lines it names fields by their path, with dots.
type Columns struct {
	User, Time string // required
	Value      string // "" if events have no value, because they are only counted
	Group      string // "" if events have no group
	// Clock is the column of the time of day, or of the rest of the time, if Time has only its beginning. A space comes
	// between them.
	Clock string
	// Keep are further columns that the records have, as they are in the file. Those of CSV are texts.
	Keep []string
}

// part is a part of an event.
type part int

const (
	partUser part = iota
	partValue
	partTime
	partGroup
	partClock // which is not in the record
	numParts  // behind which the parts are those that are kept
)

// named is a part with its key in streams files and its name in this file.
type named struct {
	part
	key, name string
}

// parts are at the index of their part.
func (c Columns) parts() []named {
	all := []named{
		{partUser, "user", c.User}, {partValue, "value", c.Value}, {partTime, "time", c.Time},
		{partGroup, "group", c.Group}, {partClock, "time of day", c.Clock},
	}
	for i, name := range c.Keep {
		all = append(all, named{numParts + part(i), "keep", name})
	}
	return all
}

// check checks the names.
func (c Columns) check() error {
	parts := c.parts()
	for i, p := range parts {
		switch {
		case p.name == "" && (p.part == partValue || p.part == partGroup || p.part == partClock):
			continue
		case p.name == "":
			return fmt.Errorf("%s is missing; want a column, or a field of JSON lines", p.key)
		case strings.HasPrefix(p.name, "$"):
			return fmt.Errorf("%s %q: names that begin with $ have a special meaning in a streams file; rename "+
				"the column", p.key, p.name)
		case slices.Contains(codec.Path(p.name), ""):
			return fmt.Errorf("%s %q: a dot leads into an object and needs a name on both sides; rename the column",
				p.key, p.name)
		}
		for _, q := range parts[:i] {
			if p.name == q.name {
				return fmt.Errorf("%s and %s are both %q; want a column for each", q.key, p.key, p.name)
			}
			if strings.HasPrefix(p.name, q.name+".") || strings.HasPrefix(q.name, p.name+".") {
				return fmt.Errorf("%s %q and %s %q: a dot leads into an object, and one of them would have to be "+
					"inside the other; rename a column", q.key, q.name, p.key, p.name)
			}
		}
	}
	return nil
}

// outline is a name in a record's value: the name of a part, or of an object that holds parts.
type outline struct {
	name  string
	label []byte     // the name in JSON, with its colon
	part  part       // if it is not an object
	inner []*outline // of an object
}

// outline lays out the value of records.
func (c Columns) outline() *outline {
	root := &outline{}
	for _, p := range c.parts() {
		if p.name == "" || p.part == partClock {
			continue
		}
		at := root
		for _, name := range codec.Path(p.name) {
			i := slices.IndexFunc(at.inner, func(o *outline) bool { return o.name == name })
			if i < 0 {
				i = len(at.inner)
				at.inner = append(at.inner, &outline{name: name, label: append(quoted(name), ':')})
			}
			at = at.inner[i]
		}
		at.part = p.part
	}
	return root
}

// append appends the record's value to b. It leaves out missing parts, and objects that would be empty.
func (o *outline) append(b []byte, parts [][]byte) []byte {
	b = append(b, '{')
	empty := len(b)
	for _, in := range o.inner {
		if !in.present(parts) {
			continue
		}
		b = append(b, in.label...)
		if in.inner == nil {
			b = append(b, parts[in.part]...)
		} else {
			b = in.append(b, parts)
		}
		b = append(b, ',')
	}
	if len(b) == empty {
		return append(b, '}')
	}
	b[len(b)-1] = '}' // instead of the last comma
	return b
}

func (o *outline) present(parts [][]byte) bool {
	if o.inner == nil {
		return parts[o.part] != nil
	}
	return slices.ContainsFunc(o.inner, func(in *outline) bool { return in.present(parts) })
}

// Input returns the input of a stream that reads the records from a topic, as a mapping in YAML, with one key on each
// line.
func (c Columns) Input(topic string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "topic: %s\nformat: json\n", YAML(topic))
	for _, p := range c.parts()[:partClock] {
		if p.name != "" {
			fmt.Fprintf(&b, "%s: %s\n", p.key, YAML(p.name))
		}
	}
	return b.String()
}

var (
	plainYAML = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_./-]*$`)
	wordsYAML = regexp.MustCompile(`(?i)^(true|false|null|yes|no|on|off|y|n)$`) // of YAML 1.1 and 1.2
)

// YAML writes a string as a value of a streams file, without quotes where none are needed.
func YAML(s string) string {
	if plainYAML.MatchString(s) && !wordsYAML.MatchString(s) {
		return s
	}
	return quoteYAML(s)
}

// quoteYAML writes a string as YAML, which accepts JSON's strings. It escapes dollar signs, which would begin a
// reference to a variable. Backslashes are easier to read in single quotes, where they need no escape.
func quoteYAML(s string) string {
	b, _ := json.Marshal(s) // every string has a JSON form
	if doubled := strings.ReplaceAll(s, `\`, `\\`); doubled != s && string(b) == `"`+doubled+`"` &&
		!strings.ContainsAny(s, "$'") {
		return "'" + s + "'"
	}
	return strings.ReplaceAll(string(b), "$", `\u0024`)
}

// rows reads a file's events. The error io.EOF ends them. Other errors do not repeat the file's name, nor the line if
// the row has it.
type rows interface {
	next() (row, error)
}

// row is an event of the file. Its slices are valid until the next one.
type row struct {
	line  int
	parts [][]byte // JSON, but text for the time; nil if missing
	key   []byte   // the user as text
}

// clone returns a row that stays valid.
func (r row) clone() row {
	r.parts = slices.Clone(r.parts)
	for i, p := range r.parts {
		r.parts[i] = bytes.Clone(p)
	}
	r.key = bytes.Clone(r.key)
	return r
}

// withClock puts a time and what the column of the time of day has together.
func withClock(date, clock []byte) []byte {
	return slices.Concat(bytes.TrimSpace(date), []byte(" "), bytes.TrimSpace(clock))
}
