package codec

import (
	"encoding/binary"
	"math"
	"strconv"

	"github.com/twmb/avro"
)

// keys finds users in keys that begin with the number of their schema. The number is no part of the user: a schema that
// gains a field gets another number, and a person would count once with each. Keys of one person must not differ for
// any other reason either, so texts and integers of Avro count as they are written in keys without a header.
//
// Other keys may begin with a zero byte too, as a number in eight bytes does. So a key has a header only if the
// registry has the schema that it names, and the rest is of that schema.
type keys struct {
	registry Schemas
	known    map[uint32]keySchema
	text     []byte // the last text or integer
}

// keySchema is a schema of keys.
type keySchema struct {
	avro   *avro.Schema // nil if it is of another format
	placed bool         // the place of a message follows the number
}

// framedKey returns the number of the schema that a key may name.
func framedKey(key []byte) (id uint32, ok bool) {
	id, ok = framedBy(key)
	return id, ok && id > 0 && id <= math.MaxInt32
}

// Framed reports whether a key begins like the header of a schema registry. A number in eight bytes may do so too, and
// does not count.
func Framed(key []byte) bool {
	_, ok := framedKey(key)
	return ok && len(key) != 8
}

// prepare gets the schema of a key. If ok is false, it is not known yet whether there is one.
func (k *keys) prepare(key []byte) (id uint32, ok bool) {
	id, ok = framedKey(key)
	if !ok {
		return 0, true
	}
	if _, seen := k.known[id]; seen {
		return 0, true
	}
	r, ok := k.registry.Known(id)
	if !ok {
		return id, false
	}
	if len(k.known) >= mostSchemas {
		clear(k.known)
	}
	s := keySchema{placed: r.Format == "protobuf"}
	if r.Format == "avro" {
		if c, err := r.avro(); err == nil {
			s.avro = c.Schema
		}
	}
	k.known[id] = s
	return 0, true
}

// user returns the user that a key names. It is valid until the next call.
func (k *keys) user(key []byte) []byte {
	id, ok := framedKey(key)
	s, known := k.known[id]
	if !ok || !known {
		return key
	}
	datum := key[schemaHeader:]
	switch {
	case s.placed:
		count, n := binary.Varint(datum)
		for ; count > 0 && n > 0 && n < len(datum); count-- {
			_, size := binary.Varint(datum[n:])
			if size <= 0 {
				return key
			}
			n += size
		}
		if n <= 0 || count != 0 {
			return key
		}
		return datum[n:]
	case s.avro == nil:
		return datum
	}
	var v any
	if rest, err := s.avro.Decode(datum, &v); err != nil || len(rest) > 0 {
		return key
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
