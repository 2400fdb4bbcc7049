package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/munnerz/goautoneg"
	"github.com/valyala/fastjson"
)

const (
	usualLimit = 1000
	mostLimit  = 10000
)

// records answers with records as they were published.
type records struct{ source }

// page answers with records of a range, page by page.
func (s records) page(w http.ResponseWriter, r *http.Request) error {
	p := parameters{values: r.URL.Query()}
	p.allowed("stream", "group", "release", "from", "to", "last", "limit", "cursor", "fields", "format")
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
	if p.err != nil {
		return invalid(p.err)
	}
	if err := s.known(want); err != nil {
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

// newest answers with the newest record of each series, or with the newest that is more than noise: it says what was
// known last, however long ago that is.
func (s records) newest(w http.ResponseWriter, r *http.Request) error {
	p := parameters{values: r.URL.Query()}
	p.allowed("stream", "group", "release", "readable", "fields", "format")
	want, form := p.selection(), p.form(r)
	want.readable = p.flag("readable")
	if p.err != nil {
		return invalid(p.err)
	}
	if err := s.known(want); err != nil {
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
	f := form{csv: goautoneg.Negotiate(r.Header.Get("Accept"), []string{"application/json", csvType}) == csvType}
	switch format := p.values.Get("format"); format {
	case "":
	case "json", "csv":
		f.csv = format == "csv"
	default:
		p.refuse("format=%q; want json or csv", format)
	}
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
func (f form) answer(w http.ResponseWriter, r *http.Request, found []*figure, next **string) error {
	w.Header().Add("Vary", "Accept")
	if f.csv {
		body, err := writeCSV(found, f.fields)
		if err != nil {
			return err
		}
		w.Header().Set("Content-Disposition", `inline; filename="releases.csv"`)
		answer(w, r, csvType+"; charset=utf-8; header=present", body)
		return nil
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
