// Package replay reads a file of events, CSV with a header or JSON lines, and yields them as records for a topic.
// `louver replay` and `louver demo --csv` use it.
//
// A record's value is JSON. Its fields have the same names as in the file:
//
//	client,bytes,time,section             {"client":"007","bytes":12.30,
//	007,12.30,2015-05-17 10:05:03,blog     "time":"2015-05-17T10:05:03Z","section":"blog"}
//
// A dot in a name leads into an object, as it does in a streams file: the column geo.city becomes {"geo":{"city":…}}.
// So the name of a column is always the path that reads it; [Columns.Input] writes the input of a stream that does.
//
// Numbers keep their text. Values that are not numbers are not changed, and missing fields stay missing. The stream
// that reads a record decides whether to reject it; [Trial] predicts which records it will reject. Events without a
// time that can be read are left out and noted in [Times], because pace and order depend on times. An unreadable line
// is an error and stops the replay. So is a file in which no event has a time. Errors are one line, with file:line and
// what is wanted. They do not repeat personal data.
//
// Times are those of a stream's input, or a date with or without a time of day. Those that name no zone are taken as
// UTC, or in [Options.Zone]. Dates may have the year first or last, and the month as a number or a name: [Dates] says
// what 03/04/2026 is. In the record times are RFC 3339 in UTC.
package replay

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"os"
	"slices"
	"time"

	"github.com/louver/louver/stream/codec"
)

// Options says how a file is replayed. The zero value yields the file as it is.
type Options struct {
	// Delimiter separates the columns of CSV. Defaults to a comma.
	Delimiter rune
	// Zone is that of times that name none. Defaults to UTC.
	Zone *time.Location
	// Dates says how dates such as 03/04/2026 are written.
	Dates Dates
	// From moves event times so that the file's first event is at From. Zero leaves them unchanged. With a Speed, event
	// times are also divided by it, so that events keep to the clock: a day at speed 60 takes 24 minutes of event time
	// too. Without a Speed, the last events may be so far ahead of the clock that streams reject them.
	From time.Time
	// Speed says when records are due: 1 is as fast as the events happened, 60 plays an hour in a minute, 0 is as fast
	// as possible.
	Speed float64
	// First is the time in the file of the event that From and Speed begin with. Defaults to that of the first line. In
	// a file whose events are not in order it is an earlier one: see [File.Scan].
	First time.Time
	// Sort yields the events in the order of their times. For that the whole file is read into memory first.
	Sort bool
	// Where has conditions. Events that do not meet them are skipped, as a stream would skip them. Defaults to none.
	Where []codec.Condition
	// Keyed gives each record its user as key, so that all records of a user go to one partition; otherwise records
	// have no key and go to any partition.
	Keyed bool
}

// Record is an event for a topic. The receiver owns its slices.
type Record struct {
	Key   []byte // nil unless keyed
	Value []byte // JSON
	// Time is the event's time, after moving.
	Time time.Time
	// Due is when the record is to be sent: see [Options.Speed] and [Record.Wait]. It is zero without a speed.
	Due time.Time
	// Line is where the event begins in the file, from 1.
	Line int
}

// File is an open file of events. It is not safe for concurrent use.
type File struct {
	name    string
	rows    rows
	outline *outline
	options Options
	closer  io.Closer
	times   Times
	skipped int       // events that do not meet the conditions
	before  time.Time // of the event before
	dates   reading
}

// Open opens a file of events. Its first character tells whether it is CSV or JSON lines. Close it after use.
func Open(path string, columns Columns, options Options) (*File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%w; want a CSV or JSON-lines file", err)
	}
	file, err := New(path, f, columns, options)
	if err != nil {
		_ = f.Close() // only read
		return nil, err
	}
	file.closer = f
	return file, nil
}

// New reads events from any source, which errors call name.
func New(name string, in io.Reader, columns Columns, options Options) (*File, error) {
	if s := options.Speed; s < 0 || math.IsNaN(s) || math.IsInf(s, 0) {
		return nil, fmt.Errorf("speed %v; want a number greater than 0, or 0 for as fast as possible", s)
	}
	if err := columns.check(); err != nil {
		return nil, err
	}
	if options.Zone == nil {
		options.Zone = time.UTC
	}
	f := &File{name: name, outline: columns.outline(), options: options, dates: reading{order: options.Dates}}
	text, err := Text(in)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	inLines, err := isLines(name, text)
	switch {
	case err != nil:
		return nil, err
	case inLines:
		f.rows, err = newLines(text, columns, options.Where, &f.skipped)
	default:
		f.rows, err = newTable(text, columns, options, &f.skipped)
	}
	if err != nil {
		return nil, fmt.Errorf("%s:%w", name, err)
	}
	return f, nil
}

// isLines reports whether a text is JSON lines, and not CSV. Its errors name the file.
func isLines(name string, text *bufio.Reader) (bool, error) {
	start, err := text.Peek(1)
	switch {
	case errors.Is(err, io.EOF):
		return false, fmt.Errorf("%s:1: the file is empty; want CSV with a header, or JSON lines", name)
	case err != nil:
		return false, fmt.Errorf("%s: %w", name, err)
	case start[0] == '[':
		return false, fmt.Errorf("%s:1: the file is a JSON array; want one object per line, as jq -c '.[]' writes them",
			name)
	}
	return start[0] == '{', nil
}

