package parse

import (
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/form"
)

// minUsersNode is MinUsers and its place.
type minUsersNode struct {
	config.MinUsers
	form.Mapping
}

func minUsers() form.Kind[minUsersNode] {
	return form.MappingOf(minUsersForm, func(m form.Mapping, u *minUsersNode, _ bool) { u.Mapping = m })
}

var minUsersForm = form.Form{
	{Name: "count", Required: true, Example: "50",
		Meaning: "the number of users below which the other releases are withheld",
		Value:   form.Into(form.Whole("of users "), func(m *minUsersNode, v int64) { m.Count = v })},
	{Name: "release", Required: true, Example: "users",
		Meaning: "the name of the release that counts the users: a `count` without `above` and `below`",
		Value:   form.Into(form.Prose(), func(m *minUsersNode, v string) { m.Release = v })},
}

// check checks that the release counts users, among those that are drawn in every window.
func (m *minUsersNode) check(s *config.Stream) {
	const want = "want the name of a count release without above and below"
	v := m.Values["release"]
	for _, r := range config.All[*config.Release](s) {
		if r.Name != m.Release {
			continue
		}
		if !r.Query.CountsUsers() {
			v.Refuse("%q does not count all users of a window; %s", r.Name, want)
		}
		return
	}
	for _, f := range config.All[*config.Computed](s) {
		if f.Name == m.Release {
			v.Refuse("%q is computed from a histogram, and its noise is that of many buckets; %s that has an epsilon "+
				"of its own", f.Name, want)
			return
		}
	}
	if f, _ := s.Named(m.Release); f != nil && config.Kinds[f.Kind()].Counts != "" {
		v.Refuse("%q %s; %s", m.Release, config.Kinds[f.Kind()].Counts, want)
		return
	}
	var names []string
	for _, r := range config.All[*config.Release](s) {
		names = append(names, r.Name)
	}
	if near := form.Nearest(m.Release, names); near != "" {
		v.Refuse("%q is not a release of this stream; did you mean %q?", m.Release, near)
		return
	}
	v.Refuse("%q is not a release of this stream; %s", m.Release, want)
}
