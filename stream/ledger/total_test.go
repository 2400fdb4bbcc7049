package ledger_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"

	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/ledger/ledgertest"
	"github.com/louver/louver/stream/record"
)

// TestTotals follows a total over several periods: it begins within one, is charged once for each, is withheld where
// the budget cannot pay, and has a record at the end of each leaf. Every value follows from the draws.
func TestTotals(t *testing.T) {
	for _, mechanism := range []string{"tree", "square_root"} {
		books := ledger.NewBooks()
		var said []string
		for _, e := range ledgertest.Totalled(t, 40, mechanism) {
			value := ledgertest.Encode(t, e)
			back, err := ledger.Decode(value)
			if err != nil {
				t.Fatal(err)
			}
			again, err := books.Derive(back)
			if diff := cmp.Diff(ledgertest.JSON(t, back), ledgertest.JSON(t, again)); err != nil || diff != "" {
				t.Errorf("%s: %s, %v", e.Name(), diff, err)
			}
			if err := books.Add(back); err != nil {
				t.Fatal(err)
			}
			records := ledgertest.Records(t, back)
			if len(records) != back.Size() {
				t.Fatalf("%d records, want %d", len(records), back.Size())
			}
			if len(records) == 0 {
				continue
			}
			f := map[string]string{}
			for name, text := range fields(t, records[0]) {
				f[name] = strings.Trim(text, `"`)
			}
			said = append(said, fmt.Sprintf("%s %s %s %s %s", e.WindowEnd.Format("04"), f["instance"],
				f["since"][14:16], f["status"], f["final"]))
			if want := fmt.Sprintf("s/eu/%s/today", record.Whole(e.WindowStart)); f["id"] != want ||
				f["users"] != "null" ||
				f["max_total"] != "3" {
				t.Errorf("%v", f)
			}
			if f["status"] == "ok" && (f["epsilon"] != "2" || f["error_95"] == "null" ||
				!strings.Contains(f["smoothed"], `"low":null`)) {
				t.Errorf("%v", f)
			}
		}
		// The budget pays for two periods in any 15 minutes. The third begins 15 minutes after the first one has ended.
		want := "06 1 04 ok false|08 1 04 ok false|10 1 04 ok true|12 2 10 ok false|14 2 10 ok false|16 2 10 ok " +
			"false|18 2 10 ok false|20 2 10 ok true|22 2 20 withheld false|24 2 20 withheld false|26 3 24 ok false"
		if got := strings.Join(said[:11], "|"); got != want {
			t.Errorf("%s: got  %s\nwant %s", mechanism, got, want)
		}
	}
}

// TestTotalsThatAreWrong: the audit sees each value that does not follow from the draws, and books refuse what
// contradicts them.
func TestTotalsThatAreWrong(t *testing.T) {
	type change func(e *ledger.Entry, of *ledger.Total)
	for name, c := range map[string]struct {
		change
		audited, refused bool // by the audit, and by the books or already when it is read
	}{
		"nothing": {func(*ledger.Entry, *ledger.Total) {}, false, false},
		"a value": {func(_ *ledger.Entry, of *ledger.Total) { of.Groups[1].Value = ledgertest.Dec("7") },
			true, false},
		"a smoothed one": {func(_ *ledger.Entry, of *ledger.Total) { of.Groups[1].Smoothed = ledgertest.Dec("77") },
			true, false},
		"a raw one":       {func(_ *ledger.Entry, of *ledger.Total) { of.Groups[1].Raw = ledgertest.Some("77") }, true, false},
		"no raw one":      {func(_ *ledger.Entry, of *ledger.Total) { of.Groups[1].Raw = nil }, true, false},
		"another quality": {func(_ *ledger.Entry, of *ledger.Total) { of.Groups[1].Quality = "useful" }, true, false},
		"an error":        {func(_ *ledger.Entry, of *ledger.Total) { of.Error95 = ledgertest.Some("1") }, true, false},
		"another draw": {func(_ *ledger.Entry, of *ledger.Total) { of.Groups[0].Draws[0] = ledgertest.Dec("900") },
			true, false},
		"a fraction": {func(_ *ledger.Entry, of *ledger.Total) { of.Groups[0].Draws[0] = ledgertest.Dec("1.5") },
			true, true},
		"a draw too many": {func(_ *ledger.Entry, of *ledger.Total) {
			of.Groups[0].Draws = append(of.Groups[0].Draws, ledgertest.Dec("1"))
		}, true, true},
		"no group":     {func(_ *ledger.Entry, of *ledger.Total) { of.Groups = of.Groups[:1] }, true, true},
		"another leaf": {func(_ *ledger.Entry, of *ledger.Total) { of.Leaf++ }, true, true},
		"a later end": {func(_ *ledger.Entry, of *ledger.Total) { of.Until = record.Whole(of.Until.Add(time.Minute)) },
			true, false},
		"another start": {func(_ *ledger.Entry,
			of *ledger.Total) {
			of.Since = record.Whole(of.Since.Add(-2 * time.Minute))
		}, true, false},
		"a cheaper one": {func(e *ledger.Entry,
			_ *ledger.Total) {
			e.Continual[0].Cost[0].Epsilon = ledgertest.Dec("0.5")
		}, false, true},
		"a secret": {func(e *ledger.Entry, _ *ledger.Total) { e.Continual[0].Sealed = []byte("x") }, true, true},
	} {
		all := ledgertest.Totalled(t, 6, "tree")
		e := all[5]
		books := ledger.NewBooks()
		for _, before := range all[:5] {
			if err := books.Add(before); err != nil {
				t.Fatal(err)
			}
		}
		of := *e.Continual[0].Total
		of.Groups = nil
		for _, g := range e.Continual[0].Total.Groups {
			g.Draws = append([]decimal.Decimal(nil), g.Draws...)
			of.Groups = append(of.Groups, g)
		}
		e.Continual[0].Total = &of
		e.Continual[0].Cost = append(e.Continual[0].Cost[:0:0], e.Continual[0].Cost...)
		c.change(&e, &of)
		if _, err := e.Encode(); (err != nil) != c.refused {
			if err == nil {
				err = books.Add(e)
			}
			if (err != nil) != c.refused {
				t.Errorf("%s: %v, want it refused: %v", name, err, c.refused)
			}
		}
		again, err := books.Derive(e)
		differs := err != nil || ledgertest.JSON(t, e.Continual) != ledgertest.JSON(t, again.Continual)
		if differs != c.audited {
			t.Errorf("%s: it differs from what the entries before it give: %v, %v; want %v", name, differs, err,
				c.audited)
		}
	}
}

