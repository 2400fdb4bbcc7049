package decide

import (
	"errors"
	"io"
	"math/rand/v2"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/ledger"
)

// watchFields classes the fields that only streams with watches have. What a watch does next depends on whether it has
// fired, and so does what is charged.
var watchFields = map[string]class{
	"entry.Continual": public, "entry.Continual.Name": public, "entry.Continual.Definition": public, "entry.Continual.Cost": public,
	"entry.Continual.Cost.Promise.Kind": public, "entry.Continual.Cost.Promise.Epsilon": public,
	"entry.Continual.Cost.Promise.Delta": public,
	"entry.Continual.Cost.Promise.Rho":   public, "entry.Continual.Cost.Times": public, "entry.Continual.Watch.Excess95": public,
	"entry.Continual.AtMost":     public,
	"entry.Continual.Watch.Hold": public, "entry.Continual.Last": public,
	"entry.Continual.Instance": byDraws, "entry.Continual.Arms": byDraws, "entry.Continual.Reason": byDraws,
	"entry.Continual.Watch.Fired": byDraws,
	"entry.Continual.Watch.Since": byDraws, "entry.Continual.Sealed": byDraws, "entry.Continual.Sealed.": byDraws,
	"entry.Ended": byDraws, "entry.Ended.Stream": byDraws, "entry.Ended.Name": byDraws, "entry.Ended.Number": byDraws,
	"record.Since": byDraws, "record.Instance": byDraws, "record.Excess95": public,
}

// watchNeverFilled are fields that are 0 here: a cost is pure, and has no δ.
var watchNeverFilled = map[string]bool{"entry.Continual.Cost.Promise.Kind": true, "entry.Continual.Cost.Promise.Delta": true}

const watched = oneStream + `
    groups: [a, b]
    max_groups: 2
    window: {size: 1m, every: 1m, grace: 1s, start: 2026-01-01T00:00:00Z, end: 2026-01-01T00:08:00Z}
    releases: [{name: users, statistic: count, epsilon: 1}]
    watches:
      - {name: slow, above: 500, more_than: 0.1, epsilon: 2, false_alarms: {at_most: 0.05, per: 30d}, hold: 2m,
         at_most: 20}
      - {name: gone, users_below: 50, epsilon: 3, false_alarms: {at_most: 0.05, per: 30d}, hold: 1m, at_most: 2}
    budget: {epsilon: 23, per: 24h}
    on_exhausted: withhold
`

// scriptedTester takes the place of a watch. It fires by a script and not by the sample. The same script says whether
// its secrets can be opened. One that leaks fires by the exact number of users.
type scriptedTester struct {
	script *rand.Rand
	leaks  bool
}

func (a scriptedTester) Arm(io.Reader) (armed, error) { return a, nil }

func (a scriptedTester) Resume([]byte) (armed, error) {
	if a.script.IntN(6) == 0 {
		return nil, errors.New("by the script")
	}
	return a, nil
}

func (a scriptedTester) MarshalText() ([]byte, error) { return []byte{1, 2}[:1+a.script.IntN(2)], nil }

func (a scriptedTester) Look(groups []*mechanisms.Sample, _ io.Reader) (int, error) {
	if a.leaks {
		if groups[0].Users() > 49 {
			return 0, nil
		}
		return -1, nil
	}
	return a.script.IntN(5)%3 - 1, nil
}

func (a scriptedTester) LookFrom(groups []*mechanisms.Sample, _ []int64, random io.Reader) (int, error) {
	return a.Look(groups, random)
}

// openSeal hides nothing: sealed secrets differ each time.
type openSeal struct{}

func (openSeal) close(_ string, _ ledger.Instance, _ string, secret []byte) ([]byte, error) {
	return secret, nil
}

func (openSeal) open(_ string, _ ledger.Instance, _ string, sealed []byte) ([]byte, error) {
	return sealed, nil
}
