package release

import (
	"io"
	"math/big"
	"math/rand/v2"

	"github.com/louver/louver/mechanisms/running"
)

// totalFields classes the fields of an entry and of a record that only running totals have.
var totalFields = map[string]class{
	"entry.Steps.Total.Release.Name": public, "entry.Steps.Total.Release.Statistic": public,
	"entry.Steps.Total.Release.P": public, "entry.Steps.Total.Release.Mechanism": public,
	"entry.Steps.Total.Release.Unit": public, "entry.Steps.Total.Release.Epsilon": public,
	"entry.Steps.Total.Release.Delta": public,
	"entry.Steps.Total.Leaves":        public, "entry.Steps.Total.Longest": public, "entry.Steps.Total.Update": public,
	"entry.Steps.Total.Most": public, "entry.Steps.Total.Unit": public, "entry.Steps.Total.MaxTotal": public,
	"entry.Steps.Total.Since.Time": public, "entry.Steps.Total.Until.Time": public, "entry.Steps.Total.Leaf": public,
	"entry.Steps.Total.Incomplete": public, "entry.Steps.Total.Error95": public, "entry.Steps.Total.Groups": public,
	"entry.Steps.Total.Groups.Draws": public, "entry.Steps.Total.Groups.Draws.": byDraws,
	"entry.Steps.Total.Groups.Value": byDraws, "entry.Steps.Total.Groups.Smoothed": byDraws,
	"entry.Steps.Total.Groups.Raw":     byDraws,
	"entry.Steps.Total.Groups.Quality": byDraws, "entry.Steps.Total.Groups.Band.Low": byDraws,
	"entry.Steps.Total.Groups.Band.High": byDraws, "entry.Steps.Total.Groups.Band.Level": public,
	"entry.Steps.Total.Groups.Band.Basis": public,
	"record.Final":                        public, "record.MaxTotal": public,
}

// totalNeverFilled are fields that are 0 here: a pure total has no δ and no p, and a tree no limit.
var totalNeverFilled = map[string]bool{"entry.Steps.Total.Release.Delta": true, "entry.Steps.Total.Release.P": true,
	"entry.Steps.Total.Longest": true}

const totalled = `
version: 1
streams:
  - name: s
    input: {topic: in, user: user, value: value, time: time, group: group}
    groups: [a, b]
    max_groups: 2
    unit: ms
    bounds: {lower: 0, upper: 1000, step: 1}
    window: {size: 1m, every: 1m, grace: 1s, start: 2026-01-01T00:56:00Z, end: 2026-01-02T00:00:00Z}
    contribution: last
    releases:
      - {name: today, statistic: count, since: hour, epsilon: 1}
      - {name: slow, statistic: count, above: 500, since: midnight, max_total: 3, epsilon: 0.5}
      - {name: amount, statistic: sum, since: monday, update: 2m, max_total: 5000, epsilon: 1}
    output: {topic: out}
    budget: {epsilon: 6, per: 24h}
    on_exhausted: withhold
`

// scriptedTotal takes the place of a strategy. What it draws follows a script, or is exact.
type scriptedTotal struct {
	running.Strategy
	script *rand.Rand
	leaks  bool
}

func (s scriptedTotal) Draw(open running.Open, leaf int64, _ io.Reader) (draws []*big.Int, err error) {
	for l := range s.Draws(leaf) {
		y := s.script.Int64N(2000) - 20
		if s.leaks {
			if y = 0; l < len(open) {
				y = open[l]
			}
		}
		draws = append(draws, big.NewInt(y))
	}
	return draws, nil
}
