package replay

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"unicode/utf8"

	"github.com/louver/louver/stream/codec"
	"github.com/louver/louver/stream/shape"
	"github.com/valyala/fastjson"
)

// maxLine is the longest JSON line.
const maxLine = 16 << 20

// lines reads JSON lines: one object on each line. It skips empty lines.
type lines struct {
	scanner *bufio.Scanner
	line    int
	begun   bool
	parser  fastjson.Parser
	parts   []named
	where   codec.Decoder // it skips events that do not meet the conditions; nil if there are none
	skipped *int
}

func newLines(in io.Reader, c Columns, where []codec.Condition, skipped *int) (*lines, error) {
	l := &lines{scanner: bufio.NewScanner(in), parts: c.parts(), skipped: skipped}
	l.scanner.Buffer(nil, maxLine)
	if len(where) == 0 {
		return l, nil
	}
	var err error
	l.where, err = codec.New(codec.Spec{Format: "json", User: c.User, Time: codec.TimestampField, Where: where})
	if err != nil {
		err = fmt.Errorf("1: %w", err)
	}
	return l, err
}

// skips reports whether an event does not meet the conditions, and counts it.
func (l *lines) skips(text []byte) bool {
	var e codec.Event
	if l.where == nil || l.where.Decode(codec.Record{Value: text}, &e) != codec.Unwanted {
		return false
	}
	*l.skipped++
	return true
}

func (l *lines) next() (row, error) {
	for l.scanner.Scan() {
		l.line++
		text := bytes.TrimSpace(l.scanner.Bytes())
		if len(text) == 0 {
			continue
		}
		// fastjson accepts more than JSON, but records must be valid.
		if !json.Valid(text) || !utf8.Valid(text) {
			return row{}, fmt.Errorf("%d: the line %s; want one object per line", l.line, codec.NotAnObject(text))
		}
		v, err := l.parser.ParseBytes(text)
		if err != nil || v.Type() != fastjson.TypeObject {
			return row{}, fmt.Errorf("%d: the line %s; want one object per line", l.line, codec.NotAnObject(text))
		}
		if l.skips(text) {
			continue
		}
		if !l.begun {
			if err := l.begin(v, text); err != nil {
				return row{}, err
			}
		}
		return l.row(v), nil
	}
	switch err := l.scanner.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return row{}, fmt.Errorf("%d: the line is longer than %d MB; want one object per line", l.line+1, maxLine>>20)
	case err != nil:
		return row{}, fmt.Errorf("%d: %w", l.line+1, err)
	}
	return row{}, io.EOF
}

// begin checks that the first event has the fields that are named. If it lacks one, the name is probably wrong,
// and a stream would reject every event.
func (l *lines) begin(v *fastjson.Value, text []byte) error {
	l.begun = true
	for _, p := range l.parts {
		if p.name == "" {
			continue
		}
		if f := find(v, p.name); f == nil || f.GetObject() != nil {
			var names []string
			for _, f := range shape.Of(text) {
				names = append(names, f.Path)
			}
			return fmt.Errorf("%d: %s %q is not in the first event; want one of %s", l.line, p.key, p.name, list(names))
		}
	}
	return nil
}

func (l *lines) row(v *fastjson.Value) row {
	r := row{line: l.line, parts: make([][]byte, len(l.parts))}
	for _, p := range l.parts {
		if p.name != "" && p.part != partTime && p.part != partClock {
			r.parts[p.part] = jsonOf(find(v, p.name))
		}
	}
	r.key, r.parts[partTime] = textOf(find(v, l.parts[partUser].name)), textOf(find(v, l.parts[partTime].name))
	if clock := l.parts[partClock].name; clock != "" {
		r.parts[partTime] = withClock(r.parts[partTime], textOf(find(v, clock)))
	}
	return r
}

// find returns the field of that name, or else the field at that path with dots, or nil if there is neither.
func find(v *fastjson.Value, name string) *fastjson.Value {
	if f := v.Get(name); f != nil {
		return f
	}
	return v.Get(codec.Path(name)...)
}

// jsonOf returns a field as it was written, or nil if it is missing.
func jsonOf(v *fastjson.Value) []byte {
	if v == nil {
		return nil
	}
	return v.MarshalTo(nil)
}

// textOf returns the text of a string or a number, or nil if the field is missing or of another type. Call it after
// jsonOf, because it removes the escapes.
func textOf(v *fastjson.Value) []byte {
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

// longestRaw is how long a line may be that becomes a record as it is: as large as a record that streams look at.
const longestRaw = 4 << 20

// Raw yields the lines of a text as records, as they are, such as those that the file exporter of an OpenTelemetry
// Collector writes. Empty lines are left out. Records have no key and are due at once. The text may be compressed with
// gzip.
func Raw(name string, in io.Reader) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		text, err := Text(in)
		if err != nil {
			yield(Record{}, fmt.Errorf("%s: %w", name, err))
			return
		}
		lines := bufio.NewScanner(text)
		lines.Buffer(nil, longestRaw)
		n := 1
		for ; lines.Scan(); n++ {
			if line := bytes.TrimSpace(lines.Bytes()); len(line) > 0 && !yield(Record{Value: bytes.Clone(line), Line: n}, nil) {
				return
			}
		}
		if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
			yield(Record{}, fmt.Errorf("%s:%d: the line is longer than 4 MiB; want shorter ones", name, n))
		} else if err != nil {
			yield(Record{}, fmt.Errorf("%s: %w", name, err))
		}
	}
}
