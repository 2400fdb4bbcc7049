package parse

import (
	"cmp"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/codec"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/form"
	"github.com/louver/louver/stream/groupname"
	"github.com/louver/louver/windows"
)

// streamNode is a stream, its place, and the parts of it that are resolved later.
type streamNode struct {
	config.Stream
	form.Mapping
	sound    bool // it has no faults of its own
	releases []releaseNode
	watches  []watchNode
	payer    payer
	// found is nil if groups are listed. priorGiven says that the file sets the prior.
	found      *foundNode
	priorGiven bool
	// maxWindows and minUsers are nil without those keys.
	maxWindows *maxWindowsNode
	minUsers   *minUsersNode
}

const (
	aRelease = "{name: p50, statistic: median, epsilon: 0.05}"
	aWatch   = "{name: slow, above: 2000, more_than: 0.01, epsilon: 1, false_alarms: {at_most: 0.05, per: 30d}, " +
		"hold: 15m, at_most: 3}"
)

var streamForm = form.Form{
	{Name: "name", Required: true, Example: "checkout-latency",
		Meaning: "the stream's name, unique in the app. It is part of every published record",
		Value:   form.Into(streamName(), func(s *streamNode, v string) { s.Name = v })},
	{Name: "description", Absent: "none", Example: "time to confirm an order",
		Meaning: "what the numbers are, for people",
		Value:   form.Into(form.Prose(), func(s *streamNode, v string) { s.Description = v })},
	{Name: "input", Required: true, Example: "{topic: checkout.events, user: user_id, value: latency_ms}",
		Meaning: "where events come from, and which fields they have",
		Value:   form.Into(input(), func(s *streamNode, v config.Input) { s.Input = v })},
	{Name: "unit", Absent: "none; `events` if `contribution` is `count`", Example: "ms",
		Meaning: "the unit that is published with every value",
		Value:   form.Into(form.Prose(), func(s *streamNode, v string) { s.Unit = v })},
	{Name: "groups", Absent: "one group, without a name", Example: "[eu, us, ap]",
		Meaning: "the public list of groups. Every group of every window is published, even if nobody is in it. Or, " +
			"as a mapping, how groups are found whose names nobody can list. Needs `input.group`",
		Value: form.Into(groups(), func(s *streamNode, v groupsNode) { s.Groups, s.found = v.listed, v.found })},
	{Name: "max_groups", Fallback: "1", Example: "2",
		Meaning: "the number of groups of a window in which one user counts. The cost of a window is multiplied by " +
			"it",
		Value: form.Into(form.Whole("of groups "), func(s *streamNode, v int64) { s.MaxGroups = int(v) })},
	{Name: "together", Absent: "none", Example: "all",
		Meaning: "the name of one more group: all groups together. Histograms, their roll-ups and the figures `from` them " +
			"have it, at no further cost: it adds up what was drawn for each group. Its noise is √groups times that of " +
			"one group. With `max_groups` above 1, a user who is in two groups counts twice. A distribution so far " +
			"has no such group",
		Value: form.Into(nameOfGroup(), func(s *streamNode, v string) { s.Together = v })},
	{Name: "max_windows", Absent: "every window", Example: "{count: 8, per: 24h}",
		Meaning: "the number of windows of a period in which one user counts. However many windows there are, a " +
			"user then loses no more than so many of them cost. Figures describe the users who still count, mostly " +
			"those who come rarely",
		Value: form.Into(maxWindows(maxWindowsForm), func(s *streamNode, v maxWindowsNode) {
			s.maxWindows, s.MaxWindows = &v, &v.MaxWindows
		})},
	{Name: "bounds", Required: true, Example: "{lower: 0, upper: 60000, step: 1}",
		Meaning: "the public range of what one user counts with in a window: of values, or of sums or numbers of events, " +
			"as `contribution` says. Never take it from the data: there are no default bounds",
		Value: form.Into(bounds(), func(s *streamNode, v boundary) {
			s.Grid, s.Prior, s.priorGiven = v.grid, v.prior, v.priorGiven
		})},
	{Name: "expected_users", Absent: "unknown", Example: "5000",
		Meaning: "a public forecast of the number of users in one window and group. Forecasts, the adaptive prior " +
			"and the choice of a quantile's mechanism use it. With `max_windows`, the number of those who still " +
			"count. Watches and figures on change look at everybody, but are forecast by it too: better give them a " +
			"stream of their own. Never take it from the data",
		Value: form.Into(form.Whole("of users "), func(s *streamNode, v int64) { s.ExpectedUsers = v })},
	{Name: "window", Required: true, Example: "{size: 15m, grace: 30s}",
		Meaning: "the windows of time for which figures are published",
		Value:   form.Into(window(), func(s *streamNode, v config.Window) { s.Window = v })},
	{Name: "contribution", Fallback: "last", Example: "max",
		Meaning: "what one user counts with in a window and group: one of their values, of which `first` and `last` " +
			"go by event time. Or all their events together: `sum` and `mean` of the values, or `count`, the number of " +
			"events, which needs no `input.value`. `bounds` are those of one user in one window: what their events " +
			"add up to counts up to `upper`. A record that is written twice counts twice, so producers should set " +
			"`enable.idempotence`",
		Value: form.Into(form.OneOf("first", "last", "min", "max", "random", "sum", "count", "mean"),
			func(s *streamNode, v string) { s.Contribution = windows.Policy(v) })},
	{Name: "releases", Required: true, Example: "[" + aRelease + "]",
		Meaning: "the figures that are published for each window and group",
		Value: form.Into(form.ListOf(release(), "releases, for example "+aRelease, 1, form.Most),
			func(s *streamNode, v []releaseNode) { s.releases = v })},
	{Name: "watches", Absent: "none",
		Example: "[" + aWatch + "]",
		Meaning: "alarms that look at every group of every window. Each costs its `epsilon` once from arming to " +
			"firing, however many windows it looks at. It counts everybody, and its records are published with the " +
			"figures",
		Value: form.Into(form.ListOf(alarm(), "watches, for example "+aWatch, 1, 100),
			func(s *streamNode, v []watchNode) { s.watches = v })},
	{Name: "min_users", Absent: "nothing is withheld", Example: "{count: 50, release: users}",
		Meaning: "withhold the other releases of a window and group when a released count is low. They are charged " +
			"nevertheless",
		Value: form.Into(minUsers(), func(s *streamNode, v minUsersNode) { s.minUsers, s.MinUsers = &v, &v.MinUsers })},
	{Name: "rejects", Absent: "not copied", Example: "{topic: checkout.rejects}",
		Meaning: "where copies of unreadable records go. Beside their own headers they have `louver-stream`, " +
			"`louver-reason`, `louver-topic`, `louver-partition` and `louver-offset`, and `louver-detail` if more is " +
			"known of the reason. After a crash some come twice. They are personal: restrict access to the topic",
		Value: form.Into(topic("the topic for records that cannot be read, with the reason in headers",
			"checkout.rejects"), func(s *streamNode, v string) { s.Rejects = v })},
	{Name: "late", Absent: "not copied", Example: "{topic: checkout.late}",
		Meaning: "where copies of late records go, with the same headers. They are personal: restrict access " +
			"to the topic",
		Value: form.Into(topic("the topic for records that came too late for all their windows", "checkout.late"),
			func(s *streamNode, v string) { s.Late = v })},
	{Name: "output", Required: true, Example: "{topic: checkout.private}", Meaning: "where the figures are published",
		Value: form.Into(form.MappingOf[outputKeys](outputForm, nil),
			func(s *streamNode, v outputKeys) {
				s.Output, s.OutputFormat, s.Tombstones = v.topic, v.format, v.tombstones
			})},
	{Name: "budget", Required: true, Example: "shoppers",
		Meaning: "what pays for the windows: the name of one of the `budgets`, or a budget of the stream's own",
		Value:   form.Into(budgetOrName(), func(s *streamNode, v payer) { s.payer = v })},
	{Name: "on_exhausted", Fallback: "refuse", Example: "withhold",
		Meaning: "what to do if the budget cannot pay for every window. `refuse`: `check` and `run` stop with an " +
			"error. `withhold`: windows that it cannot pay are published without values",
		Value: form.Into(form.OneOf("refuse", "withhold"),
			func(s *streamNode, v string) { s.Withhold = v == "withhold" })},
	{Name: "fresh", Fallback: "false", Example: "true",
		Meaning: "let the budget start from zero although another budget pays, or has paid, for this input topic. " +
			"Users can then lose the sum of both. It applies once: reading the same file again changes nothing, and " +
			"a later change of budget is checked again",
		Value: form.Into(form.Boolean(), func(s *streamNode, v bool) { s.Fresh = v })},
	{Name: "continues", Absent: "none", Example: "old-budget",
		Meaning: "an earlier budget that no stream uses any more. What was spent from it counts against the new " +
			"one. Like `fresh`, it applies once",
		Value: form.Into(budgetName(), func(s *streamNode, v string) { s.Continues = v })},
}

