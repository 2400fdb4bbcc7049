package config

import (
	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/windows"
)

// streamNode is a stream, its place, and the parts of it that are resolved later.
type streamNode struct {
	Stream
	mapping
	releases []releaseNode
	changes  []releaseNode // those that are published on change
	watches  []watchNode
	payer    payer
}

var streamForm = form{
	{name: "name", required: true, example: "checkout-latency", meaning: "the stream's name, unique in the app. It is part of every published record",
		value: into(name("name", "a name of the characters a–z, 0–9 and -", plainName, 200), func(s *streamNode, v string) { s.Name = v })},
	{name: "description", absent: "none", example: "time to confirm an order", meaning: "what the numbers are, for people",
		value: into(prose(), func(s *streamNode, v string) { s.Description = v })},
	{name: "input", required: true, example: "{topic: checkout.events, user: user_id, value: latency_ms}", meaning: "where events come from, and which fields they have",
		value: into(input(), func(s *streamNode, v Input) { s.Input = v })},
	{name: "unit", absent: "none", example: "ms", meaning: "the unit that is published with every value",
		value: into(prose(), func(s *streamNode, v string) { s.Unit = v })},
	{name: "groups", absent: "one group, without a name", example: "[eu, us, ap]", meaning: "the public list of groups. Every group of every window is published, even if nobody is in it. Needs `input.group`",
		value: into(listOf(name("name", "a name of 1–200 characters without /", `^[^/]+$`, 200), "names of groups", 1, most), func(s *streamNode, v []string) { s.Groups = v })},
	{name: "max_groups", fallback: "1", example: "2", meaning: "the number of groups of a window in which one user counts. The cost of a window is multiplied by it",
		value: into(whole("of groups "), func(s *streamNode, v int64) { s.MaxGroups = int(v) })},
	{name: "max_windows", absent: "every window", example: "{count: 8, per: 24h}", meaning: "the number of windows of a period in which one user counts. However many windows there are, a user then loses no more than so many of them cost. Figures describe the users who still count, mostly those who come rarely",
		value: into(mappingOf[MaxWindows](maxWindowsForm, nil), func(s *streamNode, v MaxWindows) { s.MaxWindows = &v })},
	{name: "bounds", required: true, example: "{lower: 0, upper: 60000, step: 1}", meaning: "the public range of values. Never take it from the data: there are no default bounds",
		value: into(bounds(), func(s *streamNode, v boundary) { s.Grid, s.Prior = v.grid, v.prior })},
	{name: "expected_users", absent: "unknown", example: "5000", meaning: "a public forecast of the number of users in one window and group. Forecasts, the adaptive prior and the choice of a quantile's mechanism use it. With `max_windows`, the number of those who still count. Watches and figures on change look at everybody, but are forecast by it too: better give them a stream of their own. Never take it from the data",
		value: into(whole("of users "), func(s *streamNode, v int64) { s.ExpectedUsers = v })},
	{name: "window", required: true, example: "{size: 15m, grace: 30s}", meaning: "the windows of time for which figures are published",
		value: into(window(), func(s *streamNode, v Window) { s.Window = v })},
	{name: "contribution", fallback: "last", example: "max", meaning: "which of a user's values in a window counts. `first` and `last` go by event time",
		value: into(oneOf("first", "last", "min", "max", "random"), func(s *streamNode, v string) { s.Contribution = windows.Policy(v) })},
	{name: "releases", required: true, example: "[{name: p50, statistic: median, epsilon: 0.05}]", meaning: "the figures that are published for each window and group",
		value: into(listOf(release(), "releases, for example {name: p50, statistic: median, epsilon: 0.05}", 1, most), func(s *streamNode, v []releaseNode) { s.releases = v })},
	{name: "watches", absent: "none", example: "[{name: slow, above: 2000, more_than: 0.01, epsilon: 1, false_alarms: {at_most: 0.05, per: 30d}, hold: 15m, at_most: 3}]",
		meaning: "alarms that look at every group of every window. Each costs its `epsilon` once from arming to firing, however many windows it looks at. It counts everybody, and its records are published with the figures",
		value:   into(listOf(watch(), "watches, for example {name: slow, above: 2000, more_than: 0.01, epsilon: 1, false_alarms: {at_most: 0.05, per: 30d}, hold: 15m, at_most: 3}", 1, 100), func(s *streamNode, v []watchNode) { s.watches = v })},
	{name: "min_users", absent: "nothing is withheld", example: "{count: 50, release: users}", meaning: "withhold the other releases of a window and group when a released count is low. They are charged nevertheless",
		value: into(mappingOf[MinUsers](minUsersForm, nil), func(s *streamNode, v MinUsers) { s.MinUsers = &v })},
	{name: "rejects", absent: "not copied", example: "{topic: checkout.rejects}", meaning: "where copies of unreadable records go. They are personal: restrict access to the topic",
		value: into(topic("the topic for records that cannot be read, with the reason in headers", "checkout.rejects"), func(s *streamNode, v string) { s.Rejects = v })},
	{name: "late", absent: "not copied", example: "{topic: checkout.late}", meaning: "where copies of late records go. They are personal: restrict access to the topic",
		value: into(topic("the topic for records that came too late for all their windows", "checkout.late"), func(s *streamNode, v string) { s.Late = v })},
	{name: "output", required: true, example: "{topic: checkout.private}", meaning: "where the figures are published",
		value: into(mappingOf[outputKeys](outputForm, nil), func(s *streamNode, v outputKeys) { s.Output, s.OutputFormat = v.topic, v.format })},
	{name: "budget", required: true, example: "shoppers", meaning: "what pays for the windows: the name of one of the `budgets`, or a budget of the stream's own",
		value: into(budgetOrName(), func(s *streamNode, v payer) { s.payer = v })},
	{name: "on_exhausted", fallback: "refuse", example: "withhold",
		meaning: "what to do if the budget cannot pay for every window. `refuse`: `check` and `run` stop with an error. `withhold`: windows that it cannot pay are published without values",
		value:   into(oneOf("refuse", "withhold"), func(s *streamNode, v string) { s.Withhold = v == "withhold" })},
	{name: "fresh", fallback: "false", example: "true",
		meaning: "let the budget start from zero although another budget pays, or has paid, for this input topic. Users can then lose the sum of both. It applies once: reading the same file again changes nothing, and a later change of budget is checked again",
		value:   into(boolean(), func(s *streamNode, v bool) { s.Fresh = v })},
	{name: "continues", absent: "none", example: "old-budget", meaning: "an earlier budget that no stream uses any more. What was spent from it counts against the new one. Like `fresh`, it applies once",
		value: into(budgetName(), func(s *streamNode, v string) { s.Continues = v })},
}

