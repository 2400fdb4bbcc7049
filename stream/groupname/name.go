// Package groupname has the rule for the names of groups that nobody listed before, and the one way in which keys and
// ids write them.
//
// The rule looks at one name only, so that it changes nothing of what another user's records count for. No error here
// says what a name is: names that few share must not leave the service.
package groupname

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
	"golang.org/x/text/unicode/rangetable"
)

// Longest is the most characters of a name.
const Longest = 200

// mostDecomposed is the most characters that a name may have before it is composed: one character in composed form has
// at most 4 in any other.
const mostDecomposed = 4 * Longest

// The ways in which a text is no name.
var (
	ErrEmpty   = errors.New("it is empty")
	ErrTooLong = fmt.Errorf("it has more than %d characters", Longest)
	ErrText    = errors.New("it is not valid UTF-8")
	ErrHidden  = errors.New("it has a control, format or private-use character or a line separator")
)

// hidden are the characters that no name has.
var hidden = rangetable.Merge(unicode.Cc, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp)

// Canonical returns the canonical form of a name: in Unicode's form NFC and without spaces (category Zs) at its ends.
// It has from 1 to [Longest] characters; none of them is a control, format or private-use character or a line
// separator, so that no name can break a terminal, a key or a label. Otherwise the error is one of those of this
// package. The names of an integer, true and false are their texts.
//
// The canonical form of a canonical name is the name itself. The result may share the memory of the text, which is
// never changed.
func Canonical(text []byte) ([]byte, error) {
	if printable(text) { // no other rule is left to check
		return measured(trimmed(text))
	}
	if !utf8.Valid(text) {
		return nil, ErrText
	}
	if text = trimmed(text); utf8.RuneCount(text) > mostDecomposed {
		return nil, ErrTooLong
	}
	name := trimmed(norm.NFC.Bytes(text))
	if bytes.ContainsFunc(name, func(r rune) bool { return unicode.Is(hidden, r) }) {
		return nil, ErrHidden
	}
	return measured(name)
}

// printable reports whether a text has only ASCII's characters from the space on.
func printable(text []byte) bool {
	for _, c := range text {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return true
}

// trimmed returns a text without spaces at its ends.
func trimmed(text []byte) []byte {
	return bytes.TrimFunc(text, func(r rune) bool { return unicode.Is(unicode.Zs, r) })
}

func measured(name []byte) ([]byte, error) {
	switch {
	case len(name) == 0:
		return nil, ErrEmpty
	case len(name) > Longest && utf8.RuneCount(name) > Longest:
		return nil, ErrTooLong
	}
	return name, nil
}

var escaper = strings.NewReplacer("%", "%25", "/", "%2F")

// Escape returns a name as keys and ids have it: % is written %25, and / is written %2F. So no name holds the slash
// that divides a key.
func Escape(name string) string { return escaper.Replace(name) }

// Unescape returns the name that [Escape] wrote so. It refuses a text that Escape does not write.
func Unescape(text string) (string, error) {
	var name strings.Builder
	for rest := text; rest != ""; {
		plain, after, found := strings.Cut(rest, "%")
		name.WriteString(plain)
		switch {
		case strings.Contains(plain, "/"):
			return "", errors.New("a name with a slash; want it written %2F")
		case !found:
		case strings.HasPrefix(after, "25"):
			name.WriteByte('%')
		case strings.HasPrefix(after, "2F"):
			name.WriteByte('/')
		default:
			return "", errors.New("a name with a % that neither %25 nor %2F begins with; want it written %25")
		}
		if !found {
			break
		}
		rest = after[2:]
	}
	return name.String(), nil
}
