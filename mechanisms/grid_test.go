package mechanisms

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/shopspring/decimal"
	"pgregory.net/rapid"
)

func dec(s string) decimal.Decimal { return decimal.RequireFromString(s) }

func grid(t testing.TB, lower, upper, step string) *Grid {
	t.Helper()
	g, err := NewGrid(dec(lower), dec(upper), dec(step))
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestNewGridRefuses(t *testing.T) {
	for _, c := range []struct{ lower, upper, step, want string }{
		{"1", "1", "1", "upper 1; want more than lower, which is 1"},
		{"2", "1", "1", "upper 1; want more than lower, which is 2"},
		{"0", "1", "0", "step 0; want a number greater than 0"},
		{"0", "1", "-1", "step -1; want a number greater than 0"},
		{"0", "1", "0.3", "upper 1; want lower plus a multiple of the step, 0.3, for example 0.9 or 1.2"},
		{"0", "100000000", "0.000000001", "at most 2^53"},
		{"0", "1e30", "1", "at most 17 digits"},
		{"0", "1e9000", "1", "at most 17 digits"},
		{"0", "1", "1e-9000", "at most 17 digits"},
		{"0", "1", "0.00000000000000000000001",
			"step 0.00000000000000000000001; want at most 17 digits after the point"},
		{"0.0000000000000000005", "1", "1", "lower 0.0000000000000000005; want at most 17 digits after the point"},
		{"0", "200000000000000000", "1",
			"upper 200000000000000000; want a number from -100000000000000000 to 100000000000000000"},
		{"-3000", "1", "0.00000000000001",
			"lower -3000; want a number from -1000 to 1000: it has at most 17 digits in all, " +
				"and step has 14 of them after the point"},
		{"0", "1000000000000000000.5", "1", "upper 1000000000000000000.5; want a number from -10000000000000000 to " +
			"10000000000000000: it has at most 17 digits in all, and upper has 1 of them after the point"},
	} {
		_, err := NewGrid(dec(c.lower), dec(c.upper), dec(c.step))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("NewGrid(%s, %s, %s) = %v, want %q", c.lower, c.upper, c.step, err, c.want)
		}
	}
}

func TestGridPoints(t *testing.T) {
	f := func(lower, upper, step string, last, anchor int64) {
		t.Helper()
		g := grid(t, lower, upper, step)
		if g.Last() != last || g.anchor != anchor {
			t.Errorf("[%s, %s] by %s: last %d, anchor %d, want %d, %d", lower, upper, step, g.Last(),
				g.anchor, last, anchor)
		}
		if g.Value(0).String() != dec(lower).String() || g.Value(last).String() != dec(upper).String() {
			t.Errorf("[%s, %s] by %s: ends print as %s, %s", lower, upper, step, g.Value(0), g.Value(last))
		}
		if g.Value(last).InexactFloat64() != dec(upper).InexactFloat64() {
			t.Errorf("Value(%d) = %v, want %s", last, g.Value(last).InexactFloat64(), upper)
		}
	}
	f("0", "60000", "1", 60000, 0)
	f("-10", "10", "0.001", 20000, 10000)
	f("-10", "-5", "0.5", 10, 10)
	f("3", "9", "3", 2, 0)
	f("-1.5", "1.5", "1", 3, 2) // 0 is halfway: it rounds up
	f("0", "9007199254740992", "1", 1<<53, 0)
	f("0", "1e9", "1e3", 1e6, 0)
}

