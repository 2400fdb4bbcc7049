package chaostest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/budget/privacy"
	"github.com/louver/louver/stream/control"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/record"
)

// story is a run that never was: five windows of one stream, of which the budget pays three.
type story struct {
	evidence
	entries, aborted []ledger.Entry
}

var (
	storyStart  = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	storyValues = []int{100, 300, 500, 700, 900} // of the users of a group
)

const storySize, storyGrace = 10 * time.Second, 5 * time.Second

func newStory() *story {
	limit := budget.Limit{Epsilon: decimal.NewFromInt(10), Per: time.Hour}
	s := &story{evidence: evidence{from: storyStart, to: storyStart.Add(5 * storySize), faults: 1,
		streams: []promised{{name: "s", account: "a", input: "in", policy: "last",
			definitions: []definition{{budget: "b", size: storySize, every: storySize, grace: storyGrace,
				groups: []string{"x", "y"}, releases: []string{"users", "slow", "p50"}, epsilon: decimal.NewFromInt(1),
				limit: limit, exact: true}}}},
		steps: map[string][]control.Step{"in": {{Partitions: 1, Due: control.Always}}}}}
	for i := range 5 {
		start := storyStart.Add(time.Duration(i) * storySize)
		e := ledger.Entry{App: "app", Stream: "s", Budget: "b", Input: "in", Output: "out", WindowStart: start,
			WindowEnd: start.Add(storySize), DueAt: start.Add(storySize + storyGrace),
			ReleasedAt: start.Add(storySize + storyGrace), Every: storySize, Limit: limit,
			Price: []budget.Item{{Promise: privacy.NewPure(decimal.NewFromInt(1)), Times: 3}}}
		for _, name := range s.streams[0].newest().releases {
			e.Releases = append(e.Releases, record.Series{Name: name, Statistic: "count", Mechanism: "geometric",
				Epsilon: decimal.NewFromInt(1)})
		}
		for _, name := range s.streams[0].newest().groups {
			g := ledger.Group{Name: name}
			for j, v := range storyValues {
				first := deed{topic: "in", user: fmt.Sprint(name, j), group: name, value: 1000 - v,
					at: start.Add(time.Second), acked: start.Add(time.Second)}
				last := first
				last.value, last.at = v, start.Add(2*time.Second)
				s.deeds = append(s.deeds, first, last)
			}
			if e.Reason = record.BudgetExhausted; i < 3 {
				e.Reason = ""
				g.Values = []ledger.Value{drawnAs(5), drawnAs(2), drawnAs(500)}
			}
			e.Groups = append(e.Groups, g)
		}
		s.entries = append(s.entries, e)
	}
	return s
}

func drawnAs(n int64) ledger.Value {
	d := decimal.NewFromInt(n)
	return ledger.Value{Value: &d}
}

// redefine gives the stream windows of half the size, and makes the entries from one on up to another follow.
func (s *story) redefine(from, to int) {
	half := s.streams[0].newest()
	half.size, half.every = storySize/2, storySize/2
	s.streams[0].definitions = append(s.streams[0].definitions, half)
	for i := from; i <= to && i < len(s.entries); i++ {
		e := &s.entries[i]
		e.WindowEnd, e.Every = e.WindowStart.Add(half.size), half.every
	}
	s.to = s.entries[len(s.entries)-1].WindowEnd
}

// tell writes the logs of the story.
func (s *story) tell(t *testing.T) evidence {
	t.Helper()
	add := func(e ledger.Entry, aborted bool) {
		value, err := e.Encode()
		if err != nil {
			t.Fatal(err)
		}
		s.ledger = append(s.ledger, logged{value, aborted})
	}
	for _, e := range s.aborted {
		add(e, true)
	}
	for _, e := range s.entries {
		add(e, false)
		records, err := e.Records()
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range records {
			s.outputs = append(s.outputs, logged{r.Value, false})
		}
	}
	return s.evidence
}

// first is the first entry, with values of its own.
func (s *story) first() *ledger.Entry {
	e := &s.entries[0]
	e.Groups = slices.Clone(e.Groups)
	for i := range e.Groups {
		e.Groups[i].Values = slices.Clone(e.Groups[i].Values)
	}
	return e
}

func replaced(value []byte, old, new string) []byte {
	return []byte(strings.Replace(string(value), old, new, 1))
}

