package watch

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	random "math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget/privacy"
	"github.com/louver/louver/mechanisms"
)

func dec(text string) decimal.Decimal { return decimal.RequireFromString(text) }

// grid begins at 0.
func grid(t testing.TB, upper, step string) *mechanisms.Grid {
	t.Helper()
	g, err := mechanisms.NewGrid(decimal.Zero, dec(upper), dec(step))
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// smallGrid has the whole numbers from 0 to points − 1.
func smallGrid(t testing.TB, points int) *mechanisms.Grid {
	t.Helper()
	return grid(t, strconv.Itoa(points-1), "1")
}

// sampleOf makes a sample from a histogram.
func sampleOf(g *mechanisms.Grid, h []int64) *mechanisms.Sample {
	var points []mechanisms.Point
	for i, c := range h {
		points = append(points, mechanisms.Point{Index: int64(i), Count: c})
	}
	return mechanisms.NewSample(g, points)
}

// With such a large ε a watch follows its condition exactly.
func TestWatchConditions(t *testing.T) {
	g := grid(t, "100", "0.5")
	at := func(d string) *decimal.Decimal { return new(dec(d)) }
	users := func(n int64) *int64 { return &n }
	type groups = []*mechanisms.Sample
	held := func(low, high int64) *mechanisms.Sample { // low hold 5, high hold 75
		return mechanisms.NewSample(g, []mechanisms.Point{{Index: 10, Count: low}, {Index: 150, Count: high}})
	}
	for _, c := range []struct {
		condition     Condition
		fires, silent groups
	}{
		{Condition{Above: at("50"), MoreThan: at("0.2")}, groups{held(79, 21), held(0, 3)},
			groups{held(80, 20), held(9, 0), held(0, 0)}},
		{Condition{Above: at("5"), MoreThan: at("0.2")}, groups{held(79, 21)}, groups{held(80, 20)}},
		{Condition{Above: at("50"), LessThan: at("0.2")}, groups{held(81, 19), held(9, 0)},
			groups{held(80, 20), held(0, 0)}},
		{Condition{Below: at("50"), MoreThan: at("0.2")}, groups{held(21, 79)}, groups{held(20, 80), held(0, 9)}},
		{Condition{Below: at("5.5"), MoreThan: at("0.2")}, groups{held(21, 79)}, groups{held(20, 80)}},
		{Condition{Below: at("50"), LessThan: at("0.2")}, groups{held(19, 81)}, groups{held(20, 80)}},
		{Condition{Above: at("50"), Users: users(7)}, groups{held(0, 8), held(100, 8)},
			groups{held(100, 7), held(0, 0)}},
		{Condition{Below: at("50"), Users: users(0)}, groups{held(1, 0)}, groups{held(0, 100)}},
		{Condition{UsersBelow: users(5)}, groups{held(2, 2), held(0, 0)}, groups{held(2, 3), held(100, 0)}},
	} {
		w, err := New(Query{Conditions: []Condition{c.condition}, Epsilon: dec("2000"), FalseAlarms: dec("0.01"),
			Windows: 1000, Grid: g})
		if err != nil {
			t.Fatal(err)
		}
		if p := w.Promise(); p.Kind != privacy.Pure || !p.Epsilon.Equal(dec("2000")) {
			t.Errorf("%s promises %+v", c.condition, p)
		}
		a := arm(t, w)
		if group := look(t, a, c.silent); group >= 0 {
			t.Errorf("%s fires for the quiet group %d", c.condition, group)
		}
		for i, s := range c.fires {
			a := arm(t, w)
			if group := look(t, a, append(slices.Clip(c.silent), s)); group != len(c.silent) || !a.Fired() {
				t.Errorf("%s: group %d fires in place of sample %d", c.condition, group, i)
			}
			if _, err := a.Look(c.silent, rand.Reader); err == nil {
				t.Errorf("%s: an instance that has fired looks again", c.condition)
			}
		}
	}
}

func arm(t *testing.T, w *Watch) *Armed {
	t.Helper()
	a, err := w.Arm(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func look(t *testing.T, a *Armed, groups []*mechanisms.Sample) int {
	t.Helper()
	group, err := a.Look(groups, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return group
}

func TestWatchMistakes(t *testing.T) {
	g := grid(t, "100", "1")
	n, zero, threshold, share := int64(5), int64(0), dec("50"), dec("0.1")
	right := func() Query {
		return Query{Conditions: []Condition{{Above: &threshold, MoreThan: &share}}, Epsilon: dec("1"),
			FalseAlarms: dec("0.05"), Windows: 10, Grid: g}
	}
	if _, err := New(right()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		change    func(q *Query)
		parameter string
	}{
		{func(q *Query) { q.Epsilon = dec("0") }, "epsilon"},
		{func(q *Query) { q.Epsilon = dec("0.000000000001") }, "epsilon"},
		{func(q *Query) { q.FalseAlarms = dec("0") }, "false_alarms"},
		{func(q *Query) { q.FalseAlarms = dec("1") }, "false_alarms"},
		{func(q *Query) { q.Windows = 0 }, "windows"},
		{func(q *Query) { q.Groups = -1 }, "groups"},
		{func(q *Query) { q.Conditions = nil }, "conditions"},
		{func(q *Query) { q.Conditions = []Condition{{}} }, "condition"},
		{func(q *Query) { q.Conditions[0].Below = &threshold }, "condition"},
		{func(q *Query) { q.Conditions[0].Users = &n }, "condition"},
		{func(q *Query) { q.Conditions[0].Above = nil }, "condition"},
		{func(q *Query) { q.Conditions[0].UsersBelow = &n }, "users_below"},
		{func(q *Query) { q.Conditions = []Condition{{UsersBelow: &zero}} }, "users_below"},
		{func(q *Query) { q.Conditions[0].Above = new(dec("101")) }, "above"},
		{func(q *Query) { q.Conditions[0].Above = new(dec("100")) }, "above"},
		{func(q *Query) { q.Conditions[0].MoreThan = new(dec("1")) }, "more_than"},
		{func(q *Query) { q.Conditions[0].MoreThan = new(dec("0.0123456789")) }, "more_than"},
		{func(q *Query) { q.Grid = nil }, "grid"},
	} {
		q := right()
		c.change(&q)
		_, err := New(q)
		var wrong *mechanisms.Error
		if !errors.As(err, &wrong) || wrong.Parameter != c.parameter {
			t.Errorf("%+v: %v, want an error about %s", q, err, c.parameter)
		}
	}
}

// A condition reads back as it is written.
func TestParseCondition(t *testing.T) {
	for _, c := range kinds() {
		got, err := ParseCondition(c.String())
		if err != nil || got.String() != c.String() {
			t.Errorf("%s is read as %s (%v)", c, got, err)
		}
	}
	if c, err := ParseCondition(" {above: -2.5 ,users:7} "); err != nil || c.String() != "above: -2.5, users: 7" {
		t.Errorf("read as %s (%v)", c, err)
	}
	for text, parameter := range map[string]string{"": "condition", "{}": "condition", "above": "above",
		"above: x": "above", "above: 1, above: 2": "above",
		"users: 1.5": "users", "under: 3": "condition", "above: 1e999999": "above", "users_below: -": "users_below"} {
		_, err := ParseCondition(text)
		var wrong *mechanisms.Error
		if !errors.As(err, &wrong) || wrong.Parameter != parameter {
			t.Errorf("%q: %v, want an error about %s", text, err, parameter)
		}
	}
}

// An instance that is written down and read again is the same, and no other instance has its text.
func TestWatchResumes(t *testing.T) {
	g := smallGrid(t, 2)
	w := watchOf(t, g, "0.7", kinds()["above, more_than"])
	a := arm(t, w)
	text, err := a.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	later := watchOf(t, g, "0.7", kinds()["above, more_than"])
	later.plan = later.divide(7) // as another machine might choose it
	b, err := later.Resume(text)
	if err != nil {
		t.Fatal(err)
	}
	if b.rho.Cmp(a.rho) != 0 || b.plan.margin != a.plan.margin || b.plan.share != a.plan.share ||
		b.plan.nu.Float() != a.plan.nu.Float() {
		t.Errorf("%s is read as another instance", text)
	}
	for _, other := range []*Watch{watchOf(t, g, "0.8", kinds()["above, more_than"]),
		watchOf(t, g, "0.7", kinds()["users_below"])} {
		if _, err := other.Resume(text); err == nil {
			t.Error("another watch takes over the instance")
		}
	}
	for _, damaged := range []string{"", "1", "1 4 50 3 7/10 -2", "2 4 50 3 7/10 2",
		"1 4 0 3 7/10 2", "1 4 100 3 7/10 2", "1 4 50 -3 7/10 2", "1 4 50 3 7/10 x"} {
		if _, err := w.Resume([]byte(damaged)); err == nil {
			t.Errorf("%q is read as an instance", damaged)
		}
	}
	a.fired = true
	if _, err := a.MarshalText(); err == nil {
		t.Error("an instance that has fired is written down")
	}
}

// ρ is a secret: no way of printing an instance reveals it.
func TestWatchPrintsNothing(t *testing.T) {
	a := arm(t, watchOf(t, smallGrid(t, 2), "0.000123", kinds()["users_below"]))
	secret := a.rho.String()
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		if text := fmt.Sprintf(verb, a); len(secret) > 2 && strings.Contains(text, secret) || text != "armed watch" {
			t.Errorf("%s shows %q", verb, text)
		}
	}
}

// Without random bits nothing is decided, and the same window can be checked again.
func TestWatchWithoutRandom(t *testing.T) {
	g := smallGrid(t, 2)
	w := watchOf(t, g, "1", kinds()["users_below"])
	broken := errors.New("broken")
	if _, err := w.Arm(iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("arming without random bits: %v", err)
	}
	a := arm(t, w)
	full := []*mechanisms.Sample{sampleOf(g, []int64{5, 5})} // far from firing, so that it needs a coin
	for range 100 {
		if _, err := a.Look(full, iotest.ErrReader(broken)); !errors.Is(err, broken) || a.Fired() {
			t.Fatalf("looking without random bits: %v, fired %t", err, a.Fired())
		}
	}
	tooMany := mechanisms.NewSample(g, []mechanisms.Point{{Index: 0, Count: mechanisms.MaxUsers + 1}})
	if _, err := a.Look([]*mechanisms.Sample{tooMany}, bytes.NewReader(nil)); err == nil {
		t.Error("a sample of more users than a mechanism takes is looked at")
	}
}

func BenchmarkWatch(b *testing.B) {
	w := slow(b, "1", 10)
	g := grid(b, "60000", "1")
	groups := make([]*mechanisms.Sample, 10)
	for i := range groups {
		rng := random.New(random.NewPCG(7, uint64(i)))
		points := make([]mechanisms.Point, 10_000)
		for j := range points {
			points[j] = mechanisms.Point{Index: int64(min(120*math.Exp(0.8*rng.NormFloat64()), 60_000)), Count: 1}
		}
		groups[i] = mechanisms.NewSample(g, points)
	}
	b.Run("arm", func(b *testing.B) {
		for b.Loop() {
			if _, err := w.Arm(rand.Reader); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("look/groups=10", func(b *testing.B) {
		a, err := w.Arm(rand.Reader)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		for b.Loop() {
			if _, err := a.Look(groups, rand.Reader); err != nil {
				b.Fatal(err)
			}
			a.fired = false
		}
	})
}

func TestConditionInWords(t *testing.T) {
	for text, want := range map[string]string{
		"above: 2000, more_than: 0.01": "more than 1 % of the users have a value above 2000 ms",
		"below: 0.5, less_than: 0.9":   "less than 90 % of the users have a value below 0.5 ms",
		"above: 7, users: 12":          "more than 12 users have a value above 7 ms",
		"users_below: 500":             "there are fewer than 500 users",
	} {
		c, err := ParseCondition(text)
		if got := c.Words("ms"); err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", text, got, err, want)
		}
	}
}
