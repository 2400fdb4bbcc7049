package mechanisms

import (
	"errors"
	"math/big"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms/internal/parameter"
)

// MaxPoints is the largest number of steps of a grid: every index is exact as a float64.
const MaxPoints = 1 << 53

// Grid is the public set of values lower + i·step, 0 ≤ i ≤ N, that a statistic can take. It is immutable and safe for
// concurrent use.
type Grid struct {
	lower, upper, step decimal.Decimal
	// The same three as whole multiples of 10^−digits. One digit more than needed is kept, so that a point halfway
	// between two grid points is a whole multiple too and rounding needs no fractions.
	lo, hi, width int64
	digits        int
	last, anchor  int64
	floating      placing
}

// NewGrid returns the grid from lower to upper. It refuses bounds with lower ≥ upper, a step that is not positive or
// does not divide upper − lower exactly, more than [MaxPoints] steps, and numbers of more than 17 digits at the
// grid's precision.
func NewGrid(lower, upper, step decimal.Decimal) (*Grid, error) {
	g := &Grid{lower: lower, upper: upper, step: step}
	for _, x := range []struct {
		name  string
		value decimal.Decimal
	}{{"lower", lower}, {"upper", upper}, {"step", step}} {
		if d := x.value; d.Exponent() > 18 || d.Exponent() < -1000 || d.NumDigits() > 1000 {
			return nil, parameter.Wrong(x.name, parameter.Shown(d), "at most 17 digits at the precision of the step")
		}
	}
	finest, places := "", 0
	for _, x := range []struct {
		name  string
		value decimal.Decimal
	}{{"step", step}, {"lower", lower}, {"upper", upper}} {
		if n := fractionDigits(x.value); n > places {
			finest, places = x.name, n
		}
		if places > mostDigits {
			return nil, parameter.Wrong(x.name, x.value, "at most %d digits after the point", mostDigits)
		}
	}
	g.digits = places + 1
	for _, f := range []struct {
		name  string
		value decimal.Decimal
		units *int64
	}{{"lower", lower, &g.lo}, {"upper", upper, &g.hi}, {"step", step, &g.width}} {
		units := f.value.Shift(int32(g.digits)).BigInt()
		if units.CmpAbs(big.NewInt(1<<60)) > 0 {
			most := decimal.New(1, int32(mostDigits-places))
			if places == 0 {
				return nil, parameter.Wrong(f.name, f.value, "a number from -%s to %[1]s", most)
			}
			return nil, parameter.Wrong(f.name, f.value, "a number from -%s to %[1]s: it has at most %d digits in "+
				"all, and %s has %d of them after the point", most, mostDigits, finest, places)
		}
		*f.units = units.Int64()
	}
	switch {
	case g.lo >= g.hi:
		return nil, parameter.Wrong("upper", upper, "more than lower, which is %s", lower)
	case g.width <= 0:
		return nil, parameter.Wrong("step", step, "a number greater than 0")
	case (g.hi-g.lo)%g.width != 0:
		fitting := g.decimalOf(g.hi - (g.hi-g.lo)%g.width)
		return nil, parameter.Wrong("upper", upper,
			"lower plus a multiple of the step, %s, for example %s or %s", step, fitting,
			fitting.Add(step))
	case (g.hi-g.lo)/g.width > MaxPoints:
		return nil, parameter.Wrong("step", step, "a step that fits at most 2^53 times between the bounds")
	}
	g.last = (g.hi - g.lo) / g.width
	g.anchor = min(max(g.nearest(0), 0), g.last)
	g.floating = newPlacing(g)
	return g, nil
}

// mostDigits is how many digits a number of the grid may have, before and after the point together.
const mostDigits = 17

// fractionDigits is the number of decimal places that d needs.
func fractionDigits(d decimal.Decimal) int {
	n := 0
	for !d.IsInteger() {
		d = d.Shift(1)
		n++
	}
	return n
}

// Lower returns the lower bound.
func (g *Grid) Lower() decimal.Decimal { return g.lower }

// Upper returns the upper bound.
func (g *Grid) Upper() decimal.Decimal { return g.upper }

// Step returns the distance between neighbouring points.
func (g *Grid) Step() decimal.Decimal { return g.step }

// Last returns N, the index of the upper bound.
func (g *Grid) Last() int64 { return g.last }

// nearest rounds a number of units to the index of the nearest point, ties upward, even beyond the bounds.
func (g *Grid) nearest(units int64) int64 {
	x := units - g.lo + g.width/2
	q := x / g.width
	if x < q*g.width {
		q--
	}
	return q
}

var errNotNumber = errors.New("not a number such as 12, -3.5 or 1e3")

