package decide

import "maps"

// lastFields classes the fields of an entry and of a record that only streams have that add up: windows to the newest
// time, groups to all of them together, and users for an objective.
var lastFields = withTogether(togetherFields, map[string]class{
	"entry.Releases.Last": public, "entry.Releases.Last.": public,
	"entry.Releases.Over": public, "entry.Releases.Over.": public,
	"entry.Objectives": public, "entry.Objectives.Release": public, "entry.Objectives.Over": public,
	"entry.Objectives.Over.Over": public, "entry.Objectives.Over.Of": public, "entry.Objectives.Over.Windows": public,
	"entry.Objectives.Over.Sums": public, "entry.Objectives.Over.Sums.": byDraws,
	"entry.Together.Name": public, "entry.Together.Counts": public, "entry.Together.Reason": byDraws,
	"entry.Rollups.Together.Windows.Of": public, "entry.Rollups.Together.Windows.Released": public,
	"entry.Rollups.Together.Windows.Incomplete": public,
	"record.Together": public, "record.Counts": public, "record.Windows.Released": public,
	"record.Over": public, "record.Over.Over": public, "record.Over.Of": public, "record.Over.Windows": public,
	"record.Over.Above": byDraws, "record.Over.Users": byDraws,
})

// togetherFields classes the fields of the values that all groups together have, in a window and over the newest time.
var togetherFields = map[string]class{
	"Values": public, "Values.Numbers.Raw": public, "Values.Numbers.Raw.": byDraws,
	"Values.Numbers.Coarse": public, "Values.Numbers.Coarse.": byDraws,
	"Values.Value": byDraws, "Values.Error95": byDraws, "Values.Quality": byDraws,
	"Values.Interval.Level": byDraws, "Values.Interval.Low": byDraws, "Values.Interval.High": byDraws,
	"Values.Band.Low": byDraws, "Values.Band.High": byDraws, "Values.Band.Level": byDraws,
	"Values.Band.Basis": byDraws,
	// Only other figures have these.
	"Values.Mechanism": public, "Values.RankError95": public, "Values.PLow": public, "Values.PHigh": public,
	"Values.Raw": public, "Values.Clip": public, "Values.Clip.": public, "Values.Outside.Value": public,
	"Values.Outside.Error95": public, "Values.Outside.Most": public, "Values.Outside.Cut95": public,
	"Values.Smoothed.Value": public, "Values.Smoothed.Low": public, "Values.Smoothed.High": public,
	"Values.Band.Usual95": public,
}

// lastNeverFilled are fields that no entry here has: those of other figures, and the window that lost something is
// withheld.
var lastNeverFilled = withTogether(map[string]bool{"Values.Mechanism": true, "Values.RankError95": true,
	"Values.PLow": true, "Values.PHigh": true, "Values.Raw": true, "Values.Clip": true, "Values.Clip.": true,
	"Values.Outside.Value": true, "Values.Outside.Error95": true, "Values.Outside.Most": true,
	"Values.Outside.Cut95": true, "Values.Smoothed.Value": true, "Values.Smoothed.Low": true,
	"Values.Smoothed.High": true, "Values.Band.Usual95": true},
	map[string]bool{"entry.Rollups.Together.Windows.Incomplete": true})

// withTogether adds what is said of the values of all groups together, for both places where entries have them.
func withTogether[V any](values, fields map[string]V) map[string]V {
	all := maps.Clone(fields)
	for path, v := range values {
		all["entry.Together."+path], all["entry.Rollups.Together."+path] = v, v
	}
	return all
}

// lastly pays for some of the windows that are decided, and withholds the rest.
const lastly = oneStream + `
    groups: [a, b]
    max_groups: 2
    together: all
    unit: ms
    window: {size: 1m, every: 1m, grace: 1s, start: 2026-01-01T00:00:00Z, end: 2026-01-02T00:00:00Z}
    releases:
      - {name: shape, statistic: histogram, buckets: [100, 200, 700], levels: 2, epsilon: 1, last: [3m, 5m]}
      - {name: mid, statistic: median, from: shape}
      - {name: slow, statistic: share, above: 200, objective: 0.95, from: shape}
    budget: {epsilon: 14, per: 24h}
    on_exhausted: withhold
`
