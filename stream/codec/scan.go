package codec

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

// The functions of this file read JSON (RFC 8259) that is also I-JSON (RFC 7493, section 2.1), in one pass. Each gets a
// text and the position at which something begins. It returns the position after it, or −1 if the text is invalid
// there. The time is linear in the text: a position never goes back, and UTF-8 is checked once for each string.

// maxDepth is how deep a value may lie. The whole text is at depth 1, and a member of an object one deeper than it.
const maxDepth = 300

// node is a name on the path to wanted fields.
type node struct {
	name     string
	literal  literal
	children []*node
	first    *node  // the child that came first in the last object
	after    *node  // the sibling that came after it in the last object
	buffer   []byte // for a text without its escapes

	// Its value in the current record: where it stands, or in the buffer if it is escaped. There are no pointers into
	// the record, so that the garbage collector has nothing to note for each event.
	kind       kind
	escaped    bool
	start, end int
}

// tell copies the node's value in the last scanned record into f.
func (n *node) tell(b []byte, f *field) {
	f.kind = n.kind
	switch {
	case n.kind < text:
		f.text = nil
	case n.escaped:
		f.text = n.buffer
	default:
		f.text = b[n.start:n.end]
	}
}

// null reports whether the node's value in the last scanned record is null.
func (n *node) null(b []byte) bool { return n.kind == other && b[n.start] == 'n' }

// literal is a name as producers write it, with its colon: "name":
type literal struct {
	text        []byte
	first, last uint64 // its first eight bytes, or all of them if it is shorter, and its last eight
	mask        uint64 // of the bytes in first
	looks       int    // at how many bytes of a text it looks
}

func newLiteral(name string) literal {
	quoted, _ := json.Marshal(name) // a string never fails
	l := literal{text: append(quoted, ':'), mask: math.MaxUint64}
	l.looks = max(len(l.text), 8)
	if missing := 8 - len(l.text); missing > 0 {
		l.mask >>= 8 * missing
	} else {
		l.last = binary.LittleEndian.Uint64(l.text[-missing:])
	}
	var first [8]byte
	copy(first[:], l.text)
	l.first = binary.LittleEndian.Uint64(first[:])
	return l
}

// at reports whether the literal is at b[i]. It may overlook one near the end of the text: then the name is read like
// any other.
func (l *literal) at(b []byte, i int) bool {
	if i+l.looks > len(b) {
		return false
	}
	n := len(l.text)
	return binary.LittleEndian.Uint64(b[i:])&l.mask == l.first &&
		(n <= 8 || binary.LittleEndian.Uint64(b[i+n-8:]) == l.last && (n <= 16 || string(b[i:i+n]) == string(l.text)))
}

// scanValue reads a value. If n is wanted, it remembers the value.
func scanValue(b []byte, i, depth int, n *node) int {
	if i == len(b) || depth > maxDepth {
		return -1
	}
	start, found := i, other
	switch b[i] {
	case '"':
		var plain bool
		if i, plain = scanString(b, i); i > 0 && n != nil {
			n.kind, n.start, n.end, n.escaped = text, start+1, i-1, !plain
			if !plain {
				n.unescape(b[start+1 : i-1])
			}
		}
		return i
	case '{':
		i = scanObject(b, i, depth, n)
	case '[':
		i = scanArray(b, i, depth)
	case 't':
		i, found = scanWord(b, i, "true"), truth
	case 'f':
		i, found = scanWord(b, i, "false"), truth
	case 'n':
		i = scanWord(b, i, "null")
	default:
		i, found = scanNumber(b, i), number
	}
	if n != nil {
		n.kind, n.start, n.end, n.escaped = found, start, i, false
	}
	return i
}

// scanObject reads an object, and finds the children of n among its members. A child that comes twice is invalid.
func scanObject(b []byte, i, depth int, n *node) int {
	if i = skipSpace(b, i+1); i < len(b) && b[i] == '}' {
		return i + 1
	}
	var expected **node
	if n != nil {
		expected = &n.first
	}
	for {
		var child *node
		if n != nil && len(n.children) > 0 {
			if child, i = n.member(b, i, *expected); child != nil {
				*expected, expected = child, &child.after
			}
		} else {
			i, _, _ = scanName(b, i)
		}
		if i < 0 || child != nil && child.kind != none {
			return -1
		}
		if i = scanValue(b, skipSpace(b, i), depth+1, child); i < 0 {
			return -1
		}
		if i = skipSpace(b, i); i == len(b) {
			return -1
		}
		switch b[i] {
		case '}':
			return i + 1
		case ',':
			i = skipSpace(b, i+1)
		default:
			return -1
		}
	}
}

// member reads the name of a member of n and returns the child of that name, or nil. The expected one is tried first.
func (n *node) member(b []byte, i int, expected *node) (child *node, next int) {
	if expected != nil && expected.literal.at(b, i) {
		return expected, i + len(expected.literal.text)
	}
	next, name, plain := scanName(b, i)
	if next < 0 {
		return nil, -1
	}
	if !plain {
		name = n.unescape(name)
	}
	for _, c := range n.children {
		if string(name) == c.name {
			return c, next
		}
	}
	return nil, next
}

