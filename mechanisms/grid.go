package mechanisms

import (
	"errors"
	"math"
	"math/big"
	"strconv"

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
	numbers := []struct {
		name  string
		value decimal.Decimal
		units *int64
	}{{"step", step, &g.width}, {"lower", lower, &g.lo}, {"upper", upper, &g.hi}}
	for _, x := range numbers {
		if d := x.value; d.Exponent() > 18 || d.Exponent() < -1000 || d.NumDigits() > 1000 {
			return nil, parameter.Wrong(x.name, parameter.Shown(d), "at most 17 digits at the precision of the step")
		}
	}
	finest, places := "", 0
	for _, x := range numbers {
		if n := fractionDigits(x.value); n > places {
			finest, places = x.name, n
		}
		if places > mostDigits {
			return nil, parameter.Wrong(x.name, x.value, "at most %d digits after the point", mostDigits)
		}
	}
	g.digits = places + 1
	for _, x := range numbers {
		units := x.value.Shift(int32(g.digits)).BigInt()
		if units.CmpAbs(big.NewInt(1<<60)) > 0 {
			most := decimal.New(1, int32(mostDigits-places))
			if places == 0 {
				return nil, parameter.Wrong(x.name, x.value, "a number from -%s to %[1]s", most)
			}
			return nil, parameter.Wrong(x.name, x.value, "a number from -%s to %[1]s: it has at most %d digits in "+
				"all, and %s has %d of them after the point", most, mostDigits, finest, places)
		}
		*x.units = units.Int64()
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

// placing places float64s on a grid in floating point, where that is surely right.
type placing struct {
	units float64 // 10^digits, a power that is exact in a float64
	lower float64 // lo
	steps float64 // 1/width
	last  float64 // N
	sure  bool
}

// near is how near to a tie or to a bound, in steps, a number is placed by its text.
//
// The error of a position is smaller. The position is (x·units − lo)·steps. With u = 2⁻⁵³ and M the larger of |lo| and
// |hi|, the relative error is u for x, which stands for a decimal, u for each operation, u for lo and 2u for steps,
// while units and N are exact. So a position between −1 and N+1, with the half that is added to it, is wrong by at most
// about (2 + 1 + 2 + 6 + 2)u·M/width, and surelySmall keeps that below 0.8·10⁻⁶. Further away it is wrong by a few u of
// itself, which moves no number across a bound.
const (
	near        = 1e-6
	surelySmall = 5e8
)

func newPlacing(g *Grid) placing {
	most := max(math.Abs(float64(g.lo)), math.Abs(float64(g.hi)))
	return placing{units: math.Pow10(g.digits), lower: float64(g.lo), steps: 1 / float64(g.width),
		last: float64(g.last), sure: most/float64(g.width) < surelySmall}
}

// Index returns the index of the grid point nearest to v, as [Grid.Parse] does for the shortest decimal text that
// stands for v. NaN and infinities are refused. Index does not allocate.
func (g *Grid) Index(v float64) (int64, error) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, errNotNumber
	}
	if v == 0 {
		return g.index(0, false), nil
	}
	if g.floating.sure {
		at := (v*g.floating.units - g.floating.lower) * g.floating.steps
		switch {
		case at < -near:
			return -1, nil
		case at > g.floating.last+near:
			return g.last + 1, nil
		case at > near && at < g.floating.last-near:
			point := math.Floor(at + 0.5)
			if tie := at + 0.5 - point; tie > near && tie < 1-near {
				return int64(point), nil
			}
		}
	}
	var buf [32]byte
	return g.Parse(strconv.AppendFloat(buf[:0], v, 'e', -1, 64))
}

// Decimal returns the index of the grid point nearest to n·10^exponent, as [Grid.Parse] does for its text. It does not
// allocate.
func (g *Grid) Decimal(n int64, exponent int) int64 {
	units := n
	inexact := false
	shift := exponent + g.digits
	for ; shift > 0 && units != 0; shift-- {
		if units > 1<<57 || units < -1<<57 {
			return g.index(math.MaxInt64*int64(sign(n)), false) // beyond every bound
		}
		units *= 10
	}
	for ; shift < 0 && units != 0; shift++ {
		inexact = inexact || units%10 != 0
		units /= 10
	}
	if n < 0 && inexact {
		units-- // the floor
	}
	return g.index(units, inexact)
}

