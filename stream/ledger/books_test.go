package ledger_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/ledger/ledgertest"
	"github.com/louver/louver/stream/record"
)

// TestPaidAgain compares what an entry says about a withheld window with what then happens.
func TestPaidAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		epsilon := rapid.SampledFrom([]string{"0.3", "0.5", "1", "0.07"}).Draw(t, "epsilon")
		per := time.Duration(rapid.IntRange(1, 30).Draw(t, "per")) * 30 * time.Second
		p := ledgertest.Plan{Stream: "s", Budget: "b", Epsilon: epsilon, Limit: ledgertest.Limit("1", per)}
		b := ledger.NewBooks()
		var foretold time.Time
		for n := range 60 {
			e := p.Entry(n)
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
			ledgertest.Settle(t, b, e)
		}
	})
	// A budget whose period is forever never pays again.
	p := ledgertest.Plan{Stream: "s", Budget: "b", Epsilon: "1", Limit: ledgertest.Limit("1", 0)}
	b := ledger.NewBooks()
	ledgertest.Settle(t, b, p.Entry(0))
	if end, ok := b.PaidAgain(ledgertest.Settle(t, b, p.Entry(1))); ok {
		t.Errorf("a budget for ever pays again at %s", end)
	}
}

func TestSettleDoesNotAdd(t *testing.T) {
	b := ledger.NewBooks()
	e := ledgertest.Plan{Stream: "s", Budget: "b", Epsilon: "0.6", Limit: ledgertest.Limit("1", 0)}.Entry(0)
	for range 3 {
		if err := b.Settle(&e); err != nil || e.Reason != "" || !e.Standing.BudgetSpent.Equal(ledgertest.Dec("0.6")) {
			t.Fatalf("%v, %q, %+v", err, e.Reason, e.Standing)
		}
	}
	if b.Has(e) {
		t.Error("the window counts as decided")
	}
}

func TestContinuedBudget(t *testing.T) {
	old := ledgertest.Plan{Stream: "s", Budget: "old", Epsilon: "0.6", Limit: ledgertest.Limit("1", 0)}
	renamed := ledgertest.Plan{Stream: "s", Budget: "new", Epsilon: "0.6", Limit: ledgertest.Limit("1", 0),
		Continues: "old"}
	b := ledger.NewBooks()
	ledgertest.Settle(t, b, old.Entry(0))
	if e := ledgertest.Settle(t, b, renamed.Entry(1)); e.Reason != record.BudgetExhausted ||
		!e.Standing.BudgetSpent.Equal(ledgertest.Dec("0.6")) || !e.Standing.StreamSpent.Equal(ledgertest.Dec("0.6")) {
		t.Errorf("%q, %+v: the new name has forgotten what was spent", e.Reason, e.Standing)
	}
	renamed.Continues = ""
	fresh := ledger.NewBooks()
	ledgertest.Settle(t, fresh, old.Entry(0))
	if e := ledgertest.Settle(t, fresh, renamed.Entry(1)); e.Reason != "" {
		t.Errorf("a fresh budget: %q", e.Reason)
	}
	if got := b.Budgets(); !cmp.Equal(got, []string{"new", "old"}) {
		t.Errorf("budgets %v", got)
	}
	only := ledger.NewBooks()
	ledgertest.Settle(t, only, ledgertest.Plan{Stream: "s", Budget: "new", Epsilon: "1",
		Limit: ledgertest.Limit("1", 0), Continues: "unheard-of"}.Entry(0))
	if got := only.Budgets(); !cmp.Equal(got, []string{"new"}) {
		t.Errorf("budgets %v, want only those with entries", got)
	}
}

