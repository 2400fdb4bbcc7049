// Package ledgertest helps tests that make ledger entries: streams by plan, with and without watches, and the
// partitions of a ledger that their entries fill.
package ledgertest

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/budget/privacy"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/record"
)

// T is a test: a *testing.T or a *rapid.T.
type T interface {
	Helper()
	Fatal(...any)
}

// Dec reads a decimal.
func Dec(s string) decimal.Decimal { return decimal.RequireFromString(s) }

// Some reads a decimal that may be missing elsewhere.
func Some(s string) *decimal.Decimal { return new(Dec(s)) }

// Limit is the limit of a budget without δ.
func Limit(epsilon string, per time.Duration) budget.Limit {
	return budget.Limit{Epsilon: Dec(epsilon), Per: per}
}

// Epoch is the start of the first window of every plan.
var Epoch = time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)

// Plan is a stream of windows of a minute with one median.
type Plan struct {
	Stream, Budget string
	// Epsilon is the price of a window.
	Epsilon string
	Limit   budget.Limit
	// Continues holds the names of the budgets that this one continues, separated by spaces.
	Continues string
	Cap       budget.Cap
}

// Entry is the n-th window of the plan, before it is settled.
func (p Plan) Entry(n int) ledger.Entry {
	end := Epoch.Add(time.Duration(n+1) * time.Minute)
	return ledger.Entry{
		App: "louver", Stream: p.Stream, Budget: p.Budget, Input: p.Stream + ".in", Output: p.Stream + ".out",
		WindowStart: end.Add(-time.Minute), WindowEnd: end, DueAt: end.Add(time.Second),
		ReleasedAt: end.Add(2 * time.Second),
		Every:      time.Minute, Limit: p.Limit, Continues: strings.Fields(p.Continues), Cap: p.Cap,
		Price: []budget.Item{{Promise: privacy.NewBoundedRange(Dec(p.Epsilon)), Times: 1}},
		Releases: []record.Series{{
			Name: "p50", Statistic: "median", P: Some("0.5"), Mechanism: "margin", Unit: "ms", Epsilon: Dec(p.Epsilon),
		}},
		Groups: []ledger.Group{{}},
	}
}

// Settle decides an entry, draws it if it is paid, and adds it.
func Settle(t T, b *ledger.Books, e ledger.Entry) ledger.Entry {
	t.Helper()
	if err := b.Settle(&e); err != nil {
		t.Fatal(err)
	}
	if e.Reason == "" {
		e.Groups = []ledger.Group{{Values: []ledger.Value{{Value: new(decimal.NewFromInt(e.WindowEnd.Unix()))}}}}
	}
	if err := b.Add(e); err != nil {
		t.Fatal(err)
	}
	return e
}

// JSON is something as the ledger writes it.
func JSON(t T, x any) string {
	t.Helper()
	text, err := json.Marshal(x)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Encode is the entry as a record's value.
func Encode(t T, e ledger.Entry) []byte {
	t.Helper()
	value, err := e.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// Records are the output records of the entry.
func Records(t T, e ledger.Entry) []record.Record {
	t.Helper()
	r, err := e.Records()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Discovery is an entry of a discovery of the plan, before it is settled, that found these names. found is nil for one
// that is withheld.
func (p Plan) Discovery(row string, start, end time.Time, rules ledger.Rules, found map[string]int64) ledger.Entry {
	e := p.Entry(0)
	e.Lane, e.WindowStart, e.WindowEnd, e.DueAt, e.ReleasedAt = row, start, end, end.Add(time.Second),
		end.Add(time.Second)
	e.Every, e.Groups = end.Sub(start), nil
	e.Price = []budget.Item{{Promise: privacy.NewApproximate(Dec("0.5"), Dec("0.00000001")), Times: 2}}
	e.Releases = []record.Series{{Name: row, Statistic: record.StatisticGroups, Mechanism: record.MechanismGroups,
		Unit: "users", Epsilon: Dec("0.5"), Delta: Dec("0.00000001")}}
	e.Discovery = &ledger.Discovery{MaxGroups: 2, Threshold: 1, Error95: 6, Rules: rules}
	if found == nil {
		e.Reason = record.BudgetExhausted
		return e
	}
	e.Discovery.Found = []ledger.Finding{}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		e.Discovery.Found = append(e.Discovery.Found, ledger.Finding{Name: name, Value: found[name]})
	}
	return e
}

// OnList gives a window's entry the groups on the list of stream s under budget b, each with the value 7. from is s if
// the entry is of another stream, which follows the list, and otherwise "".
func OnList(t T, f *ledger.State, e *ledger.Entry, from string, rules ledger.Rules) {
	t.Helper()
	groups, of, err := f.Lists().Of("b", "s", rules)
	if err != nil {
		t.Fatal(err)
	}
	e.Groups, e.List = nil, &ledger.List{Stream: from, Of: of, Rules: rules}
	for _, name := range groups {
		e.Groups = append(e.Groups, ledger.Group{Name: name, Values: []ledger.Value{{Value: Some("7")}}})
	}
}
