package parse

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/stream/config"
)

// found is how the groups of withFound are found.
const found = `groups:
      discover:
        - {name: daily, every: 24h, epsilon: 0.5, delta: 0.00000001, max_groups: 2, at_least: 10}
        - {name: hourly, every: 1h, epsilon: 0.25, delta: 0.0000000001,
           max_windows: {count: 2, per: 24h, parts: 1}}
      keep: 7d
      max: 900
      other: (other)
      always: [/login, /]
      match: '^/[a-z0-9/-]*$'
      except: [/admin]`

// withFound is right with groups that are found.
func withFound(groups string) string {
	return strings.NewReplacer("groups: [eu, us, ap]", groups, "epsilon: 24,", "epsilon: 24, delta: 0.000001,",
		", prior: cells", "").Replace(right)
}

func TestFoundGroups(t *testing.T) {
	f := parse(t, withFound(found))
	s := f.Streams[0]
	of := s.Found
	if s.Groups != nil || of == nil || len(config.All[*config.Discovery](s)) != 2 || of.Keep != 7*24*time.Hour || of.Max != 900 ||
		of.Most() != 903 ||
		!slices.Equal(of.Always, []string{"/", "/login"}) || s.Prior != "tapered" {
		t.Fatalf("%+v", of)
	}
	for name, want := range map[string]bool{"/shoes": true, "/": false, "/admin": false, "Shoes": false,
		"(other)": false} {
		if of.May(name) != want {
			t.Errorf("%q may be found: %v, want %v", name, !want, want)
		}
	}
	discoveries := config.All[*config.Discovery](s)
	day, hour := discoveries[0], discoveries[1]
	// 36 + 9 for at_least: the table of the design.
	if day.Groups != 2 || day.AtMost != 1 || day.Mechanism.Threshold() != 45 || hour.Groups != 1 ||
		hour.AtMost != 2 {
		t.Errorf("%+v and %+v", day, hour)
	}
	// Blocks of 24 hours would begin at the same time of day for ever.
	if m := hour.MaxWindows; day.MaxWindows != nil || m == nil || m.By.Most != 1 || m.By.Block != 25 ||
		m.By.AtMost() != 2 ||
		hour.Cap(7) != (budget.Cap{Count: 2, Per: 24 * time.Hour, Era: 7, Lane: "hourly"}) ||
		day.Cap(7) != (budget.Cap{}) {
		t.Errorf("max_windows %+v and %+v", day.MaxWindows, hour.MaxWindows)
	}
	// ε 0.25 in 2 of 24 hours: 0.5, and 1 for the two names of a day.
	if lost := f.Budgets[0].Compose(s.BesidePrice()); lost.Epsilon.String() != "1.5" {
		t.Errorf("a day's discoveries cost %s, want 1 + 2 · 0.25", lost.Epsilon)
	}
	if lost := f.Budgets[0].Compose(day.Cost().Items); lost.Epsilon.String() != "1" {
		t.Errorf("a daily discovery costs %s, want 2 · 0.5", lost.Epsilon)
	}
	before := parse(t,
		withFound(strings.Replace(found,
			found[strings.Index(found, "        - {name: hourly"):strings.Index(found, "      keep")], "", 1)))
	if a, b := f.Payer(f.Budgets[0], time.Now()).InAnyDay(), before.Payer(before.Budgets[0],
		time.Now()).InAnyDay(); !b.Epsilon.
		LessThan(a.Epsilon) {
		t.Errorf("with hourly discoveries a day costs %s, and without them %s", a.Epsilon, b.Epsilon)
	}
	// As many multiples of every as 24 hours may hold, wherever they begin.
	for every, want := range map[string]int64{"1h": 24, "7h": 4, "48h": 1} {
		f := parse(t, withFound("groups: {discover: [{name: often, every: "+every+", epsilon: 0.1, delta: 0.000000001}]}"))
		if d := config.All[*config.Discovery](f.Streams[0])[0]; d.AtMost != want {
			t.Errorf("every %s there are up to %d discoveries in a period of the budget, want %d", every, d.AtMost, want)
		}
	}
	// What somebody does in a day is in two of these periods, and a turn that is not used there is used in a third one.
	stretch := func(turns string) decimal.Decimal {
		f := parse(t, withFound("groups: {discover: [{name: daily, every: 24h, epsilon: 0.5, delta: 0.00000001"+turns+"}]}"))
		return f.Payer(f.Budgets[0], time.Now()).InAnyStretch().Lost.Epsilon
	}
	if a, b := stretch(", max_windows: {count: 2, per: 7d, parts: 1}"), stretch(""); !b.LessThan(a) {
		t.Errorf("with turns a stretch costs %s, and without %s; want one discovery more", a, b)
	}
	again, err := Definition(s.Definition)
	if err != nil || again.Found == nil || again.Found.Match.String() != of.Match.String() ||
		len(config.All[*config.Discovery](again)) != 2 {
		t.Errorf("the definition gives %+v (%v)", again, err)
	}
	if d := parse(t,
		withFound("groups: {discover: [{name: daily, every: 24h, epsilon: 0.5, delta: 0.00000001}]}")).Streams[0].
		Found; d.Keep != 7*24*time.Hour || d.Max != 1000 || d.Other != "" || !d.May("anything") || d.Most() != 1000 {
		t.Errorf("by default %+v, want what 4000 figures allow", d)
	}
}

// Roll-ups add up what a group has, so they go with found groups as far as an entry has room. Objectives do not.
func TestHistogramsOfFoundGroups(t *testing.T) {
	with := func(more string, releases ...string) (*config.File, error) {
		text := strings.Replace(withFound(strings.Replace(found, "max: 900", "max: "+more, 1)), p50,
			"{name: shape, statistic: histogram, buckets: [100, 500, 2000], epsilon: 0.05, rollup: [1h, 24h]}"+
				strings.Join(append([]string{""}, releases...), "\n      - "), 1)
		return File("s.yaml", []byte(text), noVariables)
	}
	f, err := with("300")
	if err != nil || len(config.All[*config.Release](f.Streams[0])[0].Rollups) != 2 {
		t.Fatalf("%v, want two roll-ups", err)
	}
	_, err = with("900")
	if err == nil {
		t.Fatal("900 groups with roll-ups fit into an entry")
	}
	_, most, _ := strings.Cut(err.Error(), "kB: fewer buckets, or groups.max of at most ")
	most, _, _ = strings.Cut(most, "\n")
	if _, err := with(most); err != nil {
		t.Errorf("max: %s, as it was asked for: %v", most, err)
	}
	_, err = with("300", "{name: good, statistic: share, above: 500, from: shape, objective: 0.99}")
	if err == nil ||
		!strings.Contains(err.Error(), "releases[good].objective: the groups of this stream are found, and their "+
			"sums would begin with each list; want groups that are listed") {
		t.Errorf("%v, want that there are no objectives", err)
	}
}

func TestBesidesOfFoundGroups(t *testing.T) {
	if got := config.Besides(parse(t, withFound(found)).Streams[0]); got != "discoveries" {
		t.Errorf("%q", got)
	}
}
