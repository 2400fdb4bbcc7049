package main

import (
	"fmt"
	"slices"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/cost"
)

// tooMuch is the ε above which check warns. At odds of e^10 an attacker is almost certain.
var tooMuch = decimal.NewFromInt(10)

// largeDelta is the δ above which check warns.
var largeDelta = decimal.New(1, -5)

// leastInformation is the ε·n that clipped means and sums need. From 12 on they may be good; below that they are only
// noise.
var leastInformation = decimal.NewFromInt(40)

// warner collects warnings about settings that are allowed but seldom intended.
type warner []string

func (w *warner) warn(where, format string, args ...any) {
	*w = append(*w, where+": warning: "+fmt.Sprintf(format, args...))
}

func warnings(file *config.File, found *examination) []string {
	w := warner{}
	for i, s := range file.Streams {
		e := found.Streams[i]
		for j, r := range s.Releases {
			w.privacy(s, r)
			for _, v := range e.Releases[j].Values {
				w.error(s, r, v)
			}
		}
		for j, x := range e.Watches {
			w.watch(s, s.Alarms()[j], x)
		}
		for _, of := range s.OnChange() {
			w.change(s, of)
		}
		w.window(s, e)
		w.minUsers(s, e)
		w.maxWindows(s, e)
		if s.Input.UserPartitioned {
			w.warn(s.Where, "streams[%s].input.user_partitioned: has no effect: users are always compared across partitions, because adding partitions moves users; leave it out", s.Name)
		}
	}
	w.payers(file)
	for _, b := range file.Budgets {
		if len(file.StreamsOf(b)) == 0 {
			w.warn(b.Where, "budgets[%s]: no stream uses it", b.Name)
		}
		if b.Delta.GreaterThan(largeDelta) {
			w.warn(b.Where, "budget %s: a delta of %s lets the promise fail for one user in %s; want far less than one in all users, for example %s",
				b.Name, b.Delta, decimal.NewFromInt(1).DivRound(b.Delta, 0), cost.Suggested)
		}
	}
	return w
}

// privacy warns of a release that protects hardly anyone.
func (w *warner) privacy(s *config.Stream, r config.Release) {
	if r.Query.Epsilon.Cmp(tooMuch) > 0 {
		w.warn(r.Where, "streams[%s].releases[%s].epsilon: ε %s hardly protects anyone; want 1 or less", s.Name, r.Name, r.Query.Epsilon)
	}
	if users := s.ExpectedUsers; users > 0 && r.Query.Delta.Mul(decimal.NewFromInt(users)).Cmp(decimal.NewFromInt(1)) >= 0 {
		w.warn(r.Where, "streams[%s].releases[%s].delta: with δ %s, every window may reveal one of the %d expected users; want far less than 1/%d",
			s.Name, r.Name, r.Query.Delta, users, users)
	}
}

// error warns of a value that may be all noise.
func (w *warner) error(s *config.Stream, r config.Release, v examinedValue) {
	users := s.ExpectedUsers
	if v.ValueError != nil {
		if width := s.Grid.Upper().Sub(s.Grid.Lower()).InexactFloat64(); *v.ValueError >= width/2 {
			w.warn(r.Where, "streams[%s].releases[%s]: the error can reach %s between bounds that are %s apart, so the value may be all noise; want more users, longer windows, a larger epsilon or narrower bounds",
				s.Name, v.Release, valueText(v.ValueError, s.Unit), cli.Short(width))
		}
	}
	if users == 0 {
		return
	}
	if information := r.Query.Epsilon.Mul(decimal.NewFromInt(users)); mechanisms.Clips(r.Mechanism) && information.LessThan(leastInformation) {
		w.warn(r.Where, "streams[%s].releases[%s]: ε %s times %d expected users is %s, too little to find an interval to clip values to; want at least %s (more users, longer windows or a larger epsilon), or clip: none",
			s.Name, v.Release, r.Query.Epsilon, users, information, leastInformation)
	}
	switch {
	case v.RankError != nil && v.Quality == mechanisms.Noise:
		w.warn(r.Where, "streams[%s].releases[%s]: the error can reach %.0f ranks among %d expected users, so the value may be all noise; want more users, longer windows or a larger epsilon",
			s.Name, v.Release, *v.RankError, users)
	case v.CountError != nil && *v.CountError >= users:
		w.warn(r.Where, "streams[%s].releases[%s]: the noise can reach %s, but only %d are expected; want more users, longer windows or a larger epsilon",
			s.Name, v.Release, cli.Plural(*v.CountError, "user"), users)
	case v.Lead != nil && *v.Lead >= users:
		w.warn(r.Where, "streams[%s].releases[%s]: the mode is found only if it leads by %s, but only %d are expected; want more users, longer windows, a larger epsilon or a coarser step",
			s.Name, v.Release, cli.Plural(*v.Lead, "user"), users)
	}
}

// window warns of releases that are harmless alone but not together.
func (w *warner) window(s *config.Stream, e examinedStream) {
	alone := slices.ContainsFunc(s.Releases, func(r config.Release) bool { return r.Query.Epsilon.Cmp(tooMuch) > 0 })
	if alone || e.Epsilon.Cmp(tooMuch) <= 0 {
		return
	}
	want := "fewer or cheaper releases"
	if s.MaxGroups > 1 {
		want += fmt.Sprintf(", or max_groups below %d, which multiplies their cost", s.MaxGroups)
	}
	w.warn(s.Where, "streams[%s]: one window costs a user ε %s, which hardly protects anyone; want %s", s.Name, e.Epsilon, want)
}

// minUsers warns of a threshold that noise alone can pass.
func (w *warner) minUsers(s *config.Stream, e examinedStream) {
	if s.MinUsers == nil {
		return
	}
	for _, r := range e.Releases {
		if noise := r.Values[0].CountError; r.Release == s.MinUsers.Release && noise != nil && *noise >= s.MinUsers.Count {
			w.warn(s.Where, "streams[%s].min_users.count: %d is within the noise of release %s (± %s), so even an empty window may pass; want more than %d, or a larger epsilon",
				s.Name, s.MinUsers.Count, r.Release, cli.Plural(*noise, "user"), *noise)
		}
	}
}

// maxWindows warns of a cap that changes nothing.
func (w *warner) maxWindows(s *config.Stream, e examinedStream) {
	switch {
	case s.MaxWindows == nil:
	case len(s.Releases) == 0:
		w.warn(s.Where, "streams[%s].max_windows: has no effect, because watches and releases on change count everybody, and no release is drawn in every window; leave it out", s.Name)
	case e.MaxWindows.Share >= 1:
		w.warn(s.Where, "streams[%s].max_windows: has no effect, because a user counts in every window of a part of %s; want a smaller count, or a longer per", s.Name, e.MaxWindows.Block)
	}
}

// payers warns of two budgets for the users of one topic.
func (w *warner) payers(file *config.File) {
	first := map[string]*config.Stream{}
	for _, s := range file.Streams {
		if other := first[s.Input.Topic]; other == nil {
			first[s.Input.Topic] = s
		} else if other.Budget != s.Budget && !other.Fresh && !s.Fresh {
			w.warn(s.Where, "streams[%s]: reads topic %s, as stream %s does, but another budget pays, so users of the topic can lose the sum of both; louver run refuses it; want one budget for both, or fresh: true if that is intended",
				s.Name, s.Input.Topic, other.Name)
		}
	}
}
