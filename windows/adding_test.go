package windows

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

// TestPointsOfTotals compares with fractions: totals near bounds and halfway between points, of few events and many.
func TestPointsOfTotals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := Adding{Step: rapid.Int64Range(1, 1<<rapid.IntRange(0, 40).Draw(t, "digits")).Draw(t, "step")}
		a.Last = rapid.Int64Range(1, MostUnits/a.Step).Draw(t, "last")
		upper := rapid.Int64Range(a.Step*a.Last-MostUnits, MostUnits).Draw(t, "upper")
		a.Lower = upper - a.Step*a.Last
		n := rapid.SampledFrom([]int64{0, 1, 2, 3, 7, 1 << 12}).Draw(t, "events")
		near := rapid.SampledFrom([]int64{a.Lower, upper, a.Lower + a.Step*rapid.Int64Range(0, a.Last).Draw(t, "point") +
			a.Step/2}).Draw(t, "near")
		total := near*max(n, 1) + rapid.Int64Range(-5, 5).Draw(t, "off")

		quotient := big.NewRat(total, max(n, 1))
		want := new(big.Rat).Sub(quotient, big.NewRat(a.Lower, 1))
		want.Quo(want, big.NewRat(a.Step, 1)).Add(want, big.NewRat(1, 2))
		floor := new(big.Int).Div(want.Num(), want.Denom()).Int64()
		switch {
		case quotient.Cmp(big.NewRat(a.Lower, 1)) < 0:
			floor = -1
		case quotient.Cmp(big.NewRat(upper, 1)) > 0:
			floor = a.Last + 1
		}
		if got := a.point(total, n); got != floor {
			t.Fatalf("%d/%d counts as point %d of %+v, want %d", total, n, got, a, floor)
		}
	})
}

// Whatever a user sends, the one value that counts is a point of the grid, or beyond one of its ends.
func TestTotalsStayOnTheGrid(t *testing.T) {
	a := Adding{Lower: -MostUnits, Step: 1, Last: 2 * MostUnits}
	for _, total := range []int64{math.MinInt64, -MostUnits - 1, -MostUnits, 0, MostUnits, math.MaxInt64} {
		for _, n := range []int64{math.MinInt64, 0, 1, 2, 1 << 40, math.MaxInt64} {
			if got := a.point(total, n); got < -1 || got > a.Last+1 {
				t.Errorf("%d/%d counts as point %d", total, n, got)
			}
		}
	}
}

// Sums wrap, so they do not depend on the order in which a user's events are read.
func TestTotalsWrap(t *testing.T) {
	spec := testSpec
	spec.Policy, spec.Groups = Sum, []string{""}
	forth, back := NewBag(spec), NewBag(spec)
	for i := range 3 * 8192 {
		value := int64(MostUnits)
		if i >= 2*8192 {
			value = -MostUnits
		}
		forth.Add(UserHash{1}, 0, 0, value)
		back.Add(UserHash{1}, 0, 0, -value)
		back.Add(UserHash{1}, 0, 0, 2*value)
	}
	if x, y := forth.rows.row(0).value, back.rows.row(0).value; x != y {
		t.Errorf("one order adds up to %d, and another to %d", x, y)
	}
}
