package replay

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// table reads CSV with a header.
type table struct {
	reader                   *csv.Reader
	user, value, time, group int // columns; group −1: none
}

// newTable reads the header. Its errors begin with the line.
func newTable(in io.Reader, columns Columns, delimiter rune) (*table, error) {
	t := &table{reader: csv.NewReader(in), group: -1}
	t.reader.ReuseRecord = true
	t.reader.TrimLeadingSpace = true
	if delimiter != 0 {
		t.reader.Comma = delimiter
	}
	header, err := t.reader.Read()
	if errors.Is(err, io.EOF) {
		return nil, errors.New("1: the file has no header; want the names of the columns, or JSON lines")
	} else if err != nil {
		return nil, lineError(err)
	}
	for _, c := range []struct {
		flag, name string
		to         *int
	}{
		{"user", columns.User, &t.user}, {"value", columns.Value, &t.value}, {"time", columns.Time, &t.time}, {"group", columns.Group, &t.group},
	} {
		if c.name == "" {
			continue
		}
		*c.to = slices.Index(header, c.name)
		if *c.to < 0 {
			return nil, fmt.Errorf("1: --%s %q is not in the header; want one of %s", c.flag, c.name, strings.Join(header, ", "))
		}
		if slices.Contains(header[*c.to+1:], c.name) {
			return nil, fmt.Errorf("1: --%s %q is twice in the header; want the name of one column", c.flag, c.name)
		}
	}
	return t, nil
}

func (t *table) next() (row, error) {
	fields, err := t.reader.Read()
	if err != nil {
		return row{}, lineError(err)
	}
	line, _ := t.reader.FieldPos(0)
	for _, f := range fields {
		if !utf8.ValidString(f) {
			return row{}, fmt.Errorf("%d: the line is not UTF-8; want the file converted, for instance by iconv", line)
		}
	}
	r := row{line: line, user: quoted(fields[t.user]), value: bare(fields[t.value]), time: []byte(fields[t.time]), key: []byte(fields[t.user])}
	if t.group >= 0 {
		r.group = quoted(fields[t.group])
	}
	return r, nil
}

// lineError begins the reader's error with its line. It says nothing of the line's content.
func lineError(err error) error {
	var p *csv.ParseError
	if errors.Is(err, io.EOF) {
		return err
	} else if !errors.As(err, &p) {
		return fmt.Errorf(" %w", err) // of reading the file: it is no line's
	}
	if errors.Is(p, csv.ErrFieldCount) {
		return fmt.Errorf("%d: the number of columns is not that of the header; want one field a column", p.Line)
	}
	return fmt.Errorf("%d: %w; want CSV, RFC 4180", p.Line, p.Err)
}

func quoted(text string) []byte {
	b, _ := json.Marshal(text) // every string has a JSON form
	return b
}

// bare writes a number of JSON's notation as it is, and anything else as a string.
func bare(text string) []byte {
	if text != "" && (text[0] == '-' || isDigit(text[0])) && isDigit(text[len(text)-1]) && json.Valid([]byte(text)) {
		return []byte(text)
	}
	return quoted(text)
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
