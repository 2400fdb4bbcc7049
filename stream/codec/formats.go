package codec

import (
	"cmp"
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
	// Batched formats have many items in a record: their decoders are a [Batch].
	Batched bool
	// Value and Time are the defaults of these fields; "" if they have none of their own. Where has those of
	// conditions.
	Value, Time string
	Where       []Condition
	new         func(Spec, rules) (Decoder, error) // of a checked Spec
	mistake     func(Spec, part) error             // why a record can't hold that field; nil if new says so
	schema      func(Spec) error                   // why the Spec's schema is wrong; nil if the format has no schema
	vain        func(Condition) error              // what a field never is; nil if the format does not know
}

// Formats returns the known formats, the default first. A new one is a file and a row here.
func Formats() []Format {
	return []Format{
		{Name: "json", new: newJSON},
		{Name: "csv", Columnar: true, new: newCSV},
		{Name: "cloudevents", new: newCloudEvents, mistake: mistakenEvent},
		{Name: "avro", new: avroFormat.new, mistake: avroFormat.mistake, schema: avroFormat.check},
		{Name: "protobuf", new: protobufFormat.new, mistake: protobufFormat.mistake, schema: protobufFormat.check},
		{Name: "otlp_traces", Batched: true, Value: "span.duration_ms", Time: "span.end_time_unix_nano",
			Where: []Condition{{Field: "span.kind", Is: []Operand{{Text: "server"}}}},
			new:   newOTLP(otlpTraces), mistake: otlpTraces.mistake, vain: otlpTraces.vain},
		{Name: "otlp_logs", Batched: true, Time: "log.time_unix_nano",
			new: newOTLP(otlpLogs), mistake: otlpLogs.mistake, vain: otlpLogs.vain},
		{Name: "otlp_metrics", Batched: true, Value: "datapoint.value", Time: "datapoint.time_unix_nano",
			new: newOTLP(otlpMetrics), mistake: otlpMetrics.mistake, vain: otlpMetrics.vain},
	}
}

// Schematic reports whether records of the format have a schema.
func (f Format) Schematic() bool { return f.schema != nil }

// FormatOf returns the format of a name; ok is false if there is none.
func FormatOf(name string) (f Format, ok bool) {
	for _, f := range Formats() {
		if f.Name == name {
			return f, true
		}
	}
	return f, false
}

// Columnar reports whether the format's fields are columns.
func (s Spec) Columnar() bool { f, _ := FormatOf(s.Format); return f.Columnar }

// Batched reports whether a record of the format holds many items.
func (s Spec) Batched() bool { f, _ := FormatOf(s.Format); return f.Batched }

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
	f, ok := FormatOf(s.Format)
	if !ok || f.mistake == nil {
		return nil
	}
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
		if p.field == "" || p.field == p.special && p.role != roleValue &&
			(!f.Batched || p.role != roleTime) {
			continue
		}
		if err := f.mistake(s, p); err != nil {
			all = append(all, Mistake{p.name, p.field, err})
		}
	}
	if named := func(c Condition) bool { return c.Field == "metric.name" }; f.Name == otlpMetrics.name &&
		!slices.ContainsFunc(s.Where, named) {
		all = append(all, Mistake{"where", "", errors.New("it does not say which metric; want metric.name, such as " +
			"{metric.name: cart.total}")})
	}
	return all
}

// Vain lists what conditions compare fields of the format with that these never are. New takes such a Spec all the
// same: a service goes on with what it has begun.
func (s Spec) Vain() (all []Mistake) {
	f, _ := FormatOf(s.Format)
	if f.vain == nil {
		return nil
	}
	for _, c := range s.Where {
		if err := f.vain(c); err != nil {
			all = append(all, Mistake{"where", c.Field, err})
		}
	}
	return all
}

// New returns the decoder of a Spec. The error says which field of the Spec is wrong, and what is wanted.
func New(s Spec) (Decoder, error) {
	f, known := FormatOf(s.Format)
	if s.Time == "" {
		s.Time = cmp.Or(f.Time, TimestampField)
	}
	if err := s.check(); err != nil {
		return nil, fmt.Errorf("input: %w", err)
	}
	if m := s.Mistakes(); len(m) > 0 {
		return nil, fmt.Errorf("input: %s: %w", m[0].Part, m[0])
	}
	if !known {
		var names []string
		for _, f := range Formats() {
			names = append(names, f.Name)
		}
		return nil, fmt.Errorf("input: format %q is not known; want one of %s", s.Format, strings.Join(names, ", "))
	}
	d, err := f.new(s, newRules(s))
	if err != nil {
		return nil, fmt.Errorf("input: %w", err)
	}
	return d, nil
}
