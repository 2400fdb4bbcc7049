package codec

import (
	"bytes"
	"math"
	"time"
)

// ParseTime reads an event time into Unix nanoseconds: RFC 3339, or an epoch number in seconds, milliseconds,
// microseconds or nanoseconds. Digits finer than a nanosecond are cut off. Times before 1970 and after 2262 are not ok.
func ParseTime(text []byte) (ns int64, ok bool) {
	if len(text) > 10 && text[10] == 'T' {
		return rfc3339(text)
	}
	return epoch(text)
}

func rfc3339(text []byte) (int64, bool) {
	// UnmarshalText also takes one digit for the hour and a comma before the fraction, see go.dev/issue/54580.
	if len(text) < len("2006-01-02T15:04:05Z") || text[13] != ':' || bytes.IndexByte(text, ',') >= 0 {
		return 0, false
	}
	var t time.Time
	if err := t.UnmarshalText(text); err != nil {
		return 0, false
	}
	if s := t.Unix(); s < 0 || s >= math.MaxInt64/int64(time.Second) {
		return 0, false
	}
	return t.UnixNano(), true
}

// minute is a minute in UTC. Most times are in the same minute as the time before them, so only their seconds are
// parsed.
type minute struct {
	text  [len("2006-01-02T15:04")]byte
	start int64 // in Unix nanoseconds; 0: no minute is remembered
}

// parse reads a time of that minute that is written in UTC with Z. All others are not ok.
func (m *minute) parse(text []byte) (ns int64, ok bool) {
	const second = len("2006-01-02T15:04:")
	last := len(text) - 1
	if m.start == 0 || last < second+2 || string(text[:second-1]) != string(m.text[:]) ||
		text[second-1] != ':' || text[last] != 'Z' {
		return 0, false
	}
	tens, ones := text[second]-'0', text[second+1]-'0'
	if tens > 5 || ones > 9 {
		return 0, false
	}
	ns = m.start + int64(10*tens+ones)*int64(time.Second)
	fraction := text[second+2 : last]
	if len(fraction) == 0 {
		return ns, true
	}
	if fraction[0] != '.' || len(fraction) == 1 {
		return 0, false
	}
	unit := int64(time.Second) / 10
	for _, c := range fraction[1:] {
		if c -= '0'; c > 9 {
			return 0, false
		}
		ns += int64(c) * unit
		unit /= 10 // 0 below a nanosecond: the rest is cut off
	}
	return ns, true
}

// remember keeps the minute of a time that was parsed, if the text is in UTC with Z. It leaves out the minutes from
// which a time could be after 2262.
func (m *minute) remember(text []byte, ns int64) {
	if len(text) <= len(m.text) || text[10] != 'T' || text[len(text)-1] != 'Z' ||
		ns > math.MaxInt64-2*int64(time.Minute) {
		return
	}
	copy(m.text[:], text)
	m.start = ns - ns%int64(time.Minute)
}

// units tell epoch times apart: a time has the first of these units whose limit it is below.
var units = [...]struct {
	below  uint64
	digits int // of a unit's fraction down to a nanosecond
}{
	{1e11, 9}, // seconds
	{1e14, 6}, // milliseconds
	{1e17, 3}, // microseconds
	{1 << 63, 0},
}

// epoch reads a number in JSON's notation as seconds, milliseconds, microseconds or nanoseconds since 1970. It uses no
// floating point, so it is exact for any number of digits.
func epoch(number []byte) (int64, bool) {
	d, ok := scanDecimal(number)
	if !ok {
		return 0, false
	}
	whole, ok := d.upTo(0, 0, d.point)
	if !ok {
		return 0, false
	}
	for _, u := range units {
		if whole < u.below {
			ns, ok := d.upTo(whole, d.point, d.point+u.digits)
			return int64(ns), ok
		}
	}
	return 0, false
}

// decimal is an unsigned number: its digits, with the decimal point before the digit at index point.
type decimal struct {
	whole, fraction []byte
	point           int
}

// scanDecimal reads a number in JSON's notation that has no sign.
func scanDecimal(number []byte) (d decimal, ok bool) {
	var rest []byte
	if d.whole, rest = digits(number); len(d.whole) == 0 || len(d.whole) > 1 && d.whole[0] == '0' {
		return d, false
	}
	d.point = len(d.whole)
	if len(rest) > 0 && rest[0] == '.' {
		if d.fraction, rest = digits(rest[1:]); len(d.fraction) == 0 {
			return d, false
		}
	}
	if len(rest) > 0 && (rest[0] == 'e' || rest[0] == 'E') {
		rest = rest[1:]
		sign := 1
		if len(rest) > 0 && (rest[0] == '-' || rest[0] == '+') {
			if rest[0] == '-' {
				sign = -1
			}
			rest = rest[1:]
		}
		var power []byte
		if power, rest = digits(rest); len(power) == 0 {
			return d, false
		}
		exponent := 0
		for _, c := range power {
			exponent = min(exponent*10+int(c-'0'), 1<<40)
		}
		d.point += sign * exponent
	}
	return d, len(rest) == 0
}

// digits splits b behind its leading decimal digits.
func digits(b []byte) (run, rest []byte) {
	i := 0
	for i < len(b) && '0' <= b[i] && b[i] <= '9' {
		i++
	}
	return b[:i], b[i:]
}

// upTo appends the digits from position from up to position to, to n. It fails if the result exceeds an int64.
func (d decimal) upTo(n uint64, from, to int) (uint64, bool) {
	for i := from; i < to; i++ {
		if i >= len(d.whole)+len(d.fraction) && n == 0 {
			return 0, true // only zeros follow, perhaps very many
		}
		if n > math.MaxInt64/10 {
			return 0, false
		}
		n = n*10 + uint64(d.digit(i))
	}
	return n, n <= math.MaxInt64
}

func (d decimal) digit(i int) byte {
	switch {
	case i < 0:
		return 0
	case i < len(d.whole):
		return d.whole[i] - '0'
	case i-len(d.whole) < len(d.fraction):
		return d.fraction[i-len(d.whole)] - '0'
	}
	return 0
}
