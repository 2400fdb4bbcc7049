package mechanisms

import (
	"strconv"
	"strings"
	"testing"

	"github.com/shopspring/decimal"
	"pgregory.net/rapid"
)

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
