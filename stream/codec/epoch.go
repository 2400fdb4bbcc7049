package codec

import "math"

// epochs tell epoch times apart: a time is of the first of these whose limit it is below.
var epochs = [...]struct {
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
	if whole, ok := digitsOnly(number); ok && number[0] != '0' { // as most are
		return epochOf(int64(whole))
	}
	d, ok := scanDecimal(number)
	if !ok {
		return 0, false
	}
	whole, ok := d.upTo(0, 0, d.point)
	if !ok {
		return 0, false
	}
	for _, u := range epochs {
		if whole < u.below {
			ns, ok := d.upTo(whole, d.point, d.point+u.digits)
			return int64(ns), ok
		}
	}
	return 0, false
}

// digitsOnly reads a text of 1 to 18 digits.
func digitsOnly(text []byte) (n uint64, ok bool) {
	if len(text) > 18 {
		return 0, false
	}
	for _, c := range text {
		if c -= '0'; c > 9 {
			return 0, false
		}
		n = 10*n + uint64(c)
	}
	return n, len(text) > 0
}

// epochOf is epoch of a whole number.
func epochOf(number int64) (int64, bool) {
	for _, u := range epochs {
		if number >= 0 && uint64(number) < u.below {
			unit := units[len(units)-1-u.digits]
			return number * unit, number <= math.MaxInt64/unit
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
