package parse

import (
	"fmt"
	"slices"
	"time"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/form"
	"github.com/louver/louver/windows/period"
)

// A histogram is drawn like any release. Figures from it are computed, so they have no ε. They decide where its
// buckets must end.

// histograms are the histograms among the releases of a stream, and what is computed from them.
type histograms struct {
	of       *config.Stream
	releases []releaseNode
}

// cuts returns where the buckets of a histogram must end for the figures that are computed from it.
func (h histograms) cuts(histogram string) (all []int64) {
	for i := range h.releases {
		r := &h.releases[i]
		if !r.sound || !r.free() || r.from != histogram {
			continue
		}
		r.Query.Grid = h.of.Grid
		cuts, err := r.Query.ComputedCuts()
		if err != nil {
			refuse(r.Mapping, err)
			r.sound = false
		}
		all = append(all, cuts...)
	}
	return all
}

// longestRollup is the longest period over which a histogram is added up.
const longestRollup = 366 * 24 * time.Hour

// checkRollups refuses periods that do not consist of whole windows.
func (h histograms) checkRollups() {
	w := h.of.Window
	for i := range h.releases {
		r := &h.releases[i]
		v, given := r.Values["rollup"]
		switch {
		case !given || w.Every == 0:
			continue
		case w.Size != w.Every:
			v.Refuse("windows overlap: one is %s long and begins %s after the one before; want window.every as "+
				"window.size, so that no event is added up twice", config.Duration(w.Size), config.Duration(w.Every))
			continue
		}
		for j, d := range r.Rollups {
			switch at := v.Item(j); {
			case d%w.Every != 0 || d < 2*w.Every:
				at.Refuse("%s; want a multiple of window.every, %s, of two windows or more", config.Duration(d),
					config.Duration(w.Every))
			case d > longestRollup:
				at.Refuse("%s; want at most 366d", config.Duration(d))
			case slices.Contains(r.Rollups[:j], d):
				at.Refuse("%s is in the list twice; remove one", config.Duration(d))
			}
		}
	}
}

// checkDays gives the roll-ups of whole days the days of the zone, and refuses a zone that no roll-up needs.
func (r *releaseNode) checkDays() {
	const day = 24 * time.Hour
	v, given := r.Values["zone"]
	if !given {
		return
	}
	whole := 0
	for _, d := range r.Rollups {
		if d <= 0 || d > longestRollup || d%day != 0 {
			continue
		}
		whole++
		c, err := period.NewDays(int(d/day), r.zone)
		switch {
		case err != nil:
			v.Refuse("%s", err)
			return
		case c.Zone == time.UTC:
			continue // as without a zone
		case r.Days == nil:
			r.Days = map[time.Duration]period.Calendar{}
		}
		r.Days[d] = c
	}
	if whole == 0 && len(r.Rollups) > 0 {
		v.Refuse("no roll-up is of whole days, and others begin at the same time in all zones; remove it, or add " +
			"1d to rollup")
	}
}

// compute makes the figures that are computed from histograms.
func (h histograms) compute() {
	for i := range h.releases {
		r := &h.releases[i]
		if !r.sound || !r.free() || h.of.Grid == nil {
			continue
		}
		of := h.source(r)
		if of == nil || of.Mechanism == nil { // it was refused
			continue
		}
		r.Query.Grid = h.of.Grid
		figure, err := mechanisms.NewComputed(r.Query, mechanisms.Buckets(of.Mechanism))
		if err != nil {
			refuse(r.Mapping, err)
			continue
		}
		h.of.Add(&config.Computed{Head: r.Head, From: of, Query: r.Query, Figure: figure,
			Objective: r.objective})
	}
}

