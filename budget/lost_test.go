package budget

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"github.com/louver/louver/budget/privacy"
)

func times(p privacy.Promise, n int64) Item { return Item{p, n} }

// One window under a limit with much room: the books' order says many times what it costs. What people read is what it
// costs alone.
func TestLostByAFewWindows(t *testing.T) {
	window := []Item{times(privacy.NewBoundedRange(decimal.RequireFromString("0.05")), 2),
		times(privacy.NewBoundedRange(decimal.RequireFromString("0.05")), 1),
		times(privacy.NewZCDP(decimal.RequireFromString("0.02")), 1)}
	for _, limit := range []Limit{
		{Epsilon: decimal.RequireFromString("3.7"), Delta: decimal.New(1, -9), Per: 24 * time.Hour},
		{Epsilon: decimal.NewFromInt(400), Delta: decimal.New(1, -4), Per: 24 * time.Hour},
		{Epsilon: decimal.NewFromInt(1000), Delta: decimal.New(1, -9)}} {
		a, hour := NewAccount(limit), int64(time.Hour)
		c, err := NewCharge("s", 0, hour, window)
		if err != nil {
			t.Fatal(err)
		}
		want := Limit{Delta: limit.Delta}.Compose(window).Epsilon
		if got := a.Lost("s", hour, c); !got.Epsilon.Equal(want) || got.Delta.GreaterThan(limit.Delta) {
			t.Errorf("limit %s: a window to come costs %+v; want %s", limit.Epsilon, got, want)
		}
		a.Add(c)
		spent, lost := a.Spent(hour), a.Lost("", hour)
		if !lost.Epsilon.Equal(want) || !spent.Epsilon.GreaterThan(want.Mul(decimal.NewFromInt(3))) {
			t.Errorf("limit %s: %s is spent and %s is lost; want %s", limit.Epsilon, spent.Epsilon, lost.Epsilon, want)
		}
		if used := a.Used("s", "", window, hour); used != 1 {
			t.Errorf("%d windows are used, want 1", used)
		}
		if used := a.Used("s", "", window, hour, c); used != 2 {
			t.Errorf("with another one %d windows are used, want 2", used)
		}
		// A watch that may be armed again leaves only the order that was fixed beforehand; a total does not.
		for i, drawn := range []bool{false, true} {
			h := Held{ID: fmt.Sprint(i), Stream: "s", From: hour, To: Open, Drawn: drawn,
				Items: []Item{times(privacy.NewPure(decimal.New(1, -3)), 1)}}
			if err := a.Hold(h); err != nil {
				t.Fatal(err)
			}
			got, books := a.Lost("", hour), a.Spent(hour)
			if got.Epsilon.Equal(books.Epsilon) != drawn {
				t.Errorf("limit %s, drawn %v: %s is lost and %s counts", limit.Epsilon, drawn, got.Epsilon, books.Epsilon)
			}
		}
	}
}

// What is lost is never more than the books count, beyond a hundredth, nor less than the best of all orders with the
// same charges, whatever their caps. Without a δ both are the plain sum.
func TestLostIsABound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := Limit{Epsilon: decimal.RequireFromString(rapid.SampledFrom([]string{"1", "5", "50"}).Draw(t, "ε")),
			Delta: decimal.RequireFromString(rapid.SampledFrom([]string{"0", "0.000001"}).Draw(t, "δ")), Per: 10}
		a := NewAccount(limit)
		prices := [][]Item{{times(privacy.NewPure(decimal.New(1, -1)), 2)},
			{times(privacy.NewBoundedRange(decimal.New(3, -1)), 1)}}
		if limit.Delta.IsPositive() {
			prices = append(prices, []Item{times(privacy.NewZCDP(decimal.New(2, -1)), 3)})
		}
		for i := range rapid.IntRange(1, 20).Draw(t, "charges") {
			c, err := NewCharge(rapid.SampledFrom([]string{"s", "t"}).Draw(t, "stream"), int64(i), int64(i)+1,
				rapid.SampledFrom(prices).Draw(t, "price"))
			if err != nil {
				t.Fatal(err)
			}
			if c.Stream == "t" {
				c.Cap = Cap{Count: 2, Per: 5}
			}
			a.Add(c)
		}
		at := rapid.Int64Range(1, 25).Draw(t, "at")
		lost, spent := a.Lost("", at), a.Spent(at)
		if limit.Delta.IsZero() && !lost.Epsilon.Equal(spent.Epsilon) || lost.Epsilon.GreaterThan(spent.Epsilon) ||
			lost.Delta.GreaterThan(decimal.Max(limit.Delta, spent.Delta)) {
			t.Fatalf("%+v is lost, and %+v counts", lost, spent)
		}
		if limit.Delta.IsZero() {
			return
		}
		least := spent.Epsilon
		for step := range 400 { // orders from 1.001 to about 4,000
			b := *a
			b.foreign = nil
			b.filter = filterAt(limit.Delta, decimal.NewFromFloat(0.001*math.Pow(1.04, float64(step))).Round(6))
			least = decimal.Min(least, b.filter.bound(b.between(at-10, at, "", nil)).Epsilon)
		}
		if lost.Epsilon.LessThan(least.Mul(decimal.New(99, -2))) {
			t.Fatalf("%s is lost; no order gives less than %s", lost.Epsilon, least)
		}
	})
}

