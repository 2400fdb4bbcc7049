package codec

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
)

// Schema says how the records of a format with schemas are laid out.
type Schema struct {
	// Registry says that each record names its schema by a [SchemaID], and that a registry has it. Then the rest is
	// empty.
	Registry bool
	// Text is the schema: JSON for avro; for protobuf a set of file descriptors (FileDescriptorSet), in base64.
	Text string
	// Message is the full name of the message that a record holds. Required for protobuf.
	Message string
}

// MaxSchema is how long a schema's text may be. It is a part of the stream's definition, which must fit into a record.
const MaxSchema = 200 << 10

// SchemaID is what a record calls its schema: a number, or a GUID. It can be compared.
type SchemaID struct {
	// Number is the number in the registry, if GUID is zero.
	Number uint32
	// GUID is made from the schema's content, so that it is the same in all registries.
	GUID [16]byte
}

// Numbered is the id of a schema that has a number.
func Numbered(number uint32) SchemaID { return SchemaID{Number: number} }

// String returns the number, or the GUID in the form 01234567-89ab-cdef-0123-456789abcdef.
func (id SchemaID) String() string {
	if g := id.GUID; g != [16]byte{} {
		return fmt.Sprintf("%x-%x-%x-%x-%x", g[:4], g[4:6], g[6:8], g[8:10], g[10:])
	}
	return strconv.FormatUint(uint64(id.Number), 10)
}

// Registry has the schemas that records name.
type Registry interface {
	// Schema returns a schema, or ErrNoSchema if there is none of that id. After another error the same request may
	// succeed later.
	Schema(ctx context.Context, id SchemaID) (Registered, error)
}

// Schemas are the schemas of a registry, as far as they are known.
type Schemas interface {
	// Known returns a schema, if it is known. It does not wait.
	Known(id SchemaID) (s Registered, ok bool)
	// Unusable is told of a schema whose records cannot be read, and why. It may be told again of the same one.
	Unusable(id SchemaID, why string)
}

// ErrNoSchema says that a registry has no schema of an id.
var ErrNoSchema = errors.New("the registry has no such schema")

// Registered is a schema in a registry.
type Registered struct {
	// Format is the name of one of [Formats], or of a format that Louver does not read.
	Format string
	// Text is a schema of Avro in JSON, or a .proto file.
	Text string
	// References are the schemas that it builds upon, each after those that it builds upon in turn.
	References []Reference
}

// Reference is a schema under the name by which others refer to it.
type Reference struct{ Name, Text string }

// layout finds the wanted fields of records of one schema.
type layout interface {
	// find returns the fields, which are valid until the next call, as long as the value is not changed. ok is false if
	// the record is not of the schema.
	find(value []byte) (f *fields, ok bool)
}

// schematic is a format with schemas.
type schematic struct {
	// holder is what has the fields, as the format calls it.
	holder string
	// placed says that the place of the message in its schema follows the schema's number in a record.
	placed bool
	// own compiles the schema of a stream, and registered a schema of a registry. They fail if it is not of the format.
	own        func(s Schema) (schema, error)
	registered func(r Registered, place []int) (schema, error)
}

// schema is a compiled schema.
type schema interface {
	// mistake says why a field of the schema can't be that part of an event.
	mistake(p part) error
	// layout returns a layout that finds the wanted parts, none of which is a mistake. All other fields are those of
	// begin.
	layout(wanted []part, begin fields) layout
}

func (f schematic) new(s Spec, r rules) (Decoder, error) {
	if s.Schema.Registry {
		return newRegistryDecoder(s, r, f)
	}
	c, err := f.own(s.Schema)
	if err != nil {
		return nil, err
	}
	return &schemaDecoder{rules: r, layout: s.layout(c), placed: f.placed}, nil
}

func (f schematic) check(s Spec) error {
	_, err := f.own(s.Schema)
	return err
}

// mistake says why a field of the stream's schema can't be that part of an event.
func (f schematic) mistake(s Spec, p part) error {
	if p.field == ValueField {
		return unfit("$value is for json; want a field of the %s", f.holder)
	}
	c, err := f.own(s.Schema)
	if err != nil {
		return err
	}
	return c.mistake(p)
}

// layout looks for the stream's fields in a schema.
func (s Spec) layout(c schema) layout {
	var wanted []part
	var begin fields
	for _, p := range s.parts() {
		if !p.inValue() {
			continue
		}
		if err := c.mistake(p); err != nil {
			begin[p.role] = found(err)
		} else {
			wanted = append(wanted, p)
		}
	}
	return c.layout(wanted, begin)
}

// schemaDecoder reads records that all have one schema.
type schemaDecoder struct {
	rules
	layout layout
	placed bool
	opener opener
}

func (d *schemaDecoder) Decode(r Record, e *Event) Reason {
	if r.Value == nil {
		return Malformed
	}
	f, ok := d.findFramed(r.Value)
	if !ok {
		f, ok = d.layout.find(r.Value)
	}
	if !ok {
		return Malformed
	}
	return d.event(&r, f, e)
}

// findFramed finds the fields behind a header of Glue's. A datum without a header may begin with the same two bytes. It
// is hardly ever taken for one with a header, because what follows the 18th byte would have to be a whole datum too.
func (d *schemaDecoder) findFramed(value []byte) (f *fields, ok bool) {
	h, framed := frameOf(value)
	if !framed || !h.glue {
		return nil, false
	}
	datum, ok := d.opener.open(value, h)
	if ok && d.placed { // the number of the message in its file comes first
		_, n := binary.Uvarint(datum)
		if ok = n > 0; ok {
			datum = datum[n:]
		}
	}
	if !ok {
		return nil, false
	}
	return d.layout.find(datum)
}

// Cause implements [Decoder].
func (d *schemaDecoder) Cause(r Record) string {
	if r.Value == nil {
		return causeNoValue
	}
	switch h, framed := frameOf(r.Value); {
	case framed && h.glue:
		return h.begins() + ", and what follows is not of the schema"
	case framed:
		return "is not of the schema. It " + h.begins() + ": schema: registry reads such records"
	}
	return "is not of the schema"
}

// unfitError reports that a field of the schema can't be what the stream wants. It may be absent altogether.
type unfitError struct {
	text   string
	absent bool
}

func (e *unfitError) Error() string { return e.text }

func unfit(format string, args ...any) error { return &unfitError{text: fmt.Sprintf(format, args...)} }

func absent(format string, args ...any) error {
	return &unfitError{text: fmt.Sprintf(format, args...), absent: true}
}

// found describes a field that the schema lacks, or has with an unsuitable type.
func found(err error) field {
	if e := (*unfitError)(nil); errors.As(err, &e) && e.absent {
		return field{}
	}
	return field{kind: other}
}