// TestCheckerSeesEveryViolation plants one thing at a time into logs that are right.
func TestCheckerSeesEveryViolation(t *testing.T) {
	late := storyStart.Add(storySize + storyGrace)
	harmed := harm{kind: "partials are deleted", at: storyStart.Add(12 * time.Second),
		until: storyStart.Add(5 * time.Second), streams: []string{"s"}}
	for _, test := range []struct {
		name string
		plan func(s *story)    // changes what happened
		logs func(e *evidence) // changes what was written of it
		want verdict           // beside the faults and the windows
	}{
		{name: "nothing is planted"},
		{name: "an aborted draw that was adopted", plan: func(s *story) { s.aborted = s.entries[:2] }},
		{name: "an aborted output that was written again",
			logs: func(e *evidence) { e.outputs = append(e.outputs, logged{e.outputs[0].value, true}) }},
		{name: "incomplete, and a fault explains it", plan: func(s *story) {
			s.first().Incomplete, s.harms = true,
				[]harm{harmed}
		}, want: verdict{incomplete: 1}},
		{name: "incomplete, and so its figure may be wrong", plan: func(s *story) {
			s.first().Groups[0].Values[0] = drawnAs(1)
			s.entries[0].Incomplete, s.harms = true, []harm{harmed}
		}, want: verdict{incomplete: 1}},
		{name: "an event that came after the due time counts", plan: func(s *story) {
			s.deeds = append(s.deeds, deed{topic: "in", user: "late", group: "x", value: 1, at: storyStart,
				acked: late.Add(time.Millisecond)})
			s.first().Groups[0].Values = []ledger.Value{drawnAs(6), drawnAs(2), drawnAs(300)}
		}},
		{name: "an event that came after the due time does not count", plan: func(s *story) {
			s.deeds = append(s.deeds, deed{topic: "in", user: "late", group: "x", value: 1, at: storyStart,
				acked: late.Add(time.Millisecond)})
		}},
		{name: "an event of a new partition that the window does not take", plan: func(s *story) {
			s.deeds = append(s.deeds, deed{topic: "in", partition: 1, user: "new", group: "x", value: 1, at: storyStart,
				acked: storyStart})
			s.steps["in"] = append(s.steps["in"], control.Step{Partitions: 2, Due: late.Add(time.Second).UnixNano()})
		}},
		{name: "another definition from a window on", plan: func(s *story) { s.redefine(4, 4) }},
		{name: "a definition that comes too late for this run",
			plan: func(s *story) { s.redefine(5, 4); s.streams[0].definitions[1].given = s.to }},

		{name: "a definition never takes effect",
			plan: func(s *story) { s.redefine(5, 4); s.streams[0].definitions[1].given = s.to.Add(-time.Hour) },
			want: verdict{missing: 1}},
		{name: "a moment is in no window where the definition changes", plan: func(s *story) {
			s.redefine(4, 4)
			e := &s.entries[4]
			e.WindowStart, e.WindowEnd = e.WindowStart.Add(time.Second), e.WindowEnd.Add(time.Second)
		}, want: verdict{missing: 1}},
		{name: "a moment is in windows of two definitions", plan: func(s *story) {
			s.redefine(4, 4)
			e := &s.entries[4]
			e.WindowStart, e.WindowEnd = e.WindowStart.Add(-time.Second), e.WindowEnd.Add(-time.Second)
		}, want: verdict{different: 1}},
		{name: "a window goes back to the old definition", plan: func(s *story) { s.redefine(3, 3) },
			want: verdict{missing: 2, different: 1}},

		{name: "incomplete without a fault", plan: func(s *story) { s.first().Incomplete = true },
			want: verdict{incomplete: 1, unexplained: 1}},
		{name: "incomplete, and the fault was another stream's", plan: func(s *story) {
			other := harmed
			other.streams = []string{"other"}
			s.first().Incomplete, s.harms = true, []harm{other}
		}, want: verdict{incomplete: 1, unexplained: 1}},
		{name: "incomplete, and the fault came after the release", plan: func(s *story) {
			later := harmed
			later.at = late.Add(time.Second)
			s.first().Incomplete, s.harms = true, []harm{later}
		}, want: verdict{incomplete: 1, unexplained: 1}},
		{name: "incomplete, and the window began after all that was lost", plan: func(s *story) {
			earlier := harmed
			earlier.until = storyStart
			s.first().Incomplete, s.harms = true, []harm{earlier}
		}, want: verdict{incomplete: 1, unexplained: 1}},

		{name: "a window is missing", plan: func(s *story) { s.entries = s.entries[:4] }, want: verdict{missing: 1}},
		{name: "a window between others is missing", plan: func(s *story) {
			s.entries = slices.Delete(s.entries, 3,
				4)
		}, want: verdict{missing: 1}},
		{name: "a window was drawn and not recorded",
			plan: func(s *story) { s.entries, s.aborted = s.entries[:4], s.entries[4:] }, want: verdict{missing: 1}},
		{name: "a figure is not published", logs: func(e *evidence) { e.outputs = e.outputs[1:] },
			want: verdict{missing: 1}},
		{name: "a figure after the end is not published", plan: func(s *story) { s.to = storyStart },
			logs: func(e *evidence) { e.outputs = e.outputs[1:] }},
		{name: "a figure is published in an aborted transaction only",
			logs: func(e *evidence) { e.outputs[0].aborted = true }, want: verdict{missing: 1}},
		{name: "a window is withheld that could be paid", plan: func(s *story) {
			e := s.first()
			e.Reason, e.Groups[0].Values, e.Groups[1].Values = record.BudgetExhausted, nil, nil
		}, want: verdict{missing: 3}}, // and both later ones
		{name: "new partitions are never read", plan: func(s *story) {
			s.deeds = append(s.deeds, deed{topic: "in", partition: 1, user: "new", group: "x", value: 1,
				at: storyStart.Add(-time.Hour)})
		}, want: verdict{missing: 1}},

		{name: "the output differs from the ledger",
			logs: func(e *evidence) { e.outputs[0].value = replaced(e.outputs[0].value, `"value":5`, `"value":6`) },
			want: verdict{different: 1}},
		{name: "an aborted output differs from the ledger", logs: func(e *evidence) {
			e.outputs = append(e.outputs, logged{replaced(e.outputs[0].value, `"value":5`, `"value":6`), true})
		}, want: verdict{different: 1}},
		{name: "a window was drawn twice", plan: func(s *story) {
			s.aborted = slices.Clone(s.entries[:1])
			s.first().Groups[0].Values[2] = drawnAs(501)
			s.streams[0].definitions[0].exact = false
		}, want: verdict{different: 1}},
		{name: "a figure is one too low", plan: func(s *story) { s.first().Groups[1].Values[0] = drawnAs(4) },
			want: verdict{different: 1}},
		{name: "a figure is one too high", plan: func(s *story) { s.first().Groups[1].Values[1] = drawnAs(3) },
			want: verdict{different: 1}},
		{name: "a median is another user's", plan: func(s *story) { s.first().Groups[0].Values[2] = drawnAs(700) },
			want: verdict{different: 1}},
		{name: "the first contribution counts instead of the last", plan: func(s *story) {
			for i, d := range s.deeds {
				if d.user == "x0" {
					s.deeds[i].value = 1000 - d.value
				}
			}
		}, want: verdict{different: 3 * 2}}, // the users above, and the median, of three windows
		{name: "an event that was there in time does not count", plan: func(s *story) {
			s.deeds = append(s.deeds, deed{topic: "in", user: "lost", group: "x", value: 500, at: storyStart,
				acked: late.Add(-time.Millisecond)})
		}, want: verdict{different: 1}},
		{name: "a group is missing", plan: func(s *story) { e := s.first(); e.Groups = e.Groups[:1] },
			want: verdict{different: 1}},
		{name: "the ledger is unreadable", logs: func(e *evidence) {
			e.ledger = append(e.ledger,
				logged{[]byte("{"), false})
		}, want: verdict{different: 1}},

		{name: "a figure is published twice", logs: func(e *evidence) { e.outputs = append(e.outputs, e.outputs[0]) },
			want: verdict{double: 1}},
		{name: "a window is charged twice", logs: func(e *evidence) { e.ledger = append(e.ledger, e.ledger[0]) },
			want: verdict{double: 1}},

		{name: "a window beyond the limit is paid", plan: func(s *story) {
			e := &s.entries[3]
			e.Reason, e.Groups = "", s.entries[0].Groups
		}, want: verdict{overspent: 1}},
		{name: "a window charges too little", plan: func(s *story) {
			s.first().Price = []budget.Item{{Promise: privacy.NewPure(decimal.NewFromInt(1)), Times: 2}}
		}, want: verdict{overspent: 1}},
		{name: "another budget is charged", plan: func(s *story) { s.first().Budget = "c" },
			want: verdict{overspent: 1}},
		{name: "a figure is published that nobody charged", logs: func(e *evidence) { e.ledger = e.ledger[:4] },
			want: verdict{missing: 1, overspent: 6}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newStory()
			if test.plan != nil {
				test.plan(s)
			}
			e := s.tell(t)
			if test.logs != nil {
				test.logs(&e)
			}
			v := e.check()
			test.want.faults, test.want.windows = 1, v.windows
			if v.String() != test.want.String() {
				t.Errorf("found\n%s, want\n%s\n%s", v, test.want, strings.Join(v.complaints, "\n"))
			}
			wrong := test.want.missing + test.want.different + test.want.double + test.want.overspent +
				test.want.unexplained
			if len(v.complaints) != wrong {
				t.Errorf("%d complaints, want %d", len(v.complaints), wrong)
			}
		})
	}
}

