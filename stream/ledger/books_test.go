package ledger

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/budget/privacy"
	"github.com/louver/louver/stream/record"
)

// plan is a stream of windows of a minute in a budget of its own.
type plan struct {
	stream, budget string
	epsilon        string
	limit          budget.Limit
	continues      string
	cap            budget.Cap
}

var epoch = at("2026-11-20T08:00:00Z")

// entry is the n-th window of the plan, before it is settled.
func (p plan) entry(n int) Entry {
	end := epoch.Add(time.Duration(n+1) * time.Minute)
	return Entry{
		App: "louver", Stream: p.stream, Budget: p.budget, Input: p.stream + ".in", Output: p.stream + ".out",
		WindowStart: end.Add(-time.Minute), WindowEnd: end, DueAt: end.Add(time.Second), ReleasedAt: end.Add(2 * time.Second),
		Every: time.Minute, Limit: p.limit, Continues: strings.Fields(p.continues), Cap: p.cap,
		Price:    []budget.Item{{Promise: privacy.NewBoundedRange(dec(p.epsilon)), Times: 1}},
		Releases: []Release{{Name: "p50", Statistic: "median", P: some("0.5"), Mechanism: "margin", Unit: "ms", Epsilon: dec(p.epsilon)}},
		Groups:   []Group{{}},
	}
}

// settle decides an entry, draws it if it is paid, and adds it.
func settle(t interface {
	Helper()
	Fatal(...any)
}, b *Books, e Entry) Entry {
	t.Helper()
	if err := b.Settle(&e); err != nil {
		t.Fatal(err)
	}
	if e.Reason == "" {
		e.Groups = []Group{{Values: []Value{{Value: ptr(decimal.NewFromInt(e.WindowEnd.Unix()))}}}}
	}
	if err := b.Add(e); err != nil {
		t.Fatal(err)
	}
	return e
}

func limit(epsilon string, per time.Duration) budget.Limit {
	return budget.Limit{Epsilon: dec(epsilon), Per: per}
}

func TestSettleCountsARollingPeriod(t *testing.T) {
	p := plan{stream: "s", budget: "b", epsilon: "0.3", limit: limit("1", 5*time.Minute)}
	b := NewBooks()
	type row struct {
		reason                    string
		stream, inPeriod, windows string
	}
	want := []row{
		{"", "0.3", "0.3", "2"},
		{"", "0.6", "0.6", "1"},
		{"", "0.9", "0.9", "0"},
		{record.BudgetExhausted, "0.9", "0.9", "0"},
		{record.BudgetExhausted, "0.9", "0.9", "0"},
		{"", "1.2", "0.9", "0"}, // the first has returned: (08:01, 08:06] does not hold 08:01
		{"", "1.5", "0.9", "0"},
		{"", "1.8", "0.9", "0"},
		{record.BudgetExhausted, "1.8", "0.9", "0"},
	}
	for n, w := range want {
		e := settle(t, b, p.entry(n))
		got := row{e.Reason, e.Standing.StreamSpent.String(), e.Standing.BudgetSpent.String(), decimal.NewFromInt(e.Standing.WindowsLeft).String()}
		if got != w {
			t.Errorf("window %d: %+v, want %+v", n, got, w)
		}
	}
}

// TestPaidAgain compares what is foretold of a withheld window with what then happens.
func TestPaidAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		epsilon := rapid.SampledFrom([]string{"0.3", "0.5", "1", "0.07"}).Draw(t, "epsilon")
		per := time.Duration(rapid.IntRange(1, 30).Draw(t, "per")) * 30 * time.Second
		p := plan{stream: "s", budget: "b", epsilon: epsilon, limit: limit("1", per)}
		b := NewBooks()
		var foretold time.Time
		for n := range 60 {
			e := p.entry(n)
			if err := b.Settle(&e); err != nil {
				t.Fatal(err)
			}
			if e.Reason == "" {
				if !foretold.IsZero() && !foretold.Equal(e.WindowEnd) {
					t.Fatalf("a window is paid at %s, foretold was %s", e.WindowEnd, foretold)
				}
				foretold = time.Time{}
			} else {
				end, ok := b.PaidAgain(e)
				if !ok || !foretold.IsZero() && !end.Equal(foretold) {
					t.Fatalf("at %s: paid again at %s, %v; before it was %s", e.WindowEnd, end, ok, foretold)
				}
				foretold = end
				e.Until = end.Add(-time.Minute)
				if end, ok := b.PaidAgain(e); ok {
					t.Fatalf("paid again at %s, after the stream's end %s", end, e.Until)
				}
				e.Until = time.Time{}
			}
			settle(t, b, e)
		}
	})
	// A budget that is for ever never pays again.
	p := plan{stream: "s", budget: "b", epsilon: "1", limit: limit("1", 0)}
	b := NewBooks()
	settle(t, b, p.entry(0))
	if end, ok := b.PaidAgain(settle(t, b, p.entry(1))); ok {
		t.Errorf("a budget for ever pays again at %s", end)
	}
}

