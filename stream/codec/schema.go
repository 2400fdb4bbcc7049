package codec

import (
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
