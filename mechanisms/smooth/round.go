package smooth

import (
	"math"
	"math/big"

	"github.com/louver/louver/mechanisms/exact"
)

// release is T ± y with y = (g/α)·|Z|, before it is rounded to the grid.
type release struct {
	mechanism *Mechanism
	centre    centre
	scale     largest
	negative  bool
	variates  variates
}

// centre is T + ½ = whole + rest/den with 0 ≤ rest < den: its floor is T, rounded.
type centre struct{ whole, rest, den int64 }

func newCentre(num wide, den int64) centre {
	num = num.Plus(num).Plus(wideOf(den))
	whole, rest := num.QuoRem(2 * uint64(den)) // num/den is on the grid and so below 2^63
	return centre{int64(whole), int64(rest), 2 * den}
}

func (c centre) fraction() constant { return ratio(c.rest, c.den) }

// round returns the grid point nearest to T ± y, within the grid, and how often float64 could not decide.
//
// The nearest point is ⌊T + ½ + y⌋, or ⌈T + ½ − y⌉ − 1 on the other side. The two agree except on the borders between
// points, where y lies with probability 0. They are continuous for y → 0, so an enclosure of y that reaches down to 0
// also determines the point.
func (d *release) round() (index int64, refined int) {
	last := d.mechanism.last
	if len(d.scale.terms) == 0 { // no neighbour has a different statistic
		return min(d.centre.whole, last), 0
	}
	fraction := d.centre.fraction()
	y := d.scale.near().Quo(d.mechanism.nearAlpha).Mul(d.mechanism.noise.short(&d.variates))
	y.lo = max(0, y.lo)
	up, down := last-d.centre.whole, -d.centre.whole // the distances from T to the ends of the grid
	if step, ok := d.step(y, fraction.near, up, down); ok {
		return d.centre.whole + step, 0
	}
	for prec := uint(firstPrec); ; prec *= 2 {
		g := d.scale.long(d.mechanism.beta, prec)
		y := g.Quo(d.mechanism.noise.alpha(prec)).Mul(d.mechanism.noise.long(&d.variates, prec))
		refined++
		if step, ok := d.stepLong(y, exact.FromRat(fraction.exact, prec), up, down); ok {
			return d.centre.whole + step, refined
		}
	}
}

// step returns the whole number of steps that y adds to T + ½, between down and up, if the enclosure determines it.
func (d *release) step(y, fraction span, up, down int64) (int64, bool) {
	var lo, hi float64
	if d.negative {
		x := fraction.Sub(y)
		lo, hi = math.Ceil(x.lo)-1, math.Ceil(x.hi)-1
	} else {
		x := fraction.Add(y)
		lo, hi = math.Floor(max(0, x.lo)), math.Floor(x.hi)
	}
	clamp := func(x float64) float64 { return min(max(x, float64(down)), float64(up)) }
	lo, hi = clamp(lo), clamp(hi)
	return int64(lo), lo == hi // NaN determines nothing
}

// stepLong does the same as step with longer numbers.
func (d *release) stepLong(y, fraction exact.Interval, up, down int64) (int64, bool) {
	if y.Lo.Sign() < 0 {
		y.Lo = new(big.Float).SetPrec(y.Prec())
	}
	clamp := func(x *big.Float) int64 {
		if x.Cmp(new(big.Float).SetInt64(up+2)) > 0 {
			return up
		}
		if x.Cmp(new(big.Float).SetInt64(down-2)) < 0 {
			return down
		}
		z, accuracy := x.Int64() // rounds towards 0
		if d.negative && (accuracy == big.Exact || x.Sign() < 0) {
			z-- // ⌈x⌉ − 1
		}
		return min(max(z, down), up)
	}
	var lo, hi int64
	if d.negative {
		x := fraction.Sub(y)
		lo, hi = clamp(x.Lo), clamp(x.Hi)
	} else {
		x := fraction.Add(y)
		lo, hi = clamp(x.Lo), clamp(x.Hi)
	}
	return lo, lo == hi
}