func TestSharedBudget(t *testing.T) {
	b := NewBooks()
	s := plan{stream: "s", budget: "b", epsilon: "0.4", limit: limit("1", 0)}
	u := plan{stream: "u", budget: "b", epsilon: "0.5", limit: limit("1", 0)}
	settle(t, b, s.entry(0))
	e := settle(t, b, u.entry(0))
	if !e.Standing.StreamSpent.Equal(dec("0.5")) || !e.Standing.BudgetSpent.Equal(dec("0.9")) {
		t.Errorf("%+v, want 0.5 of the stream's and 0.9 of the budget's", e.Standing)
	}
	if e = settle(t, b, s.entry(1)); e.Reason != record.BudgetExhausted || !e.Standing.BudgetSpent.Equal(dec("0.9")) {
		t.Errorf("%q, %+v, want it withheld and free", e.Reason, e.Standing)
	}
	// A smaller price may still fit.
	if e = settle(t, b, plan{stream: "v", budget: "b", epsilon: "0.1", limit: limit("1", 0)}.entry(1)); e.Reason != "" {
		t.Errorf("what equals the limit is withheld")
	}
}

func TestSettleDoesNotAdd(t *testing.T) {
	b := NewBooks()
	e := plan{stream: "s", budget: "b", epsilon: "0.6", limit: limit("1", 0)}.entry(0)
	for range 3 {
		if err := b.Settle(&e); err != nil || e.Reason != "" || !e.Standing.BudgetSpent.Equal(dec("0.6")) {
			t.Fatalf("%v, %q, %+v", err, e.Reason, e.Standing)
		}
	}
	if b.Has("s", 0, e.WindowEnd) {
		t.Error("the window counts as decided")
	}
}

func TestContinuedBudget(t *testing.T) {
	old := plan{stream: "s", budget: "old", epsilon: "0.6", limit: limit("1", 0)}
	renamed := plan{stream: "s", budget: "new", epsilon: "0.6", limit: limit("1", 0), continues: "old"}
	b := NewBooks()
	settle(t, b, old.entry(0))
	if e := settle(t, b, renamed.entry(1)); e.Reason != record.BudgetExhausted || !e.Standing.BudgetSpent.Equal(dec("0.6")) || !e.Standing.StreamSpent.Equal(dec("0.6")) {
		t.Errorf("%q, %+v: the new name has forgotten what was spent", e.Reason, e.Standing)
	}
	renamed.continues = ""
	fresh := NewBooks()
	settle(t, fresh, old.entry(0))
	if e := settle(t, fresh, renamed.entry(1)); e.Reason != "" {
		t.Errorf("a fresh budget: %q", e.Reason)
	}
	if got := b.Budgets(); !cmp.Equal(got, []string{"new", "old"}) {
		t.Errorf("budgets %v", got)
	}
	only := NewBooks()
	settle(t, only, plan{stream: "s", budget: "new", epsilon: "1", limit: limit("1", 0), continues: "unheard-of"}.entry(0))
	if got := only.Budgets(); !cmp.Equal(got, []string{"new"}) {
		t.Errorf("budgets %v, want only those with entries", got)
	}
}

