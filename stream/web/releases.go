package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/valyala/fastjson"

	"github.com/louver/louver/stream/outputs"
	"github.com/louver/louver/stream/record"
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

// rowsOf has a row for each record, with these of the columns.
func rowsOf(found []*point, header []string) (rows [][]string, err error) {
	for _, f := range found {
		r, err := f.decode()
		if err != nil {
			return nil, err
		}
		row, cells := make([]string, len(header)), cellsOf(r)
		for i, name := range header {
			row[i] = cells[slices.Index(columns, name)]
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// cellsOf returns a record in the order of columns. Fields that it does not have are empty.
func cellsOf(r outputs.Record) []string {
	cells := []string{r.Stream, r.Group, r.Release, clock(r.WindowStart), clock(r.WindowEnd), cell(r.Value), r.Unit,
		r.Status, cell(r.Reason),
		string(r.Quality), strconv.FormatBool(r.Incomplete), r.Statistic, cell(r.P), r.Mechanism, r.Epsilon.String(),
		r.Delta.String(),
		cell(r.Error95), cell(r.RankError95), cell(r.Users), cell(r.PLow), cell(r.PHigh)}
	var interval [3]string
	if n := r.Interval; n != nil {
		interval = [3]string{n.Level.String(), n.Low.String(), n.High.String()}
	}
	var smoothed [3]string
	if s := r.Smoothed; s != nil {
		smoothed = [3]string{s.Value.String(), cell(s.Low), cell(s.High)}
	}
	var clip [2]json.Number
	if r.Clip != nil {
		clip = *r.Clip
	}
	since, instance := "", ""
	if r.Since != nil {
		since = clock(*r.Since)
	}
	if r.Instance > 0 {
		instance = strconv.FormatInt(r.Instance, 10)
	}
	count, per := "", ""
	if m := r.MaxWindows; m != nil {
		count, per = strconv.FormatInt(m.Count, 10), m.Per
	}
	band := record.BandFields{}
	if r.BandFields != nil {
		band = *r.BandFields
	}
	var lost [4]string
	if l := r.LossFields; l != nil {
		charge, _ := json.Marshal(l.Charge) // never fails
		lost = [4]string{cell(l.StreamLost), cell(l.BudgetLost), strconv.FormatInt(l.WindowsUsed, 10), string(charge)}
	}
	var outside [2]string
	if o := r.Outside; o != nil {
		outside = [2]string{strconv.FormatInt(o.Value, 10), strconv.FormatInt(o.Error95, 10)}
	}
	cells = append(append(cells, interval[:]...), smoothed[:]...)
	return append(cells, clip[0].String(), clip[1].String(), cell(r.StreamSpent), r.Budget, cell(r.BudgetSpent),
		r.BudgetLimit.String(),
		strconv.FormatInt(r.BudgetLeft, 10), clock(r.DueAt), r.ID, since, instance, cell(r.Excess95), count, per,
		cell(r.Changed), cell(r.MaxTotal), cell(r.Final), cell(band.Low), cell(band.High), cell(band.Level),
		string(band.Basis), cell(band.Usual95), outside[0], outside[1], cell(r.Outside95), cell(r.Cut95), cell(r.Raw),
		lost[0], lost[1], lost[2], lost[3], r.Active)
}

func cell[T any](v *T) string {
	if v == nil {
		return ""
	}
	return fmt.Sprint(*v)
}

func clock(t time.Time) string { return t.UTC().Format(time.RFC3339) }
