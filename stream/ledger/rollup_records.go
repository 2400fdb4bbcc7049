package ledger

import (
	"fmt"
	"slices"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/stream/record"
)

// rollupFigures returns the figures of a roll-up about the g-th group.
func (e Entry) rollupFigures(up Rollup, g int) (all []record.Figure, err error) {
	h, err := e.histogramAt(slices.IndexFunc(e.Releases, func(r record.Series) bool { return r.Name == up.Release }))
	if err != nil {
		return nil, err
	}
	windows := up.windows(g)
	for i, r := range e.rollupSeries(up) {
		f := e.blank(Group{Name: e.Groups[g].Name}, r)
		f.Release += "." + up.Period
		if f.From != "" {
			f.From += "." + up.Period
		}
		f.ID = fmt.Sprintf("%s/%s/%s/%s", e.Stream, f.Group, up.Since, f.Release)
		f.WindowStart, f.Incomplete = up.Since.Time, windows.Incomplete > 0
		f.Windows, f.Counts = &windows, record.UserWindows
		charge(&f, nil)
		switch {
		case windows.Released == 0:
			f.Status, f.Reason = record.Withheld, new(record.BudgetExhausted)
		case up.Groups[g].Values[i].Value == nil:
			f.Status, f.Reason = record.Withheld, new(record.TooFewUsers)
		default:
			v := up.Groups[g].Values[i]
			fill(&f, v)
			if n := v.Numbers; n != nil {
				counts := h.Buckets.Estimate(n.Raw, n.Coarse, h.Noise, windows.Released).Counts()
				f.Buckets = record.NewDistribution(r.Buckets.Ends, n.Raw, n.Coarse, counts)
			}
		}
		all = append(all, f)
	}
	return all, nil
}

// rollupSeries returns the series of a roll-up: the histogram's and those of the figures from it.
func (e Entry) rollupSeries(up Rollup) (all []record.Series) {
	for _, r := range e.Releases {
		if r.Name == up.Release {
			r.Epsilon, r.Delta = decimal.Zero, decimal.Zero
			all = slices.Insert(all, 0, r)
		} else if r.From == up.Release {
			all = append(all, r)
		}
	}
	return all
}