// TestContinuedElsewhere: what a budget of another partition was charged counts for the budget here that continues it,
// whichever of the two is known first.
func TestContinuedElsewhere(t *testing.T) {
	old := plan{stream: "s", budget: "old", epsilon: "0.6", limit: limit("1", 0)}
	renamed := plan{stream: "s", budget: "new", epsilon: "0.3", limit: limit("1", 0), continues: "old"}
	elsewhere := NewBooks()
	settle(t, elsewhere, old.entry(0))
	for _, first := range []bool{true, false} {
		b := NewBooks()
		if first {
			b.Elsewhere("old", elsewhere)
		}
		settle(t, b, renamed.entry(1))
		if !first {
			b.Elsewhere("old", elsewhere)
		}
		if e := settle(t, b, renamed.entry(2)); e.Reason != record.BudgetExhausted {
			t.Errorf("known first %v: %q, %+v; want 0.6 there and 0.3 here to leave too little", first, e.Reason, e.Standing)
		}
	}
}

func TestAWindowChargedTwiceIsPaidTwice(t *testing.T) {
	b := NewBooks()
	p := plan{stream: "s", budget: "b", epsilon: "0.25", limit: limit("1", 0)}
	for range 2 {
		settle(t, b, p.entry(0))
	}
	if got := b.accounts["b"].Total().Epsilon; !got.Equal(dec("0.5")) {
		t.Errorf("charged %s, want 0.5", got)
	}
}

// Has, Last and Next agree with a plain set, whatever was decided in whatever order.
func TestWindowsDecided(t *testing.T) {
	p := plan{stream: "s", budget: "b", epsilon: "0.001", limit: limit("1", 0)}
	rapid.Check(t, func(t *rapid.T) {
		b := NewBooks()
		if _, found := b.Last("s", 0); found || b.Has("s", 0, epoch) {
			t.Fatal("empty books know a window")
		}
		done := map[int]bool{}
		latest := -1
		for _, n := range rapid.SliceOfN(rapid.IntRange(0, 12), 1, 15).Draw(t, "windows") {
			settle(t, b, p.entry(n))
			done[n], latest = true, max(latest, n)
		}
		for n := range 14 {
			if got := b.Has("s", 0, p.entry(n).WindowEnd); got != done[n] {
				t.Fatalf("window %d decided: %t, want %t", n, got, done[n])
			}
		}
		if last, _ := b.Last("s", 0); !last.Equal(p.entry(latest).WindowEnd) {
			t.Fatalf("last is %s, want window %d", last, latest)
		}
		if e, _ := b.Latest("s"); !e.WindowEnd.Equal(p.entry(latest).WindowEnd) {
			t.Fatalf("latest is %s, want window %d", e.WindowEnd, latest)
		}
	})
}

// The fold of the stored entries is the books that wrote them, so that a successor decides as its predecessor would.
func TestFoldAgrees(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		plans := []plan{
			{stream: "s", budget: "b", epsilon: "0.3", limit: limit("1", 4*time.Minute)},
			{stream: "u", budget: "b", epsilon: "0.25", limit: limit("1", 4*time.Minute)},
		}
		live, next := NewBooks(), map[string]int{}
		var stored [][]byte
		step := func() Entry {
			p := rapid.SampledFrom(plans).Draw(t, "plan")
			n := next[p.stream]
			next[p.stream] += rapid.IntRange(1, 2).Draw(t, "step")
			return p.entry(n)
		}
		for range rapid.IntRange(0, 12).Draw(t, "windows") {
			value, err := settle(t, live, step()).Encode()
			if err != nil {
				t.Fatal(err)
			}
			stored = append(stored, value)
		}
		folded := NewBooks()
		for _, value := range stored {
			e, err := Decode(value)
			if err != nil {
				t.Fatal(err)
			}
			if err := folded.Add(e); err != nil {
				t.Fatal(err)
			}
		}
		a := step()
		b := a
		if err := live.Settle(&a); err != nil {
			t.Fatal(err)
		}
		if err := folded.Settle(&b); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(a, b, sameDecimals); diff != "" {
			t.Fatal(diff)
		}
	})
}

func BenchmarkSettleAndAdd(b *testing.B) {
	p := plan{stream: "s", budget: "b", epsilon: "0.01", limit: limit("24", 24*time.Hour)}
	books := NewBooks()
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		e := p.entry(n)
		if err := books.Settle(&e); err != nil {
			b.Fatal(err)
		}
		if err := books.Add(e); err != nil {
			b.Fatal(err)
		}
		n++
	}
}
