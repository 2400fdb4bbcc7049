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
	p := query(r, "stream")
	want := p.selection()
	return want, s.check(p, want)
}

// check refuses wrong parameters, and names that are in no definition and in no record.
func (s source) check(p *parameters, want selection) error {
	if err := p.mistake(); err != nil {
		return err
	}
	streams, groups, releases := map[string]bool{}, map[string]bool{}, map[string]bool{}
	add := func(set map[string]bool, names ...string) {
		for _, name := range names {
			set[name] = true
		}
	}
	wanted := func(stream string) bool { return len(want.streams) == 0 || slices.Contains(want.streams, stream) }
	followers := map[string][]string{} // of the list of a stream
	for _, of := range s.streams {
		add(streams, of.Name) // even if no group has a record yet
		if of.Found != nil {
			followers[of.Found.From] = append(followers[of.Found.From], of.Name)
		}
		if !wanted(of.Name) {
			continue
		}
		add(releases, of.SeriesNames()...)
		add(groups, of.Groups...)
		if f := of.Found; f != nil {
			add(groups, f.Other)
			add(groups, f.Always...)
		}
	}
	s.store.each(func(e *series) {
		add(streams, e.stream)
		if wanted(e.stream) {
			add(groups, e.group)
			add(releases, e.release)
		}
		if e.discovery && slices.ContainsFunc(followers[e.stream], wanted) {
			add(groups, e.group)
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

// definition returns the definition of a stream; nil if only its records are known.
func (s source) definition(stream string) *config.Stream {
	return (&config.File{Streams: s.streams}).Stream(stream)
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
