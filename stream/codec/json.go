package codec

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/valyala/fastjson"
)

// jsonDecoder reads records whose value is JSON.
type jsonDecoder struct {
	rules
	parser  fastjson.Parser
	bare    bool    // the value is a number, not an object
	root    *node   // nil if no field is wanted
	nodes   []*node // all but the root, parents first
	twice   bool    // a name on the path to a wanted field repeats
	numbers [numRoles][]byte
}

// node is a name on the path to wanted fields.
type node struct {
	name     string
	roles    []role // what the field is, if it is wanted itself
	children []*node
	visit    func(key []byte, v *fastjson.Value)
	value    *fastjson.Value // its value in the current record
}

func newJSON(s Spec, r rules) (Decoder, error) {
	d := &jsonDecoder{rules: r, bare: s.Value == ValueField}
	for _, p := range s.parts() {
		if p.inValue() {
			n := d.want(p.field)
			n.roles = append(n.roles, p.role)
		}
	}
	if d.bare && d.root != nil {
		return nil, errors.New("value is $value, and a bare number has no fields; want user $key, time $timestamp and no group")
	}
	return d, nil
}

// want adds a path and returns the node that it ends at.
func (d *jsonDecoder) want(path string) *node {
	if d.root == nil {
		d.root = d.newNode("")
	}
	at := d.root
	for name := range strings.SplitSeq(path, ".") {
		i := slices.IndexFunc(at.children, func(c *node) bool { return c.name == name })
		if i < 0 {
			i = len(at.children)
			at.children = append(at.children, d.newNode(name))
			d.nodes = append(d.nodes, at.children[i])
		}
		at = at.children[i]
	}
	return at
}

func (d *jsonDecoder) newNode(name string) *node {
	n := &node{name: name}
	n.visit = func(key []byte, v *fastjson.Value) { // made once, not for each record
		for _, c := range n.children {
			if string(key) == c.name {
				d.twice = d.twice || c.value != nil
				c.value = v
				return
			}
		}
	}
	return n
}

func (d *jsonDecoder) Decode(r Record, e *Event) Reason {
	if !validJSON(r.Value) {
		return Malformed
	}
	var f fields
	if d.bare {
		f[roleValue] = bareNumber(r.Value)
	} else if !d.find(r.Value, &f) {
		return Malformed
	}
	return d.event(r, &f, e)
}

// bareNumber returns a JSON text that is a number.
func bareNumber(value []byte) field {
	value = bytes.Trim(value, " \t\r\n")
	if c := value[0]; c != '-' && (c < '0' || c > '9') {
		return field{kind: other}
	}
	return field{number, value}
}

// hugeRecord is the size from which a record's parser is dropped. Otherwise one huge record would occupy dozens of
// times its size for ever.
const hugeRecord = 1 << 16

// find finds the wanted fields. It returns false unless the value is one object without ambiguous names.
func (d *jsonDecoder) find(value []byte, f *fields) bool {
	v, err := d.parser.ParseBytes(value)
	if len(value) >= hugeRecord {
		d.parser = fastjson.Parser{}
	}
	if err != nil || v.Type() != fastjson.TypeObject { // valid JSON, but nested too deep
		return false
	}
	d.twice = false
	for _, n := range d.nodes {
		n.value = nil
	}
	d.root.look(v)
	for _, n := range d.nodes {
		if n.value == nil {
			continue
		}
		n.look(n.value)
		for _, r := range n.roles {
			f[r] = d.field(r, n.value)
		}
	}
	return !d.twice
}

// look finds the values of n's children.
func (n *node) look(v *fastjson.Value) {
	if len(n.children) > 0 {
		v.GetObject().Visit(n.visit) // nothing if it is no object
	}
}

func (d *jsonDecoder) field(r role, v *fastjson.Value) field {
	switch v.Type() {
	case fastjson.TypeString:
		s, _ := v.StringBytes()
		return field{text, s}
	case fastjson.TypeNumber:
		d.numbers[r] = v.MarshalTo(d.numbers[r][:0]) // as it was written
		return field{number, d.numbers[r]}
	}
	return field{kind: other}
}

// validJSON reports whether a record is one I-JSON text (RFC 7493, section 2.1). fastjson's parser accepts more than
// that.
func validJSON(value []byte) bool {
	// fastjson recurses, and its errors quote the rest of the text once for each level. So a text that may be deep goes
	// to the standard validator, whose time is linear.
	const deep = 8
	if bytes.Count(value, []byte{'{'})+bytes.Count(value, []byte{'['}) > deep {
		if !json.Valid(value) {
			return false
		}
	} else if fastjson.ValidateBytes(value) != nil {
		return false
	}
	return utf8.Valid(value) && validEscapes(value)
}

// validEscapes reports what fastjson does not check of a text's escapes. They are valid Unicode: \ud83d\ude00 is, \ud83d
// alone is not, since parsers disagree on what user a lone surrogate is. And no control character precedes them in their
// string.
func validEscapes(value []byte) bool {
	for {
		i := bytes.IndexByte(value, '\\')
		if i < 0 {
			return true
		}
		// From the last quotation mark, or the last escape, on everything is in the same string.
		for _, c := range value[bytes.LastIndexByte(value[:i], '"')+1 : i] {
			if c < ' ' {
				return false
			}
		}
		if value[i+1] != 'u' {
			value = value[i+2:]
			continue
		}
		first := hex(value[i+2:])
		value = value[i+6:]
		if !utf16.IsSurrogate(first) {
			continue
		}
		if !bytes.HasPrefix(value, []byte(`\u`)) || utf16.DecodeRune(first, hex(value[2:])) == utf8.RuneError {
			return false
		}
		value = value[6:]
	}
}

// hex reads the four hexadecimal digits that a valid escape begins with.
func hex(b []byte) rune {
	x, _ := strconv.ParseUint(string(b[:4]), 16, 16)
	return rune(x)
}
