package ledgertest

import (
	"math/big"
	"time"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/record"
)

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
