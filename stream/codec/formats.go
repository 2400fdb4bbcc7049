package codec

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Format is a way to write a record's value.
type Format struct {
	Name string
	// Columnar formats have columns as fields, named by Spec.Columns.
	Columnar bool
	new      func(Spec, rules) (Decoder, error) // of a checked Spec
	mistake  func(Spec, part) error             // why a record can't hold that field; nil if new says so
	schema   func(Spec) error                   // why the Spec's schema is wrong; nil if the format has no schema
}

// Formats returns the known formats, the default first. A new one is a file and a row here.
func Formats() []Format {
	return []Format{
		{Name: "json", new: newJSON},
		{Name: "csv", Columnar: true, new: newCSV},
		{Name: "cloudevents", new: newCloudEvents, mistake: mistakenEvent},
		{Name: "avro", new: avroFormat.new, mistake: avroFormat.mistake, schema: avroFormat.check},
		{Name: "protobuf", new: protobufFormat.new, mistake: protobufFormat.mistake, schema: protobufFormat.check},
	}
}

// Schematic reports whether records of the format have a schema.
func (f Format) Schematic() bool { return f.schema != nil }

// Columnar reports whether the format's fields are columns.
func (s Spec) Columnar() bool {
	return slices.ContainsFunc(Formats(), func(f Format) bool { return f.Name == s.Format && f.Columnar })
}

// Mistake is a field that records of the format can't hold, or a wrong schema: then Part is "schema".
type Mistake struct {
	Part, Field string
	Err         error
}

// Error says what is wrong; what would be right.
func (m Mistake) Error() string {
	if m.Field == "" {
		return m.Err.Error()
	}
	return fmt.Sprintf("%q; %s", m.Field, m.Err)
}

// Mistakes lists the fields that records of the format can't hold.
func (s Spec) Mistakes() (all []Mistake) {
	i := slices.IndexFunc(Formats(), func(f Format) bool { return f.Name == s.Format && f.mistake != nil })
	if i < 0 {
		return nil
	}
	f := Formats()[i]
	if f.schema != nil && s.Schema.Registry { // the fields are known only when records come
		if s.Value == ValueField {
			all = append(all, Mistake{"value", s.Value, errors.New("$value is for json; want a field of the schema")})
		}
		return all
	}
	if f.schema != nil {
		if err := f.schema(s); err != nil {
			return []Mistake{{Part: "schema", Err: err}}
		}
	}
	for _, p := range s.parts() {
		if p.field == "" || p.field == p.special && p.role != roleValue {
			continue
		}
		if err := f.mistake(s, p); err != nil {
			all = append(all, Mistake{p.name, p.field, err})
		}
	}
	return all
}

// New returns the decoder of a Spec. The error says which field of the Spec is wrong, and what is wanted.
func New(s Spec) (Decoder, error) {
	if s.Time == "" {
		s.Time = TimestampField
	}
	if err := s.check(); err != nil {
		return nil, fmt.Errorf("input: %w", err)
	}
	if m := s.Mistakes(); len(m) > 0 {
		return nil, fmt.Errorf("input: %s: %w", m[0].Part, m[0])
	}
	var known []string
	for _, f := range Formats() {
		if f.Name == s.Format {
			d, err := f.new(s, newRules(s))
			if err != nil {
				return nil, fmt.Errorf("input: %w", err)
			}
			return d, nil
		}
		known = append(known, f.Name)
	}
	return nil, fmt.Errorf("input: format %q is not known; want one of %s", s.Format, strings.Join(known, ", "))
}
