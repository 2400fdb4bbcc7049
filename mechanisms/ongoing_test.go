package mechanisms

import (
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms/running"
)

func some(text string) *decimal.Decimal { return new(decimal.RequireFromString(text)) }

// today is a total of values from −5 to 20 in steps of 0.5, over a day of hours.
func today(t testing.TB, change func(q *TotalQuery)) TotalQuery {
	t.Helper()
	g, err := NewGrid(*some("-5"), *some("20"), *some("0.5"))
	if err != nil {
		t.Fatal(err)
	}
	q := TotalQuery{Statistic: Count, Epsilon: *some("1"), Grid: g, Period: running.Period{Leaves: 24, Longest: 25}}
	change(&q)
	return q
}

func TestWhatAValueAdds(t *testing.T) {
	for name, c := range map[string]struct {
		change func(q *TotalQuery)
		most   int64
		adds   map[int64]int64 // by index: −1 is below −5, 51 above 20
		step   string
	}{
		"users":    {func(*TotalQuery) {}, 1, map[int64]int64{-1: 1, 0: 1, 50: 1, 51: 1}, "1"},
		"visits":   {func(q *TotalQuery) { q.MaxTotal = some("5") }, 5, map[int64]int64{7: 1}, "1"},
		"above 3":  {func(q *TotalQuery) { q.Above = some("3") }, 1, map[int64]int64{-1: 0, 16: 0, 17: 1, 51: 1}, "1"},
		"below -4": {func(q *TotalQuery) { q.Below = some("-4") }, 1, map[int64]int64{-1: 1, 1: 1, 2: 0, 51: 0}, "1"},
		"sum": {func(q *TotalQuery) { q.Statistic, q.MaxTotal = Sum, some("30.5") }, 61,
			map[int64]int64{-1: -10, 0: -10, 10: 0, 11: 1, 50: 40, 51: 40}, "0.5"},
	} {
		total, err := NewTotal(today(t, c.change))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if total.Most != c.most || total.Scale.Length(1).String() != c.step {
			t.Errorf("%s: at most %d steps of %s, want %d of %s", name, total.Most,
				total.Scale.Length(1), c.most, c.step)
		}
		for index, want := range c.adds {
			if got := total.Adds(index); got != want {
				t.Errorf("%s: index %d adds %d, want %d", name, index, got, want)
			}
		}
	}
}

func TestDefaultsOfTotals(t *testing.T) {
	for _, zcdp := range []bool{false, true} {
		total, err := NewTotal(today(t, func(q *TotalQuery) { q.ZCDP = zcdp }))
		if want := map[bool]string{false: "tree", true: "square_root"}[zcdp]; err != nil || total.Name() != want {
			t.Errorf("with ρ %v: %v, want %s", zcdp, err, want)
		}
	}
	for name, change := range map[string]func(q *TotalQuery){
		"minutes of a month": func(q *TotalQuery) { q.Period = running.Period{Leaves: 44640, Longest: 44700} },
		"many groups":        func(q *TotalQuery) { q.Groups = 30_000 },
	} {
		total, err := NewTotal(today(t, func(q *TotalQuery) { q.ZCDP = true; change(q) }))
		if err != nil || total.Name() != "tree" {
			t.Errorf("%s: %v, want tree", name, err)
		}
	}
}

func TestWrongTotals(t *testing.T) {
	for want, change := range map[string]func(q *TotalQuery){
		"epsilon 0;":                   func(q *TotalQuery) { q.Epsilon = decimal.Zero },
		"bounds missing":               func(q *TotalQuery) { q.Grid = nil },
		"count, sum or histogram only": func(q *TotalQuery) { q.Statistic = Mean },
		"max_total missing":            func(q *TotalQuery) { q.Statistic = Sum },
		"a multiple of 0.5":            func(q *TotalQuery) { q.Statistic, q.MaxTotal = Sum, some("0.25") },
		"a multiple of 5: the":         func(q *TotalQuery) { q.Statistic, q.MaxTotal = Sum, some("536870912.5") },
		"to 461168601842738790":        func(q *TotalQuery) { q.Statistic, q.MaxTotal = Sum, some("5e18") },
		"from 1 to 1000":               func(q *TotalQuery) { q.MaxTotal = some("1001") },
		"max_total 1.5":                func(q *TotalQuery) { q.MaxTotal = some("1.5") },
		"within the bounds":            func(q *TotalQuery) { q.Above = some("21") },
		"it with statistic":            func(q *TotalQuery) { q.Statistic, q.Above = Sum, some("2") },
		"tree or square_root":          func(q *TotalQuery) { q.Mechanism = "geometric" },
		"more than 500000 draws":       func(q *TotalQuery) { q.Mechanism, q.Groups = "square_root", 30_000 },
		"at most 10000": func(q *TotalQuery) {
			q.Mechanism, q.Period = "square_root", running.Period{Leaves: 44640, Longest: 44700}
		},
	} {
		if total, err := NewTotal(today(t, change)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, %v; want %q", total, err, want)
		}
	}
}