// TestTotalsAreHeld: a period is counted from the end of its first window to that of its last one, which is known when
// it begins.
func TestTotalsAreHeld(t *testing.T) {
	books := ledger.NewBooks()
	all := ledgertest.Totalled(t, 7, "tree")
	for _, e := range all[:2] {
		if err := books.Add(e); err != nil {
			t.Fatal(err)
		}
	}
	end := all[5].WindowEnd
	// a period of 15 minutes after the last window
	for minutes, want := range map[int]string{0: "2", 14: "2", 15: "0"} {
		e := all[6]
		e.WindowEnd = end.Add(time.Duration(minutes) * time.Minute)
		e.WindowStart, e.Continual = e.WindowEnd.Add(-time.Minute), nil
		if s, err := books.Standing(e); err != nil || s.BudgetSpent.String() != want {
			t.Errorf("%d minutes after the period ε %s counts, want %s (%v)", minutes, s.BudgetSpent, want, err)
		}
	}
}

// TestAnyStretchOfTotals goes through an hour of periods of ten minutes under a budget that pays for two in any quarter
// of an hour. After each window, what counts in the quarter before it is the price of each period that had begun and
// was not over before it, by brute force. It is never more than the limit, and some periods begin later for that.
func TestAnyStretchOfTotals(t *testing.T) {
	const per, price, limit = 15 * time.Minute, 2, 4
	for name, ledgerOf := range map[string]func(ledgertest.T, int, string) []ledger.Entry{"a total": ledgertest.Totalled,
		"a distribution so far": ledgertest.Spread} {
		books, all := ledger.NewBooks(), ledgerOf(t, 60, "tree")
		type held struct{ begins, ends time.Time }
		var instances []held
		most, withheld := 0, 0
		for i, e := range all[:len(all)-1] {
			if s := e.Continual[0]; s.Arms {
				instances = append(instances, held{e.WindowEnd, s.Sums().Until.Time})
			} else if !s.Looks() {
				withheld++
			}
			if err := books.Add(e); err != nil {
				t.Fatal(err)
			}
			next := all[i+1]
			next.Continual = nil
			want := 0
			for _, x := range instances {
				if x.ends.After(next.WindowEnd.Add(-per)) {
					want += price
				}
			}
			s, err := books.Standing(next)
			if err != nil || s.BudgetSpent.String() != strconv.Itoa(want) {
				t.Fatalf("%s: ε %s counts in the quarter up to %s, want %d (%v)", name, s.BudgetSpent, next.WindowEnd, want,
					err)
			}
			most = max(most, want)
		}
		if most != limit || withheld == 0 || len(instances) < 4 {
			t.Errorf("%s: at most ε %d counts, %d windows are withheld, %d periods are paid", name, most, withheld,
				len(instances))
		}
	}
}

// TestAPeriodThatWasMissed: a total whose period is over begins anew, although no entry ended it.
func TestAPeriodThatWasMissed(t *testing.T) {
	books := ledger.NewBooks()
	if err := books.Add(ledgertest.Totalled(t, 1, "tree")[0]); err != nil {
		t.Fatal(err)
	}
	e := ledgertest.Totalled(t, 20, "tree")[19]
	e.Continual = []ledger.Continual{ledgertest.Total(t, e, "d", "tree", "1")}
	ledgertest.Decide(t, books, &e, nil)
	if s := e.Continual[0]; !s.Arms || s.Instance != 2 || s.Total.Leaf != 1 {
		t.Errorf("%+v", s)
	}
	if open := books.OpenInstances("b"); len(open) != 1 || open[0].Number != 2 {
		t.Errorf("%+v are open", open)
	}
}

// TestALateWindowIsInNoTotal: a window of an older definition that comes after a later one is in no leaf, as its users
// may have counted in that.
func TestALateWindowIsInNoTotal(t *testing.T) {
	books := ledger.NewBooks()
	all := ledgertest.Totalled(t, 4, "tree")
	for _, e := range []ledger.Entry{all[0], all[1]} {
		if err := books.Add(e); err != nil {
			t.Fatal(err)
		}
	}
	for _, late := range []ledger.Entry{all[0], all[1]} {
		late.Continual = []ledger.Continual{ledgertest.Total(t, late, "d", "tree", "1")}
		ledgertest.Decide(t, books, &late, nil)
		if s := late.Continual[0]; s.Looks() || s.Reason != record.NotArmed || s.Instance != 1 {
			t.Errorf("%+v", s)
		}
	}
}