func sign(n int64) int {
	if n < 0 {
		return -1
	}
	return 1
}

// Scale says what the numbers of a [Draw] mean: the number i is the value origin + i·step. It is immutable.
type Scale struct{ origin, step decimal.Decimal }

// Decimal returns the value of i, exact.
func (s Scale) Decimal(i int64) decimal.Decimal { return s.origin.Add(s.Length(i)) }

// Text returns the value of i without exponent and without trailing zeros.
func (s Scale) Text(i int64) string { return s.Decimal(i).String() }

// Float returns the value of i as the nearest float64.
func (s Scale) Float(i int64) float64 { return s.Decimal(i).InexactFloat64() }

// Length returns the distance of n steps.
func (s Scale) Length(n int64) decimal.Decimal { return s.step.Mul(decimal.NewFromInt(n)) }

// scale returns the scale of the grid's points, with each step divided into parts.
func (g *Grid) scale(parts int64) Scale {
	digits := int32(0)
	for n := parts; n > 1; n /= 10 {
		digits++
	}
	return Scale{origin: g.lower, step: g.step.Shift(-digits)}
}

// parts returns how many parts a step is divided into for means: 1000, or a smaller power of ten if there would be more
// than [MaxPoints] points. Rounding to the grid would be most of a mean's error from 10^5 users on. A finer rounding is
// just another way to write down what was drawn.
func (g *Grid) parts() int64 {
	parts := int64(1000)
	for parts > 1 && g.last > MaxPoints/parts {
		parts /= 10
	}
	return parts
}

// mostAdded is how many units a bound or a value has at most. So the total of thousands of values, and twice a total,
// is an int64.
const mostAdded = 1 << 50

// Units reads the values of events that are added up before they are placed on a grid: as whole numbers of 10^−d. It is
// immutable and safe for concurrent use.
//
// d is three more than the decimal places of the grid's bounds and step. So cents are added up exactly, and values with
// more places nearly so: rounding each value to the step would be wrong by half a step for each. If a bound had more
// than 2^50 units, d is less, down to the places of the grid.
type Units struct {
	grid              *Grid // of all values
	lower, step, last int64
}

// finer is how many decimal places more than the grid values have, if they fit.
const finer = 3

// Units returns how values are read that are added up. It refuses a grid whose bounds have more than 2^50 units at
// their own precision: their sums would not fit.
func (g *Grid) Units() (*Units, error) {
	places := g.digits - 1
	for d := min(places+finer, mostDigits); d >= places; d-- {
		in := func(x decimal.Decimal) int64 { return x.Shift(int32(d)).IntPart() }
		unit, most := decimal.New(1, int32(-d)), decimal.New(mostAdded, int32(-d))
		if g.lower.LessThan(most.Neg()) || g.upper.GreaterThan(most) {
			continue
		}
		values, err := NewGrid(most.Neg(), most, unit)
		if err != nil {
			return nil, err
		}
		return &Units{grid: values, lower: in(g.lower), step: in(g.step), last: g.last}, nil
	}
	name, bound := "upper", g.upper
	if g.lower.Abs().GreaterThan(g.upper.Abs()) {
		name, bound = "lower", g.lower
	}
	return nil, parameter.Wrong(name, bound, "a number from -%s to %[1]s, so that sums can be added up exactly",
		decimal.New(mostAdded, int32(-places)))
}

// Bounds returns the grid's lower bound and step in units, and N.
func (u *Units) Bounds() (lower, step, last int64) { return u.lower, u.step, u.last }

// Parse returns a number in units: the nearest whole number, ties upward, and at most 2^50 in size. Texts are those of
// [Grid.Parse].
func (u *Units) Parse(number []byte) (int64, error) {
	i, err := u.grid.Parse(number)
	return u.units(i), err
}

// Index returns a float64 in units, as Parse does for the shortest text that stands for it. NaN and infinities are
// refused.
func (u *Units) Index(v float64) (int64, error) {
	i, err := u.grid.Index(v)
	return u.units(i), err
}

// Decimal returns n·10^exponent in units, as Parse does for its text.
func (u *Units) Decimal(n int64, exponent int) int64 { return u.units(u.grid.Decimal(n, exponent)) }

// units returns the units of a point of the grid of all values.
func (u *Units) units(point int64) int64 { return min(max(point, 0), u.grid.last) - mostAdded }
