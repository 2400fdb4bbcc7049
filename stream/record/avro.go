package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/shopspring/decimal"
	"github.com/twmb/avro"
	"go.yaml.in/yaml/v3"
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
	var doc yaml.Node // keeps the order of fields; JSON is YAML
	if err := yaml.Unmarshal(JSONSchema(), &doc); err != nil {
		return nil, fmt.Errorf("record.schema.json: %w", err)
	}
	fields, err := avroObject("Release", "louver.v1", doc.Content[0])
	if err != nil {
		return nil, fmt.Errorf("record.schema.json: %w", err)
	}
	text, err := json.Marshal(fields)
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

// avroObject makes the type of an object from its JSON Schema.
func avroObject(name, namespace string, object *yaml.Node) (r avroRecord, err error) {
	r = avroRecord{Type: "record", Name: name, Namespace: namespace}
	var schema struct {
		Properties yaml.Node
		Required   []string
	}
	if err := object.Decode(&schema); err != nil {
		return r, err
	}
	for i := 0; i+1 < len(schema.Properties.Content); i += 2 {
		name := schema.Properties.Content[i].Value
		t, null, err := avroType(name, schema.Properties.Content[i+1])
		if err != nil {
			return r, fmt.Errorf("%s: %w", name, err)
		}
		if slices.Contains(schema.Required, name) && !null {
			r.Fields = append(r.Fields, map[string]any{"name": name, "type": t})
		} else {
			r.Fields = append(r.Fields, map[string]any{"name": name, "type": []any{"null", t}, "default": nil})
		}
	}
	return r, nil
}

// avroType makes the type of a property, or of the items of a list, and says whether it may be null.
func avroType(name string, of *yaml.Node) (t any, null bool, err error) {
	var p property
	if err := of.Decode(&p); err != nil {
		return nil, false, err
	}
	switch {
	case p.Ref == "#/$defs/time":
		return map[string]string{"type": "long", "logicalType": "timestamp-millis"}, false, nil
	case p.Const != nil:
		return "string", false, nil
	case p.Enum != nil:
		return "string", slices.Contains(p.Enum, nil), nil
	}
	types, several := p.Type.([]any)
	if !several {
		types = []any{p.Type}
	}
	null = slices.Contains(types, any("null"))
	if types = slices.DeleteFunc(types, func(t any) bool { return t == "null" }); len(types) != 1 {
		return nil, false, fmt.Errorf("type %v; want one type, or one and null", p.Type)
	}
	switch types[0] {
	case "object":
		t, err = avroObject(name, "", of)
	case "array":
		var items any
		items, _, err = avroType(name, &p.Items)
		t = map[string]any{"type": "array", "items": items}
	default:
		known := map[any]string{"string": "string", "number": "double", "integer": "long", "boolean": "boolean"}
		if t = known[types[0]]; t == "" {
			err = fmt.Errorf("type %v, which Avro does not have", types[0])
		}
	}
	return t, null, err
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
type AvroReader struct{ schema *avro.Schema }

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
	return &AvroReader{schema}, nil
}

// JSON turns a record in Avro back into JSON. It leaves out fields that this release does not know.
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
	text, err := json.Marshal(fromAvro(v))
	if err != nil {
		return nil, err
	}
	var f Value
	if err := json.Unmarshal(text, &f); err != nil {
		return nil, err
	}
	return f.text()
}

// fromAvro writes numbers in the fewest digits, and times in whole seconds, as records in JSON have them.
func fromAvro(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name := range v {
			v[name] = fromAvro(v[name])
		}
	case []any:
		for i := range v {
			v[i] = fromAvro(v[i])
		}
	case float64:
		if !math.IsNaN(v) && !math.IsInf(v, 0) { // others are no numbers of JSON, which refuses them
			return json.Number(decimal.NewFromFloat(v).String())
		}
	case time.Time:
		return Whole(v)
	}
	return v
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
