package chaostest

import (
	"encoding/json"
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

// recentStory is a run of six windows of a stream with recent, and what it published. User a of x sends 150 in the
// first two windows, and b 650 in the second and the fourth one. c of y sends 950 in the third one.
type recentStory struct {
	k       *checker
	entries []ledger.Entry
	records map[string]*record.Value
}

const recentWindows = 6

func newRecentStory() *recentStory {
	v := definition{size: shortest, every: shortest, grace: 2 * time.Second, groups: []string{"x", "y"}, exact: true,
		budget: "b", releases: []string{spread, highs}, epsilon: decimal.NewFromInt(1),
		limit:  budget.Limit{Epsilon: decimal.NewFromInt(100), Per: 9 * time.Second},
		recent: recent{last: 2 * shortest, active: 2 * shortest}}
	start := storyStart.Add(time.Minute)
	s := &recentStory{records: map[string]*record.Value{}, k: &checker{evidence: evidence{from: start,
		to:      start.Add(recentWindows * shortest),
		streams: []promised{{name: "s", account: "a", input: "in", policy: "last", definitions: []definition{v}}},
		steps:   map[string][]control.Step{"in": {{Partitions: 1}}}},
		entries: map[string]ledger.Entry{}, follows: map[string]definition{}}}
	sent := []map[string]int{{"a": 150}, {"a": 150, "b": 650}, {"c": 950}, {"b": 650}, {}, {}}
	windows := map[string][][2]int64{} // of each group, the users of each window up to 500 and above
	seen, active := map[string]bool{}, make([]map[string]int64, recentWindows)
	sofar := map[string][2]int64{}
	for i, users := range sent {
		at := start.Add(time.Duration(i) * shortest)
		end := at.Add(shortest)
		numbers := map[string][2]int64{}
		active[i] = map[string]int64{}
		for user, value := range users {
			s.k.deeds = append(s.k.deeds, deed{topic: "in", user: user, group: groupIn(user), value: value,
				at: at.Add(time.Second), acked: at.Add(time.Second)})
			one := [2]int64{1, 0}
			if value > slowAbove {
				one = [2]int64{0, 1}
			}
			numbers[groupIn(user)] = plus(numbers[groupIn(user)], one)
			numbers[everybody] = plus(numbers[everybody], one)
			if !seen[user] {
				seen[user], sofar[groupIn(user)] = true, plus(sofar[groupIn(user)], one)
			}
			if i == 0 || sent[i-1][user] == 0 || i%2 == 0 {
				active[i][groupIn(user)]++
			}
		}
		e := ledger.Entry{Stream: "s", Budget: "b", WindowStart: at, WindowEnd: end, Every: shortest, ReleasedAt: end,
			Limit: v.limit, Price: []budget.Item{{Promise: privacy.NewPure(v.epsilon), Times: 1}},
			Groups: []ledger.Group{{Name: "x"}, {Name: "y"}},
			Continual: []ledger.Continual{{Name: soFar, Instance: 1, Arms: i == 0, SoFar: &ledger.SoFar{}},
				{Name: now, Instance: 1, Arms: i == 0, Active: &ledger.Active{}}}}
		// The last three windows count, 2 for the distribution so far, and 3 once a leaf of active users has ended.
		spent := int64(min(i+1, 3)) + 2
		if i > 0 {
			spent += 3
		}
		e.Standing.BudgetSpent = new(decimal.NewFromInt(spent))
		for _, group := range []string{"x", "y", everybody} {
			windows[group] = append(windows[group], numbers[group])
			s.publish(e, group, spread, numbers[group])
			last, released := numbers[group], int64(1)
			if i > 0 {
				last, released = plus(last, windows[group][i-1]), 2
			}
			s.publish(e, group, spread+".last_6s", last).Windows = &record.Windows{Of: 2, Released: released}
			s.publish(e, group, highs+".last_6s", last).Value = new(json.Number(fmt.Sprint(last[1])))
			if i%2 == 0 || group == everybody {
				continue
			}
			s.publish(e, group, soFar, sofar[group]).Since = &start
			of := s.publish(e, group, now, [2]int64{})
			of.Value = new(json.Number(fmt.Sprint(active[i][group] + active[i-1][group])))
			of.Active = "6s"
		}
		s.entries = append(s.entries, e)
		s.k.follows[windowKey("s", at)] = v
	}
	return s
}

func groupIn(user string) string {
	if user == "c" {
		return "y"
	}
	return "x"
}

func plus(a, b [2]int64) [2]int64 { return [2]int64{a[0] + b[0], a[1] + b[1]} }

func (s *recentStory) publish(e ledger.Entry, group, release string, numbers [2]int64) *record.Value {
	r := &record.Value{Schema: record.Schema, Stream: "s", Group: group, Release: release, WindowStart: e.WindowStart,
		WindowEnd: e.WindowEnd, Instance: 1, Epsilon: "0", Delta: "0", BudgetLimit: "0",
		Buckets: &record.Distribution{Ends: []*json.Number{new(json.Number("500")), nil}, Raw: numbers[:]}}
	s.records[recentKey(group, release, len(s.entries))] = r
	return r
}

func recentKey(group, release string, window int) string {
	return fmt.Sprint(group, " ", release, " ", window)
}

func (s *recentStory) raw(group, release string, window int) []int64 {
	return s.records[recentKey(group, release, window)].Buckets.Raw
}

// check checks what happened, and complains only of what the checks of these kinds find.
func (s *recentStory) check(t *testing.T) verdict {
	t.Helper()
	for _, e := range s.entries {
		s.k.entries[windowKey("s", e.WindowStart)] = e
	}
	for _, r := range s.records {
		value, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		s.k.outputs = append(s.k.outputs, logged{value: value})
	}
	s.k.checkSums()
	s.k.checkSoFar()
	s.k.checkActive()
	s.k.checkBudgets()
	return s.k.verdict
}

// TestCheckerSeesWrongRecentFigures plants one thing at a time.
func TestCheckerSeesWrongRecentFigures(t *testing.T) {
	harmed := harm{kind: "parts", at: storyStart, until: storyStart.Add(time.Hour), streams: []string{"s"}}
	for _, test := range []struct {
		name string
		plan func(s *recentStory)
		want verdict
	}{
		{"nothing", func(*recentStory) {}, verdict{}},
		{"a sum is one too high", func(s *recentStory) { s.raw("x", spread+".last_6s", 3)[0]++ },
			verdict{different: 1}},
		{"a sum has a window too many", func(s *recentStory) { s.raw("x", spread+".last_6s", 2)[0]++ },
			verdict{different: 1}},
		{"a sum says that a window is missing",
			func(s *recentStory) { s.records[recentKey("x", spread+".last_6s", 4)].Windows.Released = 1 },
			verdict{different: 1}},
		{"a sum is not published", func(s *recentStory) { delete(s.records, recentKey("y", spread+".last_6s", 5)) },
			verdict{missing: 1}},
		{"a figure does not follow from its sum",
			func(s *recentStory) { *s.records[recentKey("x", highs+".last_6s", 3)].Value = "2" }, verdict{different: 1}},
		{"all groups together are one too few", func(s *recentStory) { s.raw(everybody, spread, 2)[1]-- },
			// and of the two sums that have the window
			verdict{different: 3}},
		{"all groups together are not published", func(s *recentStory) {
			delete(s.records, recentKey(everybody, spread, 5))
		}, verdict{missing: 1}},
		{"a sum goes on with another histogram", func(s *recentStory) {
			v := s.k.streams[0].newest()
			v.epsilon = v.epsilon.Add(v.epsilon)
			s.k.streams[0].definitions = append(s.k.streams[0].definitions, v)
			s.k.follows[windowKey("s", s.entries[5].WindowStart)] = v
			s.entries[5].Price[0].Times = 2
			*s.entries[5].Standing.BudgetSpent = decimal.NewFromInt(9)
		}, verdict{different: 3}},

		{"somebody counts twice so far", func(s *recentStory) { s.raw("x", soFar, 5)[1]++ }, verdict{overspent: 1}},
		{"somebody is in another bucket", func(s *recentStory) { s.raw("x", soFar, 5)[0], s.raw("x", soFar, 5)[1] = 2, 0 },
			verdict{overspent: 1, missing: 1}},
		{"somebody is forgotten so far", func(s *recentStory) { s.raw("y", soFar, 5)[1]-- }, verdict{missing: 1}},
		{"fewer than before", func(s *recentStory) {
			s.raw("y", soFar, 3)[1]++ // one too many, and then none
		}, verdict{overspent: 1, different: 1}},
		{"the distribution so far is not published", func(s *recentStory) { delete(s.records, recentKey("x", soFar, 3)) },
			verdict{missing: 1}},
		{"it begins anew for nothing", func(s *recentStory) { s.again(0) },
			verdict{overspent: 1 + 3}}, // and has three users who have not come since
		{"it begins anew after a fault", func(s *recentStory) {
			s.again(0)
			s.k.harms = []harm{harmed}
			s.raw("x", soFar, 5)[0] = 0
			s.raw("x", soFar, 5)[1] = 0
			s.raw("y", soFar, 5)[1] = 0
		}, verdict{}},

		{"somebody is active who has left", func(s *recentStory) {
			*s.records[recentKey("x", now, 5)].Value = "1"
		}, verdict{overspent: 1}},
		{"somebody active is missing", func(s *recentStory) { *s.records[recentKey("x", now, 1)].Value = "1" },
			verdict{missing: 1}},
		{"active users are not published", func(s *recentStory) { delete(s.records, recentKey("y", now, 5)) },
			verdict{missing: 1}},
		{"active users are incomplete for nothing",
			func(s *recentStory) { s.records[recentKey("x", now, 3)].Incomplete = true }, verdict{different: 1}},
		{"active users are said to be complete and are not", func(s *recentStory) { s.entries[3].Incomplete = true },
			// of both groups; the sums say how many windows are incomplete, too
			verdict{different: 2 + 6}},
		{"another one is charged for active users", func(s *recentStory) { s.again(1) },
			verdict{overspent: 1}},

		{"the books forget what a day costs", func(s *recentStory) {
			*s.entries[2].Standing.BudgetSpent = decimal.NewFromInt(5)
		}, verdict{overspent: 1}},
	} {
		s := newRecentStory()
		test.plan(s)
		if v := s.check(t); v.String() != test.want.String() {
			t.Errorf("%s: %s, want %s\n%s", test.name, v, test.want, strings.Join(v.complaints, "\n"))
		} else if len(v.complaints) == 0 && slices.Contains([]int{v.sums, v.soFar, v.active}, 0) {
			t.Errorf("%s: %d sums, %d distributions, %d numbers were compared", test.name, v.sums, v.soFar, v.active)
		}
	}
}

// again has another instance of a step begin with the last window but one. Both are charged.
func (s *recentStory) again(step int) {
	for i := recentWindows - 2; i < recentWindows; i++ {
		w := &s.entries[i].Continual[step]
		w.Instance, w.Arms = 2, i == recentWindows-2
		name := w.Name
		for _, group := range []string{"x", "y"} {
			if r := s.records[recentKey(group, name, i)]; r != nil {
				r.Instance = 2
				if r.Since != nil {
					r.Since = new(s.entries[recentWindows-2].WindowStart)
				}
			}
		}
	}
	// The first one counts for 9 s after it ends, or after its last leaf.
	for i, charge := range map[int]int64{recentWindows - 2: int64(2 * (1 - step)), recentWindows - 1: int64(2 + step)} {
		spent := s.entries[i].Standing.BudgetSpent
		*spent = spent.Add(decimal.NewFromInt(charge))
	}
}
