package config

import (
	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/windows"
)

// streamNode is a stream, where it is written, and what of it can only be resolved when more has been read.
type streamNode struct {
	Stream
	mapping
	releases []releaseNode
	payer    payer
}

var streamForm = form{
	{name: "name", required: true, example: "checkout-latency", meaning: "the stream's name, unique in the app. It is part of every published record",
		value: into(name("name", "a name of the characters a–z, 0–9 and -", `^[a-z0-9-]+$`, 200), func(s *streamNode, v string) { s.Name = v })},
	{name: "description", absent: "none", example: "time to confirm an order", meaning: "what the numbers are, for people",
		value: into(prose(), func(s *streamNode, v string) { s.Description = v })},
	{name: "input", required: true, example: "{topic: checkout.events, user: user_id, value: latency_ms}", meaning: "where events come from, and which fields they have",
		value: into(input(), func(s *streamNode, v Input) { s.Input = v })},
	{name: "unit", absent: "none", example: "ms", meaning: "the unit that is published with every value",
		value: into(prose(), func(s *streamNode, v string) { s.Unit = v })},
	{name: "groups", absent: "one group, without a name", example: "[eu, us, ap]", meaning: "the public list of groups. Every group of every window is published, whether or not anybody is in it. Needs `input.group`",
		value: into(listOf(name("name", "a name of 1–200 characters without /", `^[^/]+$`, 200), "names of groups", 1, most), func(s *streamNode, v []string) { s.Groups = v })},
	{name: "max_groups", fallback: "1", example: "2", meaning: "in how many groups of a window one user counts. It multiplies what a window costs",
		value: into(whole("of groups "), func(s *streamNode, v int64) { s.MaxGroups = int(v) })},
	{name: "bounds", required: true, example: "{lower: 0, upper: 60000, step: 1}", meaning: "the public range of values. Never take it from the data: there are no default bounds",
		value: into(bounds(), func(s *streamNode, v boundary) { s.Grid, s.Prior = v.grid, v.prior })},
	{name: "expected_users", absent: "unknown", example: "5000", meaning: "a public forecast of the users in one window and group. Forecasts, the adaptive prior and the choice of a quantile's mechanism use it; never take it from the data",
		value: into(whole("of users "), func(s *streamNode, v int64) { s.ExpectedUsers = v })},
	{name: "window", required: true, example: "{size: 15m, grace: 30s}", meaning: "which stretches of time are published",
		value: into(window(), func(s *streamNode, v Window) { s.Window = v })},
	{name: "contribution", fallback: "last", example: "max", meaning: "which of a user's values in a window counts. `first` and `last` go by event time",
		value: into(oneOf("first", "last", "min", "max", "random"), func(s *streamNode, v string) { s.Contribution = windows.Policy(v) })},
	{name: "releases", required: true, example: "[{name: p50, statistic: median, epsilon: 0.05}]", meaning: "the figures that are published for each window and group",
		value: into(listOf(release(), "releases, for example {name: p50, statistic: median, epsilon: 0.05}", 1, most), func(s *streamNode, v []releaseNode) { s.releases = v })},
	{name: "min_users", absent: "nothing is withheld", example: "{count: 50, release: users}", meaning: "withhold the other releases of a window and group while a released count is low. They are charged all the same",
		value: into(mappingOf[MinUsers](minUsersForm, nil), func(s *streamNode, v MinUsers) { s.MinUsers = &v })},
	{name: "rejects", absent: "not copied", example: "{topic: checkout.rejects}", meaning: "where copies of unreadable records go. They hold what people sent: restrict the topic",
		value: into(topic("the topic for records that cannot be read, with the reason in headers", "checkout.rejects"), func(s *streamNode, v string) { s.Rejects = v })},
	{name: "late", absent: "not copied", example: "{topic: checkout.late}", meaning: "where copies of late records go. They hold what people sent: restrict the topic",
		value: into(topic("the topic for records that came too late for all their windows", "checkout.late"), func(s *streamNode, v string) { s.Late = v })},
	{name: "output", required: true, example: "{topic: checkout.private}", meaning: "where the figures are published",
		value: into(topic("the topic for published records", "checkout.private"), func(s *streamNode, v string) { s.Output = v })},
	{name: "budget", required: true, example: "shoppers", meaning: "what pays for the windows: the name of one of the `budgets`, or a budget of the stream's own",
		value: into(budgetOrName(), func(s *streamNode, v payer) { s.payer = v })},
	{name: "on_exhausted", fallback: "refuse", example: "withhold",
		meaning: "what to do if the budget cannot pay for every window. `refuse`: `check` and `run` stop with an error. `withhold`: windows that it cannot pay are published without values",
		value:   into(oneOf("refuse", "withhold"), func(s *streamNode, v string) { s.Withhold = v == "withhold" })},
	{name: "fresh", fallback: "false", example: "true",
		meaning: "let the budget begin anew where the users of this input topic pay, or have paid, from another one. Users can then lose the sum of both. It applies once: the same file read again means nothing new, and a later change of budget is judged again",
		value:   into(boolean(), func(s *streamNode, v bool) { s.Fresh = v })},
	{name: "continues", absent: "none", example: "old-budget", meaning: "the budget that paid before, and that no stream pays from any more. What was spent from it counts against the new one. It applies once, as `fresh` does",
		value: into(budgetName(), func(s *streamNode, v string) { s.Continues = v })},
}