// streams reads a stream. [streamNode.complete] makes what depends on its budget.
func streams() form.Kind[streamNode] {
	return form.MappingOf(streamForm, func(m form.Mapping, s *streamNode, ok bool) {
		s.Mapping, s.Where, s.sound = m, m.Where(), ok
		if f, _ := codec.FormatOf(s.Input.Format); ok && s.Input.Value == "" && s.Contribution != windows.Count {
			s.Input.Value = f.Value
		}
		_, said := m.Values["contribution"]
		s.Unsaid = !said
		if ok {
			s.sound = s.checkContribution()
		}
	})
}

// checkContribution checks that what a user counts with can be read, and added up exactly if it adds.
func (s *streamNode) checkContribution() (ok bool) {
	ok = true
	refuse := func(n form.Node, format string, args ...any) {
		n.Refuse(format, args...)
		ok = false
	}
	in, counts := s.Values["input"], s.Contribution == windows.Count
	switch {
	case counts && s.Input.Value != "":
		refuse(in.Under("value"), "%q, but contribution is count: events are counted, whatever their values; want it "+
			"removed, or contribution: sum", s.Input.Value)
	case !counts && s.Input.Value == "":
		refuse(in.Under("value"), "missing; %s; or contribution: count, which needs none", inputForm.Missed("value"))
	}
	if !s.Contribution.Adds() {
		return ok
	}
	if _, err := s.Grid.Units(); err != nil {
		refuse(s.Values["bounds"], "%s", err)
	}
	if counts {
		s.Unit = cmp.Or(s.Unit, "events")
		for _, b := range []struct {
			key   string
			value decimal.Decimal
		}{{"lower", s.Grid.Lower()}, {"upper", s.Grid.Upper()}, {"step", s.Grid.Step()}} {
			if !b.value.IsInteger() || b.value.IsNegative() {
				refuse(s.Values["bounds"].Under(b.key), "%s, but contribution is count; want a whole number of events, at "+
					"least 0", b.value)
			}
		}
	}
	return ok
}

