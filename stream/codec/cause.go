package codec

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"unicode/utf8"
)

// Why a record is malformed is said in words that go on from "the record": they name what was expected, fields of the
// streams file and numbers of schemas, and nothing else of the record. They are worked out after a record has been
// rejected, so that reading good ones costs no more.

// Causes that several formats share.
const (
	causeNoValue   = "has no value"
	causeEmpty     = "is empty"
	causeBOM       = "begins with a byte order mark"
	causeEncoding  = "is not in UTF-8"
	causeZipped    = "is compressed with gzip"
	causeTooDeep   = "is nested too deeply"
	causeNaN       = "has NaN or Infinity, which JSON does not have"
	causeWithin    = "is JSON within a JSON string"
	causeCutOff    = "ends in the middle of JSON"
	causeNotJSON   = "is not JSON"
	causeSeveral   = "is more than one JSON text"
	causeSurrogate = "has half a surrogate pair, which is no character"
)

var byteOrderMark = []byte("\ufeff")

// NotAnObject says why a text is not one JSON object that every parser reads alike, or "" if it may be one: only the
// fields that a stream looks for can then be wrong.
func NotAnObject(value []byte) string {
	value = Text(value)
	if cause := notJSON(value); cause != "" {
		return cause
	}
	switch text := bytes.TrimSpace(value); text[0] {
	case '{':
		return ""
	case '[':
		return "is a JSON array and not an object"
	case '"':
		var inner string
		if json.Unmarshal(text, &inner) == nil && json.Valid([]byte(inner)) && len(inner) > 0 &&
			(inner[0] == '{' || inner[0] == '[') {
			return causeWithin
		}
		return "is a JSON string and not an object"
	case 'n':
		return "is null and not an object"
	case 't', 'f':
		return "is true or false and not an object"
	}
	return "is a number and not an object"
}

// notJSON says why a text is not JSON, or "".
func notJSON(value []byte) string {
	switch h, framed := frameOf(value); {
	case value == nil:
		return causeNoValue
	case len(bytes.TrimSpace(value)) == 0:
		return causeEmpty
	case bytes.HasPrefix(value, byteOrderMark):
		return causeBOM
	case bytes.HasPrefix(value, []byte{0x1f, 0x8b}):
		return causeZipped
	case framed:
		return h.begins() + ", and no JSON follows"
	case !utf8.Valid(value):
		return causeEncoding
	case json.Valid(value):
		return ""
	case notNumbers(value):
		return causeNaN
	}
	d := json.NewDecoder(bytes.NewReader(value))
	for n := 0; ; n++ {
		var one json.RawMessage
		switch err := d.Decode(&one); {
		case errors.Is(err, io.ErrUnexpectedEOF):
			return causeCutOff
		case errors.Is(err, io.EOF) && n > 1:
			return causeSeveral
		case err != nil:
			return causeNotJSON
		}
	}
}

var (
	quotedText = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	noNumber   = regexp.MustCompile(`(?i)[:,\[\s]-?(nan|inf|infinity)\s*[,}\]]`)
)

// longExplained is how much of a text is searched for NaN.
const longExplained = 64 << 10

// notNumbers reports whether a text has NaN or Infinity outside of its strings.
func notNumbers(value []byte) bool {
	value = value[:min(len(value), longExplained)]
	return noNumber.Match(quotedText.ReplaceAll(value, []byte(`""`)))
}

// NameTwice returns the path of the first name that an object of valid JSON has twice, or "".
func NameTwice(value []byte) string { return twice(value, func(string) bool { return true }) }

// twice is NameTwice for wanted paths.
func twice(value []byte, wanted func(path string) bool) string {
	d := json.NewDecoder(bytes.NewReader(value))
	d.UseNumber()
	return within(d, "", wanted)
}

// within reads a value whose path is given.
func within(d *json.Decoder, path string, wanted func(path string) bool) string {
	token, err := d.Token()
	delim, nested := token.(json.Delim)
	if err != nil || !nested {
		return ""
	}
	seen := map[string]bool{}
	for d.More() {
		at, look := path, func(string) bool { return false } // no path leads into an array
		if delim == '{' {
			token, err := d.Token()
			name, _ := token.(string)
			if err != nil {
				return ""
			}
			if at, _ = Join(path, name); seen[name] && wanted(at) {
				return at
			}
			seen[name], look = true, wanted
		}
		if found := within(d, at, look); found != "" {
			return found
		}
	}
	_, _ = d.Token() // the end of the object or array: it is valid
	return ""
}

// cause says why find has refused a text.
func (d *jsonDecoder) cause(value []byte) string {
	value = Text(value)
	if d.bare {
		if cause := notJSON(value); cause != "" {
			return cause
		}
	} else if cause := NotAnObject(value); cause != "" {
		return cause
	}
	if path := twice(value, func(path string) bool { return d.root.leads(Path(path)) }); path != "" {
		return fmt.Sprintf("has the field %s twice", path)
	}
	if depth(value) > maxDepth {
		return causeTooDeep
	}
	return causeSurrogate
}

// leads reports whether names lead from the node to another one.
func (n *node) leads(names []string) bool {
	if n == nil || len(names) == 0 {
		return n != nil
	}
	i := slices.IndexFunc(n.children, func(c *node) bool { return c.name == names[0] })
	return i >= 0 && n.children[i].leads(names[1:])
}

// depth is how deep valid JSON is nested.
func depth(value []byte) (most int) {
	at := 0
	for _, c := range quotedText.ReplaceAll(value, nil) {
		switch c {
		case '{', '[':
			at++
			most = max(most, at)
		case '}', ']':
			at--
		}
	}
	return most + 1
}
