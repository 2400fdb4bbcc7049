package replay

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Header holds the names of a CSV file's columns.
type Header struct {
	names     []string
	delimiter rune
}

// NewCSV returns a reader of a CSV file with a header. Fields are what stands between the delimiters, spaces included:
// a user's id counts as it is written. But in a file whose header has a space behind the first delimiter, spaces behind
// delimiters are its style, and no part of a field.
func NewCSV(text *bufio.Reader, delimiter rune) *csv.Reader {
	rows := csv.NewReader(text)
	if delimiter != 0 {
		rows.Comma = delimiter
	}
	start, _ := text.Peek(text.Buffered()) // [Text] has read some
	rows.TrimLeadingSpace = spaced(start, rows.Comma)
	return rows
}

// spaced reports whether a space comes behind the first delimiter of a line.
func spaced(line []byte, delimiter rune) bool {
	quoted := false
	for i, r := range string(line) {
		switch {
		case r == '"':
			quoted = !quoted
		case quoted:
		case r == '\n':
			return false
		case r == delimiter:
			return bytes.HasPrefix(line[i+utf8.RuneLen(r):], []byte(" "))
		}
	}
	return false
}

// ReadHeader reads the first line of a CSV file. Its errors, and those of Find, begin with the number of the line.
func ReadHeader(from *csv.Reader) (Header, error) {
	fields, err := from.Read()
	if errors.Is(err, io.EOF) {
		return Header{}, errors.New("1: the file has no header; want the names of the columns in the first line")
	} else if err != nil {
		return Header{}, LineError(err)
	}
	h := Header{delimiter: from.Comma}
	for _, name := range fields {
		if !utf8.ValidString(name) {
			return Header{}, notUTF8(1)
		}
		h.names = append(h.names, strings.TrimSpace(name))
	}
	return h, nil
}

// Find returns the index of the column that holds a part of an event: key says which, such as user.
func (h Header) Find(key, name string) (int, error) {
	at := slices.Index(h.names, name)
	switch {
	case at >= 0 && slices.Contains(h.names[at+1:], name):
		return 0, fmt.Errorf("1: %s %q occurs twice in the header; rename one of the columns", key, name)
	case at >= 0:
		return at, nil
	case len(h.names) == 1:
		for _, other := range ",;\t|" {
			if other != h.delimiter && strings.ContainsRune(h.names[0], other) {
				return 0, fmt.Errorf("1: %s %q is not in the header, which has one column if %q separates them; want "+
					"delimiter %q", key, name, h.delimiter, other)
			}
		}
	}
	if h.looksLikeData() {
		return 0, fmt.Errorf("1: %s %q is not in the first line, which looks like data; "+
			"want a header: the names of the columns", key, name)
	}
	return 0, fmt.Errorf("1: %s %q is not in the header; want one of %s", key, name, list(h.names))
}

// looksLikeData reports whether the header looks like an event, because it has a number or a time. Then its content
// must not be shown.
func (h Header) looksLikeData() bool {
	return slices.ContainsFunc(h.names, func(name string) bool {
		_, _, isTime := parseTime([]byte(name), time.UTC, DayFirst)
		return isTime || numberOrString(name)[0] != '"'
	})
}

// list writes the first 30 names, and how many more there are.
func list(names []string) string {
	const most = 30
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
