package codec

import (
	"bytes"
	"encoding/binary"
	"math"
	"strings"
	"time"
)

// ParseTime reads an event time into Unix nanoseconds. It is one of these, with its zone:
//
//   - RFC 3339, and what programs write in its place: a space for the T, a zone such as +0000 or +00 or UTC, also
//     behind a space, and no seconds;
//   - the time of an access log, with its brackets or without, and with a space for the first colon:
//     17/May/2015:10:05:03 +0000;
//   - an epoch number in seconds, milliseconds, microseconds or nanoseconds.
//
// Digits finer than a nanosecond are cut off. A leap second, 23:59:60 UTC, is the first second of the next day, as in
// POSIX. Times before 1970 and after 2262 are not ok.
func ParseTime(text []byte) (ns int64, ok bool) {
	if !calendrical(text) {
		return epoch(text)
	}
	c, ok := parseCalendar(text, nil)
	return c.ns, ok
}

// calendrical reports whether a text may be a time of the calendar. Then it is no epoch number.
func calendrical(text []byte) bool {
	return len(text) > 10 && (text[4] == '-' && text[7] == '-' || text[2] == '/' || text[0] == '[')
}

// calendarTime is a time of the calendar, and where its seconds and their fraction stand in its text.
type calendarTime struct {
	ns          int64
	second, end int // end is 0 if there are no seconds
}

// parseCalendar reads a time of the calendar. A time without a zone is taken in this one; nil: it is not ok.
func parseCalendar(text []byte, zone *time.Location) (c calendarTime, ok bool) {
	s := scanner{text: text}
	bracket := s.take("[") != 0
	var year, day int
	var month time.Month
	if !bracket && text[4] == '-' {
		year, _ = s.number(4), s.want("-")
		month, _ = time.Month(s.number(2)), s.want("-")
		day, _ = s.number(2), s.want("Tt ")
	} else {
		day, _ = s.number(2), s.want("/")
		month, _ = s.month(), s.want("/")
		year, _ = s.number(4), s.want(": ")
	}
	hour, _ := s.number(2), s.want(":")
	minute := s.number(2)
	second, fraction := 0, int64(0)
	if s.take(":") != 0 {
		c.second = s.at
		second, fraction = s.number(2), s.fraction()
		c.end = s.at
	}
	offset, in := time.Duration(0), time.UTC
	if zone != nil && (s.at == len(text) || bracket && text[s.at] == ']') {
		in = zone
	} else {
		offset = s.zone()
	}
	if bracket {
		s.want("]")
	}
	if s.bad || s.at < len(text) || hour > 23 || minute > 59 || second > 60 {
		return c, false
	}
	date := time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
	if date.Month() != month || date.Day() != day { // such as 30 February
		return c, false
	}
	at := time.Date(year, month, day, hour, minute, second, int(fraction), in).Add(-offset).UTC()
	if second == 60 && (at.Hour() != 0 || at.Minute() != 0) { // only the last minute of a day may have 61 seconds
		return c, false
	}
	if u := at.Unix(); u < 0 || u >= math.MaxInt64/int64(time.Second) {
		return c, false
	}
	c.ns = at.UnixNano()
	return c, true
}

// scanner reads a text from left to right. It is bad once something else is there than was wanted.
type scanner struct {
	text []byte
	at   int
	bad  bool
}

// take takes the next character if it is one of these, and otherwise returns 0.
func (s *scanner) take(these string) byte {
	if s.at == len(s.text) || strings.IndexByte(these, s.text[s.at]) < 0 {
		return 0
	}
	s.at++
	return s.text[s.at-1]
}

func (s *scanner) want(these string) byte {
	c := s.take(these)
	s.bad = s.bad || c == 0
	return c
}

// number takes a number of so many digits.
func (s *scanner) number(digits int) (n int) {
	for range digits {
		n = 10*n + int(s.want("0123456789")-'0')
	}
	return n
}

// fraction takes a fraction of a second, if there is one, in nanoseconds.
func (s *scanner) fraction() (ns int64) {
	if s.take(".") == 0 {
		return 0
	}
	ns, n := nanoseconds(s.text[s.at:])
	s.at += n
	s.bad = s.bad || n == 0
	return ns
}

