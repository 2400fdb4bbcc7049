package audit

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/ledger/ledgertest"
	"github.com/louver/louver/stream/record"
)

// learn settles an entry, adds it to a state, and returns its value.
func learn(t *testing.T, f *ledger.State, e *ledger.Entry, offset int64) (value []byte) {
	t.Helper()
	if err := errors.Join(f.Settle(e), f.Finish(e)); err != nil {
		t.Fatal(err)
	}
	value = ledgertest.Encode(t, *e)
	if err := f.Add(*e, value, offset); err != nil {
		t.Fatal(err)
	}
	return value
}

// listed are three discoveries, an hour apart, and after each a window, and one of a stream that follows the list.
func listed(t *testing.T) (all []ledger.Entry) {
	p := ledgertest.Plan{Stream: "s", Budget: "b", Epsilon: "0.5", Limit: budget.Limit{Epsilon: ledgertest.Dec("1000"),
		Delta: ledgertest.Dec("0.01"), Per: 24 * time.Hour}}
	rules := ledger.Rules{Source: "in path", Keep: 2 * 3600, Max: 3, Always: []string{"home"}, Other: "rest"}
	f := ledger.NewState("louver", 0)
	add := func(e ledger.Entry) {
		learn(t, f, &e, int64(len(all)))
		all = append(all, e)
	}
	for i, found := range []map[string]int64{{"a": 100, "b": 90}, {"c": 95}, {}} {
		end := ledgertest.Epoch.Add(time.Duration(i+1) * time.Hour)
		d := p.Discovery("hourly", end.Add(-time.Hour), end, rules, found)
		d.Discovery.Threshold = 40
		add(d)
		for _, from := range []string{"", "s"} {
			p := p
			if from != "" {
				p.Stream = "follower"
			}
			w := p.Entry(60*(i+1) + 5)
			ledgertest.OnList(t, f, &w, from, rules)
			add(w)
		}
	}
	return all
}

// TestAuditOfLists: the audit adds up again what was found. It sees a group that is not on the list, one that is
// missing, one that was kept too long, and a threshold that is too low.
func TestAuditOfLists(t *testing.T) {
	drop := func(g []ledger.Group, name string) []ledger.Group {
		return slices.DeleteFunc(slices.Clone(g), func(g ledger.Group) bool { return g.Name == name })
	}
	with := func(e ledger.Entry, name string) []ledger.Group {
		g := append(drop(e.Groups, "rest"), ledger.Group{Name: name, Values: e.Groups[0].Values})
		slices.SortFunc(g, func(x, y ledger.Group) int { return strings.Compare(x.Name, y.Name) })
		return append(g, e.Groups[len(e.Groups)-1])
	}
	for name, c := range map[string]struct {
		change func(all []ledger.Entry)
		want   string // "": no fault
	}{
		"right": {func([]ledger.Entry) {}, ""},
		"a wrong group": {func(all []ledger.Entry) { all[1].Groups = with(all[1], "stranger") },
			`groups has ["a","b","home","stranger","rest"]; the entries before it give ["a","b","home","rest"]`},
		"a missing one": {func(all []ledger.Entry) { all[4].Groups = drop(all[4].Groups, "c") },
			`groups has ["a","b","home","rest"]; the entries before it give ["a","b","c","home","rest"]`},
		"kept too long": {func(all []ledger.Entry) { all[7].Groups = with(all[7], "a") },
			`groups has ["a","c","home","rest"]; the entries before it give ["c","home","rest"]`},
		"another list": {func(all []ledger.Entry) { all[7].List.Of = new(record.Whole(ledgertest.Epoch)) },
			"list.of has 2026-11-20T08:00:00Z; the entries before it give 2026-11-20T11:00:00Z"},
		"a wrong group of a follower": {func(all []ledger.Entry) { all[5].Groups = with(all[5], "stranger") },
			`stream "follower", window of 2026-11-20T10:05:00Z: groups has ["a","b","c","home","stranger","rest"]; the`},
		"a follower's list is old": {func(all []ledger.Entry) {
			all[5].Groups, all[5].List.Of = all[2].Groups, all[2].List.Of
		}, "list.of has 2026-11-20T09:00:00Z; the entries before it give 2026-11-20T10:00:00Z"},
		"another stream's list": {func(all []ledger.Entry) { all[8].List.Stream = "t" },
			"list.of has 2026-11-20T11:00:00Z; the entries before it give nothing"},
		"its own list after all": {func(all []ledger.Entry) { all[8].List.Stream = "" },
			"list.of has 2026-11-20T11:00:00Z; the entries before it give nothing"},
		"the list before": {func(all []ledger.Entry) { all[7].List.Of = all[4].List.Of },
			"list.of has 2026-11-20T10:00:00Z; the"},
		"a list of nothing": {func(all []ledger.Entry) { all[7].List.Of = nil }, "list.of has nothing; the"},
		"a name that joins": {func(all []ledger.Entry) { all[3].Discovery.Joined = nil },
			`discovery.joined has nothing; the entries before it give ["c"]`},
		"a name that left": {func(all []ledger.Entry) { all[6].Discovery.Left = all[6].Discovery.Left[:1] },
			`discovery.left has ["a"]; the entries before it give ["a","b"]`},
		"a name that stays": {func(all []ledger.Entry) { all[6].Discovery.Left[1] = "home" },
			`discovery.left[1] has home; the entries before it give b`},
		"pushed out": {func(all []ledger.Entry) { all[3].Discovery.Unlisted = []string{"c"} },
			`discovery.unlisted has ["c"]; the entries before it give nothing`},
		"too few listed": {func(all []ledger.Entry) { all[6].Discovery.Listed = 9 },
			"discovery.listed has 9; the entries before it give 2"},
		"a low threshold": {func(all []ledger.Entry) { all[3].Discovery.Threshold = 35 },
			"its ε and δ take at least 36"},
		"another finding": {func(all []ledger.Entry) { all[0].Discovery.Found = all[0].Discovery.Found[:1] },
			`discovery.joined has ["a","b"]; the entries before it give ["a"]`},
	} {
		all := listed(t)
		c.change(all)
		f := auditOf(t, &logs{entries: all})
		found := slices.ContainsFunc(f.Faults,
			func(f Fault) bool { return f.Kind == ListDiffers && strings.Contains(f.What, c.want) })
		if found != (c.want != "") || c.want == "" && f.FaultCount > 0 {
			t.Errorf("%s: %+v, want %q", name, f.Faults, c.want)
		}
	}
}

