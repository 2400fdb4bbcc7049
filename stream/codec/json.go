package codec

import (
	"errors"
	"slices"
)

// jsonDecoder reads records whose value is JSON.
type jsonDecoder struct {
	rules
	found  fields
	bare   bool    // the value is a number, not an object
	root   *node   // nil if no field is wanted
	nodes  []*node // the root and all below it
	wanted []wanted
	opener opener
	// decimals is about the value, if that is a field.
	decimals decimals
}

// wanted says what the value of a node is.
type wanted struct {
	node *node
	role role
}

func newJSON(s Spec, r rules) (Decoder, error) {
	d := &jsonDecoder{rules: r, bare: s.Value == ValueField}
	for _, p := range s.parts() {
		if p.inValue() {
			d.field(p.field, p.role)
		}
	}
	if d.bare {
		if d.root != nil {
			return nil, errors.New("value is $value, and a bare number has no fields; " +
				"want user $key, time $timestamp, no group and no where")
		}
		d.root = d.newNode("")
		d.want(d.root, roleValue)
	}
	return d, nil
}

// field says what the value at the end of a path is. If the path leads through the payload of Kafka Connect's JSON
// converter, the schema stands beside that.
func (d *jsonDecoder) field(path string, r role) {
	at := d.path(path)
	d.want(at, r)
	if r != roleValue {
		return
	}
	names := Path(path)
	d.decimals.value = at
	if i := slices.Index(names, "payload"); i >= 0 {
		d.decimals.schema, d.decimals.path = d.at(append(slices.Clone(names[:i]), "schema")), names[i+1:]
	}
}

// want says what the value of a node is. It may be several things.
func (d *jsonDecoder) want(n *node, r role) { d.wanted = append(d.wanted, wanted{n, r}) }

// path adds a path and returns the node that it ends at.
func (d *jsonDecoder) path(path string) *node { return d.at(Path(path)) }

func (d *jsonDecoder) at(names []string) *node {
	if d.root == nil {
		d.root = d.newNode("")
	}
	at := d.root
	for _, name := range names {
		i := slices.IndexFunc(at.children, func(c *node) bool { return c.name == name })
		if i < 0 {
			i = len(at.children)
			at.children = append(at.children, d.newNode(name))
		}
		at = at.children[i]
	}
	return at
}

func (d *jsonDecoder) newNode(name string) *node {
	n := &node{name: name, literal: newLiteral(name)}
	d.nodes = append(d.nodes, n)
	return n
}

func (d *jsonDecoder) Decode(r Record, e *Event) Reason {
	if !d.find(d.opener.text(r.Value), &d.found) {
		return Malformed
	}
	return d.event(&r, &d.found, e)
}

// forgetNulls makes fields of conditions that are null missing ones.
func (d *jsonDecoder) forgetNulls(value []byte, f *fields) {
	for i := range d.wanted {
		if w := &d.wanted[i]; w.role >= numRoles && w.node.null(value) {
			f[w.role] = field{}
		}
	}
}

// Cause implements [Decoder].
func (d *jsonDecoder) Cause(r Record) string { return d.cause(r.Value) }

// hugeText is the length above which a text's buffer is dropped. Otherwise one huge record would keep it large for
// ever.
const hugeText = 1 << 16

// find finds the wanted fields in a text. It returns false unless that is one object without ambiguous names, or one
// bare value if that is wanted.
func (d *jsonDecoder) find(value []byte, f *fields) bool {
	i := skipSpace(value, 0)
	if !d.bare && (i == len(value) || value[i] != '{') {
		return false
	}
	for _, n := range d.nodes {
		if n.kind = none; cap(n.buffer) > hugeText {
			n.buffer = nil
		}
	}
	if i = scanValue(value, i, 1, d.root); i < 0 || skipSpace(value, i) < len(value) {
		return false
	}
	for i := range d.wanted {
		d.wanted[i].node.tell(value, &f[d.wanted[i].role])
	}
	if len(d.where) > 0 {
		d.forgetNulls(value, f)
	}
	if v := &f[roleValue]; d.decimals.value != nil && (v.kind == text || v.kind == other) {
		d.decimals.read(value, v)
	}
	return true
}
