package web

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/louver/louver/stream/record"
)

// groupLists answers which groups of a stream were found, and which of them have figures now.
type groupLists struct{ source }

// groupList is what is known about the groups of a stream. Its JSON names are public.
type groupList struct {
	Stream string `json:"stream"`
	// From is the stream whose list it is; "" for its own, or if unknown.
	From string `json:"from,omitempty"`
	// AsOf is the end of the newest discovery, or of that whose list the newest window has, if the list is another
	// stream's; null if there is none in memory.
	AsOf *time.Time `json:"as_of"`
	// Listed is how many groups have figures now, without Other. Max is how many names can be on the list; null if
	// unknown.
	Listed int         `json:"listed"`
	Max    *int64      `json:"max"`
	Other  string      `json:"other"` // the group for everybody else, or ""
	Groups []groupInfo `json:"groups"`
}

// groupInfo is what is known about a group.
type groupInfo struct {
	Group  string `json:"group"`
	Listed bool   `json:"listed"`
	// Always says that the group is on every list.
	Always bool `json:"always"`
	// Value is the largest number of users that a discovery has found and that still counts, with its error and its
	// band; null if none is in memory.
	Value *json.Number `json:"value"`
	Error *json.Number `json:"error_95"`
	record.BandFields
	Rows []foundRow `json:"rows"`
	// Since is when it came to the list, as far as that is in memory, and Until when it leaves it unless it is found
	// again.
	Since *time.Time `json:"since"`
	Until *time.Time `json:"listed_until"`
	// New says that it came within the last day.
	New bool `json:"new"`
	// Together says that it is all groups together, which is no group of the list.
	Together bool `json:"together,omitempty"`
}

// foundRow is what a discovery last found about a group.
type foundRow struct {
	Release string       `json:"release"`
	Value   *json.Number `json:"value"`
	Error   *json.Number `json:"error_95"`
	record.BandFields
	FoundAt *time.Time `json:"found_at"`
}

// day is how long a group is new.
const day = 24 * 60 * 60

func (s groupLists) answer(w http.ResponseWriter, r *http.Request) error {
	p := query(r, "stream")
	if p.values.Get("stream") == "" {
		p.refuse("stream is missing; want a stream whose groups are found")
	}
	want := selection{streams: []string{p.values.Get("stream")}}
	if err := s.check(p, want); err != nil {
		return err
	}
	list, ok := s.lists()[want.streams[0]]
	if !ok {
		return &problem{http.StatusNotFound,
			fmt.Sprintf("the groups of %s are not found, but listed in its streams file", want.streams[0])}
	}
	return answerJSON(w, r, list)
}

// names collects what is in memory about the groups of a stream.
type names struct {
	from  string // the stream whose list it is; "" for its own
	asOf  int64  // the end of the newest discovery, or of that whose list is in use here
	other string // the group for everybody else
	// together is the group of all groups together.
	together string
	found    map[string][]*point
	newest   window // the newest whose list is that of asOf
}

// window is a window whose groups are all known.
type window struct {
	end    int64
	groups map[string]bool
}

// lists returns the lists of all streams whose groups are found.
func (s source) lists() map[string]groupList {
	all := map[string]*names{}
	of := func(stream string) *names {
		if all[stream] == nil {
			all[stream] = &names{found: map[string][]*point{}}
		}
		return all[stream]
	}
	for _, x := range s.streams {
		if x.Found != nil {
			of(x.Name).from = x.Found.From
		}
	}
	used := map[string]int64{} // the end of the newest discovery whose list a window of a stream has
	s.store.each(func(e *series) {
		newest := e.points[len(e.points)-1]
		if !e.discovery {
			used[e.stream] = max(used[e.stream], newest.list)
			return
		}
		n := of(e.stream)
		n.asOf = max(n.asOf, newest.end)
		if e.group != "" {
			n.found[e.group] = append(n.found[e.group], e.points...)
		}
	})
	for stream, end := range used {
		// its discoveries are another stream's, or not in memory
		if n := all[stream]; end != 0 && (n == nil || n.asOf == 0) {
			of(stream).asOf = end
		}
	}
	for _, n := range all {
		if source := all[n.from]; n.from != "" && source != nil {
			n.found, n.asOf = source.found, cmp.Or(n.asOf, source.asOf)
		}
	}
	s.store.each(func(e *series) {
		if n := all[e.stream]; n != nil && !e.discovery && !e.watch {
			n.see(e)
		}
	})
	lists := map[string]groupList{}
	for stream, n := range all {
		lists[stream] = s.list(stream, n)
	}
	return lists
}