// The best guesser against (ε, δ) sees the worst mechanism that the promise allows. With probability δ that mechanism
// reveals who was there; otherwise it answers the question by randomised response with ε.
func TestGuess(t *testing.T) {
	for _, c := range []struct{ epsilon, delta, want float64 }{
		{0, 0, 0.5}, {math.Log(3), 0, 0.75}, {0.5, 0, 0.6225}, {0, 0.2, 0.6}, {math.Log(3), 0.1, 0.1 + 0.9*0.75},
		{1000, 0, 1},
	} {
		s := Spending{Epsilon: decimal.NewFromFloat(c.epsilon), Delta: decimal.NewFromFloat(c.delta)}
		if got := s.Guess(); math.Abs(got-c.want) > 1e-4 {
			t.Errorf("ε %g, δ %g: %g; want %g", c.epsilon, c.delta, got, c.want)
		}
	}
	if got := (Spending{Unbounded: true}).Guess(); got != 1 {
		t.Errorf("without a bound: %g; want 1", got)
	}
}

// Items are among others if each cost is there as often at least, in whatever order and however they are split.
func TestAmong(t *testing.T) {
	one := func(epsilon string, times int64) Item {
		return Item{privacy.NewPure(decimal.RequireFromString(epsilon)), times}
	}
	most := []Item{one("0.2", 1), one("0.1", 3), one("0.2", 1)}
	for _, c := range []struct {
		items []Item
		want  bool
	}{{nil, true}, {[]Item{one("0.1", 1), one("0.1", 2)}, true}, {[]Item{one("0.2", 2), one("0.1", 3)}, true},
		{[]Item{one("0.1", 4)}, false}, {[]Item{one("0.2", 3)}, false}, {[]Item{one("0.05", 1)}, false}} {
		if Among(c.items, most) != c.want {
			t.Errorf("%v among %v: want %t", c.items, most, c.want)
		}
	}
}

// What is charged for a stream's windows and for its discovery, or its active users, is no mixture. Users who are
// counted anew are one.
func TestMixed(t *testing.T) {
	price := []Item{{privacy.NewPure(decimal.RequireFromString("0.1")), 1}}
	capped := func(lane string, era int64) Cap { return Cap{Count: 1, Per: time.Hour, Lane: lane, Era: era} }
	for name, c := range map[string]struct {
		caps []Cap
		want bool
	}{
		"windows and a discovery":        {[]Cap{{}, capped("daily", 0)}, false},
		"windows and active users":       {[]Cap{capped("", 0), capped("active/1", 0)}, false},
		"users who are counted anew":     {[]Cap{capped("", 0), capped("", 1)}, true},
		"active users, counted anew":     {[]Cap{{}, capped("active/1", 0), capped("active/2", 9)}, true},
		"two figures of the same stream": {[]Cap{capped("active/1", 0), capped("seen/1", 0)}, false},
	} {
		a := NewAccount(Limit{Epsilon: decimal.NewFromInt(9), Per: time.Hour})
		for i, limit := range c.caps {
			a.Add(Charge{Stream: "s", End: int64(i + 1), Cap: limit, Items: price})
		}
		if got := a.Mixed(0, 9); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
		if a.Mixed(9, 99) {
			t.Errorf("%s: a mixture after all charges", name)
		}
	}
}
