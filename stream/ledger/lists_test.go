package ledger_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/ledger/ledgertest"
)

// lists are test vectors from a program that shares no code with this package.
type lists struct {
	List []struct {
		Keep   int64
		Max    int64
		Always []string
		Unit   string
		Steps  []struct {
			Row        string
			Start, End int64
			Late       []string
			Found      map[string]int64
			List       []string
			Joined     []string
			Left       []string
		}
	}
	Windows []struct {
		End   float64 `json:"window_end"`
		Ends  []int64 `json:"discovery_ends"`
		Uses  *int64
		Where string `json:"why"`
	} `json:"list_of_window"`
}

func readLists(t *testing.T) (v lists) {
	t.Helper()
	text, err := os.ReadFile("testdata/lists.json")
	if err == nil {
		err = json.Unmarshal(text, &v)
	}
	if err != nil || len(v.List) == 0 || len(v.Windows) == 0 {
		t.Fatalf("%v", err)
	}
	return v
}

var discovering = ledgertest.Plan{Stream: "s", Budget: "b", Epsilon: "0.5",
	Limit: budget.Limit{Epsilon: ledgertest.Dec("10000"), Delta: ledgertest.Dec("0.01"), Per: time.Hour}}

func names(m map[string]bool) (all []string) {
	for name := range m {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

func TestListVectors(t *testing.T) {
	for _, v := range readLists(t).List {
		unit := time.Hour
		if strings.HasPrefix(v.Unit, "days") {
			unit = 24 * time.Hour
		}
		at := func(n int64) time.Time { return ledgertest.Epoch.Add(time.Duration(n) * unit) }
		rules := ledger.Rules{Source: "in path", Keep: v.Keep * int64(unit.Seconds()), Max: v.Max, Always: v.Always}
		f := ledger.NewState("louver", 0)
		for i, step := range v.Steps {
			end := at(step.End)
			if got := names(f.Lists().Last("b", "s", step.Row, rules, end)); !slices.Equal(got, step.Late) {
				slices.Sort(step.Late)
				if !slices.Equal(got, step.Late) {
					t.Errorf("%s, step %d: %q come last, want %q", v.Unit, i, got, step.Late)
				}
			}
			e := discovering.Discovery(step.Row, at(step.Start), end, rules, step.Found)
			addDiscovery(t, f, &e, int64(i))
			groups, of, err := f.Lists().Of("b", "s", rules)
			if err != nil || of == nil || !of.Equal(end) || !slices.Equal(groups, step.List) {
				t.Errorf("%s, step %d: the list is %q of %v (%v), want %q", v.Unit, i, groups, of, err, step.List)
			}
			d := e.Discovery
			if !slices.Equal(d.Joined, step.Joined) || !slices.Equal(d.Left, step.Left) ||
				d.Listed != int64(len(step.List)) {
				t.Errorf("%s, step %d: %q joined and %q left, want %q and %q", v.Unit, i, d.Joined, d.Left,
					step.Joined, step.Left)
			}
		}
	}
}

// addDiscovery settles an entry, except for its reason, and adds it.
func addDiscovery(t ledgertest.T, f *ledger.State, e *ledger.Entry, offset int64) {
	t.Helper()
	reason := e.Reason
	err := f.Books.Settle(e)
	if err == nil {
		e.Reason = reason
		if e.Standing, err = f.Books.Standing(*e); err == nil {
			err = f.Lists().Finish(e)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	value := ledgertest.Encode(t, *e)
	back, err := ledger.Decode(value)
	if err == nil {
		err = f.Add(back, value, offset)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestTheListOfAWindow: it is the list of the last discovery that is decided before the window. Discoveries that end
// with a window are decided before it.
func TestTheListOfAWindow(t *testing.T) {
	rules := ledger.Rules{Source: "in path", Keep: 1e6, Max: 9}
	for _, v := range readLists(t).Windows {
		f := ledger.NewState("louver", 0)
		for i, end := range v.Ends {
			if float64(end) > v.End {
				continue // it is due later
			}
			at := ledgertest.Epoch.Add(time.Duration(end) * time.Hour)
			e := discovering.Discovery("row", at.Add(-time.Hour), at, rules, map[string]int64{fmt.Sprint(end): 5})
			addDiscovery(t, f, &e, int64(i))
		}
		_, of, err := f.Lists().Of("b", "s", rules)
		if err != nil || (of == nil) != (v.Uses == nil) ||
			of != nil && !of.Equal(ledgertest.Epoch.Add(time.Duration(*v.Uses)*time.Hour)) {
			t.Errorf("the window that ends at %v uses %v (%v), want %v", v.End, of, err, v.Uses)
		}
	}
}

// told is a discovery as the test remembers it.
type told struct {
	row   string
	end   int64
	found map[string]int64
}

// bruteList is the list by definition: what was found by each row within keep, of names that never left since.
func bruteList(all []told, r ledger.Rules) []string {
	type last struct{ end, value int64 }
	known := map[string]map[string]last{}
	var list []string
	for _, d := range all {
		for name, value := range d.found {
			if !slices.Contains(r.Always, name) && !slices.Contains(r.Except, name) && (r.Match == "" || name <= "c") {
				if known[name] == nil {
					known[name] = map[string]last{}
				}
				known[name][d.row] = last{d.end, value}
			}
		}
		type counted struct {
			name  string
			value int64
		}
		var counts []counted
		for name, rows := range known {
			most := int64(-1)
			for row, x := range rows {
				if x.end+r.Keep <= d.end {
					delete(rows, row)
				} else {
					most = max(most, x.value)
				}
			}
			if most >= 0 {
				counts = append(counts, counted{name, most})
			}
		}
		slices.SortFunc(counts, func(x, y counted) int {
			return cmp.Or(cmp.Compare(y.value, x.value), strings.Compare(x.name, y.name))
		})
		counts = counts[:min(int64(len(counts)), r.Max)]
		list = nil
		for _, c := range counts {
			list = append(list, c.name)
		}
		for name := range known {
			if !slices.Contains(list, name) {
				delete(known, name)
			}
		}
	}
	list = append(list, r.Always...)
	slices.Sort(list)
	return list
}

// TestListsAgainstBruteForce: random findings of two rows. A checkpoint at any place gives the same bytes and the same
// lists as the entries.
func TestListsAgainstBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rules := ledger.Rules{Source: "in path", Keep: rapid.Int64Range(1, 6).Draw(t, "keep") * 3600,
			Max:    rapid.Int64Range(1, 4).Draw(t, "max"),
			Always: rapid.SampledFrom([][]string{nil, {"a"}, {"a", "zz"}}).Draw(t, "always"),
			Except: rapid.SampledFrom([][]string{nil, {"b"}}).Draw(t, "except"),
			Match:  rapid.SampledFrom([]string{"", "^[a-c]$"}).Draw(t, "match")}
		f := ledger.NewState("louver", 0)
		var all []told
		end, cut := int64(0), rapid.IntRange(0, 12).Draw(t, "checkpoint after")
		for i := range rapid.IntRange(1, 12).Draw(t, "discoveries") {
			end += rapid.Int64Range(0, 3).Draw(t, "hours") * 3600
			row := fmt.Sprintf("row%d", rapid.IntRange(0, 1).Draw(t, "row"))
			if slices.ContainsFunc(all, func(d told) bool { return d.row == row && d.end == end }) {
				continue
			}
			var found map[string]int64
			if rapid.IntRange(0, 4).Draw(t, "withheld") > 0 {
				found = rapid.MapOfN(rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f"}), rapid.Int64Range(1, 5),
					0, int(rules.Max)).Draw(t, "found")
			}
			before, _, err := f.Lists().Of("b", "s", rules)
			if err != nil {
				t.Fatal(err)
			}
			at := ledgertest.Epoch.Add(time.Duration(end) * time.Second)
			e := discovering.Discovery(row, at.Add(-time.Hour), at, rules, found)
			addDiscovery(t, f, &e, int64(i))
			all = append(all, told{row, at.Unix(), found})
			groups, _, err := f.Lists().Of("b", "s", rules)
			if want := bruteList(all, rules); err != nil || !slices.Equal(groups, want) {
				t.Fatalf("the list is %q (%v), want %q after %+v", groups, err, want, all)
			}
			for _, name := range e.Discovery.Joined {
				if slices.Contains(before, name) || !slices.Contains(groups, name) {
					t.Fatalf("%q joined, and %q became %q", name, before, groups)
				}
			}
			if n := len(before) + len(e.Discovery.Joined) - len(e.Discovery.Left); n != len(groups) {
				t.Fatalf("%q became %q by %q and without %q", before, groups, e.Discovery.Joined, e.Discovery.Left)
			}
			if i != cut {
				continue
			}
			text := ledgertest.Checkpoint(t, f)
			restored, err := ledger.Restore(text, "louver", 0)
			if err == nil {
				err = restored.Add(e, ledgertest.Encode(t, e), restored.From())
			}
			if err != nil {
				t.Fatal(err)
			}
			if again := ledgertest.Checkpoint(t, restored); string(again) != string(text) {
				t.Fatalf("the checkpoint\n%s\nbecame\n%s", text, again)
			}
			for _, later := range []time.Duration{0, time.Hour, 2 * time.Hour, 3 * time.Hour} {
				last := f.Lists().Last("b", "s", row, rules, at.Add(later))
				if again := restored.Lists().Last("b", "s", row, rules, at.Add(later)); gocmp.Diff(last, again) != "" {
					t.Fatalf("%v come last, and %v by the checkpoint", last, again)
				}
			}
			shown, err := f.Lists().Show("b", "s", rules)
			if err != nil {
				t.Fatal(err)
			}
			if again, err := restored.Lists().Show("b", "s", rules); err != nil || gocmp.Diff(shown, again) != "" {
				t.Fatalf("%v are listed, and %v by the checkpoint (%v)", shown, again, err)
			}
			f = restored
		}
	})
}

// TestAnEditOfTheRules: what is excluded is off the list at once, and another source begins a list anew.
func TestAnEditOfTheRules(t *testing.T) {
	rules := ledger.Rules{Source: "in path", Keep: 1e6, Max: 9, Always: []string{"home"}, Other: "rest"}
	f := ledger.NewState("louver", 0)
	e := discovering.Discovery("row", ledgertest.Epoch, ledgertest.Epoch.Add(time.Hour), rules,
		map[string]int64{"a": 9, "b": 8, "c": 7})
	addDiscovery(t, f, &e, 0)
	for _, c := range []struct {
		what string
		edit func(r *ledger.Rules)
		want []string
	}{
		{"nothing", func(*ledger.Rules) {}, []string{"a", "b", "c", "home", "rest"}},
		{"except", func(r *ledger.Rules) { r.Except = []string{"b"} }, []string{"a", "c", "home", "rest"}},
		{"match", func(r *ledger.Rules) { r.Match = "^[bc]$" }, []string{"b", "c", "home", "rest"}},
		{"max", func(r *ledger.Rules) { r.Max = 1 }, []string{"a", "home", "rest"}},
		{"always", func(r *ledger.Rules) { r.Always = []string{"b", "z"} }, []string{"a", "b", "c", "z", "rest"}},
		{"no other", func(r *ledger.Rules) { r.Other = "" }, []string{"a", "b", "c", "home"}},
		{"source", func(r *ledger.Rules) { r.Source = "in device" }, []string{"home", "rest"}},
	} {
		r := rules
		c.edit(&r)
		if groups, _, err := f.Lists().Of("b", "s", r); err != nil || !slices.Equal(groups, c.want) {
			t.Errorf("%s: the list is %q (%v), want %q", c.what, groups, err, c.want)
		}
	}
	r := rules
	for source, want := range map[string]int{"in path": 3, "in device": 0} {
		r.Source = source
		if last := f.Lists().Last("b", "s", "row", r, ledgertest.Epoch.Add(2*time.Hour)); len(last) != want {
			t.Errorf("%v come last among names of %q, want %d", last, source, want)
		}
	}
	if groups, of, err := f.Lists().Of("other", "s", rules); err != nil || of != nil || len(groups) != 2 {
		t.Errorf("under another budget the list is %q of %v (%v), want what is always on it", groups, of, err)
	}
}

// TestOfTwoRowsTheLargerCounts: the larger of two counts decides who is on the list, and is shown.
func TestOfTwoRowsTheLargerCounts(t *testing.T) {
	rules := ledger.Rules{Source: "in path", Keep: 1e6, Max: 20}
	f := ledger.NewState("louver", 0)
	for i, value := range []int64{9, 1, 5} {
		found := map[string]int64{}
		for n := range 20 {
			found[fmt.Sprint(n)] = value
		}
		at := ledgertest.Epoch.Add(time.Duration(i+1) * time.Hour)
		e := discovering.Discovery(fmt.Sprint("row", i), at.Add(-time.Hour), at, rules, found)
		addDiscovery(t, f, &e, int64(i))
	}
	shown, err := f.Lists().Show("b", "s", rules)
	if err != nil || len(shown) != 20 {
		t.Fatalf("%v, %v", shown, err)
	}
	for _, x := range shown {
		if x.Value != 9 {
			t.Errorf("%s has the count %d, want 9", x.Name, x.Value)
		}
	}
}

// TestAPushedOutNameIsToldAsSuch: a name that was found but has no room on the list has no time until which it is
// listed.
func TestAPushedOutNameIsToldAsSuch(t *testing.T) {
	rules := ledger.Rules{Source: "in path", Keep: 7200, Max: 1}
	f := ledger.NewState("louver", 0)
	for i, c := range []struct {
		found map[string]int64
		until map[string]string
	}{
		{map[string]int64{"a": 9}, map[string]string{"a": `"2026-11-20T11:00:00Z"`}},
		{map[string]int64{"b": 5}, map[string]string{"b": "null"}},
	} {
		at := ledgertest.Epoch.Add(time.Duration(i+1) * time.Hour)
		e := discovering.Discovery(fmt.Sprint("row", i), at.Add(-time.Hour), at, rules, c.found)
		addDiscovery(t, f, &e, int64(i))
		for _, r := range ledgertest.Records(t, e)[1:] {
			of := fields(t, r)
			name := strings.Trim(of["group"], `"`)
			if got := of["listed_until"]; got != c.until[name] && (got != "" || c.until[name] != "null") {
				t.Errorf("%s is listed until %s, want %s", name, got, c.until[name])
			}
		}
		if want := i; len(e.Discovery.Unlisted) != want {
			t.Errorf("%q are not listed, want %d", e.Discovery.Unlisted, want)
		}
	}
}

// TestALongListIsCut: names are counted in bytes, as they are written, so that every entry fits into a record.
func TestALongListIsCut(t *testing.T) {
	found := map[string]int64{}
	for i := range 1000 {
		found[fmt.Sprintf("%03d%s", i, strings.Repeat("<", 197))] = 5
	}
	rules := ledger.Rules{Source: "in path", Keep: 1e6, Max: 1000}
	f := ledger.NewState("louver", 0)
	e := discovering.Discovery("row", ledgertest.Epoch, ledgertest.Epoch.Add(time.Hour), rules, found)
	e.Discovery.Found = ledger.Largest(e.Discovery.Found, rules.Max)
	slices.SortFunc(e.Discovery.Found, func(x, y ledger.Finding) int { return strings.Compare(x.Name, y.Name) })
	addDiscovery(t, f, &e, 0)
	groups, _, err := f.Lists().Of("b", "s", rules)
	if size := len(ledgertest.Encode(t, e)); err != nil || len(groups) < 100 || len(groups) > 140 || size > 512<<10 {
		t.Errorf("%d groups (%v), and an entry of %d bytes; want some 130, and at most 512 kB", len(groups), err, size)
	}
}
