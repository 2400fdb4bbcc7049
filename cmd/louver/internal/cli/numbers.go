package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"
	"github.com/shopspring/decimal"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/louver/louver/stream/record"
)

// Digits is a decimal that is a number in JSON, not a string.
type Digits struct{ decimal.Decimal }

// NewDigits makes a figure.
func NewDigits(d decimal.Decimal) Digits { return Digits{d} }

// MarshalJSON implements [json.Marshaler].
func (d Digits) MarshalJSON() ([]byte, error) { return json.Marshal(json.Number(d.String())) }

// Fprintf is fmt.Fprintf for people: whole numbers have a comma at each thousand. What people copy into a file or a
// command is given as text.
func Fprintf(w io.Writer, format string, args ...any) (int, error) {
	return grouping().Fprintf(w, format, args...)
}

// Sprintf is fmt.Sprintf for people, as [Fprintf] is fmt.Fprintf.
func Sprintf(format string, args ...any) string { return grouping().Sprintf(format, args...) }

// grouping makes a printer, because one is not safe for concurrent use.
func grouping() *message.Printer { return message.NewPrinter(language.English) }

// Short writes a number with at least three significant digits and no exponent.
func Short(x float64) string {
	text := strconv.FormatFloat(x, 'f', digitsOf(x), 64)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return record.Grouped(text)
}

// ShortUp is Short for a bound: it rounds up.
func ShortUp(x float64) string {
	unit := math.Pow10(digitsOf(x))
	return Short(math.Ceil(x*unit-1e-9*math.Abs(x*unit)) / unit)
}

// digitsOf is how many digits of a number Short writes behind the point.
func digitsOf(x float64) int { return max(0, 2-int(math.Floor(math.Log10(max(math.Abs(x), 1e-9))))) }

// Certainty writes a probability with enough digits to distinguish it from 100 %.
func Certainty(p float64) string {
	for digits := 1; digits <= 6; digits++ {
		if text := strconv.FormatFloat(100*p, 'f', digits, 64); !strings.HasPrefix(text, "100") {
			return text + " %"
		}
	}
	return "practically 100 %"
}

// Tenths writes a number with at most one digit after the point.
func Tenths(x float64) string {
	return record.Grouped(strings.TrimSuffix(fmt.Sprintf("%.1f", x), ".0"))
}

// Instant writes a time in RFC 3339, in UTC.
func Instant(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// tie stands for a space at which a table does not fold.
const tie = "\ue000"

// Stamp writes a time for a table, in UTC and as short as it can be read now: 08:06:00Z for today, 20 Nov 08:06Z for
// this year, 2025-11-20 08:06Z for others. Other days have seconds only if they are not 0. It does not fold.
func Stamp(t, now time.Time) string {
	t, now = t.UTC(), now.UTC()
	clock := "15:04Z"
	if t.Second() != 0 {
		clock = "15:04:05Z"
	}
	layout := "2 Jan " + clock
	switch {
	case t.Year() != now.Year():
		layout = "2006-01-02 " + clock
	case t.YearDay() == now.YearDay():
		layout = "15:04:05Z"
	}
	return strings.ReplaceAll(t.Format(layout), " ", tie)
}

// Plural writes a number and a noun: 1 user, 1,000 users.
func Plural[N int | int64](n N, noun string) string {
	return humanize.Comma(int64(n)) + " " + english.PluralWord(int(n), noun, "")
}

// Part writes how many of some things there are: 1,200 of 3,000 rows.
func Part(n, all int, noun string) string {
	return humanize.Comma(int64(n)) + " of " + Plural(all, noun)
}

// WithUnit writes a figure with its unit: 812 ms, 2 users, 1 user.
func WithUnit(figure, unit string) string {
	if figure == "1" && (unit == "users" || unit == "visits" || unit == "events" || unit == "requests") {
		unit = strings.TrimSuffix(unit, "s")
	}
	return strings.TrimSpace(figure + " " + unit)
}
