package codec

import (
	"math"
	"strconv"
	"time"
)

// The functions of this file make fields of values that are no texts on the wire. What fits into no field without a
// text is written into a buffer, which the field then is.

// whole is a whole number.
func whole(n int64) field { return field{kind: exact, n: n} }

// instantOf is a time in seconds and nanoseconds since 1970.
func instantOf(seconds, nanoseconds int64) field {
	if seconds < 0 || seconds >= math.MaxInt64/int64(time.Second) || nanoseconds < 0 || nanoseconds >= 1e9 {
		return field{kind: other}
	}
	return field{kind: instant, n: seconds*1e9 + nanoseconds}
}

// double is a number of 64 bits.
func double(bits uint64) field {
	if v := math.Float64frombits(bits); math.IsNaN(v) || math.IsInf(v, 0) {
		return field{kind: other}
	}
	return field{kind: binary64, n: int64(bits)}
}

// single is a number of 32 bits: the shortest decimal that stands for it, written into a buffer.
func single(buffer *[]byte, v float32) field {
	if v64 := float64(v); math.IsNaN(v64) || math.IsInf(v64, 0) {
		return field{kind: other}
	}
	*buffer = strconv.AppendFloat((*buffer)[:0], float64(v), 'g', -1, 32)
	return field{kind: number, text: *buffer}
}

var trueText, falseText = []byte("true"), []byte("false")

func truthOf(v bool) field {
	if v {
		return field{kind: truth, text: trueText}
	}
	return field{kind: truth, text: falseText}
}

// decimalOf is a decimal of Kafka Connect. One that is long is written into a buffer.
func decimalOf(buffer *[]byte, twos []byte, scale int64) (field, bool) {
	if len(twos) == 0 || len(twos) > 8 || scale < -math.MaxInt8 || scale > math.MaxInt8 {
		b, ok := appendDecimal((*buffer)[:0], twos, scale)
		*buffer = b
		return field{kind: number, text: b}, ok
	}
	n := int64(int8(twos[0]))
	for _, c := range twos[1:] {
		n = n<<8 | int64(c)
	}
	return field{kind: exact, n: n, exp: int8(-scale)}, true
}

// durationOf is a google.protobuf.Duration as a number of seconds. A long one is written into a buffer.
func durationOf(buffer *[]byte, seconds, nanoseconds int64) field {
	const years10000 = 315576000000
	if nanoseconds <= -1e9 || nanoseconds >= 1e9 || seconds < 0 && nanoseconds > 0 || seconds > 0 && nanoseconds < 0 ||
		seconds < -years10000 || seconds > years10000 {
		return field{kind: other}
	}
	if most := math.MaxInt64/int64(time.Second) - 1; seconds <= most && seconds >= -most {
		return field{kind: exact, n: seconds*1e9 + nanoseconds, exp: -9}
	}
	b := append(strconv.AppendInt((*buffer)[:0], seconds, 10), '.')
	for unit, left := int64(1e8), max(nanoseconds, -nanoseconds); unit > 0; unit /= 10 {
		b = append(b, '0'+byte(left/unit%10))
	}
	*buffer = b
	return field{kind: number, text: b}
}

// unsigned is a whole number. One above an int64 is written into a buffer.
func unsigned(buffer *[]byte, v uint64) field {
	if v <= math.MaxInt64 {
		return whole(int64(v))
	}
	*buffer = strconv.AppendUint((*buffer)[:0], v, 10)
	return field{kind: number, text: *buffer}
}
