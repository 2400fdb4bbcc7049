package ledger_test

import (
	"slices"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/ledger/ledgertest"
	"github.com/louver/louver/stream/outputs"
	"github.com/louver/louver/stream/record"
)

// roomy is a limit with a δ and much more room than its windows need.
func roomy() budget.Limit {
	l := ledgertest.Limit("40", 24*time.Hour)
	l.Delta = ledgertest.Dec("0.000000001")
	return l
}

// lostBy decides windows of ε 0.05 with the steps that each gets.
func lostBy(t *testing.T, windows int, steps func(e ledger.Entry) []ledger.Continual) (all []ledger.Entry, b *ledger.Books) {
	t.Helper()
	b = ledger.NewBooks()
	for i := range windows {
		e := ledgertest.Plan{Stream: "s", Budget: "b", Epsilon: "0.05", Limit: roomy()}.Entry(i)
		e.Groups = []ledger.Group{{Values: []ledger.Value{{Value: ledgertest.Some("1")}}}}
		e.Continual = steps(e)
		ledgertest.Decide(t, b, &e, func(ledger.Continual) bool { return false })
		all = append(all, e)
	}
	return all, b
}

// Each entry says what one person can have lost by it and those before it: of windows and totals what these cost alone,
// whatever room the budget has, and with a watch what the books count, because draws decide how often it is charged.
func TestWhatIsLostByAnEntry(t *testing.T) {
	const windows = 9
	for name, c := range map[string]struct {
		steps func(e ledger.Entry) []ledger.Continual
		drawn bool
	}{
		"windows": {func(ledger.Entry) []ledger.Continual { return nil }, false},
		"a total": {func(e ledger.Entry) []ledger.Continual {
			return []ledger.Continual{ledgertest.Total(t, e, "d", "square_root", "1")}
		}, false},
		"a watch": {func(ledger.Entry) []ledger.Continual {
			return []ledger.Continual{ledgertest.Watch("slow", "d", "1", 3, time.Minute)}
		}, true},
	} {
		all, b := lostBy(t, windows, c.steps)
		for i, e := range all {
			items := budget.Times(e.Price, int64(i+1))
			for _, s := range all[0].Continual {
				items = append(items, s.Cost...)
			}
			want := roomy().Least(items).Epsilon
			if c.drawn {
				want = *e.Standing.BudgetSpent
			}
			l := e.Standing.Lost
			if !l.Budget.Equal(want) || !l.Stream.Equal(want) || l.Used != int64(i+1) {
				t.Fatalf("%s, window %d: %+v, want ε %s and %d windows", name, i, l, want, i+1)
			}
			if !c.drawn && name != "windows" && l.Budget.GreaterThan(e.Standing.BudgetSpent.Mul(decimal.New(6, -1))) {
				t.Errorf("%s, window %d: %s is lost and %s counts; want far less", name, i, l.Budget, e.Standing.BudgetSpent)
			}
		}
		last := all[windows-1]
		report := ledger.NewReport(b, last.WindowEnd)
		if f := report.Budgets[0]; !f.EpsilonLost.Equal(*last.Standing.Lost.Budget) || f.WindowsUsed != windows ||
			!f.EpsilonDayLost.Equal(f.EpsilonLost.Decimal) || !f.EpsilonTotalLost.Equal(f.EpsilonLost.Decimal) {
			t.Errorf("%s: the report says %+v, the entry %+v", name, f, last.Standing.Lost)
		}
		for _, w := range report.Watches {
			if want := roomy().Least(last.Continual[0].Cost).Epsilon; !w.Epsilon.Equal(want) {
				t.Errorf("%s: an instance cost ε %s; want %s", name, w.Epsilon, want)
			}
		}
	}
}

// A record says the charge that counts once for it: of its window, of the instance, and nothing of what was not
// charged.
func TestChargesOfSteps(t *testing.T) {
	all, _ := lostBy(t, 3, func(e ledger.Entry) []ledger.Continual {
		return []ledger.Continual{ledgertest.Total(t, e, "d", "square_root", "1"),
			ledgertest.Watch("slow", "d", "1", 3, time.Minute)}
	})
	for _, e := range all {
		want := map[string][]budget.Item{"p50": e.Price, "today": e.Continual[0].Cost, "slow": e.Continual[1].Cost}
		for _, r := range ledgertest.Records(t, e) {
			f, _, err := outputs.Decode(r.Value)
			if err != nil {
				t.Fatal(err)
			}
			items, err := record.Items(f.Charge)
			if err != nil || !slices.EqualFunc(items, want[f.Release], budget.Item.Equal) {
				t.Errorf("%s: %+v (%v), want %+v", r.Key, items, err, want[f.Release])
			}
		}
	}
}
