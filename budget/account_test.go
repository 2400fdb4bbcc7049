package budget

import (
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"pgregory.net/rapid"
)

func charge(stream string, end int64, items ...Item) Charge {
	return Charge{Stream: stream, End: end, Items: items}
}

// spentIn adds up by definition: the charges with an end in (at − per, at], or all of them.
func spentIn(charges []Charge, limit Limit, at int64) Spending {
	var items []Item
	for _, c := range charges {
		if limit.Per == 0 || at-int64(limit.Per) < c.End && c.End <= at {
			items = append(items, c.Items...)
		}
	}
	return limit.Compose(items)
}

func anyItem() *rapid.Generator[Item] {
	return rapid.SampledFrom([]Item{pure("0.1", 1), pure("0.1", 2), boundedRange("0.25", 1), pure("0.3", 3),
		zcdp("0.1", "0.005", 1),
		approximate("0.1", "0.0000001", 1)})
}

func anyLimit() *rapid.Generator[Limit] {
	return rapid.Custom(func(t *rapid.T) Limit {
		l := Limit{
			Epsilon: decimal.New(rapid.Int64Range(1, 40).Draw(t, "tenths"), -1),
			Delta:   rapid.SampledFrom([]decimal.Decimal{{}, {}, dec("0.000001")}).Draw(t, "delta"),
			Per:     time.Duration(rapid.Int64Range(0, 20).Draw(t, "per")),
		}
		if l.Delta.IsPositive() {
			l.Order = rapid.SampledFrom([]decimal.Decimal{{}, dec("2.5"), dec("19"), dec("60")}).Draw(t, "order")
		}
		return l
	})
}

func same(t *rapid.T, what string, got, want Spending) {
	t.Helper()
	if !got.Epsilon.Equal(want.Epsilon) || !got.Delta.Equal(want.Delta) || got.Unbounded != want.Unbounded {
		t.Fatalf("%s: %+v, want %+v", what, got, want)
	}
}

func TestRollingPeriodIsHalfOpen(t *testing.T) {
	a := NewAccount(Limit{Epsilon: dec("1"), Per: 10})
	a.Add(charge("s", 100, pure("1", 1)))
	for _, c := range []struct {
		end  int64
		fits bool
	}{{89, true}, {90, true}, {91, false}, {100, false}, {109, false}, {110, true}} {
		if got := a.Fits(charge("s", c.end, pure("1", 1))); got != c.fits {
			t.Errorf("a window ending at %d fits: %t, want %t", c.end, got, c.fits)
		}
	}
	if got := a.Spent(109).Epsilon; !got.Equal(dec("1")) {
		t.Errorf("spent at 109: %s, want 1", got)
	}
	if got := a.Spent(110).Epsilon; !got.IsZero() {
		t.Errorf("spent at 110: %s, want 0", got)
	}
}

func TestWithoutDeltaOnlyPureChargesFit(t *testing.T) {
	a := NewAccount(Limit{Epsilon: dec("100")})
	for _, i := range []Item{zcdp("0.1", "0.005", 1), approximate("0.1", "1e-12", 1)} {
		if a.Fits(charge("s", 1, i)) {
			t.Errorf("%+v fits a budget without δ", i)
		}
	}
	if !a.Fits(charge("s", 1, pure("100", 1))) {
		t.Error("what equals the limit does not fit")
	}
}

// The contract's example: after 12.5 of 24 is spent at 0.25 a window, 46 windows are left.
func TestWindowsLeft(t *testing.T) {
	a := NewAccount(Limit{Epsilon: dec("24"), Per: 24 * time.Hour})
	quarter := 15 * int64(time.Minute)
	for i := range int64(50) {
		a.Add(charge("s", (i+1)*quarter, boundedRange("0.25", 1)))
	}
	if got := a.WindowsLeft("s", Cap{}, []Item{boundedRange("0.25", 1)}, 50*quarter); got != 46 {
		t.Errorf("%d windows left, want 46", got)
	}
	if got := a.WindowsLeft("s", Cap{}, nil, 50*quarter); got != MostWindows {
		t.Errorf("%d windows left at no price, want %d", got, int64(MostWindows))
	}
}

func TestReturns(t *testing.T) {
	a := NewAccount(Limit{Epsilon: dec("10"), Per: 10})
	for _, c := range []Charge{charge("s", 5, pure("1", 1)), charge("t", 5, pure("2", 1)),
		charge("s", 7, pure("0.5", 1)), charge("s", 1, pure("4", 1))} {
		a.Add(c)
	}
	got := a.Returns(12, "")
	if len(got) != 2 || got[0].At != 15 || !got[0].Epsilon.Equal(dec("3")) || got[1].At != 17 ||
		!got[1].Epsilon.Equal(dec("0.5")) {
		t.Errorf("returns %v, want 3 at 15 and 0.5 at 17", got)
	}
	if got := a.Returns(12, "t"); len(got) != 1 || !got[0].Epsilon.Equal(dec("2")) {
		t.Errorf("returns of a stream %v, want 2 at 15", got)
	}
	a.SetLimit(Limit{Epsilon: dec("10")})
	if got := a.Returns(12, ""); got != nil {
		t.Errorf("a budget for ever returns %v", got)
	}
}

func TestContinueCountsEachAccountOnce(t *testing.T) {
	a, b, c := NewAccount(Limit{Epsilon: dec("9")}), NewAccount(Limit{Epsilon: dec("9")}),
		NewAccount(Limit{Epsilon: dec("9")})
	a.Continue(b)
	a.Continue(c)
	b.Continue(c)
	c.Continue(a) // a cycle, which must end
	for i, account := range []*Account{a, b, c} {
		account.Add(charge("s", int64(i), pure("1", 1)))
	}
	if got := a.Total().Epsilon; !got.Equal(dec("3")) {
		t.Errorf("total %s, want 3", got)
	}
	if got := a.clone().Total().Epsilon; !got.Equal(dec("3")) {
		t.Errorf("total of the copy %s, want 3", got)
	}
}

func TestPeriodText(t *testing.T) {
	for text, per := range map[string]time.Duration{"forever": 0, "24h": 24 * time.Hour, "15m": 15 * time.Minute,
		"10s":   10 * time.Second,
		"1h30m": 90 * time.Minute, "1h0m5s": time.Hour + 5*time.Second} {
		if got := FormatPer(per); got != text {
			t.Errorf("%v is written %q, want %q", per, got, text)
		}
		if got, err := ParsePer(text); err != nil || got != per {
			t.Errorf("%q is read as %v (%v), want %v", text, got, err, per)
		}
	}
	for _, text := range []string{"", "0s", "-1h", "a day"} {
		if _, err := ParsePer(text); err == nil {
			t.Errorf("%q was read", text)
		}
	}
}

func TestLimitCheck(t *testing.T) {
	if err := (Limit{Epsilon: dec("1"), Delta: dec("0.1"), Per: time.Hour}).Check(); err != nil {
		t.Error(err)
	}
	for _, l := range []Limit{{}, {Epsilon: dec("-1")}, {Epsilon: dec("1"), Delta: dec("1")},
		{Epsilon: dec("1"), Delta: dec("-1")},
		{Epsilon: dec("1"), Per: -1}, {Epsilon: dec("1e1000")}, {Epsilon: dec("1"), Delta: dec("1e-1000")}} {
		if l.Check() == nil {
			t.Errorf("%+v was accepted", l)
		}
	}
}
