// Package period writes lengths of time as people do, and divides time as calendars do.
package period

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // periods must not depend on what a machine has installed
)

// Text writes a duration as streams files do: 15m instead of 15m0s, 24h, 7d instead of 168h0m0s.
func Text(d time.Duration) string {
	if d >= 2*day && d%day == 0 {
		return fmt.Sprintf("%dd", d/day)
	}
	return Hours(d)
}

// Hours writes a duration without days, so that [time.ParseDuration] reads it: 15m, 24h, 168h.
func Hours(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

const day = 24 * time.Hour

// Name writes a length of time as a short name: 15m, 1h, 1d, 7d. [Parse] reads it.
func Name(d time.Duration) string {
	if d >= day && d%day == 0 {
		return fmt.Sprintf("%dd", d/day)
	}
	return Hours(d)
}

// Parse reads what [Name] wrote. It refuses lengths that are not positive, or longer than ten years.
func Parse(name string) (time.Duration, error) {
	d, err := time.ParseDuration(name)
	if days, found := strings.CutSuffix(name, "d"); found {
		var n uint64
		n, err = strconv.ParseUint(days, 10, 12)
		d = time.Duration(n) * day
	}
	if err != nil || d <= 0 || d > 3660*day {
		return 0, fmt.Errorf("%q is no length of a period; want one such as 1h or 7d", name)
	}
	return d, nil
}

// Unit is a length of time on a calendar.
type Unit string

// The units, by the moment at which they begin.
const (
	Hour     Unit = "hour"
	Midnight Unit = "midnight"
	Monday   Unit = "monday"
	Month    Unit = "month"
)

// Units lists all of them, the shortest first.
func Units() []Unit { return []Unit{Hour, Midnight, Monday, Month} }

// Nominal is how long the unit usually is, or at most: 24 h, 7 d, 31 d.
func (u Unit) Nominal() time.Duration {
	switch u {
	case Midnight:
		return day
	case Monday:
		return 7 * day
	case Month:
		return 31 * day
	}
	return time.Hour
}

// Longest is how long the unit is at most where clocks are put back by an hour. It may be longer where a country
// changes its zone.
func (u Unit) Longest() time.Duration {
	if u == Hour {
		return time.Hour
	}
	return u.Nominal() + time.Hour
}

// Noun is what the unit is called: hour, day, week or month.
func (u Unit) Noun() string {
	switch u {
	case Midnight:
		return "day"
	case Monday:
		return "week"
	}
	return string(u)
}

// Calendar divides all time into periods of a unit. The zero value is none. A Calendar is safe for concurrent use.
type Calendar struct {
	Unit Unit
	Zone *time.Location
	// Days is the length in days of a period whose unit is Midnight. 0 means one. Periods begin at multiples of it, in
	// local days since 1 January 1970.
	Days int
}

// NewCalendar returns the calendar of a unit in a zone of the IANA database, such as Europe/Berlin; "" is UTC.
func NewCalendar(u Unit, zone string) (Calendar, error) {
	l, err := time.LoadLocation(zone)
	if err != nil || zone == "Local" { // Local is another zone on every machine
		return Calendar{}, fmt.Errorf(
			"%q is no time zone; want a name of the IANA database, such as Europe/Berlin or UTC", zone)
	}
	return Calendar{Unit: u, Zone: l}, nil
}

// NewDays returns the calendar of periods of so many local days. In UTC they begin at multiples of their length since
// 1970.
func NewDays(days int, zone string) (Calendar, error) {
	c, err := NewCalendar(Midnight, zone)
	c.Days = days
	return c, err
}

// Of returns the period that holds a moment: its first moment, and the first moment of the next period. All times are
// Unix nanoseconds. Days and hours may be longer or shorter than usual, and a day need not begin at 00:00.
func (c Calendar) Of(t int64) (begin, next int64) {
	at := time.Unix(0, t).In(c.Zone)
	if c.Unit == Hour {
		return c.hour(at)
	}
	// The date may go back for an hour, so begin with one that is certainly after t.
	date := c.first(at.AddDate(0, 0, 2))
	date = c.step(date, 1)
	next = c.begins(date)
	for {
		date = c.step(date, -1)
		if begin = c.begins(date); begin <= t {
			return begin, next
		}
		next = begin
	}
}

// date is a day without a zone.
type date = time.Time

// first returns the first day of the period that holds a local time.
func (c Calendar) first(local time.Time) date {
	year, month, day := local.Date()
	d := time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
	switch c.Unit {
	case Monday:
		return d.AddDate(0, 0, -int(d.Weekday()+6)%7)
	case Month:
		return d.AddDate(0, 0, 1-day)
	}
	many := c.days()
	number := int(d.Unix() / (24 * 3600)) // exact, also before 1970
	return d.AddDate(0, 0, -(number%many+many)%many)
}

func (c Calendar) days() int { return max(1, c.Days) }

// step returns the first day of a later or earlier period.
func (c Calendar) step(d date, n int) date {
	switch c.Unit {
	case Monday:
		return d.AddDate(0, 0, 7*n)
	case Month:
		return d.AddDate(0, n, 0)
	}
	return d.AddDate(0, 0, n*c.days())
}

// begins returns the first moment at which the local date is d, or a later one if there is no such day.
func (c Calendar) begins(d date) int64 {
	for at := d.Add(-48 * time.Hour).In(c.Zone); ; {
		_, offset := at.Zone()
		_, end := at.ZoneBounds()
		if midnight := d.Add(-time.Duration(offset) * time.Second); end.IsZero() || midnight.Before(end) {
			if at.After(midnight) {
				midnight = at
			}
			return midnight.UnixNano()
		}
		at = end
	}
}

// hour returns the local hour of a moment.
func (c Calendar) hour(at time.Time) (begin, next int64) {
	_, offset := at.Zone()
	from, end := at.ZoneBounds()
	into := (at.UnixNano() + int64(offset)*int64(time.Second)) % int64(time.Hour)
	if into < 0 {
		into += int64(time.Hour)
	}
	begin = at.UnixNano() - into
	next = begin + int64(time.Hour)
	if !from.IsZero() {
		begin = max(begin, from.UnixNano())
	}
	if !end.IsZero() {
		next = min(next, end.UnixNano())
	}
	return begin, next
}

// Stretch is the newest time of a stream, such as the last hour: so many windows up to the newest one. Windows are
// numbered since 1970, by their starts. What is added up over a stretch is kept in blocks of one or more windows, and
// the oldest block leaves as a whole. So a stretch takes a bounded number of blocks, however short the windows are. It
// is less than one block shorter than its length says, and never longer.
type Stretch struct {
	every   time.Duration
	windows int64
}

// mostBlocks is how many blocks a stretch has at most. So a day of minutes is 23:56 to 24:00 hours long.
const mostBlocks = 288

// NewStretch returns the stretch of a length, which is a multiple of every, the step from one window to the next.
func NewStretch(length, every time.Duration) Stretch { return Stretch{every, int64(length / every)} }

// block is how many windows a block has.
func (s Stretch) block() int64 { return max(1, (s.windows+mostBlocks-1)/mostBlocks) }

// Blocks is how many blocks a stretch has at most.
func (s Stretch) Blocks() int64 { return (s.windows + s.block() - 1) / s.block() }

// Window returns the number of the window that starts at a moment.
func (s Stretch) Window(start time.Time) int64 { return floor(start.UnixNano(), int64(s.every)) }

// Block returns the number of the block that holds a window.
func (s Stretch) Block(window int64) int64 { return floor(window, s.block()) }

// First returns the number of the oldest block whose windows are all in the stretch that ends with a window.
func (s Stretch) First(newest int64) (block int64) {
	return -floor(-(newest - s.windows + 1), s.block())
}

// Since returns the start of the stretch that ends with a window, and how many windows it has.
func (s Stretch) Since(newest int64) (start time.Time, windows int64) {
	first := s.First(newest) * s.block()
	return time.Unix(0, first*int64(s.every)).UTC(), newest - first + 1
}

// floor returns ⌊x/m⌋ for a positive m.
func floor(x, m int64) int64 {
	q := x / m
	if x%m < 0 {
		q--
	}
	return q
}