// Parse returns the index of the grid point nearest to a number, ties upward. It returns −1 for a number below the
// lower bound, and N+1 for one above the upper bound. The text is a number in JSON's grammar, or as people and
// spreadsheets write it beyond that: +5, .5 or 5. with a point at the end. It is read exactly, with any number of
// digits. Zeros before other digits are refused, since 007 is more likely a code. The error does not repeat the text,
// because it is personal. Parse does not allocate.
func (g *Grid) Parse(number []byte) (int64, error) {
	if units, ok := g.short(number); ok {
		return g.index(units, false), nil
	}
	i := 0
	negative := len(number) > 0 && number[0] == '-'
	if negative || len(number) > 0 && number[0] == '+' {
		i = 1
	}
	whole, i := digitsFrom(number, i)
	var fraction []byte
	if i < len(number) && number[i] == '.' {
		fraction, i = digitsFrom(number, i+1)
	}
	if len(whole)+len(fraction) == 0 || len(whole) > 1 && whole[0] == '0' {
		return 0, errNotNumber
	}
	exponent := 0
	if i < len(number) && (number[i] == 'e' || number[i] == 'E') {
		i++
		down := i < len(number) && number[i] == '-'
		if i < len(number) && (number[i] == '-' || number[i] == '+') {
			i++
		}
		var digits []byte
		if digits, i = digitsFrom(number, i); len(digits) == 0 {
			return 0, errNotNumber
		}
		for _, c := range digits {
			if exponent = exponent*10 + int(c-'0'); exponent > 1<<40 {
				exponent = 1 << 40
			}
		}
		if down {
			exponent = -exponent
		}
	}
	if i != len(number) {
		return 0, errNotNumber
	}
	units, inexact := scaled(whole, fraction, len(whole)+exponent+g.digits)
	if negative {
		units = -units
		if inexact {
			units-- // the floor
		}
	}
	return g.index(units, inexact), nil
}

// index returns what Parse does for a number of units, or for one between that number and the next.
func (g *Grid) index(units int64, inexact bool) int64 {
	switch {
	case units < g.lo:
		return -1
	case units > g.hi || units == g.hi && inexact:
		return g.last + 1
	}
	return g.nearest(units)
}

// short reads what most numbers are: one without sign or exponent, whose digits fit, with no more decimals than a unit
// has. For anything else, valid or not, ok is false.
func (g *Grid) short(number []byte) (units int64, ok bool) {
	if len(number)+g.digits > 18 {
		return 0, false
	}
	i, left := 0, g.digits
	for ; i < len(number) && number[i]-'0' <= 9; i++ {
		units = units*10 + int64(number[i]-'0')
	}
	if i == 0 || i > 1 && number[0] == '0' {
		return 0, false
	}
	if i+1 < len(number) && number[i] == '.' {
		for i++; i < len(number) && number[i]-'0' <= 9; i++ {
			units = units*10 + int64(number[i]-'0')
			left--
		}
	}
	if i < len(number) || left < 0 {
		return 0, false
	}
	for ; left > 0; left-- {
		units *= 10
	}
	return units, true
}

// digitsFrom returns the run of decimal digits of b from i on and the position after it.
func digitsFrom(b []byte, i int) ([]byte, int) {
	start := i
	for i < len(b) && '0' <= b[i] && b[i] <= '9' {
		i++
	}
	return b[start:i], i
}

// scaled returns the number that the first n digits of whole and fraction make, padded with zeros, at most 2^61,
// which is beyond every grid; inexact says that digits other than 0 follow.
func scaled(whole, fraction []byte, n int) (units int64, inexact bool) {
	for _, part := range [2][]byte{whole, fraction} {
		for _, c := range part {
			if n > 0 {
				units = appendDigit(units, c)
			} else if c != '0' {
				return units, true
			}
			n--
		}
	}
	for ; n > 0 && units > 0 && units < 1<<61; n-- {
		units = appendDigit(units, '0')
	}
	return units, false
}

func appendDigit(units int64, c byte) int64 {
	if units > 1<<57 {
		return 1 << 61
	}
	return units*10 + int64(c-'0')
}

// Value returns the exact value of point i.
func (g *Grid) Value(i int64) decimal.Decimal { return g.decimalOf(g.lo + i*g.width) }

// decimalOf returns a number of units as a decimal.
func (g *Grid) decimalOf(units int64) decimal.Decimal { return decimal.New(units, int32(-g.digits)) }

// Between returns the indices first ≤ i < end of the points strictly above and strictly below thresholds, which must
// lie within the bounds. nil is no threshold. It fails if there is no such point. The error is an [Error].
func (g *Grid) Between(above, below *decimal.Decimal) (first, end int64, err error) {
	end = g.last + 1
	if above != nil {
		if first, err = g.floor("above", *above); err != nil {
			return 0, 0, err
		}
		first++
	}
	if below != nil {
		floor, err := g.floor("below", *below)
		if err != nil {
			return 0, 0, err
		}
		if end = floor; g.Value(floor).LessThan(*below) {
			end++
		}
	}
	switch {
	case first < end:
		return first, end, nil
	case below == nil:
		return 0, 0, parameter.Wrong("above", parameter.Shown(*above),
			"less than %s, the highest value: nobody is above that", parameter.Shown(g.upper))
	case above == nil:
		return 0, 0, parameter.Wrong("below", parameter.Shown(*below),
			"more than %s, the lowest value: nobody is below that", parameter.Shown(g.lower))
	}
	return 0, 0, parameter.Wrong("above", parameter.Shown(*above),
		"a point of the grid between it and below, which is %s", parameter.Shown(*below))
}

// floor returns the index of the last grid point at or below a threshold, which must lie within the bounds.
func (g *Grid) floor(name string, d decimal.Decimal) (int64, error) {
	if d.Cmp(g.lower) < 0 || d.Cmp(g.upper) > 0 {
		return 0, parameter.Wrong(name, parameter.Shown(d), "a number within the bounds, %s to %s", g.lower, g.upper)
	}
	steps, _ := d.Sub(g.lower).QuoRem(g.step, 0)
	return steps.IntPart(), nil
}
