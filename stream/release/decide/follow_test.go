package decide

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/record"
)

// following is finding with a second stream, before the first, that follows its list.
func following(window, grace string) string {
	follower := `  - name: f
    input: {topic: in, user: user, value: value, time: time, group: group}
    groups: {from: s}
    bounds: {lower: 0, upper: 1000, step: 1}
    window: {size: ` + window + `, grace: ` + grace + `, start: 2026-01-01T00:00:00Z, end: 2026-01-02T00:00:00Z}
    releases:
      - {name: users, statistic: count, mechanism: geometric, epsilon: 30}
    output: {topic: out}
    budget: s
    on_exhausted: withhold
`
	return strings.NewReplacer("{topic: out}", "{topic: out, tombstones: true}", "streams:\n",
		"budgets: [{name: s, epsilon: 100000, delta: 0.09, per: 24h}]\nstreams:\n"+strings.Replace(follower,
			"topic: out", "topic: out, tombstones: true", 1), "budget: {epsilon: 10000, delta: 0.09, per: 24h}",
		"budget: s", "max: 3", "max: 50").Replace(finding)
}

// listByHand is the list of a window by definition: the names found by discoveries that are due no later than the
// window and ended less than three hours before the last of them.
func listByHand(all []ledger.Entry, due time.Time) (names []string, of time.Time) {
	last := map[string]time.Time{}
	for _, e := range all {
		if e.Discovery == nil || e.DueAt.After(due) {
			continue
		}
		if e.WindowEnd.After(of) {
			of = e.WindowEnd
		}
		for _, f := range e.Discovery.Found {
			if e.WindowEnd.After(last[f.Name]) {
				last[f.Name] = e.WindowEnd
			}
		}
	}
	for name, found := range last {
		if of.Sub(found) < 3*time.Hour {
			names = append(names, name)
		}
	}
	names = append(names, "home")
	slices.Sort(names)
	return append(names, "rest"), of
}

// TestFollowersTakeTheListOfTheirOwnDueTime, whatever the windows and the grace of the two streams are, and in whatever
// pieces the parts of both come.
func TestFollowersTakeTheListOfTheirOwnDueTime(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	words := strings.Split("abcdefgh", "")
	for _, c := range []struct{ window, grace, source string }{
		{"15m", "1s", "1s"}, {"15m", "0s", "1s"}, {"15m", "20m", "1s"}, {"15m", "1s", "20m"}, {"5m", "10m1s", "1s"},
		{"30m", "1s", "15m1s"}, {"2h", "1s", "1s"}, {"20m", "3s", "70m"},
	} {
		editions := editionsOf(t, strings.Replace(following(c.window, c.grace), "every: 15m, grace: 1s",
			"every: 15m, grace: "+c.source, 1))
		d := playing(t, editions)
		left := map[int]int64{} // the start of the next slice of each stream
		for i, of := range editions {
			left[i] = of.Schedule.Start
		}
		for len(left) > 0 {
			i := random.IntN(2)
			start, more := left[i]
			if !more {
				continue
			}
			of := editions[i].Schedule
			if left[i] = start + int64(of.Every); left[i] == of.End {
				delete(left, i)
			}
			// Some names in some hours: they come to the list, and leave it.
			var records []userVisit
			hour := int(time.Unix(0, start).Sub(newYear) / time.Hour)
			for n, name := range words {
				if (hour/(n+1))%3 == n%3 {
					records = append(records, sentBy(uint64(10*n+1), 3, name)...)
				}
			}
			d.give(editions[i], records, trouble{})
			d.decided()
		}
		all := d.entries
		checkCompacted(t, all)
		followed, early, lists := 0, 0, map[string]bool{}
		for _, e := range all {
			if e.Discovery != nil {
				continue
			}
			want, of := listByHand(all, e.DueAt)
			if got := e.GroupNames(); !slices.Equal(got, want) || of.IsZero() != (e.List.Of == nil) || !of.IsZero() &&
				!e.List.Of.Equal(of) {
				t.Fatalf("%+v: %s has the groups %q of %v, want %q of %s", c, e.Name(), got, e.List.Of, want, of)
			}
			if other := map[string]string{"f": "s"}[e.Stream]; e.List.Stream != other {
				t.Fatalf("%s has the list of stream %q, want %q", e.Name(), e.List.Stream, other)
			}
			if e.Stream != "f" {
				continue
			}
			followed++
			lists[fmt.Sprint(want)] = true
			if hour := e.WindowEnd.Truncate(time.Hour); hour.After(newYear) && of.Before(hour) {
				early++
			}
		}
		if n := int(24 * time.Hour / editions[0].Schedule.Every); followed != n || len(lists) < 5 {
			t.Errorf("%+v: %d windows follow with %d lists, want %d windows and at least 5 lists", c, followed,
				len(lists), n)
		}
		// A window that is due before the discovery of its hour has the list of the hour before.
		if sooner := editions[0].Schedule.Grace < editions[1].Schedule.Grace; sooner != (early > 0) {
			t.Errorf("%+v: %d windows do not have the list of their hour", c, early)
		}
	}
}

// checkCompacted checks that the last records of all keys, without the series that have ended, are those of the groups
// of the newest window of each stream.
func checkCompacted(t *testing.T, all []ledger.Entry) {
	t.Helper()
	last, ended := map[string]bool{}, map[string]int{}
	for _, e := range all {
		records, err := e.Records()
		if err != nil || len(records) != e.Size() {
			t.Fatalf("%s has %d records, want %d (%v)", e.Name(), len(records), e.Size(), err)
		}
		for _, r := range records {
			if last[string(r.Key)] = true; r.Value == nil {
				delete(last, string(r.Key))
				ended[e.Stream]++
			}
		}
		if e.Discovery != nil {
			continue
		}
		listed := map[string]bool{}
		for _, g := range e.Groups {
			if key := record.FoundKey(e.Stream, g.Name, "users"); !last[key] {
				t.Fatalf("%s has no record of %s", e.Name(), key)
			}
			listed[record.FoundKey(e.Stream, g.Name, "")] = true
		}
		for key := range last {
			group := key[:strings.LastIndex(key, "/")+1]
			if strings.HasPrefix(key, e.Stream+"/") && !listed[group] && group != e.Stream+"//" {
				t.Fatalf("with %s there is still a record of %s; the groups are %q", e.Name(), key, e.GroupNames())
			}
		}
	}
	// Of the stream that discovers, users and both discoveries.
	if ended["f"] < 5 || ended["s"] < 15 || ended["s"]%3 != 0 {
		t.Errorf("%v series end, want some of both streams", ended)
	}
}
