package ledger

import (
	"errors"
	"fmt"
	"slices"

	"github.com/louver/louver/stream/record"
)

// checkRollups checks that each roll-up is of a histogram of the entry and has the values of all groups.
func (e Entry) checkRollups() error {
	for _, up := range e.Rollups {
		series := e.rollupSeries(up)
		if len(series) == 0 || series[0].Buckets == nil || !slices.Contains(series[0].Rollups, up.Period) {
			return fmt.Errorf("roll-up %s of %q, which is no histogram with that roll-up", up.Period, up.Release)
		}
		if up.Windows.Released < 0 || up.Windows.Released > up.Windows.Of ||
			up.Windows.Incomplete > up.Windows.Released ||
			(up.Windows.Released > 0) != (len(up.Groups) > 0) || !up.Since.Before(e.WindowEnd) {
			return fmt.Errorf("roll-up %s of %q since %s has %+v and %d groups", up.Period, up.Release, up.Since,
				up.Windows, len(up.Groups))
		}
		i := slices.IndexFunc(e.Releases, func(r record.Series) bool { return r.Name == up.Release })
		h, err := e.histogramAt(i)
		if err != nil {
			return err
		}
		for _, g := range up.Groups {
			if (g.Windows != nil) != (e.List != nil) || g.Windows != nil && !up.holds(*g.Windows) {
				return fmt.Errorf("roll-up %s of %q has %+v in some group, and %+v in all", up.Period, up.Release,
					g.Windows, up.Windows)
			}
			if g.Windows != nil && g.Windows.Released == 0 && len(g.Values) == 0 && len(up.Groups) == len(e.Groups) {
				continue
			}
			if len(up.Groups) != len(e.Groups) || len(g.Values) != len(series) || g.Values[0].Value == nil {
				return fmt.Errorf("roll-up %s of %q has no values of some group", up.Period, up.Release)
			}
			err := h.fits(g.Values[0].Numbers)
			for _, v := range g.Values {
				err = errors.Join(err, v.check(e.Bands))
			}
			if err != nil {
				return fmt.Errorf("roll-up %s of %q: %w", up.Period, up.Release, err)
			}
		}
	}
	return nil
}

// holds reports whether windows of a group can be among those of the roll-up.
func (up Rollup) holds(w record.Windows) bool {
	return w.Of == up.Windows.Of && w.Released >= 0 && w.Released <= up.Windows.Released && w.Incomplete >= 0 &&
		w.Incomplete <= min(w.Released, up.Windows.Incomplete)
}
