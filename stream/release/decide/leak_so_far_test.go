package decide

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

const distributed = `
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
      - {name: spread, statistic: histogram, since: hour, buckets: {scale: 0}, levels: 2, max_total: 2, epsilon: 1}
      - {name: p50, statistic: median, from: spread}
      - {name: bad, statistic: share, above: 500, from: spread}
    output: {topic: out}
    budget: {epsilon: 10, per: 24h}
    on_exhausted: withhold
`