// TestCheckerJudgesAppsApart gives a story in which too much is spent, and the same where another app began in between.
func TestCheckerJudgesAppsApart(t *testing.T) {
	s := newStory()
	for i := range s.entries {
		s.entries[i].Reason, s.entries[i].Groups = "", s.entries[0].Groups
	}
	one := s.tell(t)
	published := one.outputs
	one.outputs = nil
	first, second := one, one
	first.to, first.ledger = storyStart.Add(3*storySize), one.ledger[:3]
	second.from, second.ledger = first.to, one.ledger[3:]
	short := first
	short.ledger = first.ledger[:2]
	for _, test := range []struct {
		apps []evidence
		want verdict
	}{
		{[]evidence{one}, verdict{overspent: 2}},
		{[]evidence{first, second}, verdict{}},
		{[]evidence{short, second}, verdict{missing: 1, overspent: 6}},
	} {
		c := chaos{faults: 7, earlier: test.apps}
		v, _ := c.judge(one.deeds, published)
		test.want.faults, test.want.windows = 7, v.windows
		if v.String() != test.want.String() || v.windows < 4 {
			t.Errorf("%d apps: found\n%s, want\n%s\n%s", len(test.apps), v, test.want, strings.Join(v.complaints, "\n"))
		}
	}
}

