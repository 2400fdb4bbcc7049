package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/shopspring/decimal"
	"github.com/twmb/avro"
)

// FormatAvro names the format of records in Avro. "" is JSON.
const FormatAvro = "avro"

// ContentAvro is the header content-type of records in Avro.
const ContentAvro = "application/avro"

// avroName is the name of the record type, in the namespace louver.v1.
const avroName = "louver.v1.Release"

// avroSchema is the schema of output records in Avro, made from record.schema.json. A field that may be missing is a
// union with null, and defaults to null. So schemas stay compatible when record.schema.json gets a new field, which old
// records lack.
var avroSchema = sync.OnceValues(func() (*avro.Schema, error) {
	fields, err := recordFields()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(avroObject("Release", "louver.v1", fields))
	if err != nil {
		return nil, err
	}
	return avro.Parse(string(text))
})

// AvroSchema is the schema of output records in Avro, as JSON.
func AvroSchema() ([]byte, error) {
	schema, err := avroSchema()
	if err != nil {
		return nil, err
	}
	return []byte(schema.String()), nil
}

type avroRecord struct {
	Type      string           `json:"type"`
	Name      string           `json:"name"`
	Namespace string           `json:"namespace,omitempty"`
	Fields    []map[string]any `json:"fields"`
}

func avroObject(name, namespace string, fields []field) avroRecord {
	r := avroRecord{Type: "record", Name: name, Namespace: namespace}
	types := map[kind]any{ofText: "string",
		ofTime: map[string]string{"type": "long", "logicalType": "timestamp-millis"}, ofNumber: "double",
		ofInteger: "long", ofBoolean: "boolean", ofList: map[string]string{"type": "array", "items": "double"},
		ofWholes: map[string]string{"type": "array", "items": "long"}}
	for _, f := range fields {
		t := types[f.kind]
		switch f.kind {
		case ofObject:
			t = avroObject(f.name, "", f.fields)
		case ofObjects:
			t = map[string]any{"type": "array", "items": avroObject(f.name, "", f.fields)}
		}
		if f.required && !f.nullable {
			r.Fields = append(r.Fields, map[string]any{"name": f.name, "type": t})
		} else {
			r.Fields = append(r.Fields, map[string]any{"name": f.name, "type": []any{"null", t}, "default": nil})
		}
	}
	return r
}

// EncodeAvro turns the JSON of an output record into Avro, without the number of the schema. Numbers become doubles.
func EncodeAvro(record []byte) ([]byte, error) {
	schema, err := avroSchema()
	if err != nil {
		return nil, err
	}
	var v map[string]any
	if err := decodeNumbers(record, &v); err != nil {
		return nil, err
	}
	if ends := endsIn(v); len(ends) > 0 {
		setEnds(v, ends[:len(ends)-1])
	}
	return schema.Encode(v)
}

// endsIn returns the ends of a histogram's buckets, or nil. In JSON the last one is null, because that bucket has no
// end. Avro leaves it out, so that items are numbers.
func endsIn(v map[string]any) []any {
	buckets, _ := v["buckets"].(map[string]any)
	ends, _ := buckets["le"].([]any)
	return ends
}

func setEnds(v map[string]any, ends []any) { v["buckets"].(map[string]any)["le"] = ends }

// AvroReader reads the output records of one writer's schema.
type AvroReader struct {
	schema *avro.Schema
	node   *avro.SchemaNode
	// optional are the fields that JSON leaves out instead of writing null.
	optional []string
}

// ErrForeign says that a schema is not that of an output record.
var ErrForeign = errors.New("not the schema of an output record")

// NewAvroReader makes a reader from a writer's schema, which may be that of an older or a newer release of louver.
func NewAvroReader(writer string) (*AvroReader, error) {
	schema, err := avro.Parse(writer)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrForeign, err)
	}
	node := schema.Root()
	if name := node.Namespace + "." + node.Name; node.Type != "record" || name != avroName {
		return nil, fmt.Errorf("%w: it describes %s", ErrForeign, name)
	}
	fields, err := recordFields()
	if err != nil {
		return nil, err
	}
	r := &AvroReader{schema: schema, node: node}
	for _, f := range node.Fields {
		if !slices.ContainsFunc(fields,
			func(known field) bool { return known.name == f.Name && (known.nullable || known.required) }) {
			r.optional = append(r.optional, f.Name)
		}
	}
	return r, nil
}

// JSON turns a record in Avro back into JSON.
func (r *AvroReader) JSON(datum []byte) ([]byte, error) {
	var v map[string]any
	rest, err := r.schema.Decode(datum, &v)
	if err != nil {
		return nil, err
	}
	if len(rest) > 0 {
		return nil, fmt.Errorf("%d bytes follow the record", len(rest))
	}
	if ends := endsIn(v); ends != nil {
		setEnds(v, append(ends, nil))
	}
	for _, name := range r.optional {
		if v[name] == nil {
			delete(v, name)
		}
	}
	charge, _ := v["charge"].([]any)
	for _, item := range charge { // its fields are left out in JSON rather than null
		of, _ := item.(map[string]any)
		maps.DeleteFunc(of, func(_ string, v any) bool { return v == nil })
	}
	var b bytes.Buffer
	err = writeAvro(&b, r.node, v)
	return b.Bytes(), err
}

// writeAvro writes a decoded value as JSON: fields in the order of the schema, numbers in the fewest digits.
func writeAvro(b *bytes.Buffer, n *avro.SchemaNode, v any) error {
	if n.Type == "union" {
		for i := range n.Branches {
			if n.Branches[i].Type != "null" && v != nil {
				return writeAvro(b, &n.Branches[i], v)
			}
		}
	}
	switch v := v.(type) {
	case map[string]any:
		b.WriteByte('{')
		first := true
		for i := range n.Fields {
			f := &n.Fields[i]
			value, present := v[f.Name]
			if !present {
				continue
			}
			if !first {
				b.WriteByte(',')
			}
			first = false
			fmt.Fprintf(b, "%q:", f.Name)
			if err := writeAvro(b, &f.Type, value); err != nil {
				return err
			}
		}
		b.WriteByte('}')
		return nil
	case []any:
		b.WriteByte('[')
		for i, item := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			if err := writeAvro(b, n.Items, item); err != nil {
				return err
			}
		}
		b.WriteByte(']')
		return nil
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("%v is not a number of JSON", v)
		}
		b.WriteString(decimal.NewFromFloat(v).String())
		return nil
	case time.Time:
		b.WriteString(`"` + Whole(v).String() + `"`)
		return nil
	}
	encoder := json.NewEncoder(b)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(v)
	b.Truncate(len(bytes.TrimSuffix(b.Bytes(), []byte("\n"))))
	return err
}

// AvroContent is what Avro keeps of a record's JSON. Two records with the same content are the same in Avro, whichever
// release of louver wrote them: a field that one release does not know is null for another.
func AvroContent(record []byte) ([]byte, error) {
	var v map[string]any
	if err := decodeNumbers(record, &v); err != nil {
		return nil, err
	}
	return json.Marshal(kept(v)) // sorts the fields
}

func kept(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			if value == nil {
				delete(v, name)
			} else {
				v[name] = kept(value)
			}
		}
	case []any:
		for i := range v {
			v[i] = kept(v[i])
		}
	case json.Number:
		if f, err := v.Float64(); err == nil {
			return f
		}
	}
	return v
}

func decodeNumbers(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return d.Decode(into)
}
