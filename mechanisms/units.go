package mechanisms

import (
	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms/internal/parameter"
)

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
