package ledger_test

import (
	"strings"
	"testing"
	"time"

	"github.com/louver/louver/budget/privacy"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/ledger/ledgertest"
	"github.com/louver/louver/stream/record"
)

// TestEntriesOfDiscoveriesThatNobodyWrites: each is refused when it is read, in words that say why. Otherwise books
// would take it for what it says.
func TestEntriesOfDiscoveriesThatNobodyWrites(t *testing.T) {
	rules := ledger.Rules{Source: "in path", Keep: 3600, Max: 9, Always: []string{"home"}, Other: "rest"}
	for name, c := range map[string]struct {
		change func(e *ledger.Entry)
		want   string // "": it is read
	}{
		"right": {func(*ledger.Entry) {}, ""},
		"a price for one name": {func(e *ledger.Entry) { e.Price[0].Times = 1 },
			"whose price is not max_groups, 2, times that of one draw"},
		"a price with less ε": {func(e *ledger.Entry) { e.Price[0].Promise = approximate("0.4", "0.00000001") },
			"whose price is not"},
		"a price with less δ": {func(e *ledger.Entry) { e.Price[0].Promise = approximate("0.5", "0.000000001") },
			"whose price is not"},
		"a price without δ": {func(e *ledger.Entry) { e.Price[0].Promise = privacy.NewPure(ledgertest.Dec("0.5")) },
			"whose price is not"},
		"two prices": {func(e *ledger.Entry) { e.Price = append(e.Price, e.Price[0]) },
			"2 items in the price"},
		"no price": {func(e *ledger.Entry) { e.Price = nil }, "0 items in the price"},
		"a count that is low": {func(e *ledger.Entry) { e.Discovery.Found[1].Value = 39 },
			"a count of 39; want at least the threshold, 40"},
		"no order": {func(e *ledger.Entry) { e.Discovery.Found[1].Name = "0" },
			"not in the order of their bytes"},
		"a name twice": {func(e *ledger.Entry) { e.Discovery.Found[1].Name = "a" },
			"not in the order of their bytes"},
		"a name of nothing": {func(e *ledger.Entry) { e.Discovery.Found[0].Name = "" }, "or one is empty"},
		"found without payment": {func(e *ledger.Entry) { e.Reason = record.BudgetExhausted },
			"that has found 2 names"},
		"paid and not drawn": {func(e *ledger.Entry) { e.Discovery.Found = nil }, "that has found 0 names"},
		"no threshold":       {func(e *ledger.Entry) { e.Discovery.Threshold = 0 }, "threshold 0"},
		"groups of its own":  {func(e *ledger.Entry) { e.Groups = []ledger.Group{{Name: "a"}} }, "1 groups"},
		"a list of its own":  {func(e *ledger.Entry) { e.List = &ledger.List{Rules: rules} }, "want a row"},
		"no row":             {func(e *ledger.Entry) { e.Lane = "" }, "with row \"\""},
		"another statistic":  {func(e *ledger.Entry) { e.Releases[0].Statistic = "count" }, `with statistic "count"`},
		"no source of names": {func(e *ledger.Entry) { e.Discovery.Rules.Source = "" }, "a list of source"},
		"a list for ever":    {func(e *ledger.Entry) { e.Discovery.Rules.Keep = 0 }, "for 0 s"},
	} {
		e := discovering.Discovery("row", ledgertest.Epoch, ledgertest.Epoch.Add(time.Hour), rules,
			map[string]int64{"a": 50, "b": 40})
		e.Discovery.Threshold = 40
		c.change(&e)
		reads(t, name, e, c.want)
	}
	for name, c := range map[string]struct {
		change func(e *ledger.Entry)
		want   string
	}{
		"right": {func(*ledger.Entry) {}, ""},
		"everybody else not last": {func(e *ledger.Entry) { e.Groups[1], e.Groups[2] = e.Groups[2], e.Groups[1] },
			`the last group is not "rest"`},
		"everybody else missing": {func(e *ledger.Entry) { e.Groups = e.Groups[:2] }, `the last group is not "rest"`},
		"no order": {func(e *ledger.Entry) { e.Groups[0], e.Groups[1] = e.Groups[1], e.Groups[0] },
			"the groups are not in the order of their bytes"},
		"no group, and paid": {func(e *ledger.Entry) { e.Groups, e.List.Rules.Other = nil, "" },
			"1 items in the price, 1 releases and reason \"\", but no groups"},
	} {
		e := discovering.Entry(7)
		e.Groups, e.List = nil, &ledger.List{Rules: rules}
		for _, name := range []string{"a", "home", "rest"} {
			e.Groups = append(e.Groups, ledger.Group{Name: name, Values: []ledger.Value{{Value: ledgertest.Some("7")}}})
		}
		c.change(&e)
		reads(t, "window, "+name, e, c.want)
	}
}

func approximate(epsilon, delta string) privacy.Promise {
	return privacy.NewApproximate(ledgertest.Dec(epsilon), ledgertest.Dec(delta))
}

// reads wants that the text of an entry is read, or refused with a text.
func reads(t *testing.T, name string, e ledger.Entry, want string) {
	t.Helper()
	value, err := e.Encode()
	if err == nil {
		_, err = ledger.Decode(value)
	}
	if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
		t.Errorf("%s: %v, want %q", name, err, want)
	}
}
