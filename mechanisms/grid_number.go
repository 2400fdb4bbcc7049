package mechanisms

import (
	"math"
	"strconv"
)

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
