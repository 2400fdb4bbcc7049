package codec

import (
	"bytes"
	"math"
	"strconv"
)

// skipJSON returns where a value ends, by its brackets and quotes alone; −1 if it does not end.
func skipJSON(b []byte, i int) int {
	if i < 0 || i >= len(b) {
		return -1
	}
	switch b[i] {
	case '"':
		return skipText(b, i)
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
			if i = skipText(b, i); i < 0 {
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

// skipText returns where a text ends that begins with a quote; −1 if it does not end.
func skipText(b []byte, i int) int {
	for i++; ; {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			return -1
		}
		i += n
		escapes := 0
		for b[i-1-escapes] == '\\' {
			escapes++
		}
		if i++; escapes%2 == 0 {
			return i
		}
	}
}

// jsonName reads the name of a member, and returns where its value begins; −1 if there is none.
func jsonName(b []byte, i int) (name []byte, value int) {
	if i >= len(b) || b[i] != '"' {
		return nil, -1
	}
	end := skipText(b, i)
	if end < 0 {
		return nil, -1
	}
	name = b[i+1 : end-1]
	if bytes.IndexByte(name, '\\') >= 0 {
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
	if len(b) == 0 || b[0] != '{' {
		return false
	}
	for i, more := 1, false; ; more = true {
		if i = skipSpace(b, i); i == len(b) {
			return false
		}
		if b[i] == '}' {
			return i == len(b)-1
		}
		if more {
			if b[i] != ',' {
				return false
			}
			i = skipSpace(b, i+1)
		}
		name, at := jsonName(b, i)
		end := skipJSON(b, at)
		if end < 0 || !each(name, b[at:end]) {
			return false
		}
		i = end
	}
}

// jsonList passes the values of a list to each, until that returns false for more. ok is false if the text is no list,
// or if each says so.
func jsonList(b []byte, each func(value []byte) (more, ok bool)) bool {
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
			i = skipSpace(b, i+1)
		}
		end := skipJSON(b, i)
		if end < 0 {
			return false
		}
		if more, ok := each(b[i:end]); !more || !ok {
			return ok
		}
		i = end
	}
}

// jsonIs reports whether a value is a text.
func jsonIs(value []byte, text string) bool {
	if len(value) < 2 || value[0] != '"' {
		return false
	}
	if inner := value[1 : len(value)-1]; bytes.IndexByte(inner, '\\') < 0 {
		return string(inner) == text
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
