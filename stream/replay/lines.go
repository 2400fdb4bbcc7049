package replay

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/valyala/fastjson"
)

// maxLine is the longest JSON line.
const maxLine = 16 << 20

// lines reads JSON lines: an object each; empty lines are skipped.
type lines struct {
	scanner                  *bufio.Scanner
	line                     int
	parser                   fastjson.Parser
	user, value, time, group []string // paths; group nil: none
}

func newLines(in io.Reader, c Columns) *lines {
	l := &lines{scanner: bufio.NewScanner(in), user: path(c.User), value: path(c.Value), time: path(c.Time), group: path(c.Group)}
	l.scanner.Buffer(nil, maxLine)
	return l
}

func path(field string) []string {
	if field == "" {
		return nil
	}
	return strings.Split(field, ".")
}

func (l *lines) next() (row, error) {
	for l.scanner.Scan() {
		l.line++
		text := bytes.TrimSpace(l.scanner.Bytes())
		if len(text) == 0 {
			continue
		}
		// fastjson takes more than JSON: what is passed on must be valid.
		if !json.Valid(text) || !utf8.Valid(text) {
			return row{}, fmt.Errorf("%d: the line is not JSON; want one object a line", l.line)
		}
		v, err := l.parser.ParseBytes(text)
		if err != nil || v.Type() != fastjson.TypeObject {
			return row{}, fmt.Errorf("%d: the line is not a JSON object; want one object a line", l.line)
		}
		r := row{line: l.line, user: raw(v.Get(l.user...)), value: raw(v.Get(l.value...))}
		if l.group != nil {
			r.group = raw(v.Get(l.group...))
		}
		r.key, r.time = plain(v.Get(l.user...)), plain(v.Get(l.time...))
		return r, nil
	}
	switch err := l.scanner.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return row{}, fmt.Errorf("%d: the line is longer than %d MB; want one object a line", l.line+1, maxLine>>20)
	case err != nil:
		return row{}, fmt.Errorf("%d: %w", l.line+1, err)
	}
	return row{}, io.EOF
}

// raw is a field as it was written; nil if it is missing.
func raw(v *fastjson.Value) []byte {
	if v == nil {
		return nil
	}
	return v.MarshalTo(nil)
}

// plain is the text of a string or a number; nil if the field is missing or something else. It must come after raw:
// it removes the escapes.
func plain(v *fastjson.Value) []byte {
	if v == nil {
		return nil
	}
	switch v.Type() {
	case fastjson.TypeString:
		s, _ := v.StringBytes()
		return s
	case fastjson.TypeNumber:
		return v.MarshalTo(nil)
	}
	return nil
}
