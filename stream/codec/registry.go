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
	// Prepare is to be called again once [Schemas] knows that schema. Until then Decode would reject the record, or take
	// its whole key for the user.
	Prepare(r Record) (w Wanted, ok bool)
}

// Wanted is a schema that is not known yet.
type Wanted struct {
	ID uint32
	// Key says that a key seems to name it. The key may as well be of a kind that has no schema.
	Key bool
}

// registryDecoder reads records that begin with the number of their schema: a zero byte, the number in four bytes, for
// protobuf the place of the message in its file, and then the datum.
type registryDecoder struct {
	rules
	spec    Spec
	format  schematic
	layouts map[string]known // by what precedes the datum
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
		keys: keys{registry: s.Registry, known: map[uint32]keySchema{}}}, nil
}

// header splits a record after the number of its schema and, for protobuf, after the message's place. ok reports
// whether there is such a header.
func (d *registryDecoder) header(value []byte) (head, datum []byte, place []int, ok bool) {
	if len(value) < schemaHeader || value[0] != 0 {
		return nil, nil, nil, false
	}
	n := schemaHeader
	if d.format.placed {
		count, size := binary.Varint(value[n:])
		if size <= 0 || count < 0 || count > deepest {
			return nil, nil, nil, false
		}
		n += size
		var places [deepest]int
		for i := range count {
			at, size := binary.Varint(value[n:])
			if size <= 0 || at < 0 || at > 1<<16 {
				return nil, nil, nil, false
			}
			n += size
			places[i] = int(at)
		}
		place = places[:max(1, count)] // none stands for the first message
	}
	return value[:n], value[n:], place, true
}

// Prepare implements [Preparer].
func (d *registryDecoder) Prepare(r Record) (Wanted, bool) {
	if id, ok := d.prepare(r.Value); !ok {
		return Wanted{ID: id}, false
	}
	if d.keyed {
		if id, ok := d.keys.prepare(r.Key); !ok {
			return Wanted{ID: id, Key: true}, false
		}
	}
	return Wanted{}, true
}

// prepare gets the schema of a value. If ok is false, it is not known yet.
func (d *registryDecoder) prepare(value []byte) (id uint32, ok bool) {
	head, _, place, ok := d.header(value)
	if !ok {
		return 0, true
	}
	if _, seen := d.layouts[string(head)]; seen {
		return 0, true
	}
	id = binary.BigEndian.Uint32(head[1:])
	registered, ok := d.spec.Registry.Known(id)
	if !ok {
		return id, false
	}
	if len(d.layouts) >= mostSchemas {
		clear(d.layouts)
	}
	k := known{cause: fmt.Sprintf("names schema %d, which is not of format %s", id, d.spec.Format)}
	if registered.Format == d.spec.Format {
		if c, err := d.format.registered(registered, place); err == nil {
			k.layout = d.spec.layout(c)
			k.cause = fmt.Sprintf("is not of schema %d, which it names", id)
		} else {
			k.cause = fmt.Sprintf("names schema %d, which Louver cannot use: %s", id, oneLine(err))
		}
	}
	if k.layout == nil {
		d.spec.Registry.Unusable(id, "a record "+k.cause)
	}
	d.layouts[string(head)] = k
	return 0, true
}

func (d *registryDecoder) Decode(r Record, e *Event) Reason {
	head, datum, _, ok := d.header(r.Value)
	if !ok {
		return Malformed
	}
	var f fields
	if l := d.layouts[string(head)].layout; l == nil || !l.find(datum, &f) {
		return Malformed
	}
	if d.keyed {
		r.Key = d.keys.user(r.Key)
	}
	return d.event(&r, &f, e)
}

// Cause implements [Decoder].
func (d *registryDecoder) Cause(r Record) string {
	if r.Value == nil {
		return causeNoValue
	}
	head, _, _, ok := d.header(r.Value)
	if h, framed := frameOf(r.Value); !ok && framed && h.glue {
		return h.begins() + ", which Louver does not ask: schema: {file: …} with that schema reads such records"
	}
	if !ok {
		return "does not begin with the header of a schema registry: a zero byte and the number of its schema"
	}
	if k, seen := d.layouts[string(head)]; seen {
		return k.cause
	}
	return UnknownSchema(binary.BigEndian.Uint32(head[1:]))
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
func UnknownSchema(id uint32) string {
	return fmt.Sprintf("names schema %d, which the registry does not have", id)
}
