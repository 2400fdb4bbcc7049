package ledger

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/stream/record"
)

// Rollup is a histogram of several windows together: the sums of what was drawn in each of them, with the figures that
// follow. It is in the entry of the period's last window, also if that one is withheld. It costs nothing: everything in
// it has been published before.
type Rollup struct {
	// Release is the histogram, and Period the name of the period's length.
	Release string `json:"release"`
	Period  string `json:"period"`
	// Since is the start of the period. It ends with the entry's window.
	Since record.Second `json:"since"`
	// Windows says how many windows the period has, how many of them were released and are added up here, and how many
	// of these had lost part of their input.
	Windows record.Windows `json:"windows"`
	// Groups hold the values of each group, in order; empty if no window was released.
	Groups []RollupGroup `json:"groups,omitempty"`
}

// RollupGroup is the roll-up of a group: the value of the histogram and then of each figure from it, in the order of
// the entry's releases. A figure without a value is withheld, because the histogram shows nobody.
type RollupGroup struct {
	Values []Value `json:"values"`
	// Windows are there if groups are found: those of the period since the group joined the list. If none of them was
	// released there are no values.
	Windows *record.Windows `json:"windows,omitempty"`
}

// windows are those that are added up of the g-th group.
func (up Rollup) windows(g int) record.Windows {
	if len(up.Groups) > 0 && up.Groups[g].Windows != nil {
		return *up.Groups[g].Windows
	}
	return up.Windows
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
			if err := h.fits(g.Values[0].Numbers); err != nil {
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

// SameRollups reports whether two lists of roll-ups say the same.
func SameRollups(a, b []Rollup) bool {
	x, err := json.Marshal(a)
	y, err2 := json.Marshal(b)
	return err == nil && err2 == nil && string(x) == string(y)
}
