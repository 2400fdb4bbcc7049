package ledger_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/louver/louver/budget"
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

// A report on a capped stream has figures of the cap: what is spent, and windows without end.
func TestReportUnderACap(t *testing.T) {
	p := ledgertest.Plan{Stream: "s", Budget: "b", Epsilon: "0.4", Limit: ledgertest.Limit("1", 4*time.Minute),
		Cap: budget.Cap{Count: 2, Per: 4 * time.Minute}}
	b := ledger.NewBooks()
	var last ledger.Entry
	for n := range 10 {
		last = ledgertest.Settle(t, b, p.Entry(n))
	}
	f := ledger.NewReport(b, last.WindowEnd).Budgets[0]
	if !f.EpsilonSpent.Equal(ledgertest.Dec("0.8")) || f.WindowsLeft != budget.MostWindows || f.ExhaustedAt != nil {
		t.Errorf("spent %s, left %d, exhausted %v; want 0.8, no end of windows, never", f.EpsilonSpent, f.WindowsLeft,
			f.ExhaustedAt)
	}
}

// plannedDiscovery is a discovery of every minute, under a cap.
type plannedDiscovery struct {
	items []budget.Item
	cap   budget.Cap
}

func (d plannedDiscovery) Ahead(_ int64, found map[string]time.Time) ([]budget.Held, []budget.Schedule) {
	return nil, []budget.Schedule{{Stream: "s", Start: found[d.cap.Lane].UnixNano(), Size: time.Minute,
		Every: time.Minute, Cap: d.cap, Items: d.items}}
}

// A forecast counts a discovery to come under its cap, together with its periods so far. It says which window is the
// first that is not paid.
func TestForecastsKnowCappedDiscoveries(t *testing.T) {
	exhausted := 0
	for _, limit := range []string{"4", "4.5", "5", "5.2", "5.4", "5.6", "5.8", "6"} {
		p := ledgertest.Plan{Stream: "s", Budget: "b", Epsilon: "0.5", Limit: ledgertest.Limit(limit, 10*time.Minute)}
		p.Limit.Delta = ledgertest.Dec("0.000001")
		b, cap := ledger.NewBooks(), budget.Cap{Count: 2, Per: 10 * time.Minute, Lane: "names"}
		var said, unpaid time.Time
		for n := range 30 {
			window := p.Entry(n)
			found := p.Discovery(cap.Lane, window.WindowStart, window.WindowEnd,
				ledger.Rules{Source: "in path", Keep: 60, Max: 9}, map[string]int64{})
			found.Cap = cap
			found.Cap.Era = ledgertest.Epoch.Unix()
			ledgertest.Settle(t, b, window)
			if err := b.Settle(&found); err != nil {
				t.Fatal(err)
			}
			if e, _ := b.Latest("s"); unpaid.IsZero() && (e.Reason != "" || found.Reason != "") {
				unpaid = window.WindowEnd
			}
			if err := b.Add(found); err != nil {
				t.Fatal(err)
			}
			if n == 3 {
				b.Expect("b", "s", plannedDiscovery{found.Price, cap})
				if at := ledger.NewReport(b, window.WindowEnd).Budgets[0].ExhaustedAt; at != nil {
					said = at.Time
				}
			}
		}
		if !said.Equal(unpaid) {
			t.Errorf("ε %s: the forecast is %s, and the first window that is not paid ends %s", limit, said, unpaid)
		}
		if !unpaid.IsZero() {
			exhausted++
		}
	}
	if exhausted == 0 || exhausted == 8 {
		t.Errorf("%d of the budgets are exhausted: the test says little", exhausted)
	}
}

func TestEntriesWithImpossibleCapsAreUnreadable(t *testing.T) {
	e := exampleEntry()
	e.Cap = budget.Cap{Count: 8, Per: 24 * time.Hour, Era: e.WindowStart.Unix()}
	good := string(ledgertest.Encode(t, e))
	for old, replaced := range map[string]string{`"count":8`: `"count":0`, `"per":"24h","era"`: `"per":"forever","era"`,
		`"era":1`: `"era":9`} {
		if strings.Count(good, old) != 1 {
			t.Fatalf("%s does not appear once in %s", old, good)
		}
		if _, err := ledger.Decode([]byte(strings.Replace(good, old, replaced, 1))); !errors.Is(err,
			ledger.ErrUnreadable) {
			t.Errorf("%s: error %v", replaced, err)
		}
	}
}

// Windows may lie before 1970, and so may the era of their cap.
func TestCapsBefore1970(t *testing.T) {
	e := exampleEntry()
	back := e.WindowStart.Sub(time.Date(1969, 12, 31, 23, 0, 0, 0, time.UTC))
	e.WindowStart, e.WindowEnd = e.WindowStart.Add(-back), e.WindowEnd.Add(-back)
	e.Cap = budget.Cap{Count: 8, Per: 24 * time.Hour, Era: e.WindowStart.Unix()}
	got, err := ledger.Decode(ledgertest.Encode(t, e))
	if err != nil || got.Cap != e.Cap || e.Cap.Era >= 0 {
		t.Errorf("%+v, error %v; want %+v", got.Cap, err, e.Cap)
	}
}
