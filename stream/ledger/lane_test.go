package ledger_test

import (
	"testing"
	"time"

	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/ledger/ledgertest"
)

// TestRowsAreDecidedForThemselves: what a stream decides besides a window does not take the window's place. Both are
// charged.
func TestRowsAreDecidedForThemselves(t *testing.T) {
	p := ledgertest.Plan{Stream: "s", Budget: "b", Epsilon: "0.5", Limit: ledgertest.Limit("4", time.Hour)}
	p.Limit.Delta = ledgertest.Dec("0.000001")
	window := p.Entry(3)
	beside := p.Discovery("names", window.WindowStart, window.WindowEnd,
		ledger.Rules{Source: "in path", Keep: 60, Max: 9}, map[string]int64{})
	f := ledger.NewState("louver", 3)
	for i, e := range []ledger.Entry{p.Entry(2), beside} {
		if err := f.Books.Settle(&e); err != nil {
			t.Fatal(err)
		}
		if e.Lane == "" {
			e.Groups[0].Values = []ledger.Value{{Value: ledgertest.Some("1")}}
		}
		e, err := ledger.Decode(ledgertest.Encode(t, e))
		if err == nil {
			err = f.Add(e, ledgertest.Encode(t, e), int64(i))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	restored, err := ledger.Restore(ledgertest.Checkpoint(t, f), "louver", 3)
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string]*ledger.Books{"the books": f.Books, "their checkpoint": restored.Books} {
		if b.Has(window) || !b.Has(beside) {
			t.Errorf("%s: the window is decided: %v, what is beside it: %v; want false and true", name, b.Has(window),
				b.Has(beside))
		}
		if last, _ := b.Last("s", 0); !last.Equal(p.Entry(2).WindowEnd) {
			t.Errorf("%s: the last window ends %s, want %s", name, last, p.Entry(2).WindowEnd)
		}
		if latest, _ := b.Latest("s"); len(latest.Price) != 1 || latest.Price[0].Times != 1 {
			t.Errorf("%s: the price of a window is %v", name, latest.Price)
		}
		standing, err := b.Standing(window)
		if err != nil || standing.BudgetSpent.String() != "2" {
			t.Errorf("%s: with the window %v is spent, %v; want 2", name, standing.BudgetSpent, err)
		}
	}
}

// TestADiscoveryTeachesNothing: what draws have learnt from earlier windows is the same after it.
func TestADiscoveryTeachesNothing(t *testing.T) {
	p := ledgertest.Plan{Stream: "s", Budget: "b", Epsilon: "0.5", Limit: ledgertest.Limit("40", time.Hour)}
	p.Limit.Delta = ledgertest.Dec("0.000001")
	window := p.Entry(2)
	window.Prior = &ledger.Prior{Hash: "00"}
	window.Groups[0].Values = []ledger.Value{{Value: ledgertest.Some("1")}}
	beside := p.Discovery("names", window.WindowStart, window.WindowEnd,
		ledger.Rules{Source: "in path", Keep: 60, Max: 9}, map[string]int64{})
	f := ledger.NewState("louver", 3)
	for i, e := range []ledger.Entry{window, beside} {
		if err := f.Add(e, nil, int64(i)); err != nil {
			t.Fatal(err)
		}
		if n := len(f.Recent("s")); n != 1 {
			t.Errorf("after %s, %d windows are learnt from; want 1", e.Name(), n)
		}
	}
}