// TestLargeTotals: a total of large amounts in fine steps is counted in coarser units, and each value is rounded to the
// nearest one. The units follow from the definition alone.
func TestLargeTotals(t *testing.T) {
	g, err := NewGrid(*some("-9000000"), *some("9000000"), *some("0.00000001"))
	if err != nil {
		t.Fatal(err)
	}
	total, err := NewTotal(TotalQuery{Statistic: Sum, Epsilon: *some("1"), Grid: g, MaxTotal: some("9000000"),
		Period: running.Period{Leaves: 24, Longest: 25}})
	if err != nil {
		t.Fatal(err)
	}
	// 9·10^14 units of 10^−8 are 9·10^8 of 0.01.
	if total.Scale.Length(1).String() != "0.01" || total.Most != 900_000_000 {
		t.Errorf("at most %d units of %s, want 900000000 of 0.01", total.Most, total.Scale.Length(1))
	}
	for value, want := range map[string]int64{"8999999.99": 899_999_999, "8999999.995": 900_000_000,
		"8999999.99499999": 899_999_999, "0": 0, "-0.005": 0, "-0.00500001": -1, "-9000000": -900_000_000} {
		index, err := g.Parse([]byte(value))
		if err != nil {
			t.Fatal(err)
		}
		if got := total.Adds(index); got != want {
			t.Errorf("%s adds %d, want %d", value, got, want)
		}
	}
}

// lately is a number of active users with values from −5 to 20 in steps of 0.5, every five minutes.
func lately(t testing.TB, change func(q *ActiveQuery)) ActiveQuery {
	t.Helper()
	g, err := NewGrid(*some("-5"), *some("20"), *some("0.5"))
	if err != nil {
		t.Fatal(err)
	}
	q := ActiveQuery{Epsilon: *some("1"), Grid: g, Leaves: 288}
	change(&q)
	return q
}

func TestWhoIsActive(t *testing.T) {
	for name, c := range map[string]struct {
		change func(q *ActiveQuery)
		counts map[int64]bool // by index: −1 is below −5, 51 above 20
	}{
		"everybody": {func(*ActiveQuery) {}, map[int64]bool{-1: true, 0: true, 50: true, 51: true}},
		"above 3":   {func(q *ActiveQuery) { q.Above = some("3") }, map[int64]bool{-1: false, 16: false, 17: true, 51: true}},
		"below -4":  {func(q *ActiveQuery) { q.Below = some("-4") }, map[int64]bool{-1: true, 1: true, 2: false, 51: false}},
	} {
		a, err := NewActive(lately(t, c.change))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for index, want := range c.counts {
			if a.Counts(index) != want {
				t.Errorf("%s: index %d counts: %v", name, index, !want)
			}
		}
	}
}

// With a pure ε each of 288 values alone has ε/288, and is off by ln 20 · 288 at most; with ρ each has ρ/288.
func TestMechanismsOfActiveUsers(t *testing.T) {
	for zcdp, want := range map[bool]struct {
		name          string
		error, single int64
	}{false: {"centred", 483, 863}, true: {"centred_gaussian", 20, 34}} {
		a, err := NewActive(lately(t, func(q *ActiveQuery) { q.ZCDP = zcdp }))
		if err != nil || a.Name() != want.name || a.Error95(1) != want.error || a.OneByOne() != want.single {
			t.Errorf("with ρ %v: %v, want %+v", zcdp, err, want)
		}
	}
}

func TestWrongActiveUsers(t *testing.T) {
	for want, change := range map[string]func(q *ActiveQuery){
		"epsilon 0;":      func(q *ActiveQuery) { q.Epsilon = decimal.Zero },
		"bounds missing":  func(q *ActiveQuery) { q.Grid = nil },
		"above 20;":       func(q *ActiveQuery) { q.Above = some("20") },
		"mechanism \"tr":  func(q *ActiveQuery) { q.Mechanism = "tree" },
		"0 leaves a day":  func(q *ActiveQuery) { q.Leaves = 0 },
		"10001 groups an": func(q *ActiveQuery) { q.Groups = 10_001 },
	} {
		if _, err := NewActive(lately(t, change)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