// TestContinuedElsewhere: what a budget of another partition was charged counts for the budget here that continues it,
// whichever of the two is known first.
func TestContinuedElsewhere(t *testing.T) {
	old := ledgertest.Plan{Stream: "s", Budget: "old", Epsilon: "0.6", Limit: ledgertest.Limit("1", 0)}
	renamed := ledgertest.Plan{Stream: "s", Budget: "new", Epsilon: "0.3", Limit: ledgertest.Limit("1", 0),
		Continues: "old"}
	elsewhere := ledger.NewBooks()
	ledgertest.Settle(t, elsewhere, old.Entry(0))
	for _, first := range []bool{true, false} {
		b := ledger.NewBooks()
		if first {
			b.Link("old", elsewhere)
		}
		ledgertest.Settle(t, b, renamed.Entry(1))
		if !first {
			b.Link("old", elsewhere)
		}
		if e := ledgertest.Settle(t, b, renamed.Entry(2)); e.Reason != record.BudgetExhausted {
			t.Errorf("known first %v: %q, %+v; want 0.6 there and 0.3 here to leave too little", first,
				e.Reason, e.Standing)
		}
	}
}

func TestAWindowChargedTwiceIsPaidTwice(t *testing.T) {
	b := ledger.NewBooks()
	p := ledgertest.Plan{Stream: "s", Budget: "b", Epsilon: "0.25", Limit: ledgertest.Limit("1", 0)}
	for range 2 {
		ledgertest.Settle(t, b, p.Entry(0))
	}
	if got := ledger.NewReport(b, ledgertest.Epoch).Budgets[0].EpsilonTotal; !got.Equal(ledgertest.Dec("0.5")) {
		t.Errorf("charged %s, want 0.5", got)
	}
}

// Has, Last and Next agree with a plain set, whatever was decided in whatever order.
func TestWindowsDecided(t *testing.T) {
	p := ledgertest.Plan{Stream: "s", Budget: "b", Epsilon: "0.001", Limit: ledgertest.Limit("1", 0)}
	rapid.Check(t, func(t *rapid.T) {
		b := ledger.NewBooks()
		if _, found := b.Last("s", 0); found || b.Has(ledger.Entry{Stream: "s", WindowEnd: ledgertest.Epoch}) {
			t.Fatal("empty books know a window")
		}
		done := map[int]bool{}
		latest := -1
		for _, n := range rapid.SliceOfN(rapid.IntRange(0, 12), 1, 15).Draw(t, "windows") {
			ledgertest.Settle(t, b, p.Entry(n))
			done[n], latest = true, max(latest, n)
		}
		for n := range 14 {
			if got := b.Has(p.Entry(n)); got != done[n] {
				t.Fatalf("window %d decided: %t, want %t", n, got, done[n])
			}
		}
		if last, _ := b.Last("s", 0); !last.Equal(p.Entry(latest).WindowEnd) {
			t.Fatalf("last is %s, want window %d", last, latest)
		}
		if e, _ := b.Latest("s"); !e.WindowEnd.Equal(p.Entry(latest).WindowEnd) {
			t.Fatalf("latest is %s, want window %d", e.WindowEnd, latest)
		}
	})
}

// The state after the stored entries is the books that wrote them, so that a successor decides as its predecessor
// would.
func TestFoldAgrees(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		plans := []ledgertest.Plan{
			{Stream: "s", Budget: "b", Epsilon: "0.3", Limit: ledgertest.Limit("1", 4*time.Minute)},
			{Stream: "u", Budget: "b", Epsilon: "0.25", Limit: ledgertest.Limit("1", 4*time.Minute)},
		}
		live, next := ledger.NewBooks(), map[string]int{}
		var stored [][]byte
		step := func() ledger.Entry {
			p := rapid.SampledFrom(plans).Draw(t, "plan")
			n := next[p.Stream]
			next[p.Stream] += rapid.IntRange(1, 2).Draw(t, "step")
			return p.Entry(n)
		}
		for range rapid.IntRange(0, 12).Draw(t, "windows") {
			value, err := ledgertest.Settle(t, live, step()).Encode()
			if err != nil {
				t.Fatal(err)
			}
			stored = append(stored, value)
		}
		folded := ledger.NewBooks()
		for _, value := range stored {
			e, err := ledger.Decode(value)
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
	p := ledgertest.Plan{Stream: "s", Budget: "b", Epsilon: "0.01", Limit: ledgertest.Limit("24", 24*time.Hour)}
	books := ledger.NewBooks()
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		e := p.Entry(n)
		if err := books.Settle(&e); err != nil {
			b.Fatal(err)
		}
		if err := books.Add(e); err != nil {
			b.Fatal(err)
		}
		n++
	}
}