// The formats of published records.
const (
	OutputJSON = "json"
	OutputAvro = "avro"
)

type outputKeys struct{ topic, format string }

var outputForm = form{
	{name: "topic", required: true, example: "checkout.private", meaning: "the topic for published records",
		value: into(topicName(), func(o *outputKeys, v string) { o.topic = v })},
	{name: "format", fallback: OutputJSON, example: OutputAvro,
		meaning: "how records are written. `avro`: as the serializers of Confluent do, with the schema in the registry at LOUVER_SCHEMA_REGISTRY_URL, under the name of the topic and `-value`. Numbers are doubles there. All streams of a topic have the same format, and it never changes",
		value:   into(oneOf(OutputJSON, OutputAvro), func(o *outputKeys, v string) { o.format = v })},
}

var minUsersForm = form{
	{name: "count", required: true, example: "50", meaning: "the number of users below which the other releases are withheld",
		value: into(whole("of users "), func(m *MinUsers, v int64) { m.Count = v })},
	{name: "release", required: true, example: "users", meaning: "the name of the release that counts the users: a `count` without `above` and `below`",
		value: into(prose(), func(m *MinUsers, v string) { m.Release = v })},
}

// boundary holds bounds as they are read.
type boundary struct {
	lower, upper, step decimal.Decimal
	prior              string
	grid               *mechanisms.Grid
}

