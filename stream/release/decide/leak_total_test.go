package decide

import (
	"io"
	"math/big"
	"math/rand/v2"

	"github.com/louver/louver/mechanisms/running"
)

// totalFields classes the fields of an entry and of a record that only running totals have.
var totalFields = map[string]class{
	"entry.Continual.Total.Release.Name": public, "entry.Continual.Total.Release.Statistic": public,
	"entry.Continual.Total.Release.P": public, "entry.Continual.Total.Release.Mechanism": public,
	"entry.Continual.Total.Release.Unit": public, "entry.Continual.Total.Release.Epsilon": public,
	"entry.Continual.Total.Release.Delta": public,
	"entry.Continual.Total.Leaves":        public, "entry.Continual.Total.Longest": public, "entry.Continual.Total.Update": public,
	"entry.Continual.Total.Most": public, "entry.Continual.Total.Unit": public, "entry.Continual.Total.MaxTotal": public,
	"entry.Continual.Total.Since.Time": public, "entry.Continual.Total.Until.Time": public, "entry.Continual.Total.Leaf": public,
	"entry.Continual.Total.Incomplete": public, "entry.Continual.Total.Error95": public, "entry.Continual.Total.Groups": public,
	"entry.Continual.Total.Groups.Draws": public, "entry.Continual.Total.Groups.Draws.": byDraws,
	"entry.Continual.Total.Groups.Value": byDraws, "entry.Continual.Total.Groups.Smoothed": byDraws,
	"entry.Continual.Total.Groups.Raw":     byDraws,
	"entry.Continual.Total.Groups.Quality": byDraws, "entry.Continual.Total.Groups.Band.Low": byDraws,
	"entry.Continual.Total.Groups.Band.High": byDraws, "entry.Continual.Total.Groups.Band.Level": public,
	"entry.Continual.Total.Groups.Band.Basis": public,
	"record.Final": public, "record.MaxTotal": public,
}

// totalNeverFilled are fields that are 0 here: a pure total has no δ and no p, and a tree no limit.
var totalNeverFilled = map[string]bool{"entry.Continual.Total.Release.Delta": true, "entry.Continual.Total.Release.P": true,
	"entry.Continual.Total.Longest": true}

const totalled = oneStream + `
    groups: [a, b]
    max_groups: 2
    unit: ms
    window: {size: 1m, every: 1m, grace: 1s, start: 2026-01-01T00:56:00Z, end: 2026-01-02T00:00:00Z}
    releases:
      - {name: today, statistic: count, since: hour, epsilon: 1}
      - {name: slow, statistic: count, above: 500, since: midnight, max_total: 3, epsilon: 0.5}
      - {name: amount, statistic: sum, since: monday, update: 2m, max_total: 5000, epsilon: 1}
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

// soFarFields classes the fields of an entry and of a record that only distributions so far have. Their period is that
// of a total, whose fields are classed there, and their figures are described as releases are.
var soFarFields = map[string]class{
	"entry.Continual.SoFar.Total.Leaf": public, "entry.Continual.SoFar.Total.Since.Time": public,
	"entry.Continual.SoFar.Total.Until.Time":        public,
	"entry.Continual.SoFar.Total.Release.Mechanism": public, "entry.Continual.SoFar.Total.Release.Buckets.Ends": public,
	"entry.Continual.SoFar.Figures": public, "entry.Continual.SoFar.Figures.Name": public,
	"entry.Continual.SoFar.Groups": public, "entry.Continual.SoFar.Groups.Draws": public,
	"entry.Continual.SoFar.Groups.Draws.Raw": public, "entry.Continual.SoFar.Groups.Draws.Coarse": public,
	"entry.Continual.SoFar.Groups.Values":              public,
	"entry.Continual.SoFar.Groups.Values.Numbers.Raw":  public,
	"entry.Continual.SoFar.Groups.Values.Numbers.Raw.": byDraws,
	"entry.Continual.SoFar.Groups.Values.Value":        byDraws,
	"entry.Continual.SoFar.Groups.Values.Error95":      byDraws,
	"entry.Continual.SoFar.Groups.Values.Interval.Low": byDraws, "entry.Continual.SoFar.Groups.Values.Band.Low": byDraws,
	"record.Final": public, "record.MaxTotal": public, "record.Buckets.Ends": public, "record.Buckets.Raw.": byDraws,
	"record.From": public,
}

// ofSoFar begins the fields of a distribution so far that are classed elsewhere, or that only other figures have.
var ofSoFar = []string{"entry.Continual.SoFar.Total.", "entry.Continual.SoFar.Figures.",
	"entry.Continual.SoFar.Groups.Values."}

const distributed = oneStream + `
    groups: [a, b]
    max_groups: 2
    unit: ms
    window: {size: 1m, every: 1m, grace: 1s, start: 2026-01-01T00:56:00Z, end: 2026-01-02T00:00:00Z}
    releases:
      - {name: spread, statistic: histogram, since: hour, buckets: {scale: 0}, levels: 2, max_total: 2, epsilon: 1}
      - {name: p50, statistic: median, from: spread}
      - {name: bad, statistic: share, above: 500, from: spread}
    budget: {epsilon: 10, per: 24h}
    on_exhausted: withhold
`
