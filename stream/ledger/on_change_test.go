package ledger

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/budget/privacy"
	"github.com/louver/louver/stream/record/recordtest"
)

// onChange is the release on change "calm" as a definition has it. A user may be in two groups.
func onChange(definition, test, draw string, atMost int64) Watch {
	const name = "calm"
	drawn := budget.Item{Promise: privacy.NewPure(dec(draw)), Times: 1}
	first := drawn
	first.Times = 2
	return Watch{Name: name, Definition: definition, Cost: []budget.Item{{Promise: privacy.NewPure(dec(test)), Times: 1}, drawn}, First: []budget.Item{first},
		Excess95: some("26.5"), AtMost: atMost, Release: &Release{Name: name, Statistic: "median", P: some("0.5"), Mechanism: "margin", Unit: "ms", Epsilon: dec(draw)}}
}

// unmoved is a ledger of n windows of a stream that has nothing but one release on change, in three groups. Its instances fire in the
// third and in the fifth window, in the second group.
func unmoved(t *testing.T, n int) []Entry {
	b := NewBooks()
	var all []Entry
	for i := range n {
		e := plan{stream: "s", budget: "b", epsilon: "0.05", limit: limit("4", 10*time.Minute)}.entry(i)
		e.Price, e.Releases = nil, nil
		e.Groups = []Group{{Name: "eu"}, {Name: "us"}, {Name: "ap"}}
		e.Watches = []Watch{onChange("d", "0.2", "0.1", 2)}
		if err := b.Settle(&e); err != nil {
			t.Fatal(err)
		}
		look(&e, func(Watch) bool { return i == 2 || i == 4 })
		if err := b.Add(e); err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

// TestOnChangeRecords follows the figures: all groups are drawn, one of them twice anew, and then two instances are the most.
func TestOnChangeRecords(t *testing.T) {
	s := recordtest.Compile(t)
	var got []string
	for _, e := range unmoved(t, 6) {
		line := ""
		for _, r := range records(t, e) {
			f := s.Follows(t, e.name(), r.Value)
			since, _ := f["since"].(string)
			line += fmt.Sprintf("%v %v %v %v %v %v %v; ", f["group"], f["value"], f["changed"], strings.TrimPrefix(since, "2026-11-20T"), f["instance"], f["epsilon"], f["reason"])
		}
		spent := e.Standing.BudgetSpent
		got = append(got, line+spent.String())
	}
	want := []string{
		"eu 660 true 08:01:00Z 1 0.5 <nil>; us 661 true 08:01:00Z 1 0.5 <nil>; ap 662 true 08:01:00Z 1 0.5 <nil>; 0.5", // 0.2 + 0.1 + 2 · 0.1
		"eu 660 false 08:01:00Z 1 0.5 <nil>; us 661 false 08:01:00Z 1 0.5 <nil>; ap 662 false 08:01:00Z 1 0.5 <nil>; 0.5",
		"eu 660 false 08:01:00Z 1 0.5 <nil>; us 781 true 08:03:00Z 1 0.5 <nil>; ap 662 false 08:01:00Z 1 0.5 <nil>; 0.5",
		"eu 660 false 08:01:00Z 2 0.3 <nil>; us 781 false 08:03:00Z 2 0.3 <nil>; ap 662 false 08:01:00Z 2 0.3 <nil>; 0.8",
		"eu 660 false 08:01:00Z 2 0.3 <nil>; us 901 true 08:05:00Z 2 0.3 <nil>; ap 662 false 08:01:00Z 2 0.3 <nil>; 0.8",
		"eu <nil> false  2 0 budget_exhausted; us <nil> false  2 0 budget_exhausted; ap <nil> false  2 0 budget_exhausted; 0.8",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestOnChangeGoesOn: once the period has passed, the next instance goes on from the last values. They are public, so it draws
// nothing anew. A new definition begins anew.
func TestOnChangeGoesOn(t *testing.T) {
	b := NewBooks()
	for _, e := range unmoved(t, 6) {
		if err := b.Add(e); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		definition string
		begins     bool
		values     string
	}{{"d", false, "[660 901 662]"}, {"other", true, "[nil nil nil]"}} {
		e := plan{stream: "s", budget: "b", epsilon: "0.05", limit: limit("4", 10*time.Minute)}.entry(12) // the first instance is gone from the period
		e.Price, e.Releases = nil, nil
		e.Groups = []Group{{Name: "eu"}, {Name: "us"}, {Name: "ap"}}
		e.Watches = []Watch{onChange(c.definition, "0.2", "0.1", 2)}
		if err := b.Settle(&e); err != nil {
			t.Fatal(err)
		}
		w := e.Watches[0]
		var values []string
		for _, v := range w.Values {
			if v.Figure.Value == nil {
				values = append(values, "nil")
				continue
			}
			values = append(values, v.Figure.Value.String())
		}
		if !w.Arms || w.Instance != 3 || w.Begins != c.begins || fmt.Sprint(values) != c.values {
			t.Errorf("definition %s: %+v with %v, want a third instance that begins: %v, with %s", c.definition, w, values, c.begins, c.values)
		}
	}
}

// TestValuesOnlyChangeWhereOneFires looks at the entries alone: a value is another one only where its group was drawn, an
// instance draws one group after it was armed, and only the first of a definition draws all.
func TestValuesOnlyChangeWhereOneFires(t *testing.T) {
	redrawn, resumed := false, false
	rapid.Check(t, func(t *rapid.T) {
		p := watchful(t, rapid.IntRange(1, 60).Draw(t, "entries"))
		last, began, draws := map[string][]Drawn{}, map[string]bool{}, map[Instance]int{}
		for _, value := range p.values {
			e, err := Decode(value)
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range e.Watches {
				if w.Release == nil || !w.Looks() {
					continue
				}
				of := e.Stream + w.Name + w.Definition
				if w.Begins && w.Arms {
					if began[of] {
						t.Fatalf("%s begins twice", of)
					}
					began[of], last[of] = true, w.Values
					continue
				}
				for g, v := range w.Values {
					if v.equal(last[of][g]) {
						continue
					}
					if w.Fired == nil || *w.Fired != e.Groups[g].Name {
						t.Fatalf("the value of %s in group %s changes in the window ending %s, and none was drawn", of, e.Groups[g].Name, e.WindowEnd)
					}
					draws[Instance{e.Stream, w.Name, w.Instance}]++
					redrawn, resumed = true, resumed || w.Instance > 1
				}
				last[of] = w.Values
			}
		}
		for i, n := range draws {
			if n > 1 {
				t.Fatalf("%s draws %d groups anew", i, n)
			}
		}
	})
	if !redrawn || !resumed {
		t.Errorf("some value is drawn anew: %v, by a later instance: %v; want both in some case", redrawn, resumed)
	}
}

// TestEarlierReleasesRefuseOnChange: a reader that takes a release on change for an alarm would miss what its first values
// cost, so the version stops it.
func TestEarlierReleasesRefuseOnChange(t *testing.T) {
	e := unmoved(t, 1)[0]
	if value := encode(t, e); !bytes.HasPrefix(value, []byte(`{"v":4,`)) {
		t.Errorf("the entry is %s, want version 4", value)
	}
	p := &partition{}
	p.add(t, e)
	if text := write(t, p.fold(t, 1)); !bytes.HasPrefix(text, []byte(`{"v":3,`)) {
		t.Errorf("the checkpoint is %s, want version 3", text)
	}
}

// TestEntriesThatContradictOnChange has entries that nobody writes.
func TestEntriesThatContradictOnChange(t *testing.T) {
	for name, c := range map[string]struct {
		change func(w *Watch)
		says   string
	}{
		"no values":        {func(w *Watch) { w.Values = nil }, "0 values; want 3"},
		"a value missing":  {func(w *Watch) { w.Values[1].Figure.Value = nil }, `group "us" has no value`},
		"a later value":    {func(w *Watch) { w.Values[1].Since = w.Values[1].Since.Add(time.Hour) }, `group "us" has no value, or one of`},
		"drawn before":     {func(w *Watch) { w.Values[0].Since = w.Values[0].Since.Add(-time.Minute) }, `group "eu" has no value, or one of`},
		"an alarm":         {func(w *Watch) { w.Release = nil }, "0 releases and 3 groups"},
		"another's":        {func(w *Watch) { w.Release.Name = "p50" }, `describes release "p50"`},
		"free first draws": {func(w *Watch) { w.First = nil }, "want its own, with the cost of its first values"},
		"fires at once":    {func(w *Watch) { w.Fired, w.Since = new("eu"), new(w.Values[0].Since) }, "in which its values are drawn first"},
		"costs nothing":    {func(w *Watch) { w.First[0].Epsilon = dec("0") }, "epsilon"},
	} {
		e := unmoved(t, 1)[0]
		c.change(&e.Watches[0])
		if _, err := e.Encode(); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
	}
	e := unmoved(t, 1)[0]
	e.Watches = nil
	if _, err := e.Encode(); err == nil {
		t.Error("an entry with neither releases nor watches is taken")
	}
	all := unmoved(t, 2) // the second entry says that the instance has drawn nothing at first, so that it cost less
	all[1].Watches[0].Begins = false
	b := NewBooks()
	if err := b.Add(all[0]); err != nil {
		t.Fatal(err)
	}
	if err := b.Add(all[1]); err == nil {
		t.Error("the instance costs less than before")
	}
}

// TestAuditOfOnChange plants what only an audit can find: a value that changes without a draw, first values that nobody paid,
// and a second payment.
func TestAuditOfOnChange(t *testing.T) {
	for name, change := range map[string]func(all []Entry){
		"nothing": nil,
		"another value": func(all []Entry) {
			all[1].Watches[0].Values[1].Figure.Value = some("7")
		},
		"another error": func(all []Entry) {
			all[3].Watches[0].Values[0].Figure.Quality = "noise"
		},
		"first values are free": func(all []Entry) {
			all[0].Watches[0].Begins = false
			all[1].Watches[0].Begins = false
			all[2].Watches[0].Begins = false
		},
		"first values again": func(all []Entry) {
			all[3].Watches[0].Begins = true
			for g := range all[3].Watches[0].Values {
				all[3].Watches[0].Values[g].Since = all[3].WindowEnd
			}
		},
	} {
		all := unmoved(t, 4)
		if change != nil {
			change(all)
		}
		a := NewAudit()
		for i, e := range all {
			a.Entry(Position{"ledger", 0, int64(i)}, e.Key(), encode(t, e))
		}
		f := a.Findings()
		if found := slices.ContainsFunc(f.Faults, func(f Fault) bool { return f.Kind == WatchDiffers }); found != (change != nil) {
			t.Errorf("%s: %+v", name, f.Faults)
		}
	}
}
