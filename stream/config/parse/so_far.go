package parse

import (
	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/form"
)

// A histogram with `since` is the distribution so far: a running total of each of its numbers. Figures `from` it are
// part of it.

// soFar reports whether a release is the distribution so far.
func (r *releaseNode) soFar() bool { return r.since != "" && r.Query.Statistic == mechanisms.Histogram }

// checkSoFar refuses keys of a histogram that do not go with since.
func (r *releaseNode) checkSoFar() {
	for _, key := range []string{"rollup", "last"} {
		if v, given := r.Values[key]; given && r.soFar() {
			v.Refuse("given, but since is %s: it adds up all windows already, each user once; want one of the two, or a "+
				"second histogram", r.since)
			r.sound = false
		}
	}
}

// distribution makes the distribution so far of a sound release, with the figures that are computed from it.
func (r *releaseNode) distribution(s *config.Stream) config.Figure {
	of := &config.SoFar{Total: *r.total(s)}
	if of.Mechanism == nil || of.Mechanism.Buckets == nil { // it was refused
		return &of.Total
	}
	// Other buckets are other numbers, in which nobody has counted yet.
	of.Definition = fingerprint("so far|%s|%v|%d", of.Definition, of.Mechanism.Buckets.Ends(),
		of.Mechanism.Buckets.Levels())
	for _, f := range r.figures {
		if v, given := f.Values["objective"]; given {
			v.Refuse("the users so far are added up already, and an objective adds up windows; want it on a share from " +
				"a histogram without since")
			continue
		}
		f.Query.Grid = s.Grid
		figure, err := mechanisms.NewComputed(f.Query, of.Mechanism.Buckets)
		if err != nil {
			refuse(f.Mapping, err)
			continue
		}
		one := &config.Computed{Head: f.Head, Query: f.Query, Figure: figure}
		one.Unit, one.Budget, one.Groups = s.Unit, s.Budget, int64(max(1, s.MaxGroups))
		of.Figures = append(of.Figures, one)
	}
	checkSoFarSize(of, s, r.Values["buckets"])
	return of
}

// A drawn number of square_root has more digits than one of a tree, because it is a multiple of 2^−32.
const longNumberBytes = 16

// checkSoFarSize refuses a distribution whose draws do not fit into an entry of the ledger.
func checkSoFarSize(of *config.SoFar, s *config.Stream, at form.Node) {
	m, numbers := of.Mechanism, of.Mechanism.Numbers()
	each := numberBytes
	if m.Longest() > 0 {
		each = longNumberBytes
	}
	drawn := 0 // the most at the end of a leaf
	for leaf := range of.Query.Leaves {
		drawn = max(drawn, m.Draws(leaf+1))
	}
	size := len(s.Groups) * (numbers*(drawn*each+numberBytes) + (1+len(of.Figures))*figureBytes)
	if size > mostEntry {
		at.Refuse("%d buckets of %q in %s make an entry of about %d kB in the ledger; want at most %d kB: fewer buckets "+
			"or groups", m.Buckets.Len(), of.Name, form.Plural(len(s.Groups), "group"), size>>10, mostEntry>>10)
	}
}

// figuresFrom lists the releases that are computed from a histogram, in the order of the file.
func (h histograms) figuresFrom(histogram string) (all []*releaseNode) {
	for i := range h.releases {
		if r := &h.releases[i]; r.sound && r.free() && r.from == histogram {
			all = append(all, r)
		}
	}
	return all
}
