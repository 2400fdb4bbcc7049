package parse

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/form"
	"github.com/louver/louver/stream/groupname"
)

// groupsNode are the groups of a stream: a public list, or how they are found.
type groupsNode struct {
	listed []string
	found  *foundNode
}

// foundNode says how groups are found, and where that is written.
type foundNode struct {
	config.Found
	form.Mapping
	rows  []discoveryNode
	sound bool
}

// discoveryNode is a discovery and its place. Its mechanism is made later.
type discoveryNode struct {
	config.Discovery
	form.Mapping
	epsilon, delta decimal.Decimal
	atLeast        int64
	maxWindows     *maxWindowsNode
	sound          bool
}

const (
	aDiscovery = "{name: daily, every: 24h, epsilon: 0.5, delta: 0.00000001}"
	// mostDiscoveries is how many discoveries a stream may have.
	mostDiscoveries = 4
	// mostFigures is the most figures in an entry of the ledger. usualMax is the default of max.
	mostFigures = 4000
	usualMax    = 1000
	// longestKeep is the longest time for which a name stays on the list, and the longest period of a discovery.
	longestKeep = 3660 * 24 * time.Hour
)

var foundForm = form.Form{
	{Name: "from", Absent: "`discover` has discoveries", Example: "page-load",
		Meaning: "the stream whose list this one follows: one that discovers its groups, with the same " +
			"`input.topic`, `input.group` and budget. That costs nothing more. No other key may stand beside it",
		Value: form.Into(streamName(), func(f *foundNode, v string) { f.From = v })},
	{Name: "discover", Required: true, Unless: "from", Example: "[" + aDiscovery + "]",
		Meaning: "the discoveries. At the end of each period, a discovery counts the users of each name, adds noise, " +
			"and publishes the names whose noisy count reaches a public threshold, with that count. These names are " +
			"groups from then on. A name that few users share is never published. Needs `input.group` and a " +
			"budget with a `delta`",
		Value: form.Into(form.ListOf(discovery(), "discoveries, for example "+aDiscovery, 1, mostDiscoveries),
			func(f *foundNode, v []discoveryNode) { f.rows = v })},
	{Name: "keep", Absent: "7 × the longest `every`", Example: "7d",
		Meaning: "how long a name stays on the list after it was last found. That costs nothing",
		Value:   form.Into(form.Duration(time.Second), func(f *foundNode, v time.Duration) { f.Keep = v })},
	{Name: "max", Absent: "1000, or as many as an entry of the ledger holds", Example: "200",
		Meaning: "the most names on the list, without `always` and `other`. If there are more, those with the " +
			"largest counts stay",
		Value: form.Into(form.Whole("of names "), func(f *foundNode, v int64) { f.Max = v })},
	{Name: "other", Absent: "none", Example: "(other)",
		Meaning: "the name of one more group, for users who are in fewer than `max_groups` groups of the list. It " +
			"costs nothing more",
		Value: form.Into(nameOfGroup(), func(f *foundNode, v string) { f.Other = v })},
	{Name: "always", Absent: "none", Example: "[/, /login]",
		Meaning: "names that are on every list, whoever comes. They are public, like those of a list",
		Value: form.Into(form.ListOf(nameOfGroup(), "names of groups", 1, form.Most),
			func(f *foundNode, v []string) { f.Always = v })},
	{Name: "match", Absent: "all names", Example: "'^/[a-z0-9/-]*$'",
		Meaning: "a regular expression (RE2). Only names that it matches can be found: it keeps tokens and addresses " +
			"from ever being shown",
		Value: form.Into(expression(), func(f *foundNode, v *regexp.Regexp) { f.Match = v })},
	{Name: "except", Absent: "none", Example: "[/admin]",
		Meaning: "names that are never on a list",
		Value: form.Into(form.ListOf(nameOfGroup(), "names of groups", 1, form.Most),
			func(f *foundNode, v []string) { f.Except = v })},
}

var discoveryForm = form.Form{
	{Name: "name", Required: true, Example: "daily",
		Meaning: "the discovery's name, unique among the stream's releases and watches",
		Value:   form.Into(figureName(), func(d *discoveryNode, v string) { d.Name = v })},
	{Name: "every", Required: true, Example: "24h",
		Meaning: "how long a period is: a multiple of `window.every`. Periods end at multiples of it since 1970. " +
			"Parts, which are personal, are kept until the period that holds them is over",
		Value: form.Into(form.Duration(time.Second), func(d *discoveryNode, v time.Duration) { d.Every = v })},
	{Name: "epsilon", Required: true, Example: "0.5",
		Meaning: "what one discovery costs a user, in ε, once for each of the `max_groups` names for which they count",
		Value:   form.Into(form.Number(positive), func(d *discoveryNode, v decimal.Decimal) { d.epsilon = v })},
	{Name: "delta", Required: true, Example: "0.00000001",
		Meaning: "the δ that goes with it. No mechanism finds unknown names without one",
		Value: form.Into(form.Number(mechanisms.Span{Least: "0"}),
			func(d *discoveryNode, v decimal.Decimal) { d.delta = v })},
	{Name: "max_groups", Fallback: "1", Example: "2",
		Meaning: "for how many names of a period one user counts. Names that were found lately come last, so that " +
			"users speak for the others. 1 is nearly always best",
		Value: form.Into(form.Whole("of names "), func(d *discoveryNode, v int64) { d.Groups = v })},
	{Name: "at_least", Fallback: "1", Example: "10",
		Meaning: "a name with fewer users is never published. The threshold rises by as much",
		Value: form.Into(form.WholeUpTo("of users ", mechanisms.MaxUsers),
			func(d *discoveryNode, v int64) { d.atLeast = v })},
	{Name: "max_windows", Absent: "every period", Example: "{count: 2, per: 24h, parts: 1}",
		Meaning: "in how many periods of the discovery, within a longer one, one user counts. However many periods " +
			"there are, a user then loses no more than that many of them cost. It has nothing to do with the " +
			"`max_windows` of the stream",
		Value: form.Into(maxWindows(maxPeriodsForm), func(d *discoveryNode, v maxWindowsNode) { d.maxWindows = &v })},
}