func TestParse(t *testing.T) {
	f := func(g *Grid, text string, want int64) {
		t.Helper()
		if got, err := g.Parse([]byte(text)); err != nil || got != want {
			t.Errorf("Parse(%s) = %d, %v, want %d", text, got, err, want)
		}
	}
	tenths := grid(t, "-1", "12.3", "0.1")
	f(tenths, "-1", 0)
	f(tenths, "-1.0000000000000000000000000000001", -1)
	f(tenths, "12.3", 133)
	f(tenths, "12.30000000000000000000000000001", 134)
	f(tenths, "0.05", 11)
	f(tenths, "0.04999999999999999999999999999999", 10)
	f(tenths, "-0.05", 10)
	f(tenths, "-0.050000000000000000000000000001", 9)
	f(tenths, "-0", 10)
	f(tenths, "1.23e1", 133)
	f(tenths, "123E-1", 133)
	f(tenths, "1e400", 134)
	f(tenths, "-1e+400", -1)
	f(tenths, "1e-99999999999999999999999", 10)
	f(tenths, "0e99999999999999999999999", 10)
	f(tenths, "1e99999999999999999999999", 134)
	f(tenths, "0."+strings.Repeat("0", 300)+"5e300", 15)
	f(tenths, "5"+strings.Repeat("0", 300)+"e-301", 15)
	for text, want := range map[string]int64{"+1": 20, "+0.05": 11, ".5": 15, "-.5": 5, "+.5": 15, "5.": 60, "-1.": 0,
		"5.e0": 60, ".05e1": 15, "+12.35": 134} {
		f(tenths, text, want)
	}
	f(grid(t, "1", "7", "3"), "2.5", 1)
	f(grid(t, "1", "7", "3"), "2.4999", 0)
	f(grid(t, "0", "9007199254740992", "1"), "9007199254740991.5", 1<<53)

	f(grid(t, "0", "9007199254740992", "1"), "90071992547409915", 1<<53+1) // 17 digits and one below the step
	f(grid(t, "0", "9007199254740992", "1"), "99999999999999999999", 1<<53+1)

	for _, bad := range []string{"", "-", "+", "01", "-01", "+01", "00", "00.5", ".", "-.", "+.", ".e1", "+-1", "1e",
		"1e+", "1.2.3", "NaN", "Infinity", "0x1", "1 ", " 1", "1e5.0", "\"1\"", "1_0", "١"} {
		if got, err := tenths.Parse([]byte(bad)); err == nil {
			t.Errorf("Parse(%q) = %d, want an error", bad, got)
		}
	}
}

// The index agrees with exact rational arithmetic.
func TestParseIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		digits := rapid.IntRange(0, 4).Draw(t, "digits")
		width := rapid.Int64Range(1, 300).Draw(t, "width")
		lower := rapid.Int64Range(-100000, 100000).Draw(t, "lower")
		last := rapid.Int64Range(1, 1000).Draw(t, "last")
		at := func(units int64) decimal.Decimal { return decimal.New(units, int32(-digits)) }
		g, err := NewGrid(at(lower), at(lower+last*width), at(width))
		if err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprint(rapid.Int64Range(-400000, 400000).Draw(t, "whole"))
		if rapid.Bool().Draw(t, "fractional") {
			text += "." + rapid.StringMatching(`[0-9]{1,7}`).Draw(t, "fraction")
		}
		if rapid.Bool().Draw(t, "exponential") {
			text += fmt.Sprintf("e%d", rapid.IntRange(-8, 8).Draw(t, "exponent"))
		}
		got, err := g.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		v, _ := new(big.Rat).SetString(text)
		var want int64
		switch {
		case v.Cmp(g.Lower().Rat()) < 0:
			want = -1
		case v.Cmp(g.Upper().Rat()) > 0:
			want = g.Last() + 1
		default: // ⌊(v − lower)/step + ½⌋
			v.Sub(v, g.Lower().Rat()).Quo(v, g.Step().Rat()).Add(v, big.NewRat(1, 2))
			want = new(big.Int).Div(v.Num(), v.Denom()).Int64()
		}
		if got != want {
			t.Fatalf("Parse(%s) on [%s, %s] by %s = %d, want %d", text, g.Lower(), g.Upper(), g.Step(), got, want)
		}
		i := rapid.Int64Range(0, last).Draw(t, "i")
		if got, err := g.Parse([]byte(g.Value(i).String())); err != nil || got != i {
			t.Fatalf("Parse(Text(%d)) = %d, %v", i, got, err)
		}
		if got, err := g.Index(g.Value(i).InexactFloat64()); err != nil || got != i {
			t.Fatalf("Index(Float(%d)) = %d, %v", i, got, err)
		}
	})
}

func TestIndexRefusesNonNumbers(t *testing.T) {
	g := grid(t, "0", "1", "0.1")
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if got, err := g.Index(v); err == nil {
			t.Errorf("Index(%v) = %d, want an error", v, got)
		}
	}
	if got, _ := g.Index(0.25); got != 3 { // a tie of the decimal text
		t.Errorf("Index(0.25) = %d, want 3", got)
	}
}

func TestParseDoesNotAllocate(t *testing.T) {
	g := grid(t, "0", "60000", "0.1")
	text := []byte("12345.678e-1")
	if n := testing.AllocsPerRun(100, func() { _, _ = g.Parse(text) }); n != 0 {
		t.Errorf("Parse allocates %v times", n)
	}
}

