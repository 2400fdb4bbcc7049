package replay

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/valyala/fastjson"

	"github.com/louver/louver/stream/shape"
)

// Look is what the beginning of a file says of its columns. It is for somebody who may see the file: unlike package
// shape, it looks at values.
type Look struct {
	// Delimiter is the character that separates the columns of CSV; 0 in JSON lines.
	Delimiter rune
	// Columns are in the order of the file.
	Columns []Column
}

// Column is what the events at the beginning of a file say of one of their columns.
type Column struct {
	// Field has the name as [Columns] has it, and the type. In CSV a column of numbers alone is one of numbers.
	shape.Field
	// Filled is how many events have something in it. Of these, Numbers are numbers, and Times are times from 1990 on.
	Filled, Numbers, Times int
	// Dates are those of the times that have only the date, and Clocks how many texts are a time of day, such as 08:30.
	Dates, Clocks int
	// Distinct is how many different texts there are, and Most how many events have the most frequent of them.
	Distinct, Most int
	// Places is the most digits behind a decimal point.
	Places int
}

// looked is how many bytes of a file are looked at.
const looked = 1 << 18

// LookAt looks at the beginning of a text, and takes nothing from it. A delimiter of 0 is found from the first line.
func LookAt(name string, in io.Reader, delimiter rune) (*Look, *bufio.Reader, error) {
	plain, err := Text(in)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	text := bufio.NewReaderSize(plain, looked)
	start, err := text.Peek(looked)
	whole := errors.Is(err, io.EOF)
	if err != nil && !whole {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	if end := bytes.LastIndexByte(start, '\n'); !whole && end >= 0 {
		start = start[:end+1] // whole lines
	}
	l := &Look{Delimiter: delimiter}
	switch inLines, err := isLines(name, text); {
	case err != nil:
		return nil, nil, err
	case inLines:
		l.Delimiter = 0
		l.lines(start)
	default:
		if delimiter == 0 {
			l.Delimiter = separator(start)
		}
		if err := l.table(start); err != nil {
			return nil, nil, fmt.Errorf("%s:%w", name, err)
		}
	}
	return l, text, nil
}

// separator returns the delimiter that the first line has most of.
func separator(text []byte) rune {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	best, most := ',', 0
	for _, r := range ",;\t|" {
		if n := bytes.Count(line, []byte(string(r))); n > most {
			best, most = r, n
		}
	}
	return best
}

// lines looks at JSON lines.
func (l *Look) lines(text []byte) {
	records := bytes.Split(text, []byte("\n"))
	var parser fastjson.Parser
	for _, f := range shape.Of(records...) {
		c, seen := Column{Field: f}, map[string]int{}
		for _, r := range records {
			if v, err := parser.ParseBytes(r); err == nil {
				c.note(string(textOf(find(v, f.Path))), seen)
			}
		}
		l.Columns = append(l.Columns, c)
	}
}

// table looks at CSV. Its errors begin with the line.
func (l *Look) table(text []byte) error {
	rows := NewCSV(bufio.NewReader(bytes.NewReader(text)), l.Delimiter)
	header, err := ReadHeader(rows)
	if err != nil {
		return err
	}
	seen := make([]map[string]int, len(header.names))
	for i, name := range header.names {
		l.Columns = append(l.Columns, Column{Field: shape.Field{Path: name, Hidden: name == ""}})
		seen[i] = map[string]int{}
	}
	for {
		row, err := rows.Read()
		if err != nil {
			break // the end, or a line of which the reader of the file says what is wrong
		}
		for i, field := range row {
			l.Columns[i].note(strings.TrimSpace(field), seen[i])
		}
	}
	for i := range l.Columns {
		switch c := &l.Columns[i]; {
		case c.Filled == 0:
			c.Type = shape.Null
		case 2*c.Numbers > c.Filled: // the others say that a number is missing, such as NA
			c.Type = shape.Number
		default:
			c.Type = shape.String
		}
	}
	return nil
}

// note notes what an event has in a column.
func (c *Column) note(text string, seen map[string]int) {
	if text == "" {
		return
	}
	c.Filled++
	seen[text]++
	c.Distinct, c.Most = len(seen), max(c.Most, seen[text])
	for _, order := range []Dates{DayFirst, MonthFirst} {
		if at, _, ok := parseTime([]byte(text), time.UTC, order); ok && !at.Before(early) {
			if c.Times++; onlyDate([]byte(text)) {
				c.Dates++
			}
			break
		}
	}
	if clockOfDay.MatchString(text) {
		c.Clocks++
	}
	if numberOrString(text)[0] != '"' {
		c.Numbers++
		if _, behind, found := strings.Cut(text, "."); found {
			c.Places = max(c.Places, len(strings.TrimRight(behind, "0")))
		}
	}
}

// clockOfDay is a time of day that may stand behind a date.
var clockOfDay = regexp.MustCompile(`^(?i)[0-2]?[0-9]:[0-5][0-9](:[0-6][0-9](\.[0-9]+)?)?( ?[AP]M)?$`)

// Sizes returns the lengths of windows that [NewSurvey] chooses from, from the shortest on.
func Sizes() []time.Duration { return slices.Clone(sizes) }