// unescape returns a valid text without its escapes. It is in the node's buffer.
func (n *node) unescape(text []byte) []byte {
	n.buffer = appendUnescaped(n.buffer[:0], text)
	return n.buffer
}

func scanArray(b []byte, i, depth int) int {
	if i = skipSpace(b, i+1); i < len(b) && b[i] == ']' {
		return i + 1
	}
	for {
		if i = scanValue(b, i, depth+1, nil); i < 0 {
			return -1
		}
		if i = skipSpace(b, i); i == len(b) {
			return -1
		}
		switch b[i] {
		case ']':
			return i + 1
		case ',':
			i = skipSpace(b, i+1)
		default:
			return -1
		}
	}
}

// scanName reads a member's name and the colon after it. The name is plain if it contains no escape.
func scanName(b []byte, i int) (next int, name []byte, plain bool) {
	if i == len(b) || b[i] != '"' {
		return -1, nil, false
	}
	end, plain := scanString(b, i)
	if end < 0 {
		return -1, nil, false
	}
	name = b[i+1 : end-1]
	if end = skipSpace(b, end); end == len(b) || b[end] != ':' {
		return -1, nil, false
	}
	return end + 1, name, plain
}

const (
	ones  = 0x0101010101010101
	highs = 0x80 * ones
)

// scanString reads a string. It is plain if it contains no escape.
func scanString(b []byte, i int) (next int, plain bool) {
	i++
	start, plain := i, true
	var high uint64 // not 0 if some byte may not be ASCII
	for {
		if i+8 <= len(b) {
			w := binary.LittleEndian.Uint64(b[i:])
			high |= w & highs
			quote, slash := w^ones*'"', w^ones*'\\'
			// The highest bit of a byte of stop says that there is a quote, a backslash or a control character. Bytes
			// after the first such byte may say so wrongly.
			stop := ((quote-ones)&^quote | (slash-ones)&^slash | (w-ones*' ')&^w) & highs
			if stop == 0 {
				i += 8
				continue
			}
			i += bits.TrailingZeros64(stop) / 8
		} else if i == len(b) {
			return -1, false
		}
		switch c := b[i]; {
		case c == '"':
			if high != 0 && !utf8.Valid(b[start:i]) {
				return -1, false
			}
			return i + 1, plain
		case c == '\\':
			plain = false
			if i, _ = scanEscape(b, i); i < 0 {
				return -1, false
			}
		case c < ' ':
			return -1, false
		default:
			high |= uint64(c) & 0x80
			i++
		}
	}
}

// scanEscape reads an escape, or a pair of escapes that is one character, such as \ud83d\ude00. \ud83d alone is
// invalid, because parsers disagree on which user a lone surrogate is.
func scanEscape(b []byte, i int) (next int, r rune) {
	if i+1 == len(b) {
		return -1, 0
	}
	switch c := b[i+1]; c {
	case '"', '\\', '/':
		return i + 2, rune(c)
	case 'b':
		return i + 2, '\b'
	case 'f':
		return i + 2, '\f'
	case 'n':
		return i + 2, '\n'
	case 'r':
		return i + 2, '\r'
	case 't':
		return i + 2, '\t'
	}
	next, r = scanHex(b, i)
	if next > 0 && utf16.IsSurrogate(r) {
		var low rune
		if next, low = scanHex(b, next); next > 0 {
			if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
				return -1, 0
			}
		}
	}
	return next, r
}

// scanHex reads an escape of the form \u00e9.
func scanHex(b []byte, i int) (next int, r rune) {
	if i+6 > len(b) || b[i] != '\\' || b[i+1] != 'u' {
		return -1, 0
	}
	for _, c := range b[i+2 : i+6] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return -1, 0
		}
		r = r<<4 | rune(c)
	}
	return i + 6, r
}

func scanNumber(b []byte, i int) int {
	if b[i] == '-' {
		i++
	}
	if i < len(b) && b[i] == '0' {
		i++
	} else if i = scanDigits(b, i); i < 0 {
		return -1
	}
	if i < len(b) && b[i] == '.' {
		if i = scanDigits(b, i+1); i < 0 {
			return -1
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		if i++; i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		return scanDigits(b, i)
	}
	return i
}

// scanDigits reads at least one digit.
func scanDigits(b []byte, i int) int {
	start := i
	for i < len(b) && '0' <= b[i] && b[i] <= '9' {
		i++
	}
	if i == start {
		return -1
	}
	return i
}

func scanWord(b []byte, i int, word string) int {
	if end := i + len(word); end <= len(b) && string(b[i:end]) == word {
		return end
	}
	return -1
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && b[i] <= ' ' && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// appendUnescaped appends a valid text without its escapes.
func appendUnescaped(to, text []byte) []byte {
	for i := 0; i < len(text); {
		if text[i] != '\\' {
			to = append(to, text[i])
			i++
			continue
		}
		var r rune
		i, r = scanEscape(text, i)
		to = utf8.AppendRune(to, r)
	}
	return to
}