// watchedLists are listed with a watch that fires in a with the second window, and waits while a leaves the list.
func watchedLists(t *testing.T) (all []ledger.Entry) {
	f := ledger.NewState("louver", 0)
	for i, e := range listed(t) {
		if e.Discovery == nil && e.Stream == "s" {
			e.Continual = []ledger.Continual{ledgertest.Watch("slow", "d", "1", 2, 10*time.Hour)}
		}
		if err := f.Books.Settle(&e); err != nil {
			t.Fatal(err)
		}
		for s := range e.Continual {
			if e.Continual[s].Arms {
				e.Continual[s].Sealed = []byte("s/slow/1")
			}
		}
		if i == 4 {
			e.Continual[0].Fire("a")
		}
		if err := f.Books.Finish(&e); err != nil {
			t.Fatal(err)
		}
		if err := f.Add(e, ledgertest.Encode(t, e), int64(i)); err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

// TestAuditOfWatchesThatFollowLists: an entry may say that a watch has fired in a group that has left the list. It may
// not say that of a group in which it has not fired, and no watch fires in a group that the window does not have, or at
// which it does not look.
func TestAuditOfWatchesThatFollowLists(t *testing.T) {
	var none *time.Time
	for name, c := range map[string]struct {
		change func(of *ledger.Continual) // in the last window
		forge  [2]string                  // in the entry in which it fires
		kind   string                     // "": no fault
	}{
		"right":                   {},
		"another group that left": {change: func(of *ledger.Continual) { of.Watch.Fired = new("b") }, kind: WatchDiffers},
		"forgotten with its group": {change: func(of *ledger.Continual) { of.Watch.Fired, of.Watch.Since = nil, none },
			kind: WatchDiffers},
		"armed again at once": {change: func(of *ledger.Continual) {
			of.Watch.Fired, of.Watch.Since = nil, none
			of.Reason, of.Arms, of.Instance, of.Sealed = "", true, 2, []byte("s/slow/2")
		}, kind: WatchDiffers},
		"in a group without a list": {forge: [2]string{`"fired":"a"`, `"fired":"stranger"`}, kind: EntryUnreadable},
		"at what it does not look":  {forge: [2]string{`"alarm":{`, `"alarm":{"always":true,`}, kind: EntryUnreadable},
	} {
		all := watchedLists(t)
		if at := all[7].Continual[0].Watch; at.Fired == nil || *at.Fired != "a" ||
			slices.Contains(all[7].GroupNames(), "a") {
			t.Fatalf("%+v on %q, want a watch that waits without its group", at, all[7].GroupNames())
		}
		if c.change != nil {
			c.change(&all[7].Continual[0])
		}
		a := New()
		for i, e := range all {
			value := ledgertest.Encode(t, e)
			if i == 4 && c.forge[0] != "" {
				if !strings.Contains(string(value), c.forge[0]) {
					t.Fatalf("%s is not in %s", c.forge[0], value)
				}
				value = []byte(strings.Replace(string(value), c.forge[0], c.forge[1], 1))
			}
			a.Entry(Position{"ledger", 0, int64(i)}, e.Key(), value)
		}
		f := a.Findings()
		if found := slices.ContainsFunc(f.Faults, func(f Fault) bool { return f.Kind == c.kind }); found != (c.kind != "") ||
			c.kind == "" && f.FaultCount > 0 {
			t.Errorf("%s: %+v, want %q", name, f.Faults, c.kind)
		}
	}
}
