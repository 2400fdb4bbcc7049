package codec

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
)

// Preparer is a decoder of records that name their schemas.
type Preparer interface {
	Decoder
	// Prepare sees whether the schemas that a record names are known. It does not wait. If one is not, ok is false, and
	// Prepare is to be called again once [Schemas] knows that schema. Until then Decode would reject the record, or
	// take its whole key for the user.
	Prepare(r Record) (w Wanted, ok bool)
}

// Wanted is a schema that is not known yet.
type Wanted struct {
	ID SchemaID
	// Key says that a key seems to name it. The key may as well be of a kind that has no schema.
	Key bool
}

// registryDecoder reads records that name their schema. Most begin with its number: a zero byte, the number in four
// bytes, for protobuf the place of the message in its file, and then the datum. Others have it in a header of Kafka's.
type registryDecoder struct {
	rules
	spec    Spec
	format  schematic
	layouts map[string]known // by the id and the place, as they are in a record
	keys    keys
}

// known is a schema that the registry has.
type known struct {
	layout layout // nil: the records can't be read
	cause  string // why records of the schema can't be read
}

const (
	// deepest is how deep a message of protobuf may lie within others.
	deepest = 16
	// mostSchemas bounds the memory for schemas. A stream has a few; a sender who makes numbers up gets no more than
	// this.
	mostSchemas = 1000
)

func newRegistryDecoder(s Spec, r rules, format schematic) (Decoder, error) {
	if s.Registry == nil {
		return nil, errors.New("schema: registry, but no registry is known; want its address in " +
			"LOUVER_SCHEMA_REGISTRY_URL")
	}
	return &registryDecoder{rules: r, spec: s, format: format, layouts: map[string]known{},
		keys: keys{registry: s.Registry, known: map[SchemaID]keySchema{}}}, nil
}

// head is what a record says of its schema.
type head struct {
	id    SchemaID
	bytes []byte // the id and the place, as they are in the record
	place []int  // of the message in its file, for protobuf
	datum []byte
}

// head splits a record. A header of Kafka's comes before what the value begins with. ok reports whether one of them
// names a schema.
func (d *registryDecoder) head(r *Record) (h head, ok bool) {
	if r.Value == nil {
		return h, false
	}
	text, n := r.Value, 0
	outside, named := header(*r, valueHeader)
	if named = named && outside != nil; named {
		text, h.datum = outside, r.Value
	} else if len(text) == 0 || text[0] != 0 {
		return h, false
	}
	if h.id, n, ok = identified(text); !ok {
		return h, false
	}
	if d.format.placed {
		if h.place, n, ok = placeAt(text, n); !ok {
			return h, false
		}
	}
	if h.bytes = text[:n]; !named {
		h.datum = text[n:]
	}
	return h, true
}

// placeAt reads the place of a message in its file, and returns where it ends.
func placeAt(text []byte, n int) (place []int, end int, ok bool) {
	count, size := binary.Varint(text[n:])
	if size <= 0 || count < 0 || count > deepest {
		return nil, 0, false
	}
	n += size
	var places [deepest]int
	for i := range count {
		at, size := binary.Varint(text[n:])
		if size <= 0 || at < 0 || at > 1<<16 {
			return nil, 0, false
		}
		n += size
		places[i] = int(at)
	}
	return places[:max(1, count)], n, true // none stands for the first message
}

// Prepare implements [Preparer].
func (d *registryDecoder) Prepare(r Record) (Wanted, bool) {
	if id, ok := d.prepare(&r); !ok {
		return Wanted{ID: id}, false
	}
	if d.keyed {
		if id, ok := d.keys.prepare(&r); !ok {
			return Wanted{ID: id, Key: true}, false
		}
	}
	return Wanted{}, true
}

// prepare gets the schema of a value. If ok is false, it is not known yet.
func (d *registryDecoder) prepare(r *Record) (id SchemaID, ok bool) {
	h, ok := d.head(r)
	if !ok {
		return id, true
	}
	if _, seen := d.layouts[string(h.bytes)]; seen {
		return id, true
	}
	registered, ok := d.spec.Registry.Known(h.id)
	if !ok {
		return h.id, false
	}
	if len(d.layouts) >= mostSchemas {
		clear(d.layouts)
	}
	k := known{cause: fmt.Sprintf("names schema %s, which is not of format %s", h.id, d.spec.Format)}
	if registered.Format == d.spec.Format {
		if c, err := d.format.registered(registered, h.place); err == nil {
			k.layout = d.spec.layout(c)
			k.cause = fmt.Sprintf("is not of schema %s, which it names", h.id)
		} else {
			k.cause = fmt.Sprintf("names schema %s, which Louver cannot use: %s", h.id, oneLine(err))
		}
	}
	if k.layout == nil {
		d.spec.Registry.Unusable(h.id, "a record "+k.cause)
	}
	d.layouts[string(h.bytes)] = k
	return id, true
}

func (d *registryDecoder) Decode(r Record, e *Event) Reason {
	h, ok := d.head(&r)
	if !ok {
		return Malformed
	}
	l := d.layouts[string(h.bytes)].layout
	if l == nil {
		return Malformed
	}
	f, ok := l.find(h.datum)
	if !ok {
		return Malformed
	}
	if d.keyed {
		r.Key = d.keys.user(&r)
	}
	return d.event(&r, f, e)
}

// Cause implements [Decoder].
func (d *registryDecoder) Cause(r Record) string {
	if r.Value == nil {
		return causeNoValue
	}
	h, ok := d.head(&r)
	if !ok {
		if f, framed := frameOf(r.Value); framed && f.glue {
			return f.begins() + ", which Louver does not ask: schema: {file: …} with that schema reads such records"
		}
		if outside, named := header(r, valueHeader); named && outside != nil {
			return "has a header " + valueHeader + " that names no schema"
		}
		return "does not begin with the header of a schema registry: a zero byte and the number of its schema"
	}
	if k, seen := d.layouts[string(h.bytes)]; seen {
		return k.cause
	}
	return UnknownSchema(h.id)
}

// longestCause is how much of a compiler's error is passed on, in bytes.
const longestCause = 300

// oneLine is the text of an error about a schema, in one line of bounded length.
func oneLine(err error) string {
	line := strings.Join(strings.Fields(err.Error()), " ")
	if len(line) > longestCause {
		line = strings.ToValidUTF8(line[:longestCause], "") + "…"
	}
	return line
}

// UnknownSchema says of a record that its schema is not in the registry, in words that go on from "the record".
func UnknownSchema(id SchemaID) string {
	words := fmt.Sprintf("names schema %s, which the registry does not have", id)
	if id.Number == 0 && id != (SchemaID{}) {
		words += ", or it has no ids of this kind"
	}
	return words
}