const months = "JanFebMarAprMayJunJulAugSepOctNovDec"

func (s *scanner) month() time.Month {
	name := s.text[s.at:min(s.at+3, len(s.text))]
	for i := 0; i < len(months); i += 3 {
		if months[i:i+3] == string(name) {
			s.at += 3
			return time.Month(1 + i/3)
		}
	}
	s.bad = true
	return 0
}

// zone takes how far the zone is ahead of UTC.
func (s *scanner) zone() time.Duration {
	s.take(" ")
	if bytes.HasPrefix(s.text[s.at:], []byte("UTC")) {
		s.at += 3
		return 0
	}
	sign := time.Duration(1)
	switch s.want("Zz+-") {
	case 'Z', 'z':
		return 0
	case '-':
		sign = -1
	}
	hours, minutes := s.number(2), 0
	if s.take(":") != 0 || s.at < len(s.text) && s.text[s.at] != ']' {
		minutes = s.number(2)
	}
	s.bad = s.bad || hours > 23 || minutes > 59
	return sign * (time.Duration(hours)*time.Hour + time.Duration(minutes)*time.Minute)
}

// nanoseconds reads the digits of a fraction at the beginning of a text, and says how many there are.
func nanoseconds(text []byte) (ns int64, digits int) {
	for digits < len(text) {
		c := text[digits] - '0'
		if c > 9 {
			break
		}
		if digits++; digits < len(units) { // the rest is below a nanosecond and is cut off
			ns += int64(c) * units[digits]
		}
	}
	return ns, digits
}

// units are the nanoseconds in the last of so many digits behind the point of a second.
var units = [...]int64{1e9, 1e8, 1e7, 1e6, 1e5, 1e4, 1e3, 100, 10, 1}

// minute is a minute in a way to write it: what stands before the seconds, and the zone behind them. Most times are in
// the same minute as the time before them, so only their seconds are parsed.
type minute struct {
	// These are the first eight characters before the seconds, the next and the last. All ways to write a time have 17
	// to 19 there, so the last overlap the next.
	first, next, last uint64
	upTo              int // how many characters there are; 0: no minute is remembered
	zone              [len(" +00:00]")]byte
	after             int   // how long zone is
	start             int64 // in Unix nanoseconds
}

// shortest and longest are how many characters stand before the seconds.
const (
	shortest = len("2015-05-17T10:05:")
	longest  = len("[17/May/2015:10:05:")
)

// parse reads a time of that minute, written in the same way. All others are not ok, nor is one with more than nine
// digits behind the seconds.
func (m *minute) parse(text []byte) (ns int64, ok bool) {
	at, end := m.upTo, len(text)-m.after
	if at == 0 || end < at+2 || eight(text) != m.first || eight(text[8:]) != m.next || eight(text[at-8:]) != m.last ||
		m.after > 0 && text[end] != m.zone[0] || m.after > 1 && string(text[end:]) != string(m.zone[:m.after]) {
		return 0, false
	}
	tens, ones, fraction := text[at]-'0', text[at+1]-'0', text[at+2:end]
	if tens > 5 || ones > 9 {
		return 0, false
	}
	ns = m.start + int64(10*tens+ones)*int64(time.Second)
	if len(fraction) == 0 {
		return ns, true
	}
	if fraction[0] != '.' || len(fraction) > len(units) {
		return 0, false
	}
	rest, ok := digitsOnly(fraction[1:])
	return ns + int64(rest)*units[len(fraction)-1], ok
}

// eight are the first eight characters of a text, in a number.
func eight(text []byte) uint64 { return binary.LittleEndian.Uint64(text) }

// remember keeps the minute of a time of the calendar. It leaves out the minutes from which a time could be after 2262,
// and that of a leap second, which counts in the next one.
func (m *minute) remember(text []byte, c calendarTime) {
	if c.end == 0 || c.second < shortest || c.second > longest || len(text)-c.end > len(m.zone) ||
		text[c.second] == '6' || c.ns > math.MaxInt64-2*int64(time.Minute) {
		return
	}
	m.first, m.next, m.last = eight(text), eight(text[8:]), eight(text[c.second-8:])
	m.upTo, m.after = c.second, copy(m.zone[:], text[c.end:])
	m.start = c.ns - c.ns%int64(time.Minute)
}
