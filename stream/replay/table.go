package replay

import (
	"bufio"
	"encoding/csv"
	"strings"
	"unicode/utf8"

	"github.com/louver/louver/stream/codec"
)

// table reads CSV with a header.
type table struct {
	reader  *csv.Reader
	columns []int // of the parts; −1: none
	where   *codec.Rows
	skipped *int
}

// newTable reads the header. Its errors begin with the line.
func newTable(text *bufio.Reader, columns Columns, options Options, skipped *int) (*table, error) {
	t := &table{reader: NewCSV(text, options.Delimiter), skipped: skipped}
	t.reader.ReuseRecord = true
	header, err := ReadHeader(t.reader)
	if err != nil {
		return nil, err
	}
	for _, p := range columns.parts() {
		at := -1
		if p.name != "" {
			if at, err = header.Find(p.key, p.name); err != nil {
				return nil, err
			}
		}
		t.columns = append(t.columns, at)
	}
	t.where, err = codec.NewRows(options.Where, func(name string) (int, error) { return header.Find("where", name) })
	return t, err
}

func (t *table) next() (row, error) {
	fields, err := t.reader.Read()
	for err == nil && !t.where.Meets(fields) {
		*t.skipped++
		fields, err = t.reader.Read()
	}
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
	r := row{line: line, key: []byte(user), parts: make([][]byte, len(t.columns))}
	r.parts[partUser] = quoted(user)
	if v := t.columns[partValue]; v >= 0 {
		r.parts[partValue] = numberOrString(strings.TrimSpace(fields[v]))
	}
	r.parts[partTime] = []byte(strings.TrimSpace(fields[t.columns[partTime]]))
	if g := t.columns[partGroup]; g >= 0 {
		r.parts[partGroup] = quoted(fields[g])
	}
	if c := t.columns[partClock]; c >= 0 {
		r.parts[partTime] = withClock(r.parts[partTime], []byte(fields[c]))
	}
	for i := numParts; int(i) < len(t.columns); i++ {
		r.parts[i] = quoted(fields[t.columns[i]])
	}
	return r, nil
}
