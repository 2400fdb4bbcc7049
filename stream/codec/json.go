package codec

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
)

// jsonDecoder reads records whose value is JSON.
type jsonDecoder struct {
	rules
	bare  bool    // the value is a number, not an object
	root  *node   // nil if no field is wanted
	nodes []*node // the root and all below it
}

func newJSON(s Spec, r rules) (Decoder, error) {
	d := &jsonDecoder{rules: r, bare: s.Value == ValueField}
	for _, p := range s.parts() {
		if p.inValue() {
			d.want(p.field, p.role)
		}
	}
	if d.bare {
		if d.root != nil {
			return nil, errors.New("value is $value, and a bare number has no fields; " +
				"want user $key, time $timestamp and no group")
		}
		d.root = d.newNode("")
		d.root.roles = []role{roleValue}
	}
	return d, nil
}

// want adds a path and returns the node that it ends at.
func (d *jsonDecoder) want(path string, roles ...role) *node {
	if d.root == nil {
		d.root = d.newNode("")
	}
	at := d.root
	for name := range strings.SplitSeq(path, ".") {
		i := slices.IndexFunc(at.children, func(c *node) bool { return c.name == name })
		if i < 0 {
			i = len(at.children)
			at.children = append(at.children, d.newNode(name))
		}
		at = at.children[i]
	}
	at.roles = append(at.roles, roles...)
	return at
}

func (d *jsonDecoder) newNode(name string) *node {
	quoted, _ := json.Marshal(name) // a string has no error
	d.nodes = append(d.nodes, &node{name: name, quoted: append(quoted, ':')})
	return d.nodes[len(d.nodes)-1]
}

func (d *jsonDecoder) Decode(r Record, e *Event) Reason {
	var f fields
	if !d.find(r.Value, &f) {
		return Malformed
	}
	return d.event(&r, &f, e)
}

// hugeText is the length above which a text's buffer is dropped. Otherwise one huge record would occupy it for ever.
const hugeText = 1 << 16

// find finds the wanted fields. It returns false unless the value is one object without ambiguous names, or one bare
// value if that is wanted.
func (d *jsonDecoder) find(value []byte, f *fields) bool {
	i := skipSpace(value, 0)
	if !d.bare && (i == len(value) || value[i] != '{') {
		return false
	}
	for _, n := range d.nodes {
		if n.field = (field{}); cap(n.buffer) > hugeText {
			n.buffer = nil
		}
	}
	if i = scanValue(value, i, 1, d.root); i < 0 || skipSpace(value, i) < len(value) {
		return false
	}
	for _, n := range d.nodes {
		for _, r := range n.roles {
			f[r] = n.field
		}
	}
	return true
}
