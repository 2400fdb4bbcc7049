package budget

import (
	"math"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget/privacy"
)

func dec(s string) decimal.Decimal { return decimal.RequireFromString(s) }

func pure(epsilon string, times int64) Item {
	return Item{privacy.NewPure(dec(epsilon)), times}
}

func boundedRange(epsilon string, times int64) Item {
	return Item{privacy.NewBoundedRange(dec(epsilon)), times}
}

func zcdp(epsilon, rho string, times int64) Item {
	return Item{privacy.Promise{Kind: privacy.ZCDP, Epsilon: dec(epsilon), Rho: dec(rho)}, times}
}

func approximate(epsilon, delta string, times int64) Item {
	return Item{privacy.NewApproximate(dec(epsilon), dec(delta)), times}
}

func TestNewChargeSumsTheReleases(t *testing.T) {
	c, err := NewCharge("s", 0, 1, []Item{pure("0.1", 2), boundedRange("0.1", 3), pure("0.10", 1), approximate("1", "0.001", 2)})
	if err != nil {
		t.Fatal(err)
	}
	if !c.Epsilon.Equal(dec("2.6")) || !c.Delta.Equal(dec("0.002")) {
		t.Errorf("ε %s, δ %s, want 2.6 and 0.002", c.Epsilon, c.Delta)
	}
	if len(c.Items) != 3 || c.Items[0].Times != 3 || c.Items[0].Kind != privacy.Pure {
		t.Errorf("items %v, want equal costs merged and in order", c.Items)
	}
}

func TestNewChargeRefuses(t *testing.T) {
	for _, c := range []struct {
		name string
		item Item
		want string
	}{
		{"no epsilon", pure("0", 1), "epsilon 0"},
		{"negative epsilon", pure("-1", 1), "epsilon -1"},
		{"no times", pure("1", 0), "charged 0 times"},
		{"no promise", Item{privacy.Promise{Kind: privacy.Pure, Epsilon: dec("1")}, 1}, "rho 0 of a pure cost"},
		{"a number that fills the memory", pure("1e1000", 1), "decimal exponent"},
	} {
		if _, err := NewCharge("s", 0, 1, []Item{c.item}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.want)
		}
	}
	if _, err := NewCharge("s", 1, 1, nil); err == nil {
		t.Error("an empty window was accepted")
	}
}

// deltaAt evaluates the conversion in the other direction, δ for an ε, over a fine grid of orders.
func deltaAt(rho, epsilon float64) float64 {
	best := 1.0
	for i := range 200000 {
		a := 1 + math.Exp(-8+16*float64(i)/200000)
		best = min(best, math.Exp((a-1)*(a*rho-epsilon)+a*math.Log1p(-1/a))/(a-1))
	}
	return best
}

func TestConvertIsValidAndTight(t *testing.T) {
	for _, rho := range []string{"0.00001", "0.001", "0.1", "1.8", "7.2", "40"} {
		for _, delta := range []string{"0.01", "0.000001", "0.000000000001"} {
			epsilon := convert(dec(rho), dec(delta)).InexactFloat64()
			if epsilon == 0 {
				continue // δ alone covers such a small ρ
			}
			// The grid misses the best order by at most 4e-5 of it, which changes δ by far less than a factor of 1e-6.
			got, want := deltaAt(dec(rho).InexactFloat64(), epsilon), dec(delta).InexactFloat64()
			if got > want*(1+1e-6) {
				t.Errorf("ρ = %s: ε = %v has δ = %v, more than %s", rho, epsilon, got, delta)
			}
			if less := deltaAt(dec(rho).InexactFloat64(), epsilon*(1-1e-4)-1e-8); less <= want {
				t.Errorf("ρ = %s, δ = %s: a smaller ε than %v would do", rho, delta, epsilon)
			}
		}
	}
	if got := convert(decimal.Decimal{}, dec("0.1")); !got.IsZero() {
		t.Errorf("ρ = 0 costs ε = %s", got)
	}
}

