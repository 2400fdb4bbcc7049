package codec

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Grid places a number on the stream's grid. The text must be a number in JSON's notation. The indices −1 and N+1 stand
// for numbers below and above the bounds. [github.com/louver/louver/mechanisms.Grid] is one.
type Grid interface {
	Parse(number []byte) (int64, error)
}

// Names for parts of the record, used in place of a field.
const (
	KeyField       = "$key"       // the record's key, as user
	ValueField     = "$value"     // the record's whole value, a bare number in JSON's notation, as value
	TimestampField = "$timestamp" // the record's timestamp, as time
)

// Spec says how to read the records of a stream.
type Spec struct {
	// Format is the name of one of [Formats]. Required.
	Format string
	// User is a field, or KeyField. Required. A field is a path with dots, or a column (CSV).
	User string
	// Value is a field, or ValueField (JSON). Required.
	Value string
	// Time is a field, or TimestampField. Defaults to TimestampField.
	Time string
	// Group is a field. Defaults to none: every event is in the first group.
	Group string
	// Columns names the columns of CSV, in order. Required for CSV.
	Columns []string
	// Delimiter separates the columns of CSV. Defaults to a comma.
	Delimiter rune
	// Schema is the schema of the records. Required for avro and protobuf.
	Schema Schema
	// Registry has the schemas. Required if they are in one.
	Registry Registry
	// Groups is the public list. Required if Group is given.
	Groups []string
	// MaxFuture is how far an event's time may lie ahead of its record's timestamp; 0: not at all.
	MaxFuture time.Duration
	// Grid is the public grid of values. Required.
	Grid Grid
}

// Format is a way to write a record's value.
type Format struct {
	Name string
	// Columnar formats have columns as fields, named by Spec.Columns.
	Columnar bool
	new      func(Spec, rules) (Decoder, error) // of a checked Spec
	mistake  func(Spec, part) error             // why a record can't hold that field; nil: new says it
	schema   func(Spec) error                   // why the Spec's schema is none; nil: the format has no schema
}

// Formats returns the known formats, the default first. A new one is a file and a row here.
func Formats() []Format {
	return []Format{
		{Name: "json", new: newJSON},
		{Name: "csv", Columnar: true, new: newCSV},
		{Name: "cloudevents", new: newCloudEvents, mistake: mistakenEvent},
		{Name: "avro", new: newAvro, mistake: mistakenAvro, schema: checkAvro},
		{Name: "protobuf", new: newProtobuf, mistake: mistakenProtobuf, schema: checkProtobuf},
	}
}

// Schematic reports whether records of the format have a schema.
func (f Format) Schematic() bool { return f.schema != nil }

// Columnar reports whether the format's fields are columns.
func (s Spec) Columnar() bool {
	return slices.ContainsFunc(Formats(), func(f Format) bool { return f.Name == s.Format && f.Columnar })
}

// Mistake is a field that records of the format can't hold, or a schema that is none: then Part is "schema".
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

func (s Spec) check() error {
	switch {
	case s.User == "":
		return fmt.Errorf("user is missing; want a field, or %s", KeyField)
	case s.Value == "":
		return fmt.Errorf("value is missing; want a field, or %s", ValueField)
	case s.Grid == nil:
		return fmt.Errorf("the grid is missing; want bounds and step")
	case s.Group != "" && len(s.Groups) == 0:
		return fmt.Errorf("groups are missing; want the public list for group %q", s.Group)
	case s.MaxFuture < 0:
		return fmt.Errorf("max_future %s is negative; want a duration of at least 0", s.MaxFuture)
	}
	for _, p := range s.parts() {
		if strings.HasPrefix(p.field, "$") && p.field != p.special {
			return fmt.Errorf("%s %q is not known; want a field%s", p.name, p.field, p.alternative())
		}
		if slices.Contains(strings.Split(p.field, "."), "") && p.field != "" {
			return fmt.Errorf("%s %q has an empty part; want a field such as user.id", p.name, p.field)
		}
	}
	return nil
}

// part is one of the four parts of an event and where it is found.
type part struct {
	role                 role
	name, field, special string
}

func (s Spec) parts() [numRoles]part {
	return [numRoles]part{
		{roleValue, "value", s.Value, ValueField},
		{roleUser, "user", s.User, KeyField},
		{roleTime, "time", s.Time, TimestampField},
		{roleGroup, "group", s.Group, ""},
	}
}

// inValue says whether the part is a field of the record's value.
func (p part) inValue() bool { return p.field != "" && p.field != p.special }

func (p part) alternative() string {
	if p.special == "" {
		return ""
	}
	return ", or " + p.special
}