func discovery() form.Kind[discoveryNode] {
	return form.MappingOf(discoveryForm, func(m form.Mapping, d *discoveryNode, ok bool) {
		d.Mapping, d.Head.Where, d.sound = m, m.Where(), ok
		if !ok {
			return
		}
		var err error
		if d.Mechanism, err = mechanisms.NewTruncatedGeometric(d.epsilon, d.delta, d.atLeast); err != nil {
			refuse(m, err)
			d.sound = false
		}
	})
}

// groups reads a list of names, or a mapping that says how they are found.
func groups() form.Kind[groupsNode] {
	listed := form.ListOf(form.Name("name", "a name of 1–200 characters", `.`, 200),
		"names of groups", 1, form.Most)
	found := form.MappingOf(foundForm, func(m form.Mapping, f *foundNode, ok bool) {
		f.Mapping, f.sound = m, ok
		for _, d := range f.rows {
			f.sound = f.sound && d.sound
		}
		slices.Sort(f.Always)
		slices.Sort(f.Except)
	})
	s := form.Spec{Name: "list, or mapping", Want: listed.Want + ", or " + found.Want, Keys: foundForm,
		Schema: form.Schema{"anyOf": []any{listed.Schema, found.Schema}}}
	return form.Kind[groupsNode]{Spec: s, Read: func(n form.Node) (g groupsNode, ok bool) {
		if n.IsMapping() {
			f, ok := found.Read(n)
			return groupsNode{found: &f}, ok
		}
		g.listed, ok = listed.Read(n)
		return g, ok
	}}
}

// nameOfGroup is a name that a record may have.
func nameOfGroup() form.Kind[string] {
	s := form.Spec{Name: "name", Want: "a name of 1–200 characters", Schema: form.Schema{
		"type": []string{"string", "number", "boolean"}, "minLength": 1, "maxLength": groupname.Longest}}
	return form.Scalar(s, func(text string) (string, error) {
		name, err := groupname.Canonical([]byte(text))
		switch {
		case err != nil:
			return "", fmt.Errorf("is not the name of a group: %w; want 1–200 characters that can be printed", err)
		case string(name) != text:
			return "", fmt.Errorf("is not how records' names are written; write %q", name)
		}
		return text, nil
	})
}

// expression is a regular expression.
func expression() form.Kind[*regexp.Regexp] {
	s := form.Spec{Name: "expression", Want: "a regular expression", Schema: form.Schema{"type": "string"}}
	return form.Scalar(s, func(text string) (*regexp.Regexp, error) {
		exp, err := regexp.Compile(text)
		if err != nil {
			problem := strings.TrimPrefix(err.Error(), "error parsing regexp: ")
			return nil, fmt.Errorf("is not a regular expression: %s; want one in the syntax of RE2", problem)
		}
		return exp, nil
	})
}

// find completes how the groups of a stream are found, and refuses whatever does not go with that.
func (s *streamNode) find() {
	f := s.found
	if !s.fed("discover") || !f.sound || s.Window.Every == 0 {
		return
	}
	var longest *discoveryNode
	for i := range f.rows {
		d := &f.rows[i]
		if d.Every%s.Window.Every != 0 {
			d.Values["every"].Refuse("%s; want a multiple of window.every, %s", config.Duration(d.Every),
				config.Duration(s.Window.Every))
		}
		if d.Every > longestKeep {
			d.Values["every"].Refuse("%s; want at most %s", config.Duration(d.Every), config.Duration(longestKeep))
			d.Every = longestKeep
		}
		if d.AtMost = mostDiscovered(d.Every, &s.Stream, time.Now()); d.AtMost == config.Endless && !s.Withhold {
			d.Values["every"].Refuse("%s, but a budget for ever cannot pay for periods without end; want window.end, "+
				"a budget for a rolling period, or on_exhausted: withhold", config.Duration(d.Every))
		}
		d.cap()
		if longest == nil || d.Every > longest.Every {
			longest = d
		}
		s.Add(&d.Discovery)
	}
	switch keep, given := f.Values["keep"]; {
	case !given:
		f.Keep = min(7*longest.Every, longestKeep)
	case f.Keep < longest.Every:
		keep.Refuse("%s; want at least %s, the time from one discovery of %s to the next", config.Duration(f.Keep),
			config.Duration(longest.Every), longest.Name)
	case f.Keep > longestKeep:
		keep.Refuse("%s; want at most %s", config.Duration(f.Keep), config.Duration(longestKeep))
	}
	s.checkNames()
	s.checkMax()
	s.Found = &f.Found
}

