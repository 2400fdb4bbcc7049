package web

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/louver/louver/stream/config"
)

// source is what answers are made from. It is safe for concurrent use.
type source struct {
	store   *Store
	streams []*config.Stream // the definitions; nil: only the records are known
	now     func() time.Time
}

// wanted reads a query that may name streams and nothing else.
func (s source) wanted(r *http.Request) (selection, error) {
	p := parameters{values: r.URL.Query()}
	if p.allowed("stream"); p.err != nil {
		return selection{}, invalid(p.err)
	}
	want := p.selection()
	return want, s.known(want)
}

// known refuses names that are in no declared stream and in no record.
func (s source) known(want selection) error {
	streams, groups, releases := map[string]bool{}, map[string]bool{}, map[string]bool{}
	add := func(stream, group, release string) {
		if streams[stream] = true; len(want.streams) == 0 || slices.Contains(want.streams, stream) {
			groups[group], releases[release] = true, true
		}
	}
	group := func(stream, name string) {
		if len(want.streams) == 0 || slices.Contains(want.streams, stream) {
			groups[name] = true
		}
	}
	lists := map[string][]string{} // the streams that follow each list
	for _, of := range s.streams {
		streams[of.Name] = true // even if no group has a record yet
		if f := of.Found; f != nil {
			lists[f.From] = append(lists[f.From], of.Name)
			for _, name := range append([]string{f.Other}, f.Always...) {
				group(of.Name, name)
			}
			for _, name := range of.SeriesNames() {
				add(of.Name, f.Other, name)
			}
		}
		for _, g := range of.Groups {
			for _, f := range of.Figures { // none is a discovery, because the groups are listed
				for _, x := range f.Series() {
					add(of.Name, g, x.Name)
				}
			}
		}
	}
	s.store.each(func(e *series) {
		add(e.stream, e.group, e.release)
		if e.discovery {
			for _, follower := range lists[e.stream] {
				group(follower, e.group)
			}
		}
	})
	for _, x := range []struct {
		kind  string
		want  []string
		known map[string]bool
	}{{"stream", want.streams, streams}, {"group", want.groups, groups}, {"release", want.releases, releases}} {
		for _, name := range x.want {
			if !x.known[name] {
				return &problem{http.StatusNotFound, fmt.Sprintf("there is no %s %q; want one of %s", x.kind, name,
					some(x.known))}
			}
		}
	}
	return nil
}

// some returns the first names of a set.
func some(set map[string]bool) string {
	const most = 20
	names := slices.Sorted(maps.Keys(set))
	if len(names) == 0 {
		return "none: nothing is known yet"
	}
	if len(names) > most {
		names = append(names[:most], "…")
	}
	return strings.Join(names, ", ")
}
