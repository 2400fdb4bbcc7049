package budget

import (
	"math"
	"math/big"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"github.com/louver/louver/budget/privacy"
	"github.com/louver/louver/mechanisms/exact"
)

// A dashboard of quarter hours (the figures of the design), and the same with an alarm of ε 1 that is armed three times
// a day.
func TestFilterFigures(t *testing.T) {
	window := []Item{boundedRange("0.05", 2), boundedRange("0.1", 1), pure("0.02", 1)}
	day := Times(window, 96)
	minutes := func(i Item) []Item { return Times([]Item{i}, 1440) }
	for _, c := range []struct {
		name           string
		epsilon, delta string
		items          []Item
		want           float64
	}{
		{"a day", "8", "0.000000001", day, 4.76},
		{"a day with an alarm", "8", "0.000000001", append(day, pure("1", 3)), 7.58},
		{"a day in a smaller budget", "4", "0.000000001", day, 3.94},
		{"without δ", "24", "0", day, 21.12},
		{"few windows", "8", "0.000000001", Times(window, 4), 0.88},
		{"minutes", "11.5", "0.000001", minutes(boundedRange("0.1", 1)), 11.02},
		{"minutes, ρ = ε²/2", "26.5", "0.000001", minutes(pure("0.1", 1)), 25.95},
		{"minutes, zCDP", "26.5", "0.000001", minutes(zcdp("0.1", "0.005", 1)), 26.05},
		{"no limit yet", "0", "0.000001", minutes(boundedRange("0.1", 1)), 11.01},
	} {
		got := Limit{Epsilon: dec(c.epsilon), Delta: dec(c.delta)}.Compose(c.items).Epsilon.InexactFloat64()
		if math.Abs(got-c.want) > 0.005+1e-12 {
			t.Errorf("%s: ε %v, want %v", c.name, got, c.want)
		}
	}
}

// longResponse is the divergence of randomised response by its definition, from intervals of 400 bits.
func longResponse(epsilon, above decimal.Decimal) float64 {
	number := func(d decimal.Decimal) exact.Interval {
		f, _ := new(big.Float).SetPrec(400).SetString(d.String())
		return exact.Interval{Lo: f, Hi: f}
	}
	one := exact.FromInt(1, 400)
	alpha := one.Add(number(above))
	up, down := alpha.Mul(number(epsilon)).Exp(), one.Sub(alpha).Mul(number(epsilon)).Exp()
	mean := up.Add(down).Quo(one.Add(number(epsilon).Exp()))
	d, _ := mean.Log().Quo(number(above)).Lo.Float64()
	return d
}

// No price of a pure cost is below the divergence of randomised response in long arithmetic, or much above it, and none
// is above what the cost's ε and ρ say.
func TestPricesAreRoundedUp(t *testing.T) {
	for _, epsilon := range []string{"1e-7", "0.001", "0.02", "0.1", "1", "3", "20", "300"} {
		for _, above := range []string{"0.00001234", "0.05", "1", "5.078", "4321"} {
			f := filter{delta: dec("0.000001"), above: dec(above), a1: dec(above).InexactFloat64()}
			got, want := f.response(dec(epsilon)), longResponse(dec(epsilon), f.above)
			if g := got.InexactFloat64(); g < want || g > want+2e-12+1e-12*dec(epsilon).InexactFloat64() {
				t.Errorf("ε %s, α − 1 = %s: %s, want %v", epsilon, above, got, want)
			}
			alpha := f.above.Add(dec("1"))
			for _, p := range []privacy.Promise{privacy.NewPure(dec(epsilon)), privacy.NewBoundedRange(dec(epsilon))} {
				price := f.price(p)
				if price.Cmp(p.Epsilon) > 0 || price.Cmp(p.Rho.Mul(alpha)) > 0 || !price.IsPositive() {
					t.Errorf("%+v at α − 1 = %s costs %s", p, above, price)
				}
			}
		}
	}
}

// The conversion is what the proof asks for, rounded up, and no other order has noticeably more room.
func TestConversionIsValidAndTight(t *testing.T) {
	for _, epsilon := range []string{"0.001", "0.1", "1", "8", "100", "10000"} {
		for _, delta := range []string{"0.09", "0.01", "0.000001", "1e-12", "1e-40"} {
			l := Limit{Epsilon: dec(epsilon), Delta: dec(delta)}
			f := newFilter(l)
			// In logarithms, m·e^(−(α−1)c) is 9δ/10.
			used := func(a1, c float64) float64 { return -math.Log1p(a1) - a1*math.Log1p(1/a1) - a1*c }
			want := math.Log(0.9 * dec(delta).InexactFloat64())
			c := f.conversion.InexactFloat64()
			if got := used(f.a1, c); got > want+1e-12 || got < want-1e-9*(1+f.a1) {
				t.Errorf("ε %s, δ %s: with α − 1 = %s and c = %s, ln of the δ in use is %v, want %v",
					epsilon, delta, f.above, f.conversion, got, want)
			}
			room := (l.Epsilon.InexactFloat64() - c) / (1 + f.a1)
			for i := range 4000 {
				a1 := math.Exp(-20 + float64(i)/100)
				best := (used(a1, 0) - want) / a1
				if more := (l.Epsilon.InexactFloat64() - best) / (1 + a1); more > room*(1+1e-5)+1e-15 {
					t.Errorf("ε %s, δ %s: α − 1 = %s has room for ρ %v, %v has %v", epsilon, delta,
						f.above, room, a1, more)
					break
				}
			}
		}
	}
}

