package replay

import (
	"fmt"
	"strings"
	"time"

	"github.com/louver/louver/stream/codec"
)

// Dates says how dates such as 03/04/2026 are written. Those with dots, such as 03.04.2026, always have the day first.
type Dates int

const (
	// DatesByFile goes by the first date in the file that can be read in one way only, such as 28/11/2026. If there is
	// none among the next 100,000 events, the day is taken to be first, and [Times.Either] counts the dates.
	DatesByFile Dates = iota
	// DayFirst is 28/11/2026.
	DayFirst
	// MonthFirst is 11/28/2026.
	MonthFirst
)

// String is the name of a choice: dmy or mdy, or nothing.
func (d Dates) String() string { return [...]string{"", "dmy", "mdy"}[d] }

// mostAhead is how many events are read ahead to find out how dates are written.
const mostAhead = 100_000

// date is a date at the beginning of a text, and what stands behind it.
type date struct {
	year, first, second int
	rest                []byte
	// order is how it is written. 0: both numbers could be the month.
	order Dates
	// decides is whether one of two numbers before the year is too large for a month: then the file's other dates are
	// written in the same order.
	decides bool
}

// dateOf reads a date that is not written as streams want it: with the year first or last, the month as a number or a
// name, and one or two digits for the day. first is the day and second the month, unless the order is open or
// [MonthFirst].
func dateOf(text []byte) (d date, ok bool) {
	var fields [3][]byte
	var separator byte
	at := 0
	for i := range fields {
		from := at
		for at < len(text) && isSame(text[from], text[at]) {
			at++
		}
		if fields[i] = text[from:at]; at == from {
			return d, false
		}
		switch {
		case i == 2:
			d.rest = text[at:]
			return d, d.fill(fields, separator)
		case at == len(text) || !strings.ContainsRune("/.- ", rune(text[at])) && (i == 0 || text[at] != ','):
			return d, false
		case i == 0:
			separator = text[at]
		case text[at] != separator && text[at] != ',':
			return d, false
		}
		if at++; at < len(text) && text[at-1] == ',' && text[at] == ' ' {
			at++
		}
	}
	return d, false
}

// isSame reports whether both characters are digits, or both are letters.
func isSame(a, b byte) bool { return isDigit(a) && isDigit(b) || isLetter(a) && isLetter(b) }

// packed reads a date of eight digits, such as 20261128.
func packed(text []byte) (d date, ok bool) {
	const long = len("20261128")
	if len(text) < long || len(text) > long && isDigit(text[long]) {
		return d, false
	}
	d.rest = text[long:]
	return d, d.fill([3][]byte{text[:4], text[4:6], text[6:8]}, 0)
}

// onlyDate reports whether a text is a date without a time of day.
func onlyDate(text []byte) bool {
	d, ok := dateOf(text)
	if !ok {
		d, ok = packed(text)
	}
	return ok && len(d.rest) == 0
}

// fill takes the year, the month and the day from the fields.
func (d *date) fill(fields [3][]byte, separator byte) bool {
	var n [3]int
	for i, f := range fields {
		if n[i] = smallNumber(f); n[i] < 0 {
			if n[i] = monthNamed(f); n[i] == 0 || i == 2 {
				return false
			}
			// The day is the number beside the month's name.
			day := smallNumber(fields[1-i])
			d.order, d.year, d.first, d.second = DayFirst, fullYear(fields[2]), day, n[i]
			return d.possible()
		}
	}
	if len(fields[0]) == 4 {
		d.order, d.year, d.first, d.second = DayFirst, n[0], n[2], n[1]
		return d.possible()
	}
	d.year, d.first, d.second = fullYear(fields[2]), n[0], n[1]
	d.decides = separator != '.' && max(d.first, d.second) > 12
	switch {
	case d.decides && d.second > 12:
		d.order = MonthFirst
	case d.decides || separator == '.' || d.first == d.second:
		d.order = DayFirst
	}
	return d.possible()
}

// possible reports whether there may be such a date.
func (d *date) possible() bool {
	least, most := min(d.first, d.second), max(d.first, d.second)
	return d.year > 0 && least >= 1 && least <= 12 && most <= 31
}

// iso writes the date, if it is one in this order, and what is behind it, as streams read times: 2026-11-28 08:00.
func (d date) iso(order Dates) string {
	day, month := d.first, d.second
	if order == MonthFirst && (d.order == DatesByFile || d.decides) {
		day, month = month, day
	}
	written := time.Date(d.year, time.Month(month), day, 0, 0, 0, 0, time.UTC)
	if month > 12 || written.Day() != day { // such as 30 February
		return ""
	}
	rest := strings.TrimLeft(string(d.rest), " ,T:")
	switch {
	case len(d.rest) == 0:
		return written.Format(time.DateOnly)
	case rest == "": // the column of the time of day is empty
		return ""
	}
	return written.Format(time.DateOnly+" ") + rest
}

