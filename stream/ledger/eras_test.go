package ledger_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/ledger/ledgertest"
	"github.com/louver/louver/stream/record"
)

// Under a cap of two windows in four minutes, a limit that pays for two windows pays for every window of a minute. A
// new era does not know who counted in the old one, so both cost something until the old one is four minutes old.
func TestSettleUnderACap(t *testing.T) {
	p := ledgertest.Plan{Stream: "s", Budget: "b", Epsilon: "0.4", Limit: ledgertest.Limit("1", 4*time.Minute),
		Cap: budget.Cap{Count: 2, Per: 4 * time.Minute}}
	b := ledger.NewBooks()
	type row struct{ reason, spent string }
	var got []row
	for n := range 12 {
		e := p.Entry(n)
		if n >= 6 {
			e.Cap.Era = e.WindowStart.Unix() - int64(n-6)*60 // the start of window 6
		}
		e = ledgertest.Settle(t, b, e)
		got = append(got, row{e.Reason, e.Standing.BudgetSpent.String()})
	}
	paid, withheld := func(spent string) row { return row{"", spent} }, row{record.BudgetExhausted, "0.8"}
	want := []row{paid("0.4"), paid("0.8"), paid("0.8"), paid("0.8"), paid("0.8"), paid("0.8"),
		withheld, withheld, // the windows 3, 4 and 5 may have cost two prices
		paid("0.8"), paid("0.8"), paid("0.8"), paid("0.8")}
	want[8] = paid("0.8") // window 5 costs one price, and this one the second
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(row{})); diff != "" {
		t.Error(diff)
	}
	if c := b.Cap("s", 0, ""); c.Era != p.Entry(6).WindowStart.Unix() {
		t.Errorf("the latest cap is %+v", c)
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
