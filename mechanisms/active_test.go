package mechanisms

import (
	"strings"
	"testing"

	"github.com/shopspring/decimal"
)

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
