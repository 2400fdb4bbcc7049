package audit

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/ledger/ledgertest"
)

// takingTurns are four hours of a stream whose windows have a cap, and whose discovery has another one: each hour a
// window and the discovery after it. Change is told of each before it is settled.
func takingTurns(t *testing.T, change func(i int, e *ledger.Entry)) (values [][]byte) {
	t.Helper()
	p := ledgertest.Plan{Stream: "s", Budget: "b", Epsilon: "0.1", Limit: budget.Limit{Epsilon: ledgertest.Dec("30"),
		Delta: ledgertest.Dec("0.01"), Per: 24 * time.Hour}, Cap: budget.Cap{Count: 2, Per: 24 * time.Hour}}
	rules := ledger.Rules{Source: "in path", Keep: 24 * 3600, Max: 3, Always: []string{"home"}}
	f := ledger.NewState("louver", 0)
	era := ledgertest.Epoch.Unix()
	for i := range 8 {
		end := ledgertest.Epoch.Add(time.Duration(i/2+1) * time.Hour)
		var e ledger.Entry
		if i%2 == 0 {
			e = p.Entry(60 * (i / 2))
			ledgertest.OnList(t, f, &e, "", rules)
		} else {
			e = p.Discovery("hourly", end.Add(-time.Hour), end, rules, map[string]int64{"a": 100})
			e.Discovery.Threshold = 40
			e.Cap.Lane = "hourly"
		}
		e.Cap.Era = era
		change(i, &e)
		values = append(values, learn(t, f, &e, int64(i)))
	}
	return values
}

// TestAuditOfTurns: the audit knows the cap of each discovery apart from that of the windows, computes what both cost
// together again, and sees a charge that forgot one.
func TestAuditOfTurns(t *testing.T) {
	as := func(from int, cap func(c *budget.Cap)) func(int, *ledger.Entry) {
		return func(i int, e *ledger.Entry) {
			if i >= from && e.Lane != "" {
				cap(&e.Cap)
			}
		}
	}
	forged := func(old, new string) func(string) string {
		return func(value string) string { return strings.Replace(value, old, new, 1) }
	}
	for name, c := range map[string]struct {
		change func(i int, e *ledger.Entry)
		forge  func(value string) string // of the last entry, which is of the discovery
		kinds  []string
		what   string
	}{
		"right": {},
		"a new era of the discovery alone": {change: func(i int, e *ledger.Entry) {
			if i >= 5 && e.Lane != "" {
				e.Cap.Era = ledgertest.Epoch.Add(2 * time.Hour).Unix()
			}
		}},
		"a charge that forgot the cap": {change: as(7, func(c *budget.Cap) { *c = budget.Cap{} }),
			kinds: []string{WrongCap}, what: "its cap is none, that of the windows before is 2 windows per 24h"},
		"a cap that comes from nowhere": {change: func(i int, e *ledger.Entry) {
			if i < 7 && e.Lane != "" {
				e.Cap = budget.Cap{}
			}
		}, kinds: []string{WrongCap}, what: "that of the windows before is none"},
		"a wider cap": {change: as(7, func(c *budget.Cap) { c.Count = 3 }), kinds: []string{WrongCap},
			what: "its cap is 3 windows"},
		"an era that begins with no period": {change: as(7, func(c *budget.Cap) { c.Era += 60 }),
			kinds: []string{WrongCap}},
		"the cap of the windows": {forge: forged(`,"row":"hourly"},`, `},`),
			kinds: []string{EntryUnreadable}, what: `cap of row ""; want that of the entry's own row, "hourly"`},
		// Of windows and periods together, only the two dearest would be charged: the periods.
		"a sum by one cap for both": {forge: forged(`"budget_epsilon_spent":"2.2"`, `"budget_epsilon_spent":"2"`),
			kinds: []string{WrongSum}, what: "books.budget_epsilon_spent has 2; the entries before it give 2.2"},
	} {
		change := c.change
		if change == nil {
			change = func(int, *ledger.Entry) {}
		}
		values, a := takingTurns(t, change), New()
		if last := len(values) - 1; c.forge != nil {
			value := c.forge(string(values[last]))
			if value == string(values[last]) {
				t.Fatalf("%s: nothing is forged in %s", name, value)
			}
			values[last] = []byte(value)
		}
		for i, value := range values {
			a.Entry(Position{"ledger", 0, int64(i)}, []byte("b"), value)
		}
		f := a.Findings()
		var kinds []string
		said := ""
		for _, fault := range f.Faults {
			kinds, said = append(kinds, fault.Kind), said+fault.What+"\n"
		}
		if slices.Sort(kinds); !slices.Equal(slices.Compact(kinds), c.kinds) || !strings.Contains(said, c.what) {
			t.Errorf("%s: %q, %s; want %q, %s", name, kinds, said, c.kinds, c.what)
		}
	}
}