// source returns the histogram that a release is computed from, or refuses it.
func (h histograms) source(r *releaseNode) *config.Release {
	v := r.Values["from"]
	var names []string
	for i := range h.releases {
		of := &h.releases[i]
		switch {
		case of.Query.Statistic == mechanisms.Histogram:
			names = append(names, of.Name)
		case of.Name == r.from && of.free():
			v.Refuse("%q is itself computed from %q; want the name of a histogram", r.from, of.from)
			return nil
		case of.Name == r.from:
			v.Refuse("%q is a %s; want the name of a histogram", r.from, of.Query.Statistic)
			return nil
		}
	}
	if of, ok := config.Of[*config.Release](h.of, r.from); ok {
		return of
	}
	switch near := form.Nearest(r.from, names); {
	case near != "":
		v.Refuse("%q is not a release of this stream; did you mean %q?", r.from, near)
	case len(names) == 0:
		v.Refuse("%q is not a release of this stream; add a release of statistic: histogram", r.from)
	default:
		v.Refuse("%q is not a release of this stream; want %s", r.from, form.List(names, "or"))
	}
	return nil
}

// An entry of the ledger holds the numbers of all groups of a window. It may take half of what a broker takes in a
// record, because numbers may be longer than usual.
const (
	mostEntry   = 512 << 10
	numberBytes = 6
	figureBytes = 160
)

// checkSize refuses histograms whose windows do not fit into an entry of the ledger.
func checkSize(s *config.Stream, at form.Node) {
	numbers := 0
	var largest *config.Release
	releases, computed := config.All[*config.Release](s), config.All[*config.Computed](s)
	for _, r := range releases {
		b := mechanisms.Buckets(r.Mechanism)
		if b == nil {
			continue
		}
		numbers += (b.Len() + b.Groups()) * (1 + len(r.Rollups))
		if largest == nil || b.Len() > mechanisms.Buckets(largest.Mechanism).Len() {
			largest = r
		}
	}
	if largest == nil {
		return
	}
	figures := len(releases) + len(computed)
	for _, r := range releases {
		figures += len(r.Rollups) * (1 + len(computed))
	}
	groups, each := s.MostGroups(), numbers*numberBytes+figures*figureBytes
	if size := groups * each; size > mostEntry {
		remedy := "fewer buckets or groups"
		if s.Found != nil {
			if most := mostEntry/each - groups + int(s.Found.Max); most > 0 {
				remedy = fmt.Sprintf("fewer buckets, or groups.max of at most %d", most)
			}
		}
		at.Refuse("%d buckets of %q in %s make an entry of about %d kB in the ledger for each window; "+
			"want at most %d kB: %s", mechanisms.Buckets(largest.Mechanism).Len(), largest.Name,
			form.Plural(groups, "group"), size>>10, mostEntry>>10, remedy)
	}
}

// mostSums is the most windows of all groups over which a stream's objectives may add up. Each takes 24 bytes in every
// process.
const mostSums = 2_000_000

// checkObjectives refuses objectives whose windows cannot be added up. The groups are known.
func checkObjectives(s *config.Stream, releases []releaseNode) {
	w, objectives := s.Window, len(s.Objectives())
	span := config.Duration(config.LongestSpan)
	windows := int64(config.LongestSpan / w.Every)
	for i := range releases {
		r := &releases[i]
		if !r.objective.IsPositive() {
			continue
		}
		v := r.Values["objective"]
		switch all := windows * int64(len(s.Groups)*objectives); {
		case w.Size != w.Every:
			v.Refuse("windows overlap: one is %s long and begins %s after the one before; want window.every as "+
				"window.size, so that no event is added up twice", config.Duration(w.Size), config.Duration(w.Every))
		case s.Found != nil:
			v.Refuse("the groups of this stream are found, and their sums would begin with each list; want groups " +
				"that are listed")
		case windows < config.LeastWindows:
			v.Refuse("the longest alert looks at %s, which has %s of %s; want at least %d: window.every of %s or less",
				span, form.Plural(int(windows), "window"), config.Duration(w.Every), config.LeastWindows,
				config.Duration(config.LongestSpan/config.LeastWindows))
		case all > mostSums:
			v.Refuse("the sums over %s have %d windows of all groups; want at most %d: longer windows, or "+
				"fewer groups", span, all, mostSums)
		}
	}
}
