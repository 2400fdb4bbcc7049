package outputs

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/louver/louver/stream/record"
)

// Found says how many names can be on the list of a stream whose groups are found, and which are always on it. From is
// the stream that finds them; "" for the stream itself.
type Found struct {
	From   string
	Max    int64
	Always []string
}

// mostGroups is how many found groups of a stream have gauges, beside those that are always listed and the one for
// everybody else.
const mostGroups = 1000

// settled is how long after a window's first record all its records are here.
const settled = 10 * time.Second

var (
	groupsListed = prometheus.NewDesc("louver_groups_listed",
		"How many groups of the stream have figures now, without the one for everybody else. Only of streams whose "+
			"groups are found.", []string{"stream"}, nil)
	groupsMax = prometheus.NewDesc("louver_groups_max",
		"How many names can be on the list of the stream, without those that always are.", []string{"stream"}, nil)
	groupsWithout = prometheus.NewDesc("louver_groups_without_gauges",
		"How many groups of the stream have figures and no gauges: there are gauges for the 1,000 with the most users.",
		[]string{"stream"}, nil)
)

// foundGroups is what is known about the groups of a stream.
type foundGroups struct {
	Found
	known bool // the definition is
	// end is the end of the newest window with figures, and before the end of the one before it. begun is when the
	// newest window's first record came.
	end, before, begun time.Time
	counts             map[string]count
}

// count is what a discovery found.
type count struct {
	users float64
	until time.Time
}

// Finds names the streams whose groups are found.
func (g *Gauges) Finds(streams map[string]Found) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for name, f := range streams {
		of := g.groupsOf(name)
		of.Found, of.known = f, true
	}
}

func (g *Gauges) groupsOf(stream string) *foundGroups {
	if g.found[stream] == nil {
		g.found[stream] = &foundGroups{counts: map[string]count{}}
	}
	return g.found[stream]
}

// find takes note of a record of a stream whose groups are found. It reports whether the record is what a discovery
// says about a name, which has no gauge.
func (g *Gauges) find(r Record) bool {
	if r.Statistic == record.StatisticGroups && r.Group != "" {
		of := g.groupsOf(r.Stream)
		if r.ListedUntil != nil && r.Value != nil {
			users, _ := r.Value.Float64()
			if old := of.counts[r.Group]; users >= old.users || !r.WindowEnd.Before(old.until) {
				of.counts[r.Group] = count{users, *r.ListedUntil}
			}
		}
		return true
	}
	if r.List == nil && !r.Other && g.found[r.Stream] == nil || r.Statistic == record.StatisticGroups {
		return false
	}
	if of := g.groupsOf(r.Stream); r.WindowEnd.After(of.end) {
		of.end, of.before, of.begun = r.WindowEnd, of.end, g.now()
		g.forget(r.Stream, of)
	}
	return false
}

// forget drops what is known of groups that are in neither of the newest two windows, and counts that are no longer
// on the list.
func (g *Gauges) forget(stream string, of *foundGroups) {
	here := map[string]bool{"": true}
	for _, r := range g.newest {
		here[r.Group] = here[r.Group] || r.Stream == stream && !r.WindowEnd.Before(of.before)
	}
	for key, r := range g.newest {
		if r.Stream == stream && !here[r.Group] {
			delete(g.newest, key)
			delete(g.step, key)
		}
	}
	for name, c := range of.counts {
		if c.until.Before(of.end) {
			delete(of.counts, name)
		}
	}
}

// listed returns the groups of a stream that have figures now, those with the most users first. While a window's
// records are still coming, those of the window before it count too.
func (g *Gauges) listed(stream string, of *foundGroups) (names []string) {
	least := of.end
	if g.now().Sub(of.begun) < settled {
		least = of.before
	}
	seen := map[string]bool{}
	for _, r := range g.newest {
		if r.Stream == stream && r.Group != "" && !r.Other && !r.Together && !seen[r.Group] && !r.WindowEnd.Before(least) {
			seen[r.Group] = true
			names = append(names, r.Group)
		}
	}
	counts := of.counts
	if finder := g.found[of.From]; of.From != "" && finder != nil {
		counts = finder.counts
	}
	users := func(name string) float64 {
		if slices.Contains(of.Always, name) {
			return math.Inf(1)
		}
		return counts[name].users
	}
	slices.SortFunc(names, func(x, y string) int {
		return cmp.Or(cmp.Compare(users(y), users(x)), strings.Compare(x, y))
	})
	return names
}

// listedGroups are the found groups of a stream that have figures now, and those of them that have gauges. The group ""
// is for figures about no group.
type listedGroups struct{ all, gauges map[string]bool }

// collectGroups shows how many groups there are. It returns which of them are listed, by stream.
func (g *Gauges) collectGroups(to metrics) map[string]listedGroups {
	listed := map[string]listedGroups{}
	for stream, of := range g.found {
		names := g.listed(stream, of)
		most := min(len(names), mostGroups+len(of.Always))
		to.show(groupsListed, float64(len(names)), stream)
		to.show(groupsWithout, float64(len(names)-most), stream)
		if of.known {
			to.show(groupsMax, float64(of.Max), stream)
		}
		here := listedGroups{map[string]bool{"": true}, map[string]bool{"": true}}
		for i, name := range names {
			here.all[name], here.gauges[name] = true, i < most
		}
		listed[stream] = here
	}
	return listed
}

// hides reports whether a record's group is found and has no gauges. A watch that fires is shown in any listed group.
func hides(listed map[string]listedGroups, r Record) bool {
	groups, found := listed[r.Stream]
	if r.Together {
		return false
	}
	if fires(r) {
		return found && !r.Other && !groups.all[r.Group]
	}
	return found && !r.Other && !groups.gauges[r.Group]
}

// fires reports whether a watch has fired in the group of a record.
func fires(r Record) bool {
	return r.Statistic == record.StatisticWatch && r.Value != nil && r.Value.String() == "1"
}

// collectLeft shows that a watch has fired in a group that has left the list since, and waits to be armed again. The
// group has no more records, so without a gauge the alarm would seem to be over. newest is a record of the watch's
// newest window.
func (g *Gauges) collectLeft(to metrics, newest Record) {
	waits := newest.Reason != nil && *newest.Reason == record.NotArmed
	if _, found := g.found[newest.Stream]; found && waits && g.fresh(newest) {
		to.show(firing.desc, 1, newest.Stream, "", newest.Release)
	}
}