// A limit chooses its order. What was spent, and for how long, makes no difference.
func TestOneOrderForALimit(t *testing.T) {
	l := Limit{Epsilon: dec("8"), Delta: dec("0.000000001")}
	a := NewAccount(l)
	want := a.filter
	for end := range int64(100) {
		a.Add(charge("s", end, boundedRange("0.1", 1), zcdp("1", "0.005", 1)))
		a.SetLimit(Limit{Epsilon: dec("8.0"), Delta: l.Delta, Per: time.Duration(end)})
	}
	if got := a.filter; !got.above.Equal(want.above) || !got.conversion.Equal(want.conversion) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// Charges are added up at the order of the account that pays, also those that were made under another limit.
func TestAnotherLimitHasAnotherOrder(t *testing.T) {
	items := []Item{boundedRange("0.1", 2), pure("1", 3), zcdp("1", "0.01", 1)}
	two, nine := Limit{Epsilon: dec("2"), Delta: dec("0.001")}, Limit{Epsilon: dec("9"), Delta: dec("0.000001")}
	thirty := Limit{Epsilon: dec("30"), Delta: dec("0.000000001")} // of a third order
	seven := nine                                                  // and an order that it says
	seven.Order = dec("7")
	a, old := NewAccount(two), NewAccount(two)
	a.Continue(old)
	a.Add(charge("s", 1, items...))
	old.Add(charge("t", 1, items...))
	if err := old.Hold(Held{ID: "t/w/1", Stream: "t", To: Open, Items: items}); err != nil {
		t.Fatal(err)
	}
	for _, l := range []Limit{two, nine, seven, nine, thirty, {Epsilon: dec("9")}, seven, two} {
		a.SetLimit(l)
		want := l.Compose(Times(items, 3))
		for _, got := range []Spending{a.Total(), a.clone().Total(), a.Total()} {
			if !got.Epsilon.Equal(want.Epsilon) || !got.Delta.Equal(want.Delta) || got.Unbounded != want.Unbounded {
				t.Errorf("%+v: %+v, want %+v", l, got, want)
			}
		}
	}
}

// One more cost never lowers the ε or the δ.
func TestMoreCostsMore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := anyLimit().Draw(t, "limit")
		items := rapid.SliceOfN(anyItem(), 0, 40).Draw(t, "items")
		less, more := limit.Compose(items), limit.Compose(append(items, anyItem().Draw(t, "item")))
		if !more.Unbounded && (less.Unbounded || less.Epsilon.Cmp(more.Epsilon) > 0) || less.Delta.Cmp(more.Delta) > 0 {
			t.Fatalf("%+v, and with one more %+v", less, more)
		}
		if limit.within(more) && !limit.within(less) {
			t.Fatalf("%+v is within the limit, %+v is not", more, less)
		}
	})
}

// Without δ the ε add up, and nothing else counts: to the last digit.
func TestPureBudgetsAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := Limit{Epsilon: dec("3"), Per: time.Duration(rapid.Int64Range(0, 20).Draw(t, "per"))}
		a, plain := NewAccount(limit), decimal.Decimal{}
		for i := range rapid.IntRange(0, 30).Draw(t, "charges") {
			epsilon := decimal.New(rapid.Int64Range(1, 1e15).Draw(t, "ε"), -15)
			item := Item{privacy.NewPure(epsilon), rapid.Int64Range(1, 9).Draw(t, "times")}
			if rapid.Bool().Draw(t, "bounded range") {
				item.Promise = privacy.NewBoundedRange(epsilon)
			}
			sum := plain.Add(epsilon.Mul(decimal.NewFromInt(item.Times)))
			if fits := a.Fits(charge("s", 1, item)); fits != (sum.Cmp(limit.Epsilon) <= 0) {
				t.Fatalf("%s of %s fits: %t", sum, limit.Epsilon, fits)
			}
			if i%2 == 0 {
				a.Add(charge("s", 1, item))
				plain = sum
			}
		}
		if got := a.Spent(1); got.Epsilon.String() != plain.String() || !got.Delta.IsZero() || got.Unbounded {
			t.Fatalf("%+v, want ε %s", got, plain)
		}
	})
}

// Windows, windows under a cap and held charges of the same price cost the same, and so does a guess about a person.
func TestEveryChargeGoesThroughTheFilter(t *testing.T) {
	limit, item := Limit{Epsilon: dec("8"), Delta: dec("0.000000001"), Per: 1000}, boundedRange("0.2", 1)
	want := limit.Compose(Times([]Item{item}, 90))
	if plain := dec("18"); want.Epsilon.Cmp(plain) >= 0 {
		t.Fatalf("ε %s is the plain sum", want.Epsilon)
	}
	windows, capped, holds := NewAccount(limit), NewAccount(limit), NewAccount(limit)
	for end := range int64(90) {
		windows.Add(charge("s", end, item))
		if err := holds.Hold(Held{ID: string(rune('A' + end)), Stream: "s", From: end, To: Open,
			Items: []Item{item}}); err != nil {
			t.Fatal(err)
		}
	}
	for end := range int64(300) {
		capped.Add(Charge{Stream: "s", End: end, Cap: Cap{Count: 90, Per: 1000}, Items: []Item{item}})
	}
	for name, a := range map[string]*Account{"windows": windows, "under a cap": capped, "held": holds} {
		got := a.Spent(300)
		if !got.Epsilon.Equal(want.Epsilon) || !got.Delta.Equal(want.Delta) || got.Guess() != want.Guess() {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}
