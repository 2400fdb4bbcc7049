package config

import (
	"strings"
	"unicode/utf8"

	"github.com/shopspring/decimal"
	"go.yaml.in/yaml/v3"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/windows"
)

// stream reads one stream; nil if it is none at all.
func (n node) stream() *streamNode {
	m, ok := n.mapping("name", "description", "input", "unit", "groups", "max_groups", "bounds", "expected_users", "window",
		"contribution", "releases", "min_users", "rejects", "late", "output", "budget", "on_exhausted", "fresh", "continues")
	if !ok {
		return nil
	}
	s := &streamNode{Stream: &Stream{Groups: []string{""}, MaxGroups: 1, Prior: "adaptive", Contribution: windows.Last, Where: n.where()}, node: n, keys: m.values}
	if v, ok := m.require("name", "a name of the characters a–z, 0–9 and -"); ok {
		s.Name, _ = v.name(streamName, "a name of the characters a–z, 0–9 and -")
	}
	if v, ok := m.get("description"); ok {
		s.Description, _ = v.prose("a text")
	}
	before := len(s.errs)
	if v, ok := m.require("input", "a mapping with topic, user, value and more"); ok {
		s.Input = v.input()
	}
	inputRight := len(s.errs) == before
	if v, ok := m.get("unit"); ok {
		s.Unit, _ = v.prose("a unit, such as ms")
	}
	s.readGroups(m, inputRight)
	if v, ok := m.require("bounds", "{lower: …, upper: …, step: …}: there are no default bounds"); ok {
		s.Grid, s.Prior = v.bounds()
	}
	if v, ok := m.get("expected_users"); ok {
		s.ExpectedUsers, _ = v.whole("a whole number of users of at least 1")
	}
	if v, ok := m.require("window", "{size: …, grace: …}"); ok {
		s.Window = v.window()
	}
	if v, ok := m.get("contribution"); ok {
		policy, _ := v.oneOf("first", "last", "min", "max", "random")
		s.Contribution = windows.Policy(policy)
	}
	s.readReleases(m)
	if v, ok := m.get("min_users"); ok {
		s.MinUsers = s.minUsers(v)
	}
	if v, ok := m.get("rejects"); ok {
		s.Rejects = v.topic()
	}
	if v, ok := m.get("late"); ok {
		s.Late = v.topic()
	}
	if v, ok := m.require("output", "{topic: …}"); ok {
		s.Output = v.topic()
	}
	m.require("budget", "the name of a budget, or {epsilon: …, per: …}")
	if v, ok := m.get("on_exhausted"); ok {
		word, _ := v.oneOf("refuse", "withhold")
		s.Withhold = word == "withhold"
	}
	if v, ok := m.get("fresh"); ok {
		s.Fresh = v.boolean()
	}
	if v, ok := m.get("continues"); ok {
		s.Continues, _ = v.name(budgetName, "the name of a former budget")
		if s.Fresh {
			v.refuse("%q, and fresh is true as well; want one of the two", s.Continues)
		}
	}
	return s
}

// topic reads {topic: NAME}.
func (n node) topic() (name string) {
	if m, ok := n.mapping("topic"); ok {
		if v, ok := m.require("topic", "the name of a topic"); ok {
			name = v.topicName()
		}
	}
	return name
}

func (s *streamNode) readGroups(m mapping, inputRight bool) {
	v, listed := m.get("groups")
	switch {
	case !inputRight:
	case listed && s.Input.Group == "":
		v.refuse("there are groups, but input.group does not say which field holds them; want input.group, or no groups")
	case !listed && s.Input.Group != "":
		m.source.refuse(m.yaml.Line, m.path+".groups", "missing; want the public list of groups that %q may hold", s.Input.Group)
	}
	if listed {
		items, ok := v.items("names of groups")
		if ok && len(items) == 0 {
			v.refuse("the list is empty; want at least one group, or no groups at all")
		}
		if ok {
			s.Groups = nil
		}
		seen := map[string]bool{}
		for _, item := range items {
			const want = "a name of 1–200 characters without /"
			name, ok := item.text(want)
			switch {
			case !ok:
				continue
			case strings.Contains(name, "/") || utf8.RuneCountInString(name) > 200:
				item.refuse("%q; want %s", name, want)
			case seen[name]:
				item.refuse("%q is there twice; want it once", name)
			}
			seen[name] = true
			s.Groups = append(s.Groups, name)
		}
	}
	if v, ok := m.get("max_groups"); ok {
		most, ok := v.whole("a whole number of groups of at least 1")
		if ok && most > int64(len(s.Groups)) && (len(s.Groups) > 0) {
			v.refuse(`"%d", but there are %s; want at most that`, most, plural(len(s.Groups), "group"))
			return
		}
		s.MaxGroups = int(max(most, 1))
	}
}

// bounds reads the grid and the base measure; a nil grid was noted.
func (n node) bounds() (grid *mechanisms.Grid, prior string) {
	prior = "adaptive"
	m, ok := n.mapping("lower", "upper", "step", "prior")
	if !ok {
		return nil, prior
	}
	var numbers [3]decimal.Decimal
	for i, f := range []struct{ key, want string }{
		{"lower", "a number, the least value that counts as it is"},
		{"upper", "a number, the greatest value that counts as it is"},
		{"step", "a number, the distance of the values that can be released"},
	} {
		v, there := m.require(f.key, f.want)
		ok = ok && there
		if there {
			var good bool
			numbers[i], good = v.number(f.want)
			ok = ok && good
		}
	}
	if v, there := m.get("prior"); there {
		if word, good := v.oneOf("adaptive", "cells", "uniform"); good {
			prior = word
		}
	}
	if !ok {
		return nil, prior
	}
	grid, err := mechanisms.NewGrid(numbers[0], numbers[1], numbers[2])
	if err != nil {
		n.refuseErr(err)
		return nil, prior
	}
	return grid, prior
}

func (s *streamNode) minUsers(n node) *MinUsers {
	m, ok := n.mapping("count", "release")
	if !ok {
		return nil
	}
	min := &MinUsers{}
	if v, ok := m.require("count", "a whole number of users of at least 1"); ok {
		min.Count, _ = v.whole("a whole number of users of at least 1")
	}
	const want = "the name of a count without above and below"
	if v, ok := m.require("release", want); ok {
		if min.Release, ok = v.text(want); ok && len(s.errs) == 0 {
			s.checkMinUsers(v, min.Release)
		}
	}
	return min
}

func (s *streamNode) checkMinUsers(v node, name string) {
	for _, r := range s.Releases {
		if r.Name != name {
			continue
		}
		if q := r.Query; q.Statistic != mechanisms.Count || q.Above != nil || q.Below != nil {
			v.refuse("%q does not count all users of a window; want the name of a count without above and below", name)
		}
		return
	}
	v.refuse("%q is not a release of this stream; want the name of a count without above and below", name)
}

func isMapping(n node) bool { return n.yaml != nil && n.yaml.Kind == yaml.MappingNode }
