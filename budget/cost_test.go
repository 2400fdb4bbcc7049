package budget

import (
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
	c, err := NewCharge("s", 0, 1,
		[]Item{pure("0.1", 2), boundedRange("0.1", 3), pure("0.10", 1), approximate("1", "0.001", 2)})
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

// k releases are k charges in every form: one item charged k times, k items, or k windows.
func TestEveryReleaseIsInTheRenyiSum(t *testing.T) {
	limit := Limit{Epsilon: dec("11"), Delta: dec("0.000001")}
	want := limit.Compose([]Item{boundedRange("0.1", 1440)})
	if one := limit.Compose([]Item{boundedRange("0.1", 1)}); one.Epsilon.Cmp(dec("0.1")) > 0 ||
		want.Epsilon.Cmp(dec("10")) < 0 {
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
	delta := Limit{Epsilon: dec("20"), Delta: dec("0.000001")}
	none := Limit{Epsilon: dec("1000")}
	f := newFilter(delta)
	byRho := func(rho string) decimal.Decimal { return dec(rho).Mul(f.above.Add(dec("1"))).Add(f.conversion) }
	tenth := f.response(dec("0.1"))
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
		{"many: each by randomised response", delta, []Item{pure("0.1", 1440)},
			tenth.Mul(dec("1440")).Add(f.conversion), "0.000001", false},
		{"many of a small ρ: by ρ", delta,
			[]Item{{privacy.Promise{Kind: privacy.Pure, Epsilon: dec("0.1"), Rho: dec("0.0005")}, 14400}},
			byRho("7.2"), "0.000001", false},
		{"approximations are priced like pure costs", delta,
			[]Item{approximate("1", "0.000000025", 4), pure("0.1", 1440)},
			tenth.Mul(dec("1440")).Add(f.response(dec("1")).Mul(dec("4"))).Add(f.conversion), "0.000001", false},
		{"few approximations: the plain sums", delta, []Item{approximate("1", "0.000000025", 3)},
			dec("3"), "0.000000075", false},
		{"approximations of more than a tenth: what δ they need", delta,
			[]Item{approximate("1", "0.000000025", 5)}, dec("5"), "0.00000125", false},
		{"the same beside zCDP", delta, []Item{approximate("1", "0.000000025", 5), zcdp("1", "0.5", 1)},
			byRho("0.5").Add(f.response(dec("1")).Mul(dec("5"))), "0.00000125", false},
		{"one large pure release beside a small zCDP", delta, []Item{pure("10", 1), zcdp("0.01", "0.00005", 1)},
			byRho("0.00005").Add(f.response(dec("10"))), "0.000001", false},
		{"zCDP", delta, []Item{zcdp("0.1", "0.005", 1440)}, byRho("7.2"), "0.000001", false},
		{"without δ: the plain sum", none, []Item{pure("0.1", 1440)}, dec("144"), "0", false},
		{"without δ: zCDP has no bound", none, []Item{pure("0.1", 1), zcdp("1", "0.5", 1)}, dec("0.1"), "0", true},
		{"without δ: approximations show theirs", none, []Item{approximate("1", "0.01", 2)}, dec("2"), "0.02", false},
	} {
		c.epsilon = c.epsilon.RoundCeil(boundPlaces)
		got := c.limit.Compose(c.items)
		if !got.Epsilon.Equal(c.epsilon) || !got.Delta.Equal(dec(c.delta)) || got.Unbounded != c.unbounded {
			t.Errorf("%s: %+v, want ε %s, δ %s, unbounded %t", c.name, got, c.epsilon, c.delta, c.unbounded)
		}
	}
}
