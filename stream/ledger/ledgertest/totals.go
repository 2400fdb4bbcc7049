package ledgertest

import (
	"math/big"
	"time"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/mechanisms/running"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/record"
)

// Total is the running total "today" as a definition has it, for a window of an entry. Its periods have ten minutes, of
// which two are a leaf. A user may be in two groups.
func Total(t T, e ledger.Entry, definition, mechanism, epsilon string) ledger.Continual {
	t.Helper()
	const period = 10 * time.Minute
	p := running.Period{Leaves: 5, Longest: 6}
	strategy, err := mechanisms.NewStrategy(mechanism, p, Dec(epsilon), 3)
	if err != nil {
		t.Fatal(err)
	}
	since := e.WindowStart.Truncate(period)
	return ledger.Continual{
		Name: "today", Definition: definition, Cost: []budget.Item{{Promise: strategy.Promise(), Times: 2}},
		Total: &ledger.Total{Leaves: p.Leaves, Longest: strategy.Longest(), Update: 120, Most: 3, Unit: Dec("1"),
			MaxTotal: Some("3"), Since: record.Whole(since), Until: record.Whole(since.Add(period)),
			Release: record.Series{Name: "today", Statistic: "count", Mechanism: mechanism, Unit: "users",
				Epsilon: Dec(epsilon)}},
	}
}

// publish fills in what a session draws of a total.
func publish(t T, e *ledger.Entry, s *ledger.Continual) {
	t.Helper()
	strategy, err := s.Total.Strategy()
	if err != nil {
		t.Fatal(err)
	}
	draws := make([][]*big.Int, len(e.Groups))
	for g := range draws {
		for range strategy.Draws(s.Total.Leaf) {
			y := big.NewInt(e.WindowEnd.Unix()/60%17 + int64(g) - 5)
			if s.Total.Release.Mechanism == "square_root" {
				y.Lsh(y, 32)
			}
			draws[g] = append(draws[g], y)
		}
	}
	s.Total.Draw(draws)
}

// Totalled is a ledger of n windows of a stream that has nothing but a running total, in two groups. It begins in the
// middle of a period. Its budget pays for two in any 15 minutes.
func Totalled(t T, n int, mechanism string) []ledger.Entry {
	t.Helper()
	b := ledger.NewBooks()
	var all []ledger.Entry
	for i := range n {
		limit := Limit("4", 15*time.Minute)
		if mechanism == "square_root" {
			limit = Limit("13", 15*time.Minute)
			limit.Delta = Dec("0.000001")
		}
		e := Plan{Stream: "s", Budget: "b", Epsilon: "0.05", Limit: limit}.Entry(i + 4)
		e.Price, e.Releases = nil, nil
		e.Groups = []ledger.Group{{Name: "eu"}, {Name: "us"}}
		e.Continual = []ledger.Continual{Total(t, e, "d", mechanism, "1")}
		Decide(t, b, &e, nil)
		all = append(all, e)
	}
	return all
}