// complete makes the mechanisms of a stream whose budget is known, or wrong, and checks what depends on several keys.
func (s *streamNode) complete() {
	s.drawReleases()
	if !s.sound {
		return
	}
	s.checkGroups()
	s.checkTogether()
	checkSize(&s.Stream, s.Values["releases"])
	checkObjectives(&s.Stream, s.releases)
	s.makeLasting()
	if s.minUsers != nil {
		s.minUsers.check(&s.Stream)
	}
	if s.maxWindows != nil {
		s.maxWindows.makeRule(s.Window.Schedule(0))
	}
	if v, given := s.Values["continues"]; given && s.Fresh {
		v.Refuse("%q, but fresh is true; use one or the other", s.Continues)
	}
}

func streamName() form.Kind[string] {
	return form.Name("name", "a name of the characters a–z, 0–9 and -", form.PlainName, 200)
}

// drawReleases makes the mechanisms of the releases, and the figures of a window. If the budget adds up ρ, some
// statistics have another mechanism by default.
func (s *streamNode) drawReleases() {
	seen, from := map[string]bool{}, histograms{&s.Stream, s.releases}
	for i := range s.releases {
		r := &s.releases[i]
		if seen[r.Name] && r.Name != "" {
			r.Refuse("the name %q is taken by another release; choose another name", r.Name)
		}
		seen[r.Name] = true
		if r.free() {
			continue
		}
		r.Query.ZCDP = s.Budget != nil && s.Budget.Delta.IsPositive()
		if r.kind().cuts && r.sound && s.Grid != nil {
			r.Query.Cuts, r.figures = from.cuts(r.Name), from.figuresFrom(r.Name)
		}
		if !r.kind().draws {
			continue
		}
		if r.sound && s.Grid != nil {
			r.Query.Cuts = from.cuts(r.Name)
			r.draw(&s.Stream)
		}
		r.checkDays()
		if r.kind().Kind == config.Drawn {
			s.Add(&r.Release)
		}
	}
	from.compute()
	from.checkRollups()
}

