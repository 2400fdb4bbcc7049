package release

// changeFields classes the fields of an entry and of a record that only releases on change have.
var changeFields = map[string]class{
	"entry.Steps.OnChange.Release.Name": public, "entry.Steps.OnChange.Release.Statistic": public,
	"entry.Steps.OnChange.Release.P": public, "entry.Steps.OnChange.Release.Mechanism": public,
	"entry.Steps.OnChange.Release.Unit": public, "entry.Steps.OnChange.Release.Epsilon": public,
	"entry.Steps.OnChange.Release.Delta": public,
	"entry.Steps.OnChange.First":         public, "entry.Steps.OnChange.First.Promise.Kind": public,
	"entry.Steps.OnChange.First.Promise.Epsilon": public,
	"entry.Steps.OnChange.First.Promise.Delta":   public, "entry.Steps.OnChange.First.Promise.Rho": public,
	"entry.Steps.OnChange.First.Times": public,
	"entry.Steps.OnChange.Begins":      byDraws, "entry.Steps.OnChange.Fired": byDraws,
	"entry.Steps.OnChange.Values":                  byDraws,
	"entry.Steps.OnChange.Values.Since":            byDraws,
	"entry.Steps.OnChange.Values.Figure.Mechanism": byDraws, "entry.Steps.OnChange.Values.Figure.Value": byDraws,
	"entry.Steps.OnChange.Values.Figure.RankError95": byDraws, "entry.Steps.OnChange.Values.Figure.Raw": byDraws,
	"entry.Steps.OnChange.Values.Figure.PLow": byDraws, "entry.Steps.OnChange.Values.Figure.PHigh": byDraws,
	"entry.Steps.OnChange.Values.Figure.Error95": byDraws,
	"entry.Steps.OnChange.Values.Figure.Quality": byDraws, "entry.Steps.OnChange.Values.Figure.Clip": byDraws,
	"entry.Steps.OnChange.Values.Figure.Clip.":          byDraws,
	"entry.Steps.OnChange.Values.Figure.Interval.Level": public,
	"entry.Steps.OnChange.Values.Figure.Interval.Low":   public,
	"entry.Steps.OnChange.Values.Figure.Interval.High":  public,
	"entry.Steps.OnChange.Values.Figure.Smoothed.Value": public,
	"entry.Steps.OnChange.Values.Figure.Smoothed.Low":   public,
	"entry.Steps.OnChange.Values.Figure.Smoothed.High":  public,
	"entry.Steps.OnChange.Values.Figure.Band.Low":       byDraws,
	"entry.Steps.OnChange.Values.Figure.Band.High":      byDraws,
	"entry.Steps.OnChange.Values.Figure.Band.Level":     byDraws,
	"entry.Steps.OnChange.Values.Figure.Band.Basis":     byDraws,
	"record.Changed": byDraws,
}

// changeNeverFilled are fields that are 0 here. A release on change has no interval, and nothing is smoothed. Its draws
// know of no count, so that nothing says how good they are.
var changeNeverFilled = map[string]bool{"entry.Steps.OnChange.Release.Delta": true,
	"entry.Steps.OnChange.Values.Figure.Quality":        true,
	"entry.Steps.OnChange.First.Promise.Delta":          true,
	"entry.Steps.OnChange.Values.Figure.Interval.Level": true, "entry.Steps.OnChange.Values.Figure.Interval.Low": true,
	"entry.Steps.OnChange.Values.Figure.Interval.High":  true,
	"entry.Steps.OnChange.Values.Figure.Smoothed.Value": true, "entry.Steps.OnChange.Values.Figure.Smoothed.Low": true,
	"entry.Steps.OnChange.Values.Figure.Smoothed.High": true}

const redrawn = `
version: 1
streams:
  - name: s
    input: {topic: in, user: user, value: value, time: time, group: group}
    groups: [a, b]
    max_groups: 2
    unit: ms
    bounds: {lower: 0, upper: 1000, step: 1}
    expected_users: 2000
    window: {size: 1m, every: 1m, grace: 1s, start: 2026-01-01T00:00:00Z, end: 2026-01-01T00:08:00Z}
    contribution: last
    releases:
      - {name: calm, statistic: median, epsilon: 0.5, publish: on_change, tolerance: 0.1, watch_epsilon: 2, at_most: 4}
      - {name: tail, statistic: quantile, p: 0.9, epsilon: 0.5, publish: on_change, tolerance: 0.05,
         watch_epsilon: 2, at_most: 3}
    output: {topic: out}
    budget: {epsilon: 15, per: 24h}
    on_exhausted: withhold
`
