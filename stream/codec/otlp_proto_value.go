package codec

import (
	"encoding/binary"
	"math"
)

// An attribute in Protocol Buffers is a message of a key and a value, and the value is one of several types. Most are
// short: their lengths have one byte, and nothing else is in them.

// The tags of an attribute's key and value, and of a value that is a text.
const (
	otlpKeyTag, otlpValueTag = 1<<3 | wireBytes, 2<<3 | wireBytes
	otlpTextTag              = 1<<3 | wireBytes
)

// otlpKeyLength returns the length of an attribute's key, if both are written as most are: in short, and only once.
// SDKs write the key first, and the Collector the value. Otherwise it returns a large number.
func otlpKeyLength(b []byte) uint {
	at := 0
	if len(b) > 1 && b[0] == otlpValueTag && b[1] < 0x80 {
		at = 2 + int(b[1])
	}
	if at+1 < len(b) && b[at] == otlpKeyTag && at+2+int(b[at+1]) <= len(b) {
		return uint(b[at+1])
	}
	return math.MaxUint
}

// otlpPair takes an attribute apart whose key and value are written as most are. ok is false if they are not, or if
// there is anything else.
func otlpPair(b []byte) (key, value []byte, ok bool) {
	if len(b) < 2 || b[1] >= 0x80 {
		return nil, nil, false
	}
	at := 2 + int(b[1]) // of the second field
	if at+1 >= len(b) || b[at+1] >= 0x80 || at+2+int(b[at+1]) != len(b) {
		return nil, nil, false
	}
	first, second := b[2:at], b[at+2:]
	switch {
	case b[0] == otlpValueTag && b[at] == otlpKeyTag:
		return second, first, true
	case b[0] == otlpKeyTag && b[at] == otlpValueTag:
		return first, second, true
	}
	return nil, nil, false
}

// attribute reads a key and its value, if the key is wanted and has not been found before. The rest of an attribute
// whose key is not wanted is not looked at.
func (w *otlpProto) attribute(b []byte, cells []otlpCell) (took, ok bool) {
	key, value, short := otlpPair(b)
	if !short {
		if key, ok = otlpKey(b); !ok {
			return false, false
		}
	}
	for i := range cells {
		c := &cells[i]
		switch {
		case c.name != string(key) || c.found.kind != none:
		case short:
			return true, otlpAnyValue(&c.found, value)
		default:
			return true, c.read(b)
		}
	}
	return false, true
}

// otlpKey finds the key of an attribute.
func otlpKey(b []byte) (key []byte, ok bool) {
	for i := 0; i < len(b); {
		number, wire, content, next := otlpFrame(b, i)
		if next < 0 {
			return nil, false
		}
		if i = next; number == 1 && wire == wireBytes {
			return content, true
		}
	}
	return nil, true
}

// read reads the value of an attribute.
func (c *otlpCell) read(b []byte) (ok bool) {
	c.found = field{kind: other}
	var value []byte
	values := 0
	for i := 0; i < len(b); {
		number, wire, content, next := otlpFrame(b, i)
		if next < 0 {
			return false
		}
		if i = next; number == 2 && wire == wireBytes {
			value = content
			values++
		}
	}
	if values == 1 { // nobody writes it twice
		return otlpAnyValue(&c.found, value)
	}
	return true
}

// otlpAnyValue reads a value. A list of one text is that text. Other lists, bytes and nothing are no part of an event.
func otlpAnyValue(f *field, b []byte) (ok bool) {
	if len(b) > 1 && b[0] == otlpTextTag && b[1] < 0x80 && int(b[1]) == len(b)-2 {
		otlpValueText(f, b[2:])
		return true
	}
	*f = field{kind: other}
	for i := 0; i < len(b); {
		number, wire, content, next := otlpFrame(b, i)
		if next < 0 {
			return false
		}
		i = next
		switch {
		case number == 1 && wire == wireBytes:
			otlpValueText(f, content)
		case number == 2 && wire == wireVarint:
			v, _ := uvarint(content)
			*f = truthOf(v != 0)
		case number == 3 && wire == wireVarint:
			v, _ := uvarint(content)
			*f = whole(int64(v))
		case number == 4 && wire == wireEight:
			*f = double(binary.LittleEndian.Uint64(content))
		case number == 5 && wire == wireBytes:
			if !otlpOnly(f, content) {
				return false
			}
		case number == 6 || number == 7:
			*f = field{kind: other}
		}
	}
	return true
}

// otlpValueText is a text that is a value. It may be empty.
func otlpValueText(f *field, b []byte) {
	if otlpString(f, b); len(b) == 0 {
		*f = field{kind: text, text: b}
	}
}

// otlpOnly reads a list: the text in it, if that is all there is.
func otlpOnly(f *field, b []byte) (ok bool) {
	items := 0
	for i := 0; i < len(b); {
		number, wire, content, next := otlpFrame(b, i)
		if next < 0 {
			return false
		}
		if i = next; number != 1 || wire != wireBytes {
			continue
		}
		items++
		*f = field{kind: other}
		number, wire, only, end := otlpFrame(content, 0)
		if len(content) > 0 && end == len(content) && number == 1 && wire == wireBytes {
			otlpValueText(f, only)
		}
	}
	if items != 1 {
		*f = field{kind: other}
	}
	return true
}
