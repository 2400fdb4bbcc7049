package ledger_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"

	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/ledger/ledgertest"
)

// TestPaidElsewhere: what other budgets had paid for a stream is added to its sums, in entries and reports, until its
// budget takes them over. An unbounded ε stays unbounded.
func TestPaidElsewhere(t *testing.T) {
	some := func(n int64) *decimal.Decimal { return new(decimal.NewFromInt(n)) }
	for name, c := range map[string]struct {
		before    ledger.PaidElsewhere
		continues []string
		want      string
	}{
		"nobody":                 {nil, nil, "2"},
		"two others":             {ledger.PaidElsewhere{"a": some(3), "c": some(4)}, nil, "9"},
		"one is taken over":      {ledger.PaidElsewhere{"a": some(3), "c": some(4)}, []string{"c"}, "5"},
		"its own, from earlier":  {ledger.PaidElsewhere{"b": some(3)}, nil, "2"},
		"one has no bound":       {ledger.PaidElsewhere{"a": some(3), "c": nil}, nil, "<nil>"},
		"that one is taken over": {ledger.PaidElsewhere{"a": some(3), "c": nil}, []string{"c"}, "5"},
	} {
		b := ledger.NewBooks()
		p := ledgertest.Plan{Stream: "s", Budget: "b", Epsilon: "1", Limit: ledgertest.Limit("9", time.Hour)}
		for i := range 2 {
			e := p.Entry(i)
			e.PaidElsewhere, e.Continues = c.before, c.continues
			e = ledgertest.Settle(t, b, e)
			value, err := e.Encode()
			if err != nil {
				t.Fatal(err)
			}
			read, err := ledger.Decode(value)
			if diff := cmp.Diff(e.PaidElsewhere, read.PaidElsewhere, sameDecimals); err != nil || diff != "" {
				t.Errorf("%s: written and read: %v, %s", name, err, diff)
			}
		}
		latest, _ := b.Latest("s")
		if got := fmt.Sprint(latest.Standing.StreamSpent); got != c.want {
			t.Errorf("%s: the entry says %s, want %s", name, got, c.want)
		}
		report := "<nil>"
		if total := ledger.NewReport(b, ledgertest.Epoch.Add(2*time.Hour)).Streams[0].EpsilonTotal; total != nil {
			report = total.String()
		}
		if report != c.want {
			t.Errorf("%s: the report says %s, want %s", name, report, c.want)
		}
		paid := b.Paid("b", "s")
		if paid["b"] == nil || paid["b"].String() != "2" || len(paid) < len(c.before) {
			t.Errorf("%s: %v were paid", name, paid)
		}
	}
}
