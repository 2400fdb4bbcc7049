package ledgertest

import (
	"maps"
	"slices"
	"time"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/budget/privacy"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/record"
)

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