func (s *streamNode) checkGroups() {
	v, listed := s.Values["groups"]
	if s.found != nil {
		if s.Found != nil && s.MaxGroups > s.Found.Most() {
			s.Values["max_groups"].Refuse("%d, but a list has at most %s; want at most %d", s.MaxGroups,
				form.Plural(s.Found.Most(), "group"), s.Found.Most())
		}
		return
	}
	if s.Tombstones {
		s.Values["output"].Under("tombstones").Refuse("true, but the groups are listed, and none leaves; remove it")
	}
	switch {
	case listed && s.Input.Group == "":
		v.Refuse("input.group does not say which field holds the group; set it, or remove groups")
		return
	case !listed && s.Input.Group != "":
		s.Under("groups").Refuse("missing; want the public list of groups that %q may hold, or {discover: …} to "+
			"find them", s.Input.Group)
		return
	case !listed:
		s.Groups = []string{""}
	}
	forms, keys := map[string]string{}, map[string]string{}
	for _, name := range s.Groups {
		key := name
		if strings.Contains(name, "/") {
			key = groupname.Escape(name)
		}
		if other, twice := keys[key]; twice {
			v.Refuse("%q and %q would have the same key in records, %s; want one of them", other, name, key)
		}
		keys[key] = name
		form, err := groupname.Canonical([]byte(name))
		if err != nil {
			continue // it is compared as it is
		}
		if other, twice := forms[string(form)]; twice {
			v.Refuse("%q and %q are the same name without spaces at its ends and in Unicode's form NFC; want it once",
				other, name)
		}
		forms[string(form)] = name
	}
	if n := len(s.Groups); s.MaxGroups > n {
		s.Values["max_groups"].Refuse("%d, but groups has %s; want at most %d", s.MaxGroups, form.Plural(n, "name"), n)
	}
}

// makeLasting makes the watches, the releases on change and the totals. No watch may have the name of a published
// value.
func (s *streamNode) makeLasting() {
	taken := map[string]string{}
	for _, r := range config.All[*config.Release](&s.Stream) {
		for _, name := range r.Names() {
			taken[name] = "a release"
		}
	}
	for i := range s.releases {
		if r := &s.releases[i]; r.kind().Kind != config.Drawn {
			taken[r.Name] = "a release"
		}
	}
	if s.found != nil {
		for _, d := range s.found.rows {
			if by := taken[d.Name]; by != "" && d.Name != "" {
				d.Refuse("the name %q is taken by %s; choose another name", d.Name, by)
			}
			taken[d.Name] = "another discovery"
		}
	}
	for i := range s.watches {
		w := &s.watches[i]
		if by := taken[w.Name]; by != "" && w.Name != "" {
			w.Refuse("the name %q is taken by %s; choose another name", w.Name, by)
		}
		taken[w.Name] = "another watch"
		if w.sound {
			w.watch(&s.Stream)
		}
		s.Add(&w.Watch)
	}
	if v, given := s.Values["min_users"]; given {
		if at := slices.IndexFunc(s.releases, func(r releaseNode) bool { return r.publish == onChange }); at >= 0 {
			v.Refuse("release %q is published %s, and would show when its group has few users; want min_users or "+
				"publish: %s", s.releases[at].Name, onChange, onChange)
		}
	}
	for _, r := range s.lasting() {
		if r.sound {
			s.Add(r.kind().make(r, &s.Stream))
		}
	}
}

// topicOf returns the place where a topic of the stream is named.
func (s *streamNode) topicOf(key string) form.Node { return s.Values[key].Under("topic") }

// boundary holds bounds as they are read.
type boundary struct {
	lower, upper, step decimal.Decimal
	prior              string
	priorGiven         bool
	grid               *mechanisms.Grid
}

var boundsForm = form.Form{
	{Name: "lower", Required: true, Example: "0", Meaning: "the lowest value. Lower values count as this one",
		Value: form.Into(form.Number(anyNumber), func(b *boundary, v decimal.Decimal) { b.lower = v })},
	{Name: "upper", Required: true, Example: "60000", Meaning: "the highest value. Higher values count as this one",
		Value: form.Into(form.Number(anyNumber), func(b *boundary, v decimal.Decimal) { b.upper = v })},
	{Name: "step", Required: true, Example: "1",
		Meaning: "the distance between values that can be published. The range must be a multiple of it",
		Value:   form.Into(form.Number(positive), func(b *boundary, v decimal.Decimal) { b.step = v })},
	{Name: "prior", Fallback: "adaptive", Example: "cells",
		Meaning: "which values are likely before any data is seen. `adaptive`: learnt from earlier published " +
			"values. `cells`: on a logarithmic scale away from zero. `tapered`: like `cells`, but values far from " +
			"zero are less likely. `uniform`: all values are equally likely. Where groups are found, the default is " +
			"`tapered`",
		Value: form.Into(form.OneOf("adaptive", "tapered", "cells", "uniform"),
			func(b *boundary, v string) { b.prior = v })},
}

// bounds also makes the grid. The grid is nil if there is a fault.
func bounds() form.Kind[boundary] {
	return form.MappingOf(boundsForm, func(m form.Mapping, b *boundary, ok bool) {
		if _, b.priorGiven = m.Values["prior"]; !ok {
			return
		}
		var err error
		if b.grid, err = mechanisms.NewGrid(b.lower, b.upper, b.step); err != nil {
			refuse(m, err)
		}
	})
}