// TestCheckerSeesWrongSums: a user who sent 300 and 500, and another who sent 900 and 200, of which 1,000 count. An
// event that may be late or was sent again leaves a choice. Of events that are counted, two of a user count.
func TestCheckerSeesWrongSums(t *testing.T) {
	start := storyStart
	event := func(user string, value int) deed {
		return deed{topic: "in", user: user, group: "x", value: value, at: start, acked: start}
	}
	plain := []deed{event("a", 300), event("a", 500), event("b", 900), event("b", 200)}
	late, again := event("a", 50), event("c", 10)
	late.acked, again.repeats = time.Time{}, 2
	s := promised{name: "s", input: "in", policy: "sum"}
	v := definition{size: storySize, every: storySize, groups: []string{"x"}, releases: []string{spent}, exact: true}
	check := func(deeds []deed, value int64, wrong bool) {
		t.Helper()
		k := &checker{evidence: evidence{steps: map[string][]control.Step{"in": {{Partitions: 1}}}}}
		k.checkWindow(s, v, ledger.Entry{Stream: "s", WindowStart: start, WindowEnd: start.Add(storySize),
			Releases: []record.Series{{Name: spent}},
			Groups:   []ledger.Group{{Name: "x", Values: []ledger.Value{drawnAs(value)}}}}, deeds)
		if found := k.different > 0; found != wrong {
			t.Errorf("%d for %v, policy %s: wrong is %v, want %v: %v", value, deeds, s.policy, found, wrong, k.complaints)
		}
	}
	for _, test := range []struct {
		deeds []deed
		value int64
		wrong bool
	}{
		{plain, 1800, false}, {plain, 1799, true}, {plain, 1801, true}, {plain, 2100, true},
		{append(slices.Clone(plain), late), 1800, false}, {append(slices.Clone(plain), late), 1850, false},
		{append(slices.Clone(plain), late), 1851, true},
		{append(slices.Clone(plain), again), 1800, true}, {append(slices.Clone(plain), again), 1810, false},
		{append(slices.Clone(plain), again), 1830, false}, {append(slices.Clone(plain), again), 1840, true},
	} {
		check(test.deeds, test.value, test.wrong)
	}
	s.policy = "count"
	check(plain, 4, false)
	check(plain, 3, true)
	check(append(slices.Clone(plain), event("a", 1)), 4, false)
	check(append(slices.Clone(plain), event("a", 1)), 5, true)
	check(append(slices.Clone(plain), again), 5, false)
	check(append(slices.Clone(plain), again), 6, false) // it may be there three times, of which two count
	check(append(slices.Clone(plain), again), 7, true)
}