// see adds a group to those of the newest window. The groups of a window that uses the newest list are that list.
func (n *names) see(e *series) {
	f := e.points[len(e.points)-1]
	if e.other {
		n.other = e.group
	}
	if e.together {
		n.together = e.group
	}
	if f.list != n.asOf || f.end < n.newest.end {
		return
	}
	if f.end > n.newest.end || n.newest.groups == nil {
		n.newest = window{f.end, map[string]bool{}}
	}
	n.newest.groups[e.group] = true
}

// list returns what is known about the groups of a stream, those with the most users first. All groups together stand
// behind those that are listed, as in streams whose file lists them.
func (s source) list(stream string, n *names) groupList {
	l := groupList{Stream: stream, From: n.from, Other: n.other, Groups: []groupInfo{}}
	if n.asOf != 0 {
		l.AsOf = instant(n.asOf)
	}
	groups := map[string]*groupInfo{}
	add := func(name string) *groupInfo {
		if groups[name] == nil {
			groups[name] = &groupInfo{Group: name, Rows: []foundRow{}}
		}
		return groups[name]
	}
	if of := s.definition(stream); of != nil && of.Found != nil {
		l.Max, l.Other = new(of.Found.Max), of.Found.Other
		for _, name := range of.Found.Always {
			add(name).Always = true
		}
	}
	for name, findings := range n.found {
		add(name).learn(findings, n.asOf, s.now().Unix())
	}
	for name := range n.newest.groups {
		if name != l.Other || name == "" {
			add(name)
		}
	}
	for _, g := range groups {
		g.Listed = g.Always || g.Until != nil && g.Until.Unix() > n.asOf
		if n.newest.groups != nil {
			g.Listed = n.newest.groups[g.Group]
		}
		g.Together = n.together != "" && g.Group == n.together
		if g.New = g.New && g.Listed; g.Listed && !g.Together {
			l.Listed++
		}
		l.Groups = append(l.Groups, *g)
	}
	slices.SortFunc(l.Groups, func(x, y groupInfo) int {
		listed := func(g groupInfo) int {
			switch {
			case g.Listed && !g.Together:
				return 2
			case g.Listed:
				return 1
			}
			return 0
		}
		return cmp.Or(listed(y)-listed(x), cmp.Compare(users(y.Value), users(x.Value)),
			strings.Compare(x.Group, y.Group))
	})
	return l
}

func users(n *json.Number) float64 {
	if n == nil {
		return -1
	}
	f, _ := n.Float64()
	return f
}

// learn adds what discoveries up to the newest one, asOf, have found about a group.
func (g *groupInfo) learn(findings []*point, asOf, now int64) {
	slices.SortFunc(findings, (*point).order)
	rows := map[string]*point{}
	var since, until int64
	for _, f := range findings {
		if f.end >= until {
			since = f.end
		}
		until = max(until, f.finding.until)
		rows[f.series.release] = f
	}
	if until != 0 {
		g.Until = instant(until)
		g.Since, g.New = instant(since), now-since < day
	}
	for _, f := range rows {
		g.Rows = append(g.Rows, foundRow{f.series.release, f.finding.value, f.finding.error95, f.finding.band,
			instant(f.end)})
		if (f.finding.until > asOf || until <= asOf) && users(f.finding.value) > users(g.Value) {
			g.Value, g.Error, g.BandFields = f.finding.value, f.finding.error95, f.finding.band
		}
	}
	slices.SortFunc(g.Rows, func(x, y foundRow) int { return strings.Compare(x.Release, y.Release) })
}