// fed refuses groups that come from no field, and whatever does not go with groups that are found. It reports whether
// there is a field.
func (s *streamNode) fed(key string) bool {
	if s.Input.Group == "" {
		s.found.Under(key).Refuse("input.group does not say which field holds the group; set it, or remove groups")
		return false
	}
	s.refuseBeside()
	return true
}

// refuseBeside refuses releases that need a list that never changes.
func (s *streamNode) refuseBeside() {
	refuse := func(at form.Node, what string) {
		at.Refuse("%s, but groups are found, and come and go; want a second stream with a list of groups, or "+
			"without groups", what)
	}
	for _, r := range s.releases {
		if k := r.kind(); k.listed {
			text, _ := r.Values[k.key].Text()
			refuse(r.Values[k.key], text)
		}
	}
	if !s.priorGiven {
		s.Prior = "tapered"
	}
}

// checkNames refuses names that contradict each other.
func (s *streamNode) checkNames() {
	f := s.found
	both := func(key, other string, names ...string) {
		for _, name := range names {
			if v, given := f.Values[key]; given && name != "" {
				v.Refuse("%q is in %s too; remove one of the two", name, other)
			}
		}
	}
	for _, name := range f.Always {
		if _, in := slices.BinarySearch(f.Except, name); in {
			both("always", "except", name)
		}
		if name == f.Other {
			both("always", "other", name)
		}
	}
	if _, in := slices.BinarySearch(f.Except, f.Other); in {
		both("other", "except", f.Other)
	}
}

// checkMax limits the names on the list to what an entry of the ledger holds.
func (s *streamNode) checkMax() {
	f, figures := s.found, s.figures()
	beside := f.Most() - int(f.Max)
	most := int64(s.mostGroups() - beside)
	v, given := f.Values["max"]
	switch {
	case most < 1:
		f.Refuse("%s with always and other, of %s each; want at most %d in all, because an entry holds %d figures",
			form.Plural(beside, "group"), form.Plural(figures, "figure"), s.mostGroups()-1, mostFigures)
	case !given:
		f.Max = min(usualMax, most)
	case f.Max > most:
		v.Refuse("%d; want at most %d, because an entry holds %d figures", f.Max, most, mostFigures)
	}
}

// mostDiscovered returns how many periods of a length end in any period of the budget.
//
// A half-open stretch of time of length per holds at most ⌈per/every⌉ multiples of every.
func mostDiscovered(every time.Duration, s *config.Stream, now time.Time) int64 {
	switch {
	case every <= 0 || s.Budget == nil:
		return 1
	case s.Budget.Per > 0:
		return int64((s.Budget.Per-1)/every) + 1
	case s.Window.End == 0:
		return config.Endless
	}
	return max(1, s.Window.End/int64(every)-s.Window.FirstStart(now)/int64(every))
}

// discovered checks that each budget has a δ for the discoveries that it pays for.
func discovered(streams []*streamNode) {
	for _, first := range streams {
		var delta decimal.Decimal
		for _, s := range streams {
			for _, d := range config.All[*config.Discovery](&s.Stream) {
				if s.Budget == first.Budget {
					times := decimal.NewFromInt(d.Groups).Mul(decimal.NewFromInt(d.AtMost))
					delta = delta.Add(d.Mechanism.Promise().Delta.Mul(times))
				}
			}
		}
		need, most := delta.Mul(decimal.NewFromInt(10)), decimal.RequireFromString(aDelta.Under)
		switch {
		case len(config.All[*config.Discovery](&first.Stream)) == 0 || !need.GreaterThan(first.Budget.Delta):
		case !need.LessThan(most):
			first.Values["budget"].Refuse("the discoveries of a period of budget %q have delta %s together; want "+
				"less than %s: give each a smaller delta or a larger every", first.Budget.Name, delta, most.Shift(-1))
			return
		default:
			first.Values["budget"].Refuse("budget %q has delta %s; want at least %s, ten times that of the "+
				"discoveries of its period: the rest is for adding up", first.Budget.Name, first.Budget.Delta, need)
			return
		}
	}
}

// figures returns how many figures a group has in a window.
func (s *streamNode) figures() int {
	n := max(1, len(s.releases))
	for _, r := range s.releases {
		n += max(0, len(r.Query.P)-1)
	}
	return n
}

// mostGroups is how many groups an entry of the ledger has room for.
func (s *streamNode) mostGroups() int { return mostFigures / s.figures() }
