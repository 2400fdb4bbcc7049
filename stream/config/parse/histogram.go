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

// checkRollups refuses periods, and stretches of the newest time, that do not consist of whole windows.
func (h histograms) checkRollups() {
	for i := range h.releases {
		r := &h.releases[i]
		if h.of.Window.Every > 0 {
			h.checkPeriods(r, "rollup", r.Rollups)
			h.checkPeriods(r, "last", r.Last)
		}
	}
}

func (h histograms) checkPeriods(r *releaseNode, key string, periods []time.Duration) {
	w := h.of.Window
	v, given := r.Values[key]
	switch {
	case !given:
		return
	case w.Size != w.Every:
		v.Refuse("windows overlap: one is %s long and begins %s after the one before; want window.every as "+
			"window.size, so that no event is added up twice", config.Duration(w.Size), config.Duration(w.Every))
		return
	}
	for j, d := range periods {
		switch at := v.Item(j); {
		case d%w.Every != 0 || d < 2*w.Every:
			at.Refuse("%s; want a multiple of window.every, %s, of two windows or more", config.Duration(d),
				config.Duration(w.Every))
		case d > longestRollup:
			at.Refuse("%s; want at most 366d", config.Duration(d))
		case slices.Contains(periods[:j], d):
			at.Refuse("%s is in the list twice; remove one", config.Duration(d))
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
		if !r.sound || !r.free() || h.of.Grid == nil || h.isSoFar(r.from) {
			continue // one that is computed from the distribution so far is made with it
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
		f := &config.Computed{Head: r.Head, From: of, Query: r.Query, Figure: figure, Objective: r.objective}
		if f.Objective.IsPositive() && h.of.Window.Every > 0 {
			f.Over = config.Objective{Stream: h.of, Share: f}.Spans()
		}
		h.of.Add(f)
	}
}

// isSoFar reports whether the distribution so far has this name.
func (h histograms) isSoFar(name string) bool {
	return slices.ContainsFunc(h.releases, func(r releaseNode) bool { return r.Name == name && r.soFar() })
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
	v.Refuse("%q is not a release of this stream; %s", r.from, form.Instead(r.from, names,
		"add a release of statistic: histogram"))
	return nil
}

// An entry of the ledger holds the numbers of all groups of a window. It may take half of what a broker takes in a
// record, because numbers may be longer than usual.
const (
	mostEntry   = 512 << 10
	numberBytes = 6
	figureBytes = 160
)

// checkSize refuses histograms whose windows do not fit into an entry of the ledger, and sums over the newest time that
// take too much memory.
func checkSize(s *config.Stream, at form.Node) {
	numbers, figures, kept := 0, 0, int64(0)
	var largest *config.Release
	releases, computed := config.All[*config.Release](s), config.All[*config.Computed](s)
	for _, r := range releases {
		figures++
		b := mechanisms.Buckets(r.Mechanism)
		if b == nil {
			continue
		}
		n, times := b.Len()+b.Groups(), len(r.Rollups)+len(r.Last)
		numbers += n * (1 + times)
		figures += times * (1 + len(computed))
		for _, d := range r.Last {
			if d >= s.Window.Every && s.Window.Every > 0 {
				kept += int64(n) * period.NewStretch(d, s.Window.Every).Blocks()
			}
		}
		if largest == nil || b.Len() > mechanisms.Buckets(largest.Mechanism).Len() {
			largest = r
		}
	}
	if largest == nil {
		return
	}
	figures += len(computed)
	for _, o := range s.Objectives() {
		numbers += 2 * len(o.Spans())
	}
	groups, each := s.MostGroups(), numbers*numberBytes+figures*figureBytes
	if s.Together != "" {
		groups++
	}
	remedy := "fewer buckets or groups"
	if size := groups * each; size > mostEntry {
		if s.Found != nil {
			if most := mostEntry/each - groups + int(s.Found.Max); most > 0 {
				remedy = fmt.Sprintf("fewer buckets, or groups.max of at most %d", most)
			}
		}
		at.Refuse("%d buckets of %q in %s make an entry of about %d kB in the ledger for each window; "+
			"want at most %d kB: %s", mechanisms.Buckets(largest.Mechanism).Len(), largest.Name,
			form.Plural(groups, "group"), size>>10, mostEntry>>10, remedy)
	}
	if kept *= int64(groups); kept > mostKept {
		at.Refuse("the histograms with last keep %d numbers of the windows that they add up; want at most %d: %s, or a "+
			"shorter last", kept, mostKept, remedy)
	}
}

// mostKept is the most numbers that a stream may keep for histograms over the newest time. They are in every checkpoint
// of the ledger, as text.
const mostKept = 500_000

// mostSums is the most numbers that a stream may keep for its objectives, of all groups: two for each block of each
// stretch.
const mostSums = 2_000_000

// checkObjectives refuses objectives whose windows cannot be added up. The groups are known.
func checkObjectives(s *config.Stream, releases []releaseNode) {
	w, sums := s.Window, int64(0)
	for _, o := range s.Objectives() {
		for _, d := range o.Spans() {
			sums += 2 * period.NewStretch(d, w.Every).Blocks() * int64(len(s.Groups))
		}
	}
	span := config.Duration(config.LongestSpan)
	windows := int64(config.LongestSpan / w.Every)
	for i := range releases {
		r := &releases[i]
		if !r.objective.IsPositive() {
			continue
		}
		v := r.Values["objective"]
		switch {
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
		case sums > mostSums:
			v.Refuse("the objectives of this stream keep %d numbers of the windows that they add up; want at most %d: "+
				"longer windows, or fewer groups", sums, mostSums)
		}
	}
}

// checkTogether refuses a name for all groups together that means something else, or nothing.
func (s *streamNode) checkTogether() {
	v, given := s.Values["together"]
	if !given {
		return
	}
	histogram := func(r *config.Release) bool { return mechanisms.Buckets(r.Mechanism) != nil }
	switch {
	case s.Found == nil && len(s.Groups) == 1 && s.Groups[0] == "":
		v.Refuse("%q, but the stream has no groups; want it removed, or groups", s.Together)
	case !slices.ContainsFunc(config.All[*config.Release](&s.Stream), histogram):
		v.Refuse("%q, but no release is a histogram of windows, and nothing else is added up; want it removed, or "+
			"a release with statistic: histogram and without since", s.Together)
	case slices.Contains(s.Groups, s.Together):
		v.Refuse("%q is one of the groups; want a name that no group has", s.Together)
	case s.Found == nil:
	case s.Together == s.Found.Other:
		v.Refuse("%q is groups.other; want a name that no group has", s.Together)
	case slices.Contains(s.Found.Always, s.Together):
		v.Refuse("%q is in groups.always; want a name that no group has", s.Together)
	default: // no group that is found may have the name
		f := s.Found
		if i, in := slices.BinarySearch(f.Except, s.Together); !in {
			f.Except = slices.Insert(slices.Clone(f.Except), i, s.Together)
		}
	}
}
