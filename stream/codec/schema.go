package codec

import (
	"context"
	"errors"
	"fmt"
)

// Schema says how the records of a format with schemas are laid out.
type Schema struct {
	// Registry: each record names its schema by a number, and a registry has it. The rest is empty then.
	Registry bool
	// Text is the schema: JSON for avro; for protobuf a set of file descriptors (FileDescriptorSet), in base64.
	Text string
	// Message is the full name of the message that a record holds. Required for protobuf.
	Message string
}

// MaxSchema is how long a schema's text may be. It is a part of the stream's definition, which must fit into a record.
const MaxSchema = 200 << 10

// Registry has the schemas that records name by a number.
type Registry interface {
	// Schema returns a schema, or ErrNoSchema if there is none with that number. After another error the same request may
	// succeed later.
	Schema(ctx context.Context, id uint32) (Registered, error)
}

// ErrNoSchema says that a registry has no schema with a number.
var ErrNoSchema = errors.New("the registry has no such schema")

// Registered is a schema in a registry.
type Registered struct {
	// Format is the name of one of [Formats], or of a format that Louver does not read.
	Format string
	// Text is a schema of Avro in JSON, or a .proto file.
	Text string
	// References are the schemas that it builds upon, each behind those that it builds upon itself.
	References []Reference
}

// Reference is a schema under the name by which others refer to it.
type Reference struct{ Name, Text string }

// layout finds the wanted fields of records of one schema.
type layout interface {
	// find returns false if the record is not of the schema.
	find(value []byte, f *fields) bool
}

// schemaDecoder reads records that all have one schema.
type schemaDecoder struct {
	rules
	layout layout
}

func (d *schemaDecoder) Decode(r Record, e *Event) Reason {
	var f fields
	if r.Value == nil || !d.layout.find(r.Value, &f) {
		return Malformed
	}
	return d.event(r, &f, e)
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
