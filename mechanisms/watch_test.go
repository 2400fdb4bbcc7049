package mechanisms

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget/privacy"
)

// With such a large ε a watch follows its condition exactly.
func TestWatchConditions(t *testing.T) {
	g := grid(t, "0", "100", "0.5")
	at := func(d string) *decimal.Decimal { return new(dec(d)) }
	users := func(n int64) *int64 { return &n }
	held := func(low, high int64) *Sample { return NewSample(g, []Point{{10, low}, {150, high}}) } // the values 5 and 75
	for _, c := range []struct {
		condition     Condition
		fires, silent []*Sample
	}{
		{Condition{Above: at("50"), MoreThan: at("0.2")}, []*Sample{held(79, 21), held(0, 3)},
			[]*Sample{held(80, 20), held(9, 0), held(0, 0)}},
		{Condition{Above: at("5"), MoreThan: at("0.2")}, []*Sample{held(79, 21)}, []*Sample{held(80, 20)}},
		{Condition{Above: at("50"), LessThan: at("0.2")}, []*Sample{held(81, 19), held(9, 0)},
			[]*Sample{held(80, 20), held(0, 0)}},
		{Condition{Below: at("50"), MoreThan: at("0.2")}, []*Sample{held(21, 79)}, []*Sample{held(20, 80), held(0, 9)}},
		{Condition{Below: at("5.5"), MoreThan: at("0.2")}, []*Sample{held(21, 79)}, []*Sample{held(20, 80)}},
		{Condition{Below: at("50"), LessThan: at("0.2")}, []*Sample{held(19, 81)}, []*Sample{held(20, 80)}},
		{Condition{Above: at("50"), Users: users(7)}, []*Sample{held(0, 8), held(100, 8)},
			[]*Sample{held(100, 7), held(0, 0)}},
		{Condition{Below: at("50"), Users: users(0)}, []*Sample{held(1, 0)}, []*Sample{held(0, 100)}},
		{Condition{UsersBelow: users(5)}, []*Sample{held(2, 2), held(0, 0)}, []*Sample{held(2, 3), held(100, 0)}},
	} {
		w, err := NewWatch(WatchQuery{Conditions: []Condition{c.condition}, Epsilon: dec("2000"), FalseAlarms: dec("0.01"),
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
			if group := look(t, a, append(append([]*Sample(nil), c.silent...), s)); group != len(c.silent) || !a.Fired() {
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

func look(t *testing.T, a *Armed, groups []*Sample) int {
	t.Helper()
	group, err := a.Look(groups, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return group
}

func TestWatchMistakes(t *testing.T) {
	g := grid(t, "0", "100", "1")
	n, zero, threshold, share := int64(5), int64(0), dec("50"), dec("0.1")
	right := func() WatchQuery {
		return WatchQuery{Conditions: []Condition{{Above: &threshold, MoreThan: &share}}, Epsilon: dec("1"),
			FalseAlarms: dec("0.05"), Windows: 10, Grid: g}
	}
	if _, err := NewWatch(right()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		change    func(q *WatchQuery)
		parameter string
	}{
		{func(q *WatchQuery) { q.Epsilon = dec("0") }, "epsilon"},
		{func(q *WatchQuery) { q.Epsilon = dec("0.000000000001") }, "epsilon"},
		{func(q *WatchQuery) { q.FalseAlarms = dec("0") }, "false_alarms"},
		{func(q *WatchQuery) { q.FalseAlarms = dec("1") }, "false_alarms"},
		{func(q *WatchQuery) { q.Windows = 0 }, "windows"},
		{func(q *WatchQuery) { q.Groups = -1 }, "groups"},
		{func(q *WatchQuery) { q.Conditions = nil }, "conditions"},
		{func(q *WatchQuery) { q.Conditions = []Condition{{}} }, "condition"},
		{func(q *WatchQuery) { q.Conditions[0].Below = &threshold }, "condition"},
		{func(q *WatchQuery) { q.Conditions[0].Users = &n }, "condition"},
		{func(q *WatchQuery) { q.Conditions[0].Above = nil }, "condition"},
		{func(q *WatchQuery) { q.Conditions[0].UsersBelow = &n }, "users_below"},
		{func(q *WatchQuery) { q.Conditions = []Condition{{UsersBelow: &zero}} }, "users_below"},
		{func(q *WatchQuery) { q.Conditions[0].Above = new(dec("101")) }, "above"},
		{func(q *WatchQuery) { q.Conditions[0].Above = new(dec("100")) }, "above"},
		{func(q *WatchQuery) { q.Conditions[0].MoreThan = new(dec("1")) }, "more_than"},
		{func(q *WatchQuery) { q.Conditions[0].MoreThan = new(dec("0.0123456789")) }, "more_than"},
		{func(q *WatchQuery) { q.Grid = nil }, "grid"},
	} {
		q := right()
		c.change(&q)
		_, err := NewWatch(q)
		var wrong *Error
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
		var wrong *Error
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
	for _, damaged := range []string{"", "1", "1 4 50 3 7/10 -2", "2 4 50 3 7/10 2", "1 4 0 3 7/10 2", "1 4 100 3 7/10 2",
		"1 4 50 -3 7/10 2", "1 4 50 3 7/10 x"} {
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
	full := []*Sample{sampleOf(g, []int64{5, 5})} // far from firing, so that it needs a coin
	for range 100 {
		if _, err := a.Look(full, iotest.ErrReader(broken)); !errors.Is(err, broken) || a.Fired() {
			t.Fatalf("looking without random bits: %v, fired %t", err, a.Fired())
		}
	}
	if _, err := a.Look([]*Sample{NewSample(g, []Point{{0, maxUsers + 1}})}, bytes.NewReader(nil)); err == nil {
		t.Error("a sample of more users than a mechanism takes is looked at")
	}
}

func BenchmarkWatch(b *testing.B) {
	w := slow(b, "1", 10)
	g := grid(b, "0", "60000", "1")
	groups := make([]*Sample, 10)
	for i := range groups {
		groups[i] = latencies(g, 10_000)
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