func TestSample(t *testing.T) {
	g := grid(t, "0", "4", "1")
	f := func(points []Point, values, upTo []int64, outside int64) {
		t.Helper()
		s := NewSample(g, points)
		if fmt.Sprint(s.values, s.upTo, s.outside()) != fmt.Sprint(values, upTo, outside) {
			t.Errorf("NewSample(%v) = %v %v outside %d", points, s.values, s.upTo, s.outside())
		}
	}
	f(nil, nil, nil, 0)
	f([]Point{{-1, 2}, {0, 1}, {3, 4}, {4, 1}, {5, 1}}, []int64{0, 3, 4}, []int64{3, 7, 9}, 3)
	f([]Point{{3, 1}, {1, 2}, {3, 1}, {2, 0}}, []int64{1, 3}, []int64{2, 4}, 0)

	s := NewSample(g, []Point{{1, 2}, {3, 3}})
	for x, want := range [][2]int64{{0, 0}, {0, 2}, {2, 2}, {2, 5}, {5, 5}} {
		if got := [2]int64{s.Below(int64(x)), s.AtMost(int64(x))}; got != want {
			t.Errorf("below, atMost %d = %v, want %v", x, got, want)
		}
	}
	for i, want := range []int64{1, 1, 3, 3, 3} {
		if got := s.values[s.at(int64(i+1))]; got != want {
			t.Errorf("value %d = %d, want %d", i+1, got, want)
		}
	}
}

func BenchmarkParse(b *testing.B) {
	g := grid(b, "0", "60000", "0.1")
	text := []byte("12345.678")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := g.Parse(text); err != nil {
			b.Fatal(err)
		}
	}
}

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

func unitsOf(t testing.TB, lower, upper, step string) *Units {
	g, err := NewGrid(decimal.RequireFromString(lower), decimal.RequireFromString(upper),
		decimal.RequireFromString(step))
	if err != nil {
		t.Fatal(err)
	}
	u, err := g.Units()
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestUnits(t *testing.T) {
	for _, c := range []struct {
		lower, upper, step string
		number             string
		want               int64
	}{
		{"0", "500", "0.01", "12.34", 1234000},
		{"0", "500", "0.01", "0.000005", 1}, // a tie
		{"0", "500", "0.01", "-0.000005", 0},
		{"0", "500", "0.01", "0.0000049", 0},
		{"-5", "5", "1", "-1.5", -1500},
		{"0", "500", "1", "1e30", 1 << 50},
		{"0", "500", "1", "-1e30", -1 << 50},
		{"0", "1000000000000000", "1000", "123456789012345", 123456789012345}, // bytes: no places more
		{"0", "1000000000000000", "1000", "0.5", 1},
		{"0", "100000000000000", "1", "0.5", 5},
	} {
		u := unitsOf(t, c.lower, c.upper, c.step)
		if got, err := u.Parse([]byte(c.number)); err != nil || got != c.want {
			t.Errorf("%s between %s and %s is %d units (%v), want %d", c.number, c.lower, c.upper, got, err, c.want)
		}
	}
	if lower, step, last := unitsOf(t, "-1.5", "2", "0.5").Bounds(); lower != -15000 || step != 5000 || last != 7 {
		t.Errorf("from %d in %d steps of %d, want from -15000 in 7 of 5000", lower, last, step)
	}
}

// A number is the same in all forms, and as many units as its exact value, rounded with ties upward.
func TestUnitsAreExact(t *testing.T) {
	u := unitsOf(t, "-1000", "1000", "0.1")
	rapid.Check(t, func(t *rapid.T) {
		n, exponent := rapid.Int64Range(-1<<40, 1<<40).Draw(t, "n"), rapid.IntRange(-12, 2).Draw(t, "exponent")
		d := decimal.New(n, int32(exponent))
		want := d.Shift(4).Add(decimal.New(5, -1)).Floor().IntPart()
		want = min(max(want, -1<<50), 1<<50)
		if got, err := u.Parse([]byte(d.String())); err != nil || got != want {
			t.Fatalf("%s is %d units (%v), want %d", d, got, err, want)
		}
		if got := u.Decimal(n, exponent); got != want {
			t.Fatalf("%d·10^%d is %d units, want %d", n, exponent, got, want)
		}
		f := rapid.Float64Range(-1e9, 1e9).Draw(t, "float64")
		text, _ := u.Parse(strconv.AppendFloat(nil, f, 'g', -1, 64))
		if got, err := u.Index(f); err != nil || got != text {
			t.Fatalf("%v is %d units (%v), and its text %d", f, got, err, text)
		}
	})
}

func TestUnitsRefuse(t *testing.T) {
	g, err := NewGrid(decimal.Zero, decimal.New(2, 15), decimal.New(1, 0))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.Units(); err == nil || !strings.Contains(err.Error(), "1125899906842624") {
		t.Errorf("bounds of 2·10^15: %v; want 2^50 as the limit", err)
	}
	u := unitsOf(t, "0", "1", "0.1")
	for _, text := range []string{"", "x", "NaN", "1,5"} {
		if _, err := u.Parse([]byte(text)); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}
