package budget

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"github.com/louver/louver/budget/privacy"
)

// minutes is the most that a day of streams-minutes.yaml costs: 8 counts, 12 figures on change with 13 draws of a
// median, and 3 alarms.
var minutes = []Item{pure("0.1", 20), boundedRange("0.05", 13), pure("0.5", 3)}

// The alarms of a budget want a higher order than ε and δ alone give. The order that suits them is written in the
// limit, and the same costs are less. Where costs are small, the two orders are about the same.
func TestOrderFigures(t *testing.T) {
	delta := dec("0.000000001")
	dashboard := Times([]Item{boundedRange("0.05", 2), boundedRange("0.1", 1)}, 96)
	for _, c := range []struct {
		name, epsilon, order string
		items                []Item
		want                 float64
	}{
		{"minutes, no order", "4.2", "0", minutes, 4.15},
		{"minutes", "4.2", OrderFor(delta, minutes).String(), minutes, 3.697},
		{"minutes, the order of a smaller budget", "4.2", "12", minutes, 4.002},
		{"a dashboard, no order", "3.74", "0", dashboard, 3.728},
		{"a dashboard", "3.74", OrderFor(delta, dashboard).String(), dashboard, 3.728},
	} {
		l := Limit{Epsilon: dec(c.epsilon), Delta: delta, Order: dec(c.order)}
		if got := l.Compose(c.items).Epsilon.InexactFloat64(); math.Abs(got-c.want) > 0.0005+1e-12 {
			t.Errorf("%s, order %s: ε %v, want %v", c.name, c.order, got, c.want)
		}
	}
	if got := OrderFor(delta, nil); !got.IsZero() {
		t.Errorf("nothing has the order %s", got)
	}
	if got := OrderFor(decimal.Decimal{}, minutes); !got.IsZero() {
		t.Errorf("without δ the order is %s", got)
	}
}

// No order gives less than the one that is suggested by more than a hundredth, and every suggestion is a valid order.
// The search looks at one order in every three quarters of ln(α − 1) before it goes near the best of them, and where
// several prices are those of randomised response there can be another valley beside that.
func TestOrderForIsTheBest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		items := rapid.SliceOfN(anyItem(), 1, 30).Draw(t, "items")
		delta := rapid.SampledFrom([]decimal.Decimal{dec("0.05"), dec("0.000001"), dec("1e-12")}).Draw(t, "δ")
		l := Limit{Epsilon: dec("1"), Delta: delta, Order: OrderFor(delta, items)}
		if err := l.Check(); err != nil {
			t.Fatal(err)
		}
		least := l.Compose(items).Epsilon
		for step := range 100 {
			l.Order = decimal.NewFromFloat(1 + 0.001*math.Pow(1.15, float64(step))).Round(6)
			if got := l.Compose(items).Epsilon; got.LessThan(least.Mul(dec("0.99")).Sub(dec("0.000002"))) {
				t.Fatalf("order %s gives ε %s, the suggested one %s", l.Order, got, least)
			}
		}
	})
}

// byDefinition returns what costs are at a fixed order, in floating point and from nothing but the formulas of the
// proof: by (1), and the plain sum by (2).
func byDefinition(l Limit, items []Item) float64 {
	alpha := l.Order.InexactFloat64()
	sum := (-math.Log(0.9*l.Delta.InexactFloat64()) + (alpha-1)*math.Log(1-1/alpha) - math.Log(alpha)) / (alpha - 1)
	plain := 0.0
	for _, i := range items {
		epsilon, rho := i.Epsilon.InexactFloat64(), i.Rho.InexactFloat64()
		one := alpha * rho
		if i.Kind == privacy.ZCDP {
			plain = math.Inf(1)
		} else {
			one = min(one, math.Log((math.Sinh(alpha*epsilon)-math.Sinh((alpha-1)*epsilon))/math.Sinh(epsilon))/(alpha-1))
		}
		sum += one * float64(i.Times)
		plain += epsilon * float64(i.Times)
	}
	return max(0, min(sum, plain))
}

