package decide

// changeFields classes the fields of an entry and of a record that only releases on change have.
var changeFields = map[string]class{
	"entry.Continual.Change.Release.Name": public, "entry.Continual.Change.Release.Statistic": public,
	"entry.Continual.Change.Release.P": public, "entry.Continual.Change.Release.Mechanism": public,
	"entry.Continual.Change.Release.Unit": public, "entry.Continual.Change.Release.Epsilon": public,
	"entry.Continual.Change.Release.Delta": public,
	"entry.Continual.Change.First":         public, "entry.Continual.Change.First.Promise.Kind": public,
	"entry.Continual.Change.First.Promise.Epsilon": public,
	"entry.Continual.Change.First.Promise.Delta":   public, "entry.Continual.Change.First.Promise.Rho": public,
	"entry.Continual.Change.First.Times": public,
	"entry.Continual.Change.Begins":      byDraws, "entry.Continual.Change.Fired": byDraws,
	"entry.Continual.Change.Values":                  byDraws,
	"entry.Continual.Change.Values.Since":            byDraws,
	"entry.Continual.Change.Values.Figure.Mechanism": byDraws, "entry.Continual.Change.Values.Figure.Value": byDraws,
	"entry.Continual.Change.Values.Figure.RankError95": byDraws, "entry.Continual.Change.Values.Figure.Raw": byDraws,
	"entry.Continual.Change.Values.Figure.PLow": byDraws, "entry.Continual.Change.Values.Figure.PHigh": byDraws,
	"entry.Continual.Change.Values.Figure.Error95": byDraws,
	"entry.Continual.Change.Values.Figure.Quality": byDraws, "entry.Continual.Change.Values.Figure.Clip": byDraws,
	"entry.Continual.Change.Values.Figure.Clip.":          byDraws,
	"entry.Continual.Change.Values.Figure.Interval.Level": public,
	"entry.Continual.Change.Values.Figure.Interval.Low":   public,
	"entry.Continual.Change.Values.Figure.Interval.High":  public,
	"entry.Continual.Change.Values.Figure.Smoothed.Value": public,
	"entry.Continual.Change.Values.Figure.Smoothed.Low":   public,
	"entry.Continual.Change.Values.Figure.Smoothed.High":  public,
	"entry.Continual.Change.Values.Figure.Band.Low":       byDraws,
	"entry.Continual.Change.Values.Figure.Band.High":      byDraws,
	"entry.Continual.Change.Values.Figure.Band.Level":     byDraws,
	"entry.Continual.Change.Values.Figure.Band.Basis":     byDraws,
	"record.Changed": byDraws,
}

// changeNeverFilled are fields that are 0 here. A release on change has no interval, and nothing is smoothed. Its draws
// know of no count, so that nothing says how good they are.
var changeNeverFilled = map[string]bool{"entry.Continual.Change.Release.Delta": true,
	"entry.Continual.Change.Values.Figure.Quality":        true,
	"entry.Continual.Change.First.Promise.Delta":          true,
	"entry.Continual.Change.Values.Figure.Interval.Level": true, "entry.Continual.Change.Values.Figure.Interval.Low": true,
	"entry.Continual.Change.Values.Figure.Interval.High":  true,
	"entry.Continual.Change.Values.Figure.Smoothed.Value": true, "entry.Continual.Change.Values.Figure.Smoothed.Low": true,
	"entry.Continual.Change.Values.Figure.Smoothed.High": true}

const redrawn = oneStream + `
    groups: [a, b]
    max_groups: 2
    unit: ms
    expected_users: 2000
    window: {size: 1m, every: 1m, grace: 1s, start: 2026-01-01T00:00:00Z, end: 2026-01-01T00:08:00Z}
    releases:
      - {name: calm, statistic: median, epsilon: 0.5, publish: on_change, tolerance: 0.1, watch_epsilon: 2, at_most: 4}
      - {name: tail, statistic: quantile, p: 0.9, epsilon: 0.5, publish: on_change, tolerance: 0.05,
         watch_epsilon: 2, at_most: 3}
    budget: {epsilon: 15, per: 24h}
    on_exhausted: withhold
`
