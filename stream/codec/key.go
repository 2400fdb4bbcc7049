package codec

import (
	"math"
	"strconv"

	"github.com/twmb/avro"
)

// keys finds users in keys that begin with the number of their schema. The number is no part of the user: a schema that
// gains a field gets another number, and a person would count once with each. Keys of one person must not differ for
// any other reason either, so texts and integers of Avro count as they are written in keys without a header.
//
// A key whose schema is named in a header of Kafka's counts in the same way, so that a person is one user while
// producers change from one serializer to another.
//
// Other keys may begin with a zero byte too, as a number in eight bytes does. So a key has a header only if the
// registry has the schema that it names, and the rest is of that schema.
type keys struct {
	registry Schemas
	known    map[SchemaID]keySchema
	text     []byte // the last text or integer
}

// keySchema is a schema of keys.
type keySchema struct {
	avro   *avro.Schema // nil if it is of another format
	placed bool         // the place of a message follows the number
}

// Framed reports whether a key begins like the header of a schema registry, Confluent's or AWS Glue's. A number in
// eight bytes may do so too, and does not count.
func Framed(key []byte) bool {
	f, ok := frameOf(key)
	return ok && (f.glue || possible(f.id)) && len(key) != 8
}

// possible reports whether a registry may count so far.
func possible(id uint32) bool { return id > 0 && id <= math.MaxInt32 }

// named returns the id of the schema that a key may have, and what follows it in the key. inside says that it is in the
// key, and not in a header of Kafka's.
func (k *keys) named(r *Record) (id SchemaID, datum []byte, inside, ok bool) {
	if outside, there := header(*r, keyHeader); there {
		if id, _, ok = identified(outside); ok {
			return id, r.Key, false, true
		}
	}
	number, ok := framedBy(r.Key)
	if !ok || !possible(number) {
		return id, r.Key, false, false
	}
	return Numbered(number), r.Key[schemaHeader:], true, true
}

// prepare gets the schema of a key. If ok is false, it is not known yet whether there is one.
func (k *keys) prepare(r *Record) (id SchemaID, ok bool) {
	id, _, _, ok = k.named(r)
	if !ok {
		return id, true
	}
	if _, seen := k.known[id]; seen {
		return id, true
	}
	found, ok := k.registry.Known(id)
	if !ok {
		return id, false
	}
	if len(k.known) >= mostSchemas {
		clear(k.known)
	}
	s := keySchema{placed: found.Format == "protobuf"}
	if found.Format == "avro" {
		if c, err := found.avro(); err == nil {
			s.avro = c.Schema
		}
	}
	k.known[id] = s
	return id, true
}

// user returns the user that a key names. It is valid until the next call.
func (k *keys) user(r *Record) []byte {
	id, datum, inside, ok := k.named(r)
	s, known := k.known[id]
	switch {
	case !ok || !known:
		return r.Key
	case s.placed && inside:
		if _, n, ok := placeAt(datum, 0); ok {
			return datum[n:]
		}
		return r.Key
	case s.avro == nil:
		return datum
	}
	var v any
	if rest, err := s.avro.Decode(datum, &v); err != nil || len(rest) > 0 {
		return r.Key
	}
	switch v := v.(type) {
	case string:
		k.text = append(k.text[:0], v...)
		return k.text
	case int32:
		k.text = strconv.AppendInt(k.text[:0], int64(v), 10)
		return k.text
	case int64:
		k.text = strconv.AppendInt(k.text[:0], v, 10)
		return k.text
	}
	return datum
}
