package replay

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// table reads CSV with a header.
type table struct {
	reader  *csv.Reader
	columns [numParts]int // −1: none
}

// newTable reads the header. Its errors begin with the line.
func newTable(in io.Reader, columns Columns, delimiter rune) (*table, error) {
	t := &table{reader: csv.NewReader(in)}
	t.reader.ReuseRecord = true
	t.reader.TrimLeadingSpace = true
	if delimiter != 0 {
		t.reader.Comma = delimiter
	}
	header, err := ReadHeader(t.reader)
	if err != nil {
		return nil, err
	}
	for _, p := range columns.parts() {
		t.columns[p.part] = -1
		if p.name == "" {
			continue
		}
		if t.columns[p.part], err = header.Find(p.key, p.name); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func (t *table) next() (row, error) {
	fields, err := t.reader.Read()
	if err != nil {
		return row{}, LineError(err)
	}
	line, _ := t.reader.FieldPos(0)
	for _, f := range fields {
		if !utf8.ValidString(f) {
			return row{}, notUTF8(line)
		}
	}
	user := fields[t.columns[partUser]]
	r := row{line: line, key: []byte(user)}
	r.parts = [numParts][]byte{partUser: quoted(user), partValue: bare(fields[t.columns[partValue]]), partTime: []byte(fields[t.columns[partTime]])}
	if g := t.columns[partGroup]; g >= 0 {
		r.parts[partGroup] = quoted(fields[g])
	}
	return r, nil
}

func notUTF8(line int) error {
	return fmt.Errorf("%d: the line is not UTF-8; convert the file, for example with iconv", line)
}

// LineError begins the reader's error with its line number. It does not repeat the line's content.
func LineError(err error) error {
	var p *csv.ParseError
	if errors.Is(err, io.EOF) {
		return err
	} else if !errors.As(err, &p) {
		return fmt.Errorf(" %w", err) // an error of reading the file, not of a line
	}
	if errors.Is(p, csv.ErrFieldCount) {
		return fmt.Errorf("%d: the line does not have as many fields as the header; want one for each column", p.Line)
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