// A day of one-minute windows at ε = 0.1 (the figures of the design).
func TestDayOfMinutes(t *testing.T) {
	limit := Limit{Epsilon: dec("1000"), Delta: dec("0.000001")}
	for _, c := range []struct {
		name      string
		limit     Limit
		item      Item
		low, high string
	}{
		{"plain sum", Limit{Epsilon: dec("1000")}, boundedRange("0.1", 1440), "144", "144"},
		{"ρ = ε²/2", limit, pure("0.1", 1440), "25.5", "26.5"},
		{"bounded range", limit, boundedRange("0.1", 1440), "10.5", "11.5"},
		{"zCDP only", limit, zcdp("0.1", "0.005", 1440), "25.5", "26.5"},
	} {
		got := c.limit.Compose([]Item{c.item}).Epsilon
		if got.Cmp(dec(c.low)) < 0 || got.Cmp(dec(c.high)) > 0 {
			t.Errorf("%s: ε = %s, want %s to %s", c.name, got, c.low, c.high)
		}
	}
}

// k releases are k charges in every form: one item charged k times, k items, or k windows.
func TestEveryReleaseIsInTheRenyiSum(t *testing.T) {
	limit := Limit{Epsilon: dec("100"), Delta: dec("0.000001")}
	want := limit.Compose([]Item{boundedRange("0.1", 1440)})
	if one := limit.Compose([]Item{boundedRange("0.1", 1)}); one.Epsilon.Cmp(dec("0.1")) > 0 || want.Epsilon.Cmp(dec("10")) < 0 {
		t.Fatalf("one release costs %s, 1440 cost %s", one.Epsilon, want.Epsilon)
	}
	if got := limit.Compose([]Item{boundedRange("0.1", 1439)}); got.Epsilon.Cmp(want.Epsilon) >= 0 {
		t.Errorf("a release that is left out makes no difference: %s and %s", got.Epsilon, want.Epsilon)
	}
	var items []Item
	a := NewAccount(limit)
	for i := range int64(1440) {
		items = append(items, boundedRange("0.1", 1))
		a.Add(Charge{Stream: "s", End: i + 1, Items: []Item{boundedRange("0.1", 1)}})
	}
	if got := limit.Compose(items); !got.Epsilon.Equal(want.Epsilon) {
		t.Errorf("as items: %s, want %s", got.Epsilon, want.Epsilon)
	}
	if got := a.Total(); !got.Epsilon.Equal(want.Epsilon) {
		t.Errorf("as windows: %s, want %s", got.Epsilon, want.Epsilon)
	}
}

func TestComposeTakesTheLeastValidBound(t *testing.T) {
	delta := Limit{Epsilon: dec("1000"), Delta: dec("0.000001")}
	none := Limit{Epsilon: dec("1000")}
	converted := func(rho string, delta string) decimal.Decimal { return convert(dec(rho), dec(delta)) }
	for _, c := range []struct {
		name      string
		limit     Limit
		items     []Item
		epsilon   decimal.Decimal
		delta     string
		unbounded bool
	}{
		{"nothing", delta, nil, dec("0"), "0", false},
		{"few: the plain sum, which needs no δ", delta, []Item{pure("0.1", 3)}, dec("0.3"), "0", false},
		{"many: by ρ", delta, []Item{pure("0.1", 1440)}, converted("7.2", "0.000001"), "0.000001", false},
		{"approximations add their δ and leave the rest", delta, []Item{approximate("1", "0.0000001", 4), pure("0.1", 1440)},
			converted("7.2", "0.0000006").Add(dec("4")), "0.000001", false},
		{"mixed: one large pure release beside a small zCDP", delta, []Item{pure("10", 1), zcdp("0.01", "0.00005", 1)},
			converted("0.00005", "0.000001").Add(dec("10")), "0.000001", false},
		{"all by ρ", delta, []Item{pure("0.1", 1000), zcdp("0.1", "0.005", 440)}, converted("7.2", "0.000001"), "0.000001", false},
		{"without δ: the plain sum", none, []Item{pure("0.1", 1440)}, dec("144"), "0", false},
		{"without δ: zCDP has no bound", none, []Item{pure("0.1", 1), zcdp("1", "0.5", 1)}, dec("0.1"), "0", true},
		{"without δ: approximations show theirs", none, []Item{approximate("1", "0.01", 2)}, dec("2"), "0.02", false},
		{"no δ left to convert with", delta, []Item{approximate("1", "0.000001", 1), zcdp("1", "0.5", 1)}, dec("1"), "0.000001", true},
	} {
		got := c.limit.Compose(c.items)
		if !got.Epsilon.Equal(c.epsilon) || !got.Delta.Equal(dec(c.delta)) || got.Unbounded != c.unbounded {
			t.Errorf("%s: %+v, want ε %s, δ %s, unbounded %t", c.name, got, c.epsilon, c.delta, c.unbounded)
		}
	}
}
