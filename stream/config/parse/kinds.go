package parse

import (
	"slices"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/form"
)

// releaseNode is a release and its place, with the keys of all kinds. Its mechanism is made later.
type releaseNode struct {
	config.Release
	form.Mapping
	changeKeys
	totalKeys
	activeKeys
	histogramKeys
	figures []*releaseNode // those that are computed from the distribution so far
	sound   bool           // it has no faults of its own
}

// releaseKind is a kind of figure that is written among the releases of a stream. Its keys are in the form of all
// releases, and one of them makes a release one of the kind.
type releaseKind struct {
	config.Kind
	// key makes a release one of this kind if is says so of its value.
	key  string
	is   func(r *releaseNode) bool
	form form.Form
	// check refuses keys that do not go together, of any release.
	check func(r *releaseNode)
	// mechanisms are those that draw it, beside the mechanisms of windows.
	mechanisms []string
	// draws says that its values are drawn as those of a window are. updates says that the file may say how much time is
	// from one value to the next.
	draws, updates bool
	// make makes the figure of a sound release once the window, the groups and the budget of its stream are known. It
	// is nil if the figure is made with the window's.
	make func(r *releaseNode, s *config.Stream) config.Figure
	// listed says that it needs groups that are listed. cuts says that figures are computed from it, so that they decide
	// where its buckets end.
	listed, cuts bool
}

// releaseKinds are the kinds of figures among releases, beside those that are drawn in every window.
func releaseKinds() []releaseKind {
	return []releaseKind{
		{Kind: config.Derived, key: "from", is: (*releaseNode).free, form: histogramForm},
		{Kind: config.Redrawn, key: "publish", form: changeForm, check: (*releaseNode).checkChange, listed: true,
			draws: true,
			is:    func(r *releaseNode) bool { return r.publish == onChange },
			make:  func(r *releaseNode, s *config.Stream) config.Figure { return r.change(s) }},
		{Kind: config.Running, key: "since", check: (*releaseNode).checkSoFar, listed: true, cuts: true,
			updates: true, is: (*releaseNode).soFar, make: (*releaseNode).distribution},
		{Kind: config.Running, key: "since", form: totalForm, check: (*releaseNode).checkTotal, listed: true,
			updates:    true,
			is:         func(r *releaseNode) bool { return r.since != "" },
			make:       func(r *releaseNode, s *config.Stream) config.Figure { return r.total(s) },
			mechanisms: mechanisms.TotalMechanisms()},
		{Kind: config.Present, key: "active", form: activeForm, check: (*releaseNode).checkActive, listed: true,
			updates:    true,
			is:         func(r *releaseNode) bool { return r.active != 0 },
			make:       func(r *releaseNode, s *config.Stream) config.Figure { return r.makeActive(s) },
			mechanisms: mechanisms.ActiveMechanisms()},
	}
}

// kind is the kind of a release.
func (r *releaseNode) kind() releaseKind {
	for _, k := range releaseKinds() {
		if k.is(r) {
			return k
		}
	}
	return releaseKind{Kind: config.Drawn, draws: true}
}

// updates reports whether the release has the key of a kind that may say how much time is from one value to the next.
// What that key says may be wrong, which was said.
func (r *releaseNode) updates() bool {
	return slices.ContainsFunc(releaseKinds(), func(k releaseKind) bool {
		_, given := r.Values[k.key]
		return given && k.updates
	})
}

// kindForms are the keys of all kinds.
func kindForms() (keys form.Form) {
	for _, k := range releaseKinds() {
		keys = append(keys, k.form...)
	}
	return keys
}

// lasting are the releases whose figures are not made with the window's, in the order of the kinds and of the file.
func (s *streamNode) lasting() (all []*releaseNode) {
	for i := range s.releases {
		if r := &s.releases[i]; r.kind().make != nil {
			all = append(all, r)
		}
	}
	slices.SortStableFunc(all, func(a, b *releaseNode) int { return int(a.kind().Kind - b.kind().Kind) })
	return all
}
