package ledgertest

import (
	"math/big"
	"time"

	"github.com/shopspring/decimal"

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

// SoFar is the distribution so far "spread" as a definition has it, for a window of an entry, with its median and the
// number of users above 9. It has four buckets in two groups, and periods as [Total] has.
func SoFar(t T, e ledger.Entry, definition, mechanism, epsilon string) ledger.Continual {
	t.Helper()
	s := Total(t, e, definition, mechanism, epsilon)
	of := record.Series{Name: "spread", Statistic: "histogram", Mechanism: mechanism, Unit: "visits",
		Epsilon: Dec(epsilon), Buckets: &record.Buckets{Lower: Dec("0"), Upper: Dec("20"), Step: Dec("1"), Levels: 2,
			Ends: []decimal.Decimal{Dec("3"), Dec("9"), Dec("20")}}}
	s.Name, s.Total.Release = of.Name, of
	s.SoFar, s.Total = &ledger.SoFar{Total: *s.Total, Figures: []record.Series{
		{Name: "middle", Statistic: "median", P: Some("0.5"), Mechanism: mechanism, Unit: "ms", From: of.Name},
		{Name: "over", Statistic: "count", Above: Some("9"), Mechanism: mechanism, Unit: "visits", From: of.Name},
	}}, nil
	strategy, err := s.SoFar.Strategy()
	if err != nil {
		t.Fatal(err)
	}
	s.Cost = []budget.Item{{Promise: strategy.Promise(), Times: 2}}
	return s
}

// publish fills in what a session draws of a total.
func publish(t T, e *ledger.Entry, s *ledger.Continual) {
	t.Helper()
	of, numbers := s.Sums(), 1
	strategy, err := of.Strategy()
	if err != nil {
		t.Fatal(err)
	}
	if s.SoFar != nil {
		numbers = 6
	}
	draws := make([][]*big.Int, len(e.Groups)*numbers)
	for g := range draws {
		for range strategy.Draws(of.Leaf) {
			y := big.NewInt(e.WindowEnd.Unix()/60%17 + int64(g) - 5)
			if of.Release.Mechanism == "square_root" {
				y.Lsh(y, 32)
			}
			draws[g] = append(draws[g], y)
		}
	}
	s.Draw(draws)
}

// Totalled is a ledger of n windows of a stream that has nothing but a running total, in two groups. It begins in the
// middle of a period. Its budget pays for two in any 15 minutes.
func Totalled(t T, n int, mechanism string) []ledger.Entry { return totalled(t, n, mechanism, Total) }

// Spread is the same of a distribution so far.
func Spread(t T, n int, mechanism string) []ledger.Entry { return totalled(t, n, mechanism, SoFar) }

func totalled(t T, n int, mechanism string, of func(T, ledger.Entry, string, string, string) ledger.Continual,
) []ledger.Entry {
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
		e.Continual = []ledger.Continual{of(t, e, "d", mechanism, "1")}
		Decide(t, b, &e, nil)
		all = append(all, e)
	}
	return all
}

// Active is the number "now" of the users of three hours as a definition has it, for a window of an hour. It has a
// value every two hours. A user moves among two groups.
func Active(t T, definition, mechanism, epsilon string) ledger.Continual {
	t.Helper()
	strategy, err := mechanisms.NewActiveStrategy(mechanism, 12, 2, Dec(epsilon))
	if err != nil {
		t.Fatal(err)
	}
	return ledger.Continual{
		Name: "now", Definition: definition, Cost: []budget.Item{{Promise: strategy.Promise(), Times: 1}},
		Active: &ledger.Active{Seconds: 3 * 3600, Windows: 3, Leaves: 12, Update: 2 * 3600, Among: 2, AtOnce: 1,
			Release: record.Series{Name: "now", Statistic: "count", Mechanism: mechanism, Unit: "users",
				Epsilon: Dec(epsilon)}},
	}
}

// count fills in what a session draws of active users.
func count(e *ledger.Entry, s *ledger.Continual) {
	draws := make([][]*big.Int, len(e.Groups))
	for g := range draws {
		y := big.NewInt(e.WindowEnd.Unix()/3600%17 + int64(g) - 5)
		draws[g] = []*big.Int{y.Lsh(y, 24)}
	}
	s.Draw(draws)
}

// Hour is the entry of the n-th hour since 1970 of a stream that has nothing but active users, in two groups.
func Hour(t T, n int, limit budget.Limit, definition string) ledger.Entry {
	t.Helper()
	e := Plan{Stream: "s", Budget: "b", Epsilon: "0.05", Limit: limit}.Entry(0)
	e.WindowStart = time.Unix(int64(n)*3600, 0).UTC()
	e.WindowEnd, e.Every = e.WindowStart.Add(time.Hour), time.Hour
	e.DueAt, e.ReleasedAt = e.WindowEnd, e.WindowEnd
	e.Price, e.Releases = nil, nil
	e.Groups = []ledger.Group{{Name: "eu"}, {Name: "us"}}
	e.Continual = []ledger.Continual{Active(t, definition, "centred", "1")}
	return e
}