var boundsForm = form{
	{name: "lower", required: true, example: "0", meaning: "the lowest value. Lower values count as this one",
		value: into(number(mechanisms.Span{}), func(b *boundary, v decimal.Decimal) { b.lower = v })},
	{name: "upper", required: true, example: "60000", meaning: "the highest value. Higher values count as this one",
		value: into(number(mechanisms.Span{}), func(b *boundary, v decimal.Decimal) { b.upper = v })},
	{name: "step", required: true, example: "1", meaning: "the distance between values that can be published. The range must be a multiple of it",
		value: into(number(mechanisms.Span{Over: "0"}), func(b *boundary, v decimal.Decimal) { b.step = v })},
	{name: "prior", fallback: "adaptive", example: "cells",
		meaning: "which values are likely before any data is seen. `adaptive`: learnt from earlier published values. `cells`: on a logarithmic scale away from zero. `tapered`: like `cells`, but values far from zero are less likely. `uniform`: all values are equally likely",
		value:   into(oneOf("adaptive", "tapered", "cells", "uniform"), func(b *boundary, v string) { b.prior = v })},
}

// bounds also makes the grid. The grid is nil if there is a fault.
func bounds() kind[boundary] {
	return mappingOf(boundsForm, func(m mapping, b *boundary, ok bool) {
		if !ok {
			return
		}
		var err error
		if b.grid, err = mechanisms.NewGrid(b.lower, b.upper, b.step); err != nil {
			m.refuseErr(err)
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
		s.watch()
		s.checkMinUsers()
		s.checkMaxWindows()
		if v, given := s.values["continues"]; given && s.Fresh {
			v.refuse("%q, but fresh is true; use one or the other", s.Continues)
		}
	})
}

// draw makes the mechanisms.
func (s *streamNode) draw() {
	seen := map[string]bool{}
	all := s.releases
	s.releases = nil
	for _, r := range all {
		if seen[r.Name] && r.Name != "" {
			r.refuse("the name %q is taken by another release; choose another name", r.Name)
		}
		seen[r.Name] = true
		if r.sound && s.Grid != nil {
			r.draw(&s.Stream)
		}
		if r.publish == onChange {
			s.changes = append(s.changes, r)
			continue
		}
		s.releases, s.Releases = append(s.releases, r), append(s.Releases, r.Release)
	}
}

// sumRho makes the mechanisms again for a budget that adds up ρ, because other defaults are better there.
func (s *streamNode) sumRho() {
	for i, r := range s.releases {
		if s.Releases[i].Mechanism == nil { // it was refused before
			continue
		}
		r.Query.ZCDP = true
		r.draw(&s.Stream)
		s.Releases[i] = r.Release
	}
	for _, w := range s.OnChange() { // these share their releases with the nodes
		for i := range s.changes {
			if r := &s.changes[i]; w.Release == &r.Release && r.Mechanism != nil {
				r.Query.ZCDP = true
				r.draw(&s.Stream)
			}
		}
	}
}

func (s *streamNode) checkGroups() {
	v, listed := s.values["groups"]
	switch {
	case listed && s.Input.Group == "":
		v.refuse("input.group does not say which field holds the group; set it, or remove groups")
		return
	case !listed && s.Input.Group != "":
		s.source.refuse(s.yaml, s.under("groups"), "missing; want the public list of groups that %q may hold", s.Input.Group)
		return
	case !listed:
		s.Groups = []string{""}
	}
	if s.MaxGroups > len(s.Groups) {
		s.values["max_groups"].refuse("%d, but groups has %s; want at most %d", s.MaxGroups, plural(len(s.Groups), "name"), len(s.Groups))
	}
}

func (s *streamNode) checkMinUsers() {
	if s.MinUsers == nil {
		return
	}
	const want = "want the name of a count release without above and below"
	m, _ := minUsersForm.keys(s.values["min_users"])
	v := m.values["release"]
	for _, r := range s.Releases {
		if r.Name != s.MinUsers.Release {
			continue
		}
		if !r.Query.CountsUsers() {
			v.refuse("%q does not count all users of a window; %s", r.Name, want)
		}
		return
	}
	var names []string
	for _, r := range s.Releases {
		names = append(names, r.Name)
	}
	if near := nearest(s.MinUsers.Release, names); near != "" {
		v.refuse("%q is not a release of this stream; did you mean %q?", s.MinUsers.Release, near)
		return
	}
	v.refuse("%q is not a release of this stream; %s", s.MinUsers.Release, want)
}
