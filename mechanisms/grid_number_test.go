package mechanisms

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/shopspring/decimal"
	"pgregory.net/rapid"
)

// numberGrids are grids of which some are placed on in floating point and some are not.
func numberGrids(t testing.TB) []*Grid {
	return []*Grid{grid(t, "0", "60000", "0.1"), grid(t, "-5", "5", "0.25"), grid(t, "100", "1000000", "3"),
		grid(t, "-0.3", "0.6", "0.0001"), grid(t, "0", "1000000000", "0.001"), grid(t, "0", "9007199254740992", "1"),
		grid(t, "99999999999999.0", "99999999999999.9", "0.1"), grid(t, "0", "300", "0.3")}
}

// A number is where its text is: also at ties, at bounds, and one step of a float64 beside them.
func TestNumbersAreWhereTheirTextsAre(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	sure := 0
	for _, g := range numberGrids(t) {
		if g.floating.sure {
			sure++
		}
		span := g.Upper().Sub(g.Lower())
		half := g.Step().Div(decimal.NewFromInt(2))
		for n := range 100_000 {
			var v float64
			switch n % 4 {
			case 0: // anywhere, also outside
				v = g.Lower().InexactFloat64() + (random.Float64()*1.5-0.25)*span.InexactFloat64()
			case 1: // a tie or a point
				at := g.Value(random.Int64N(g.Last() + 1))
				if n%8 == 1 {
					at = at.Add(half)
				}
				v = at.InexactFloat64()
			case 2: // beside it
				v = math.Nextafter(g.Value(random.Int64N(min(g.Last(), 10)+1)).Add(half).InexactFloat64(),
					float64(random.IntN(3)-1)*math.MaxFloat64)
			case 3: // any bits
				v = math.Float64frombits(random.Uint64())
			}
			got, err := g.Index(v)
			if math.IsNaN(v) || math.IsInf(v, 0) {
				continue
			}
			want, wrong := g.Parse(strconv.AppendFloat(nil, v, 'g', -1, 64))
			if got != want || err != nil || wrong != nil {
				t.Fatalf("Index(%v) on [%s, %s] by %s = %d, %v; its text is at %d, %v", v, g.Lower(), g.Upper(), g.Step(),
					got, err, want, wrong)
			}
		}
	}
	if all := len(numberGrids(t)); sure == 0 || sure == all {
		t.Errorf("%d of %d grids are placed on in floating point; want some and not all", sure, all)
	}
}

func TestDecimalsAreWhereTheirTextsAre(t *testing.T) {
	grids := numberGrids(t)
	rapid.Check(t, func(t *rapid.T) {
		g := rapid.SampledFrom(grids).Draw(t, "grid")
		n := rapid.Int64().Draw(t, "n")
		exponent := rapid.IntRange(-25, 25).Draw(t, "exponent")
		if rapid.Bool().Draw(t, "near") { // a point, a tie, or a little beside it
			n, exponent = g.lo+rapid.Int64Range(-2, 2*min(g.last, 1000)+2).Draw(t, "halves")*g.width/2, -g.digits
			n += rapid.Int64Range(-1, 1).Draw(t, "beside")
		}
		text := fmt.Appendf(nil, "%de%d", n, exponent)
		want, err := g.Parse(text)
		if got := g.Decimal(n, exponent); err != nil || got != want {
			t.Fatalf("Decimal(%d, %d) on [%s, %s] by %s = %d; its text is at %d, %v", n, exponent, g.Lower(), g.Upper(),
				g.Step(), got, want, err)
		}
	})
	for _, n := range []int64{math.MinInt64, math.MaxInt64, 0} {
		for _, exponent := range []int{math.MinInt32, -100, -1, 0, 1, 100, math.MaxInt32} {
			want := grids[0].last + 1
			switch short := new(big.Float).SetInt64(n); {
			case n == 0 || exponent <= -100 && n > 0:
				want = 0
			case short.Sign() < 0:
				want = -1
			}
			if got := grids[0].Decimal(n, exponent); exponent != -1 && got != want {
				t.Errorf("Decimal(%d, %d) = %d, want %d", n, exponent, got, want)
			}
		}
	}
}

func BenchmarkIndex(b *testing.B) {
	g := grid(b, "0", "60000", "0.1")
	for b.Loop() {
		_, _ = g.Index(123.4)
	}
}