// Whatever is charged, in whatever order, and whatever is asked in between, a budget pays what the order in its limit
// allows in every period: no more, and no less beyond what is rounded up. The charges do not move the order, as they
// would if it suited what is already charged.
func TestNoHistoryMovesTheOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := Limit{Epsilon: dec("3"), Delta: dec("0.000001"), Per: time.Duration(rapid.Int64Range(0, 20).Draw(t, "per")),
			Order: decimal.New(rapid.Int64Range(11, 600).Draw(t, "tenths"), -1)}
		a, old := NewAccount(l), NewAccount(Limit{Epsilon: dec("9"), Delta: dec("0.001"), Order: dec("2")})
		a.Continue(old)
		prices := []Item{pure("0.02", 5), pure("0.5", 1), pure("1", 1), boundedRange("0.2", 2), zcdp("0.3", "0.02", 1)}
		var paid []Charge
		var helds []Held
		worst := func(c []Charge, h []Held) (most float64) {
			for at := int64(0); at < 110; at++ {
				var items []Item
				for _, c := range c {
					if l.Per == 0 || at-int64(l.Per) < c.End && c.End <= at {
						items = append(items, c.Items...)
					}
				}
				for _, h := range h {
					if h.From <= at && (l.Per == 0 || at-int64(l.Per) < h.To) {
						items = append(items, h.Items...)
					}
				}
				if len(items) > 0 {
					most = max(most, byDefinition(l, items))
				}
			}
			return most
		}
		check := func(what string, fits bool, with float64) {
			if fits && with > 3+1e-9 || !fits && with < 3-2e-6 {
				t.Fatalf("order %s: %s fits: %t, but the dearest period costs %v of ε 3", l.Order, what, fits, with)
			}
		}
		for i := range rapid.IntRange(1, 40).Draw(t, "charges") {
			into, item := a, rapid.SampledFrom(prices).Draw(t, "item")
			switch rapid.IntRange(0, 9).Draw(t, "what") {
			case 0: // a look, which must not matter
				a.Lost("", 50)
				a.Spent(50)
				a.WindowsLeft("s", Cap{}, []Item{item}, 50)
				a.SetLimit(l)
				continue
			case 1:
				h := Held{ID: fmt.Sprint(i), Stream: "s", From: rapid.Int64Range(0, 60).Draw(t, "from"), To: 90,
					Items: []Item{item}}
				fits := a.FitsHeld(h)
				check("held charge", fits, worst(paid, append(slices.Clone(helds), h)))
				if fits {
					if err := a.Hold(h); err != nil {
						t.Fatal(err)
					}
					helds = append(helds, h)
				}
				continue
			case 2:
				into = old
			}
			c := charge("s", rapid.Int64Range(1, 60).Draw(t, "end"), item)
			fits := a.Fits(c)
			check("window", fits, worst(append(slices.Clone(paid), c), helds))
			if fits {
				into.Add(c)
				paid = append(paid, c)
			}
		}
	})
}

// Somebody who may choose between two orders when draws are known beats the limit: after a rare outcome they go on with
// one pure draw, which the higher order admits, and otherwise with one of the lower. At either order alone nobody gets
// beyond δ, whatever they do.
func TestNobodyMayChooseTheOrder(t *testing.T) {
	const delta = 0.0001
	l := Limit{Epsilon: dec("2"), Delta: dec("0.0001")}
	within := func(order decimal.Decimal) func([]Item) bool {
		of := l
		of.Order = order
		return func(items []Item) bool { return NewAccount(of).Fits(Charge{Items: items}) }
	}
	first, then := rare(0.00356, 0.00196), response("1.81")
	lower := newFilter(l).above.Add(dec("1"))
	room := 0.1375 - first.item.Rho.InexactFloat64()
	menu := []drawn{first, then, rare(0.0005, room)}
	higher := OrderFor(l.Delta, []Item{first.item, then.item})
	if !within(lower)([]Item{first.item, menu[2].item}) || !within(higher)([]Item{first.item, then.item}) {
		t.Fatalf("orders %s and %s do not admit what they are for", lower, higher)
	}
	for _, order := range []decimal.Decimal{lower, higher, {}} {
		if got := worst(2, menu, within(order)) / delta; got > 1+1e-9 {
			t.Errorf("at the order %s somebody reaches %v of δ", order, got)
		}
	}
	either := func(items []Item) bool { return within(lower)(items) || within(higher)(items) }
	if got := worst(2, menu, either) / delta; got < 1.3 || got > 2 {
		t.Errorf("somebody who chooses between %s and %s reaches %v of δ, want more than 1.3 and at most 2", lower,
			higher, got)
	}
}

// A limit without an order is written as it always was, and one with an order is another limit.
func TestOrderInText(t *testing.T) {
	l := Limit{Epsilon: dec("3.7"), Delta: dec("0.000000001"), Per: 24 * time.Hour}
	for order, want := range map[string]string{
		"0":     `{"epsilon":"3.7","delta":"0.000000001","per":"24h"}`,
		"30.22": `{"epsilon":"3.7","delta":"0.000000001","per":"24h","order":"30.22"}`,
	} {
		l.Order = dec(order)
		text, err := json.Marshal(l)
		var back Limit
		if err == nil {
			err = json.Unmarshal(text, &back)
		}
		if err != nil || string(text) != want || !back.Equal(l) {
			t.Errorf("order %s became %s and %+v (%v)", order, text, back, err)
		}
		other := l
		if other.Order = dec("7"); l.Equal(other) {
			t.Errorf("the orders %s and 7 are the same limit", order)
		}
	}
}

func TestOrderCheck(t *testing.T) {
	for _, c := range []struct{ delta, order, want string }{
		{"0.001", "1.000000001", ""}, {"0.001", "1000000", ""}, {"0.001", "30.220000000000000", ""},
		{"0.001", "1", "order 1; want more than 1"}, {"0.001", "-3", "order -3; want more than 1"},
		{"0.001", "1000000.5", "at most 1000000"}, {"0.001", "1.0000000001", "at most 9 decimal places"},
		{"0", "30", "order 30 without a delta"},
		{"0.001", "1e1000", "decimal exponent"}, {"0.001", "1e-1000", "decimal exponent"},
	} {
		err := Limit{Epsilon: dec("1"), Delta: dec(c.delta), Order: dec(c.order)}.Check()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("order %s with δ %s: %v, want %q", c.order, c.delta, err, c.want)
		}
	}
}
