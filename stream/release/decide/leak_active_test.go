package decide

import (
	"io"
	"math/big"
	"math/rand/v2"

	"github.com/louver/louver/mechanisms/running"
)

// activeFields classes the fields of an entry and of a record that only numbers of active users have.
var activeFields = map[string]class{
	"entry.Continual.Active.Release.Name": public, "entry.Continual.Active.Release.Statistic": public,
	"entry.Continual.Active.Release.P": public, "entry.Continual.Active.Release.Mechanism": public,
	"entry.Continual.Active.Release.Unit": public, "entry.Continual.Active.Release.Epsilon": public,
	"entry.Continual.Active.Release.Delta": public,
	"entry.Continual.Active.Seconds":       public, "entry.Continual.Active.Windows": public,
	"entry.Continual.Active.Leaves": public, "entry.Continual.Active.Update": public,
	"entry.Continual.Active.Among": public, "entry.Continual.Active.AtOnce": public,
	"entry.Continual.Active.Since.Time": public, "entry.Continual.Active.Leaf": public,
	"entry.Continual.Active.Incomplete": public, "entry.Continual.Active.Error95": public,
	"entry.Continual.Active.Groups": public, "entry.Continual.Active.Groups.Draw": byDraws,
	"entry.Continual.Active.Groups.Value": byDraws, "entry.Continual.Active.Groups.Raw": byDraws,
	"entry.Continual.Active.Groups.Quality": byDraws, "entry.Continual.Active.Groups.Band.Low": byDraws,
	"entry.Continual.Active.Groups.Band.High": byDraws, "entry.Continual.Active.Groups.Band.Level": public,
	"entry.Continual.Active.Groups.Band.Basis": public, "record.Active": public,
}

// activeNeverFilled are fields that are 0 here: a pure number has no δ and no p.
var activeNeverFilled = map[string]bool{"entry.Continual.Active.Release.Delta": true,
	"entry.Continual.Active.Release.P": true}

const lately = oneStream + `
    groups: [a, b]
    unit: ms
    window: {size: 1m, every: 1m, grace: 1s, start: 2026-01-01T00:56:00Z, end: 2026-01-02T00:00:00Z}
    releases:
      - {name: now, statistic: count, active: 2m, epsilon: 1}
      - {name: slow, statistic: count, active: 4m, above: 500, update: 2m, epsilon: 0.5}
    budget: {epsilon: 6, per: 24h}
    on_exhausted: withhold
`

// scriptedActive takes the place of a strategy. What it draws follows a script, or is exact.
type scriptedActive struct {
	running.Active
	script *rand.Rand
	leaks  bool
}

func (s scriptedActive) Draw(open running.Open, _ int64, _ io.Reader) ([]*big.Int, error) {
	y := s.script.Int64N(50_000) - 20 // beyond the error, at times
	if s.leaks {
		if y = 0; len(open) > 1 {
			y = open[1]
		}
	}
	return []*big.Int{new(big.Int).Lsh(big.NewInt(y), 24)}, nil
}
