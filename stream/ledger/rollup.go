package ledger

import (
	"slices"

	"github.com/louver/louver/stream/record"
)

// Rollup is a histogram of several windows together: the sums of what was drawn in each of them, with the figures that
// follow. It is in the entry of the period's last window, even if that window is withheld. It costs nothing: everything
// in it has been published before.
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
	// Windows are those of the period since the group joined the list; nil unless groups are found. If none of them was
	// released, there are no values.
	Windows *record.Windows `json:"windows,omitempty"`
}

// windows are those that are added up for the g-th group.
func (up Rollup) windows(g int) record.Windows {
	if len(up.Groups) > 0 && up.Groups[g].Windows != nil {
		return *up.Groups[g].Windows
	}
	return up.Windows
}

// SameRollups reports whether the roll-ups of an entry are these. Entries without bands were judged by another rule, so
// their qualities are not compared.
func (e Entry) SameRollups(want []Rollup) bool {
	if e.Bands {
		return alike(e.Rollups, want)
	}
	return alike(unjudged(e.Rollups), unjudged(want))
}

// unjudged copies roll-ups without the qualities of their values.
func unjudged(all []Rollup) []Rollup {
	all = slices.Clone(all)
	for i := range all {
		all[i].Groups = slices.Clone(all[i].Groups)
		for g := range all[i].Groups {
			of := &all[i].Groups[g]
			of.Values = slices.Clone(of.Values)
			for j := range of.Values {
				of.Values[j].Quality = ""
			}
		}
	}
	return all
}