// smallNumber is a number of at most four digits, or -1.
func smallNumber(text []byte) (n int) {
	for _, c := range text {
		if !isDigit(c) {
			return -1
		}
		n = 10*n + int(c-'0')
	}
	if len(text) > 4 {
		return -1
	}
	return n
}

// fullYear is a year of four digits, or of two: 70 to 99 are 1970 to 1999. Anything else is 0.
func fullYear(text []byte) int {
	n := smallNumber(text)
	switch {
	case len(text) == 4:
		return max(n, 0)
	case len(text) != 2 || n < 0:
		return 0
	case n < 70:
		return 2000 + n
	}
	return 1900 + n
}

// monthNamed is the month with this English name or its beginning, of at least three letters; 0: none.
func monthNamed(text []byte) int {
	for m := time.January; m <= time.December; m++ {
		name := m.String()
		if len(text) >= 3 && len(text) <= len(name) && strings.EqualFold(name[:len(text)], string(text)) {
			return int(m)
		}
	}
	return 0
}

// reading is how the dates of a file are read.
type reading struct {
	order   Dates
	assumed bool      // no date says so
	ahead   []waiting // events that were read ahead
}

// waiting is an event that was read ahead, or the error in its place.
type waiting struct {
	row
	err error
}

// row returns the next event.
func (f *File) row() (row, error) {
	if len(f.dates.ahead) == 0 {
		return f.rows.next()
	}
	first := f.dates.ahead[0]
	f.dates.ahead = f.dates.ahead[1:]
	return first.row, first.err
}

// decide finds out how the date of an event is to be read, which may have to be cloned for that. An error means that a
// date contradicts what was assumed.
func (f *File) decide(r row) (row, error) {
	if f.dates.order != DatesByFile && !f.dates.assumed {
		return r, nil
	}
	d, ok := dateOf(r.parts[partTime])
	switch {
	case !ok:
	case d.decides && f.dates.assumed && d.order != f.dates.order:
		return r, fmt.Errorf("%d: the date has the month first, and earlier ones, such as on line %d, can be read in two "+
			"ways; want dates mdy, or dmy if this line is wrong", r.line, f.times.Either.First)
	case d.decides:
		f.dates.order, f.dates.assumed, f.times.Either = d.order, false, Noted{}
	case d.order == DatesByFile:
		if !f.dates.assumed {
			r = r.clone()
			f.readAhead()
		}
		if f.dates.assumed {
			f.times.Either.add(r.line)
		}
	}
	return r, nil
}

// readAhead reads on until a date says how it is written.
func (f *File) readAhead() {
	for range mostAhead {
		r, err := f.rows.next()
		f.dates.ahead = append(f.dates.ahead, waiting{r.clone(), err})
		if err != nil {
			break
		}
		if d, ok := dateOf(r.parts[partTime]); ok && d.decides {
			f.dates.order = d.order
			return
		}
	}
	f.dates.order, f.dates.assumed = DayFirst, true
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// Formats of times that name no zone; fractions of seconds may follow. Streams want a zone.
var zonelessLayouts = []string{"2006-01-02 15:04:05", "2006-01-02T15:04:05", "2006-01-02 15:04", "2006-01-02",
	"2006-01-02 15", "2006-01-02 3:04:05 PM", "2006-01-02 3:04 PM", "2006-01-02 3:04:05PM", "2006-01-02 3:04PM"}

// parseTime reads a time. One that names no zone is taken in this one, and a date that can be read in two ways in this
// order.
func parseTime(text []byte, zone *time.Location, order Dates) (at time.Time, zoned, ok bool) {
	if d, is := packed(text); is && (len(d.rest) == 0 || d.rest[0] == ' ' || d.rest[0] == 'T') {
		text = []byte(d.iso(order)) // as an epoch number it would be in the autumn of 1970
	}
	if ns, ok := codec.ParseTime(text); ok {
		return time.Unix(0, ns).UTC(), true, true
	}
	if at, ok := parseZoneless(string(text), zone); ok {
		return at, false, true
	}
	d, ok := dateOf(text)
	if !ok {
		return time.Time{}, false, false
	}
	iso := strings.ToUpper(d.iso(order)) // PM, and no pm
	if ns, ok := codec.ParseTime([]byte(iso)); ok {
		return time.Unix(0, ns).UTC(), true, true
	}
	at, ok = parseZoneless(iso, zone)
	return at, false, ok
}

func parseZoneless(text string, zone *time.Location) (at time.Time, ok bool) {
	for _, layout := range zonelessLayouts {
		if at, err := time.ParseInLocation(layout, text, zone); err == nil {
			at = at.UTC()
			return at, at.Year() >= 1970 && at.Year() < 2262 // as streams take them
		}
	}
	return time.Time{}, false
}