var minUsersForm = form{
	{name: "count", required: true, example: "50", meaning: "the number of users below which the other releases are withheld",
		value: into(whole("of users "), func(m *MinUsers, v int64) { m.Count = v })},
	{name: "release", required: true, example: "users", meaning: "the name of the release that counts the users: a `count` without `above` and `below`",
		value: into(prose(), func(m *MinUsers, v string) { m.Release = v })},
}

// boundary is what bounds are read into.
type boundary struct {
	lower, upper, step decimal.Decimal
	prior              string
	grid               *mechanisms.Grid
}

var boundsForm = form{
	{name: "lower", required: true, example: "0", meaning: "the least value. Lower values count as this one",
		value: into(number(span{}), func(b *boundary, v decimal.Decimal) { b.lower = v })},
	{name: "upper", required: true, example: "60000", meaning: "the greatest value. Greater values count as this one",
		value: into(number(span{}), func(b *boundary, v decimal.Decimal) { b.upper = v })},
	{name: "step", required: true, example: "1", meaning: "the distance between values that can be published. The range must be a multiple of it",
		value: into(number(span{over: "0"}), func(b *boundary, v decimal.Decimal) { b.step = v })},
	{name: "prior", fallback: "adaptive", example: "cells",
		meaning: "which values are likely before any data is seen. `adaptive`: learnt from what was published before. `tapered`: values near zero, with less and less for each octave further away. `cells`: logarithmic away from zero. `uniform`: all alike",
		value:   into(oneOf("adaptive", "tapered", "cells", "uniform"), func(b *boundary, v string) { b.prior = v })},
}

// bounds are read with the grid that they make; it is nil where something is wrong.
func bounds() kind[boundary] {
	return mappingOf(boundsForm, func(m mapping, b *boundary, ok bool) {
		if !ok {
			return
		}
		if whole := b.upper.Sub(b.lower).Div(b.step).Floor().Mul(b.step).Add(b.lower); b.upper.LessThanOrEqual(b.lower) {
			m.values["upper"].refuse("%s is not greater than lower, %s; want more", b.upper, b.lower)
		} else if !whole.Equal(b.upper) {
			m.values["upper"].refuse("%s is not lower and a multiple of step, %s; want %s or %s", b.upper, b.step, whole, whole.Add(b.step))
		} else if grid, err := mechanisms.NewGrid(b.lower, b.upper, b.step); err != nil {
			m.refuseErr(err)
		} else {
			b.grid = grid
		}
	})
}

func streams() kind[streamNode] {
	return mappingOf(streamForm, func(m mapping, s *streamNode, ok bool) {
		s.mapping, s.Where = m, m.where()
		s.draw()
		if !ok {
			return
		}
		s.checkGroups()
		s.checkMinUsers()
		if v, given := s.values["continues"]; given && s.Fresh {
			v.refuse("%q, but fresh is true; want one of the two", s.Continues)
		}
	})
}

// draw makes the mechanisms.
func (s *streamNode) draw() {
	seen := map[string]bool{}
	for _, r := range s.releases {
		if seen[r.Name] && r.Name != "" {
			r.refuse("the name %q is taken by another release; want another name", r.Name)
		}
		seen[r.Name] = true
		if r.sound && s.Grid != nil {
			r.draw(&s.Stream)
		}
		s.Releases = append(s.Releases, r.Release)
	}
}

// sumRho makes the mechanisms anew for a budget that sums up ρ, where other ones are the better defaults.
func (s *streamNode) sumRho() {
	for i, r := range s.releases {
		if s.Releases[i].Mechanism == nil { // it was refused
			continue
		}
		r.Query.ZCDP = true
		r.draw(&s.Stream)
		s.Releases[i] = r.Release
	}
}

func (s *streamNode) checkGroups() {
	v, listed := s.values["groups"]
	switch {
	case listed && s.Input.Group == "":
		v.refuse("there are groups, but input.group does not say which field holds them; want input.group, or no groups")
		return
	case !listed && s.Input.Group != "":
		s.source.refuse(s.yaml, s.under("groups"), "missing; want the public list of groups that %q may hold", s.Input.Group)
		return
	case !listed:
		s.Groups = []string{""}
	}
	if s.MaxGroups > len(s.Groups) {
		s.values["max_groups"].refuse("%d, but there are %s; want at most that", s.MaxGroups, plural(len(s.Groups), "group"))
	}
}

func (s *streamNode) checkMinUsers() {
	if s.MinUsers == nil {
		return
	}
	const want = "want the name of a count without above and below"
	m, _ := minUsersForm.keys(s.values["min_users"])
	v := m.values["release"]
	for _, r := range s.Releases {
		if r.Name != s.MinUsers.Release {
			continue
		}
		if q := r.Query; q.Statistic != mechanisms.Count || q.Above != nil || q.Below != nil {
			v.refuse("%q does not count all users of a window; %s", r.Name, want)
		}
		return
	}
	v.refuse("%q is not a release of this stream; %s", s.MinUsers.Release, want)
}
