package codec

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/bits"
	"strconv"
)

// skipJSON returns where a value ends, by its brackets and quotes alone; −1 if it does not end.
func skipJSON(b []byte, i int) int {
	if i < 0 || i >= len(b) {
		return -1
	}
	switch b[i] {
	case '"':
		end, _ := skipText(b, i)
		return end
	case '{', '[':
	default:
		start := i
		for i < len(b) && b[i] > ' ' && !opensOrEnds[b[i]] {
			i++
		}
		if i == start {
			return -1
		}
		return i
	}
	for depth := 0; i < len(b); {
		switch b[i] {
		case '"':
			if i, _ = skipText(b, i); i < 0 {
				return -1
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		i++
	}
	return -1
}

// opensOrEnds are the characters before which a value ends that is neither a text nor in brackets. One that opens
// something must not be in it: the brackets around it would not fit once it is cut out.
var opensOrEnds = [256]bool{',': true, '}': true, ']': true, '{': true, '[': true, '"': true}

// skipText returns where a text ends that begins with a quote; −1 if it does not end. It is plain if no backslash is in
// it. It looks at eight bytes at a time, as [scanString] does.
func skipText(b []byte, i int) (end int, plain bool) {
	plain = true
	for i++; i < len(b); {
		if i+8 <= len(b) {
			w := binary.LittleEndian.Uint64(b[i:])
			quote, slash := w^ones*'"', w^ones*'\\'
			stop := ((quote-ones)&^quote | (slash-ones)&^slash) & highs
			if stop == 0 {
				i += 8
				continue
			}
			i += bits.TrailingZeros64(stop) / 8
		}
		switch b[i] {
		case '"':
			return i + 1, plain
		case '\\':
			plain = false
			i += 2
		default:
			i++
		}
	}
	return -1, false
}

// jsonName reads the name of a member, and returns where its value begins; −1 if there is none.
func jsonName(b []byte, i int) (name []byte, value int) {
	if i >= len(b) || b[i] != '"' {
		return nil, -1
	}
	end, plain := skipText(b, i)
	if end < 0 {
		return nil, -1
	}
	if name = b[i+1 : end-1]; !plain {
		if next, _ := scanString(b, i); next == end {
			name = appendUnescaped(nil, name)
		}
	}
	if end = skipSpace(b, end); end == len(b) || b[end] != ':' {
		return nil, -1
	}
	if value = skipSpace(b, end+1); value == len(b) {
		return nil, -1
	}
	return name, value
}

// jsonObject passes the members of an object to each, until that returns false. It returns false if it did, or if the
// text is no object.
func jsonObject(b []byte, each func(name, value []byte) bool) bool {
	return len(b) > 0 && jsonMembers(b, 0, each) == len(b)
}

// jsonMembers is jsonObject of the object that begins at i. It returns where that ends; −1 instead of false.
func jsonMembers(b []byte, i int, each func(name, value []byte) bool) (end int) {
	if b[i] != '{' {
		return -1
	}
	i++
	for more := false; ; more = true {
		if i = skipSpace(b, i); i == len(b) {
			return -1
		}
		if b[i] == '}' {
			return i + 1
		}
		if more {
			if b[i] != ',' {
				return -1
			}
			i = skipSpace(b, i+1)
		}
		name, at := jsonName(b, i)
		end := skipJSON(b, at)
		if end < 0 || !each(name, b[at:end]) {
			return -1
		}
		i = end
	}
}

// jsonList passes the places of the values of a list to each, which returns where they end, until that returns false
// for more. It returns false if the text is no list, or if an end is −1.
func jsonList(b []byte, each func(at int) (end int, more bool)) bool {
	if len(b) == 0 || b[0] != '[' {
		return false
	}
	for i, several := 1, false; ; several = true {
		if i = skipSpace(b, i); i == len(b) {
			return false
		}
		if b[i] == ']' {
			return i == len(b)-1
		}
		if several {
			if b[i] != ',' {
				return false
			}
			if i = skipSpace(b, i+1); i == len(b) {
				return false
			}
		}
		end, more := each(i)
		if end < 0 || !more {
			return end >= 0
		}
		i = end
	}
}

// jsonIs reports whether a value is a text.
func jsonIs(value []byte, text string) bool {
	if len(value) < 2 || value[0] != '"' {
		return false
	}
	// An escape is longer than what it stands for.
	if inner := value[1 : len(value)-1]; len(inner) <= len(text) || bytes.IndexByte(inner, '\\') < 0 {
		return string(inner) == text && bytes.IndexByte(inner, '\\') < 0
	}
	next, _ := scanString(value, 0)
	return next == len(value) && string(appendUnescaped(nil, value[1:len(value)-1])) == text
}

// jsonText reads a text, whose escapes are taken out in a buffer. One that is no text, or not UTF-8, is other.
func jsonText(value []byte, own *[]byte) field {
	if len(value) < 2 || value[0] != '"' {
		return field{kind: other}
	}
	next, plain := scanString(value, 0)
	if next != len(value) {
		return field{kind: other}
	}
	inner := value[1 : len(value)-1]
	if !plain {
		*own = appendUnescaped((*own)[:0], inner)
		inner = *own
	}
	return field{kind: text, text: inner}
}

// jsonDigits is a number, which may be in quotes.
func jsonDigits(value []byte) []byte {
	if n := len(value); n >= 2 && value[0] == '"' {
		return value[1 : n-1]
	}
	return value
}

// jsonWhole reads a whole number, which may be in quotes.
func jsonWhole(value []byte) (int64, bool) {
	digits := jsonDigits(value)
	if n, ok := digitsOnly(digits); ok {
		return int64(n), true
	}
	n, err := strconv.ParseInt(string(digits), 10, 64)
	return n, err == nil && digits[0] != '+'
}

func jsonUnsigned(value []byte) (uint64, bool) {
	n, err := strconv.ParseUint(string(jsonDigits(value)), 10, 64)
	return n, err == nil
}

// jsonDouble reads a number of 64 bits, which may be in quotes. One that is not finite is other, and what is no number
// is none.
func jsonDouble(value []byte) field {
	digits := jsonDigits(value)
	switch string(digits) {
	case "NaN", "Infinity", "-Infinity":
		return field{kind: other}
	}
	if len(digits) == 0 || scanNumber(digits, 0) != len(digits) {
		return field{}
	}
	v, err := strconv.ParseFloat(string(digits), 64)
	if err != nil {
		return field{kind: other}
	}
	return double(math.Float64bits(v))
}
