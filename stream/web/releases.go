package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/valyala/fastjson"

	"github.com/louver/louver/stream/outputs"
)

const (
	usualLimit = 1000
	mostLimit  = 10000
)

// records answers with records as they were published.
type records struct{ source }

// page answers with records of a range, page by page.
func (s records) page(w http.ResponseWriter, r *http.Request) error {
	p := query(r, "stream", "group", "release", "from", "to", "last", "limit", "cursor", "fields", "format")
	want := p.stretch()
	limit := p.number("limit", usualLimit, mostLimit)
	form := p.form(r)
	var after *mark
	if text := p.values.Get("cursor"); text != "" {
		m, err := parseCursor(text)
		if err != nil {
			p.refuse("%v", err)
		}
		after = &m
	}
	if err := s.check(p, want); err != nil {
		return err
	}
	found, rest, more := s.store.find(want, after, limit)
	var next *string
	if more {
		next = new(rest.cursor())
		query := p.values
		query.Set("cursor", *next)
		w.Header().Set("Link", "<?"+query.Encode()+`>; rel="next"`)
	}
	return form.answer(w, r, found, &next)
}

// newest answers with the newest record of each series, or with the newest that is more than noise: what was known
// last, however long ago that is.
func (s records) newest(w http.ResponseWriter, r *http.Request) error {
	p := query(r, "stream", "group", "release", "readable", "fields", "format")
	want, form := p.selection(), p.form(r)
	want.readable = p.flag("readable")
	if err := s.check(p, want); err != nil {
		return err
	}
	return form.answer(w, r, s.store.latest(want), nil)
}

// form is the form in which records are sent.
type form struct {
	csv    bool
	fields []string // of the records; empty: all
}

// form reads it from the parameters and from the header Accept.
func (p *parameters) form(r *http.Request) form {
	f := form{csv: p.csv(r)}
	if text := p.values.Get("fields"); text != "" {
		f.fields = strings.Split(text, ",")
	}
	known := fieldNames
	if f.csv {
		known = columns
	}
	for _, name := range f.fields {
		if !slices.Contains(known, name) {
			p.refuse("fields: %q is not one; want some of %s", name, strings.Join(known, ","))
		}
	}
	return f
}

// answer sends records. next is nil if there are no pages.
func (f form) answer(w http.ResponseWriter, r *http.Request, found []*point, next **string) error {
	w.Header().Add("Vary", "Accept")
	if f.csv {
		header := f.fields
		if len(header) == 0 {
			header = columns
		}
		rows, err := rowsOf(found, header)
		if err != nil {
			return err
		}
		w.Header().Set("Content-Disposition", `inline; filename="releases.csv"`)
		return answerCSV(w, r, header, rows)
	}
	var b bytes.Buffer
	var parser fastjson.Parser
	b.WriteString(`{"releases":[`)
	for i, x := range found {
		if i > 0 {
			b.WriteString(",\n")
		}
		if len(f.fields) == 0 {
			b.Write(x.value)
		} else if err := pick(&b, &parser, x.value, f.fields); err != nil {
			return err
		}
	}
	b.WriteByte(']')
	if next != nil {
		cursor, _ := json.Marshal(*next) // of a string: never fails
		b.WriteString(`,"next":`)
		b.Write(cursor)
	}
	b.WriteString("}\n")
	answer(w, r, "application/json", b.Bytes())
	return nil
}

// pick writes some fields of a record, in order. Fields that older records lack are null.
func pick(b *bytes.Buffer, parser *fastjson.Parser, value []byte, fields []string) error {
	record, err := parser.ParseBytes(value)
	if err != nil {
		return fmt.Errorf("a record: %w", err)
	}
	b.WriteByte('{')
	for i, name := range fields {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteByte('"')
		b.WriteString(name) // one of fieldNames, which need no escapes
		b.WriteString(`":`)
		if v := record.Get(name); v != nil {
			b.Write(v.MarshalTo(b.AvailableBuffer())) // numbers stay as they are written
		} else {
			b.WriteString("null")
		}
	}
	b.WriteByte('}')
	return nil
}

// columns are the columns of CSV, in order: the fields of a record. A field that is an object has a column for each
// part.
var columns = []string{"stream", "group", "release", "window_start", "window_end", "value", "unit", "status", "reason",
	"quality", "incomplete",
	"statistic", "p", "mechanism", "epsilon", "delta", "error_95", "rank_error_95", "users", "p_low", "p_high",
	"interval_level", "interval_low", "interval_high", "smoothed", "smoothed_low", "smoothed_high", "clip_low",
	"clip_high",
	"stream_epsilon_spent", "budget", "budget_epsilon_spent", "budget_epsilon_limit", "budget_windows_left", "due_at",
	"id", "since", "instance", "excess_95",
	"max_windows_count", "max_windows_per", "changed", "max_total", "final",
	"low", "high", "level", "basis", "usual_95", "outside", "outside_error_95", "outside_95", "cut_95", "raw",
	"stream_epsilon_lost", "budget_epsilon_lost", "budget_windows_used", "charge", "active"}

// parts says where the columns are in a record that are parts of a field.
var parts = map[string][]string{"interval_level": {"interval", "level"}, "interval_low": {"interval", "low"},
	"interval_high": {"interval", "high"}, "smoothed": {"smoothed", "value"}, "smoothed_low": {"smoothed", "low"},
	"smoothed_high": {"smoothed", "high"}, "clip_low": {"clip", "0"}, "clip_high": {"clip", "1"},
	"max_windows_count": {"max_windows", "count"}, "max_windows_per": {"max_windows", "per"},
	"outside": {"outside", "value"}, "outside_error_95": {"outside", "error_95"}}

// fieldNames are the names of the fields of a record in JSON.
var fieldNames = func() (names []string) {
	for _, f := range reflect.VisibleFields(reflect.TypeFor[outputs.Record]()) {
		if f.Anonymous {
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}()

// rowsOf has a row for each record, with these of the columns. Fields that a record does not have are empty.
func rowsOf(found []*point, header []string) (rows [][]string, err error) {
	var parser fastjson.Parser
	for _, f := range found {
		record, err := parser.ParseBytes(f.value)
		if err != nil {
			return nil, fmt.Errorf("a record: %w", err)
		}
		row := make([]string, len(header))
		for i, name := range header {
			path := parts[name]
			if path == nil {
				path = []string{name}
			}
			switch v := record.Get(path...); {
			case v == nil || v.Type() == fastjson.TypeNull:
			case v.Type() == fastjson.TypeString:
				row[i] = string(v.GetStringBytes())
			default: // numbers stay as they are written
				row[i] = string(v.MarshalTo(nil))
			}
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func clock(t time.Time) string { return t.UTC().Format(time.RFC3339) }