// Close closes the file that Open opened.
func (f *File) Close() error {
	if f.closer == nil {
		return nil
	}
	return f.closer.Close()
}

// Times says what was noticed so far about the times of the events.
func (f *File) Times() Times { return f.times }

// Skipped is how many events so far do not meet the conditions.
func (f *File) Skipped() int { return f.skipped }

// Records yields the events in the file's order, or in that of their times. It does not wait until they are due. The
// sequence ends with the file, with ctx, or with the first error. It can be used only once.
func (f *File) Records(ctx context.Context) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		var c clock
		next := f.next
		if f.options.Sort {
			next = f.inOrder(ctx)
		}
		for {
			r, at, err := next()
			if errors.Is(err, io.EOF) {
				return
			}
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				yield(Record{}, err)
				return
			}
			if !yield(f.record(r, at, &c), nil) {
				return
			}
		}
	}
}

// next returns the next event that has a time, and that time. Its errors name the file.
func (f *File) next() (row, time.Time, error) {
	for {
		r, err := f.row()
		missing := f.times.Untimed
		switch {
		case errors.Is(err, io.EOF) && (f.times.Events > 0 || missing.Count == 0):
			return row{}, time.Time{}, err
		case errors.Is(err, io.EOF) || err == nil && f.times.Events == 0 && missing.Count >= mostUntimed:
			return row{}, time.Time{}, fmt.Errorf("%s:%d: the time is missing or not in a known format, here and in "+
				"all other lines; want 2026-11-20T08:00:00Z (RFC 3339), 2026-11-20 08:00:00, 2026-11-20, "+
				"20/11/2026, 20/Nov/2026:08:00:00 +0000, or an epoch number", f.name, missing.First)
		case err != nil:
			return row{}, time.Time{}, fmt.Errorf("%s:%w", f.name, err)
		}
		if r, err = f.decide(r); err != nil {
			return row{}, time.Time{}, fmt.Errorf("%s:%w", f.name, err)
		}
		at, zoned, ok := parseTime(r.parts[partTime], f.options.Zone, f.dates.order)
		if !ok {
			f.times.Untimed.add(r.line)
			continue
		}
		f.times.note(at, f.before, zoned, r.line)
		f.before = at
		return r, at, nil
	}
}

// inOrder returns a function like next that goes through the events in the order of their times. Those of the same time
// stay in the file's order.
func (f *File) inOrder(ctx context.Context) func() (row, time.Time, error) {
	type timed struct {
		row
		at time.Time
	}
	var all []timed
	read := func() error {
		for {
			r, at, err := f.next()
			if errors.Is(err, io.EOF) {
				slices.SortStableFunc(all, func(a, b timed) int { return a.at.Compare(b.at) })
				return nil
			}
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				return err
			}
			all = append(all, timed{r.clone(), at})
		}
	}
	begun := false
	return func() (row, time.Time, error) {
		if !begun {
			begun = true
			if err := read(); err != nil {
				return row{}, time.Time{}, err
			}
		}
		if len(all) == 0 {
			return row{}, time.Time{}, io.EOF
		}
		first := all[0]
		all[0], all = timed{}, all[1:]
		return first.row, first.at, nil
	}
}

// record makes a record of an event and its time.
func (f *File) record(r row, at time.Time, c *clock) Record {
	moved, due := c.move(at, f.options)
	r.parts[partTime] = moved.AppendFormat([]byte{'"'}, time.RFC3339Nano+`"`)
	record := Record{Value: f.outline.append(nil, r.parts), Time: moved, Due: due, Line: r.line}
	if f.options.Keyed {
		record.Key = bytes.Clone(r.key)
	}
	return record
}

// clock moves event times and says when events are due.
type clock struct {
	begun   bool
	first   time.Time     // the time of the event that is due first, as in the file
	started time.Time     // when it was yielded
	elapsed time.Duration // from the first event to the current one, by their times in the file
}

// move goes to the next event and returns its time in the record, and when it is due.
func (c *clock) move(at time.Time, o Options) (moved, due time.Time) {
	if !c.begun {
		c.begun, c.first, c.started = true, o.First, time.Now()
		if c.first.IsZero() {
			c.first = at
		}
	}
	c.elapsed = at.Sub(c.first)
	moved = at
	switch {
	case o.From.IsZero():
	case o.Speed > 0:
		moved = o.From.UTC().Add(atSpeed(c.elapsed, o.Speed))
	default:
		moved = o.From.UTC().Add(c.elapsed)
	}
	if o.Speed > 0 {
		due = c.started.Add(atSpeed(c.elapsed, o.Speed))
	}
	return moved, due
}

// Wait waits until the record is due, or until ctx ends.
func (r Record) Wait(ctx context.Context) error {
	left := time.Until(r.Due)
	if r.Due.IsZero() || left <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(left)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// atSpeed returns how long a duration takes in a replay at a speed, at most 146 years.
func atSpeed(d time.Duration, speed float64) time.Duration {
	const most = 1 << 62
	return time.Duration(min(max(float64(d)/speed, -most), most))
}
