package codec

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"regexp"
	"slices"
	"strconv"
)

// Kafka Connect writes a decimal as the bytes of a whole number, big-endian in two's complement, and says elsewhere by
// which power of ten it is to be divided, its scale. In JSON the bytes are in base64, where a text may look like a
// number: "1234" is −2,658,824. So they are read as a decimal only where the record says that they are one:
//
//   - its schema does, as the JSON converter writes it beside the payload with schemas.enable=true;
//   - it is Debezium's VariableScaleDecimal, an object or record of a scale and a value.
//
// In Avro, decimal is a type. In Protocol Buffers it is a message of Confluent's.

const (
	connectDecimal  = "org.apache.kafka.connect.data.Decimal"
	variableDecimal = "io.debezium.data.VariableScaleDecimal"
	// longestDecimal is how many bytes a decimal may have.
	longestDecimal = 1024
)

// appendDecimal writes a decimal of Kafka Connect as a number.
func appendDecimal(b, twos []byte, scale int64) ([]byte, bool) {
	if len(twos) == 0 || len(twos) > longestDecimal {
		return b, false
	}
	n := new(big.Int).SetBytes(twos)
	if twos[0]&0x80 != 0 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(twos))))
	}
	b = append(n.Append(b, 10), 'e')
	return strconv.AppendInt(b, -scale, 10), true
}

// decimals reads the value of JSON records where it may be a decimal of Kafka Connect.
type decimals struct {
	value  *node
	schema *node    // beside the payload that holds the value; nil if the value's path does not lead through one
	path   []string // of the value below the payload

	// What the schema of the last record says of the value. Most records of a topic repeat it.
	last  []byte
	fixed bool // the value is a decimal with this scale
	scale int64
	text  []byte
}

// connectSchema is a schema as the JSON converter of Kafka Connect writes it.
type connectSchema struct {
	Field      string            `json:"field"`
	Name       string            `json:"name"`
	Parameters map[string]string `json:"parameters"`
	Fields     []connectSchema   `json:"fields"`
}

// read replaces the field if it is a decimal.
func (d *decimals) read(b []byte, f *field) {
	if f.kind == other {
		d.variable(b, f)
		return
	}
	if d.schema == nil || d.schema.kind != other {
		return
	}
	if schema := b[d.schema.start:d.schema.end]; !bytes.Equal(schema, d.last) {
		d.learn(schema)
	}
	if !d.fixed {
		return
	}
	twos, err := base64.StdEncoding.AppendDecode(nil, f.text)
	var ok bool
	if d.text, ok = appendDecimal(d.text[:0], twos, d.scale); err != nil || !ok {
		*f = field{kind: other}
		return
	}
	*f = field{kind: number, text: d.text}
}

// learn finds out what a schema says of the value.
func (d *decimals) learn(schema []byte) {
	d.last, d.fixed = append(d.last[:0], schema...), false
	var at connectSchema
	if json.Unmarshal(schema, &at) != nil {
		return
	}
	for _, name := range d.path {
		i := slices.IndexFunc(at.Fields, func(s connectSchema) bool { return s.Field == name })
		if i < 0 {
			return
		}
		at = at.Fields[i]
	}
	scale, err := strconv.ParseInt(at.Parameters["scale"], 10, 32)
	d.fixed, d.scale = at.Name == connectDecimal && err == nil, scale
}

// variable reads an object of a scale and a value, and nothing else.
func (d *decimals) variable(b []byte, f *field) {
	object := b[d.value.start:d.value.end]
	if len(object) == 0 || object[0] != '{' {
		return
	}
	var v struct {
		Scale *int32 `json:"scale"`
		Value []byte `json:"value"` // in base64
	}
	r := json.NewDecoder(bytes.NewReader(object))
	r.DisallowUnknownFields()
	if r.Decode(&v) != nil || v.Scale == nil {
		return
	}
	var ok bool
	if d.text, ok = appendDecimal(d.text[:0], v.Value, int64(*v.Scale)); ok {
		*f = field{kind: number, text: d.text}
	}
}

// word is a text that is in base64 by chance, such as none.
var word = regexp.MustCompile(`^([A-Za-z]?[a-z]*|[A-Z]*)$`)

// mayBeDecimal reports whether a text that is no number may be a decimal of Kafka Connect, of which the record does not
// say so.
func mayBeDecimal(text []byte) bool {
	if len(text) > 64 || word.Match(text) {
		return false
	}
	twos, err := base64.StdEncoding.AppendDecode(nil, text)
	return err == nil && len(twos) > 0
}

const causeDecimal = "has a value that may be a decimal of Kafka Connect in base64; want decimal.handling.mode=" +
	"string in Debezium, decimal.format=NUMERIC in the JSON converter, or records with their schema"
