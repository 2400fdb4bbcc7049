package codec

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// csvDecoder reads records whose value is a line of CSV.
type csvDecoder struct {
	rules
	columns []string
	comma   rune
	wanted  []column
	source  bytes.Reader
	reader  *csv.Reader
	found   fields
	texts   [numFields][]byte
}

// column says which column holds the part with a role.
type column struct {
	role  role
	index int
}

func newCSV(s Spec, r rules) (Decoder, error) {
	d := &csvDecoder{rules: r, columns: s.Columns, comma: s.Delimiter}
	if d.comma == 0 {
		d.comma = ','
	}
	if strings.ContainsRune("\"\r\n", d.comma) || d.comma == utf8.RuneError || !utf8.ValidRune(d.comma) {
		return nil, fmt.Errorf("delimiter %q; want one character other than a quote or a line break", d.comma)
	}
	if len(d.columns) == 0 {
		return nil, errors.New("columns are missing; want the names of the columns, in order")
	}
	for i, c := range d.columns {
		if slices.Contains(d.columns[:i], c) {
			return nil, fmt.Errorf("column %q occurs twice; want each name once", c)
		}
	}
	if s.Value == ValueField {
		return nil, fmt.Errorf("value %s is for json; want the name of a column", s.Value)
	}
	for _, p := range s.parts() {
		if !p.inValue() {
			continue
		}
		i := slices.Index(d.columns, p.field)
		if i < 0 {
			return nil, fmt.Errorf("%s %q is not a column; want one of %s", p.name, p.field,
				strings.Join(d.columns, ", "))
		}
		d.wanted = append(d.wanted, column{p.role, i})
	}
	d.renew()
	return d, nil
}

// renew makes a new reader.
func (d *csvDecoder) renew() {
	d.reader = csv.NewReader(&d.source)
	d.reader.Comma = d.comma
	d.reader.FieldsPerRecord = len(d.columns)
	d.reader.ReuseRecord = true
}

func (d *csvDecoder) Decode(r Record, e *Event) Reason {
	if !d.find(r.Value, &d.found) {
		d.renew() // it may still hold the rest of this record
		return Malformed
	}
	return d.event(&r, &d.found, e)
}

// Cause implements [Decoder].
func (d *csvDecoder) Cause(r Record) string {
	h, framed := frameOf(r.Value)
	switch {
	case r.Value == nil:
		return causeNoValue
	case len(bytes.TrimRight(r.Value, "\r\n")) == 0:
		return causeEmpty
	case bytes.HasPrefix(r.Value, byteOrderMark):
		return causeBOM
	case framed:
		return h.begins()
	case !utf8.Valid(r.Value):
		return causeEncoding
	}
	again := csv.NewReader(bytes.NewReader(r.Value))
	again.Comma, again.FieldsPerRecord = d.comma, -1
	line, err := again.Read()
	switch {
	case err != nil:
		return "is not a line of CSV: its quotes are wrong"
	case slices.Equal(line, d.columns):
		return "repeats the names of the columns"
	case len(line) != len(d.columns):
		return fmt.Sprintf("has %d columns and not %d", len(line), len(d.columns))
	}
	return "has more than one line"
}

func (d *csvDecoder) find(value []byte, f *fields) bool {
	if !utf8.Valid(value) || bytes.HasPrefix(value, []byte("\ufeff")) {
		return false
	}
	if len(value) > 0 && (value[0] == '\n' || value[0] == '\r') { // the reader would skip empty lines
		return false
	}
	d.source.Reset(value)
	start := d.reader.InputOffset()
	line, err := d.reader.Read()
	if err != nil || d.reader.InputOffset()-start != int64(len(value)) || slices.Equal(line, d.columns) {
		return false
	}
	for _, c := range d.wanted {
		d.texts[c.role] = append(d.texts[c.role][:0], line[c.index]...)
		f[c.role] = field{kind: cell, text: d.texts[c.role]}
	}
	return true
}
