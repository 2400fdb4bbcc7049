package codec

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"io"
)

// The serializers of a schema registry write a header before a record's datum.
//
//   - Confluent's: a zero byte, and the number of the schema in four bytes.
//   - AWS Glue's: the byte 3, a byte that says whether the datum is compressed, and the UUID of the schema's version.
//
// Newer serializers of Confluent's leave the datum as it is. They write the GUID of the schema into a header of Kafka's
// record, behind a byte 1, or its number behind a zero byte; behind that, in both places, comes the place of a message
// of Protocol Buffers in its file.
//
// JSON needs no schema, so the header is left out there, whatever it names. No text of JSON begins like one. Where a
// file has the schema, Glue's header is left out too. A header of Confluent's is not: the numbers of a topic's schemas
// differ, so its records may be of others than the file's, and only the registry knows.

const (
	schemaHeader = 5
	guidHeader   = 17
	guidByte     = 1
	glueHeader   = 18
	glueByte     = 3
	// gluePlain and glueZlib are the kinds of compression.
	gluePlain, glueZlib = 0, 5
	// largestDatum is how large an unpacked datum may be, in bytes: as large as a record that is looked at.
	largestDatum = 4 << 20
)

// frame is the header that precedes a datum.
type frame struct {
	size   int
	glue   bool
	zipped bool
	id     uint32 // the number of the schema, if the header is not Glue's
}

// frameOf returns the header with which a value begins, if it begins with one.
func frameOf(value []byte) (h frame, ok bool) {
	if id, ok := framedBy(value); ok {
		return frame{size: schemaHeader, id: id}, true
	}
	if len(value) < glueHeader || value[0] != glueByte || value[1] != gluePlain && value[1] != glueZlib {
		return h, false
	}
	return frame{size: glueHeader, glue: true, zipped: value[1] == glueZlib}, true
}

// framedBy returns the number of the schema in a header of Confluent's, if the value begins with one.
func framedBy(value []byte) (id uint32, ok bool) {
	if len(value) < schemaHeader || value[0] != 0 {
		return 0, false
	}
	return binary.BigEndian.Uint32(value[1:]), true
}

// Headers of Kafka's records that name the schema of the value and of the key.
const (
	valueHeader = "__value_schema_id"
	keyHeader   = "__key_schema_id"
)

// identified returns the id of a schema in a header, of a value or of Kafka's, and how long it is.
func identified(head []byte) (id SchemaID, size int, ok bool) {
	if number, framed := framedBy(head); framed {
		return Numbered(number), schemaHeader, true
	}
	if len(head) < guidHeader || head[0] != guidByte {
		return id, 0, false
	}
	id.GUID = [16]byte(head[1:])
	return id, guidHeader, id != SchemaID{}
}

// begins says of a record that it begins with the header, in words that go on from "the record".
func (h frame) begins() string {
	if h.glue {
		return "begins with the header of AWS Glue's schema registry"
	}
	return fmt.Sprintf("begins with the header of a schema registry (a zero byte and the number %d)", h.id)
}

// opener takes headers off. It is not safe for concurrent use.
type opener struct {
	packed   bytes.Reader
	unpacked bytes.Buffer
	zip      io.ReadCloser
}

// open returns what follows a header. It is valid until the next call, and as long as the value is.
func (o *opener) open(value []byte, h frame) (datum []byte, ok bool) {
	if datum = value[h.size:]; !h.zipped {
		return datum, true
	}
	if o.unpacked.Cap() > hugeText {
		o.unpacked = bytes.Buffer{}
	}
	o.unpacked.Reset()
	o.packed.Reset(datum)
	if again, ok := o.zip.(zlib.Resetter); !ok {
		zip, err := zlib.NewReader(&o.packed)
		if err != nil {
			return nil, false
		}
		o.zip = zip
	} else if again.Reset(&o.packed, nil) != nil {
		return nil, false
	}
	n, err := o.unpacked.ReadFrom(io.LimitReader(o.zip, largestDatum+1))
	return o.unpacked.Bytes(), err == nil && n <= largestDatum
}

// text returns the text of JSON in a value: without its header, if there is one that can be taken off.
func (o *opener) text(value []byte) []byte {
	if len(value) == 0 || value[0] > glueByte {
		return value // without a call
	}
	return o.unframed(value)
}

func (o *opener) unframed(value []byte) []byte {
	if h, ok := frameOf(value); ok {
		if datum, ok := o.open(value, h); ok {
			return datum
		}
	}
	return value
}

// Text returns the text of JSON in a value: without the header of a schema registry, if JSON follows one.
func Text(value []byte) []byte {
	if text := new(opener).text(value); len(text) != len(value) && notJSON(text) == "" {
		return text
	}
	return value
}
